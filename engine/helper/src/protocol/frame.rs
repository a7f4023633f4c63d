//! Where a message begins and ends in a stream that comes in arbitrary pieces.

use std::fmt;

use super::Message;

/// A tag and a length.
const HEADER: usize = 5;

/// Why a stream cannot be understood; nothing after it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// A message is longer than any can be.
    TooLong,
    /// There is no message with this tag.
    UnknownTag(u8),
    /// The fields of a message do not fit.
    Malformed,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("a message is too long"),
            Self::UnknownTag(tag) => write!(f, "no message has the tag {tag:#04x}"),
            Self::Malformed => f.write_str("a message is malformed"),
        }
    }
}

impl std::error::Error for ProtocolError {}

/// A message that is being written; its length is known when it is dropped.
pub(super) struct Frame<'a> {
    pub(super) bytes: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> Frame<'a> {
    pub(super) fn begin(bytes: &'a mut Vec<u8>, tag: u8) -> Self {
        bytes.push(tag);
        bytes.extend_from_slice(&[0; HEADER - 1]);
        let start = bytes.len();
        Self { bytes, start }
    }
}

impl Drop for Frame<'_> {
    fn drop(&mut self) {
        // The other side refuses what is too long, with words for it.
        let len = u32::try_from(self.bytes.len() - self.start).unwrap_or(u32::MAX);
        self.bytes[self.start - 4..self.start].copy_from_slice(&len.to_le_bytes());
    }
}

/// Finds messages in a stream.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// So many bytes at the start of the buffer have been understood.
    consumed: usize,
}

impl Decoder {
    /// The next piece of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.consumed > 0 {
            self.buffer.drain(..self.consumed);
            self.consumed = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next message, once all of it is there.
    pub fn decode<M: Message>(&mut self) -> Result<Option<M>, ProtocolError> {
        let rest = &self.buffer[self.consumed..];
        let Some((header, rest)) = rest.split_first_chunk::<HEADER>() else { return Ok(None) };
        let [tag, len @ ..] = *header;
        let len = usize::try_from(u32::from_le_bytes(len)).map_err(|_| ProtocolError::TooLong)?;
        if len > M::MAX {
            return Err(ProtocolError::TooLong);
        }
        let Some(payload) = rest.get(..len) else { return Ok(None) };
        let message = M::decode(tag, payload)?;
        self.consumed += HEADER + len;
        Ok(Some(message))
    }
}
