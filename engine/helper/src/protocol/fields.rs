//! Numbers and texts inside of a message.

use super::{ProtocolError, frame::Frame};

/// Writes the fields of a message.
pub(super) struct Writer<'a>(Frame<'a>);

impl<'a> Writer<'a> {
    pub(super) fn new(bytes: &'a mut Vec<u8>, tag: u8) -> Self {
        Self(Frame::begin(bytes, tag))
    }

    pub(super) fn u32(self, value: u32) -> Self {
        self.raw(&value.to_le_bytes())
    }

    pub(super) fn u64(self, value: u64) -> Self {
        self.raw(&value.to_le_bytes())
    }

    pub(super) fn i64(self, value: i64) -> Self {
        self.raw(&value.to_le_bytes())
    }

    /// A field that others may follow.
    pub(super) fn bytes(self, value: &[u8]) -> Self {
        let len = u32::try_from(value.len()).unwrap_or(u32::MAX);
        self.u32(len).raw(value)
    }

    /// A field that is the rest of the message.
    pub(super) fn raw(self, value: &[u8]) -> Self {
        self.0.bytes.extend_from_slice(value);
        self
    }
}

/// Reads the fields of a message.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(payload: &'a [u8]) -> Self {
        Self(payload)
    }

    pub(super) fn u32(&mut self) -> Result<u32, ProtocolError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, ProtocolError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, ProtocolError> {
        self.array().map(i64::from_le_bytes)
    }

    pub(super) fn bytes(&mut self) -> Result<Vec<u8>, ProtocolError> {
        let len = usize::try_from(self.u32()?).map_err(|_| ProtocolError::Malformed)?;
        let (bytes, rest) = self.0.split_at_checked(len).ok_or(ProtocolError::Malformed)?;
        self.0 = rest;
        Ok(bytes.to_vec())
    }

    pub(super) fn text(&mut self) -> Result<String, ProtocolError> {
        String::from_utf8(self.bytes()?).map_err(|_| ProtocolError::Malformed)
    }

    /// What is left, in pieces, as long as there is something.
    pub(super) fn all_bytes(&mut self) -> Result<Vec<Vec<u8>>, ProtocolError> {
        let mut all = Vec::new();
        while !self.0.is_empty() {
            all.push(self.bytes()?);
        }
        Ok(all)
    }

    /// What is left.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// A message must have been read to its end.
    pub(super) fn end(self) -> Result<(), ProtocolError> {
        if self.0.is_empty() { Ok(()) } else { Err(ProtocolError::Malformed) }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let (array, rest) = self.0.split_first_chunk().ok_or(ProtocolError::Malformed)?;
        self.0 = rest;
        Ok(*array)
    }
}
