//! What the engine asks of a helper.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{
    Message, ProtocolError,
    fields::{Reader, Writer},
};

/// Contents are sent in pieces of about this size.
pub const CHUNK: usize = 64 * 1024;

const MAGIC: &[u8] = b"engine-helper";

/// A point in time, as precise as file systems are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamp {
    /// Seconds since 1970, negative before.
    pub seconds: i64,
    /// Nanoseconds after that.
    pub nanos: u32,
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => {
                let seconds = i64::try_from(after.as_secs()).unwrap_or(i64::MAX);
                Self { seconds, nanos: after.subsec_nanos() }
            }
            Err(error) => {
                let before = error.duration();
                let seconds = i64::try_from(before.as_secs()).map_or(i64::MIN, |it| -it);
                match before.subsec_nanos() {
                    0 => Self { seconds, nanos: 0 },
                    nanos => Self { seconds: seconds - 1, nanos: 1_000_000_000 - nanos },
                }
            }
        }
    }
}

impl Timestamp {
    /// The same for the system, unless it cannot express it.
    pub fn to_system_time(self) -> Option<SystemTime> {
        let seconds = Duration::from_secs(self.seconds.unsigned_abs());
        let base = if self.seconds < 0 {
            UNIX_EPOCH.checked_sub(seconds)
        } else {
            UNIX_EPOCH.checked_add(seconds)
        };
        base?.checked_add(Duration::from_nanos(u64::from(self.nanos)))
    }
}

/// Something that a helper is to do. Paths are relative to the last root, without `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The greeting, with the version that the engine speaks.
    Hello(u32),
    /// Paths that follow are below this absolute path. No link below it leads out of it.
    Root(Vec<u8>),
    /// There is a directory.
    Directory {
        /// Where; empty for the root itself.
        path: Vec<u8>,
        /// Its permissions.
        mode: u32,
    },
    /// There is a file; [`Request::Data`] and [`Request::EndOfFile`] follow.
    File {
        /// Where.
        path: Vec<u8>,
        /// Its permissions.
        mode: u32,
        /// When it was changed.
        modified: Timestamp,
    },
    /// A piece of the file's content.
    Data(Vec<u8>),
    /// The file is complete.
    EndOfFile,
    /// The file cannot be completed; what was there before stays.
    AbortFile,
    /// There is a symbolic link.
    Link {
        /// Where; not the root itself.
        path: Vec<u8>,
        /// What it points to, as text.
        target: Vec<u8>,
    },
    /// A file that was sent before should still be there; if not, the answer is [`super::Reply::Missing`].
    Keep {
        /// Where.
        path: Vec<u8>,
        /// Its permissions.
        mode: u32,
        /// Its size.
        size: u64,
        /// When it was changed, as it was sent.
        was: Timestamp,
        /// When it was changed, from now on.
        modified: Timestamp,
    },
    /// Nothing is there any more, nor below.
    Delete(Vec<u8>),
    /// A command runs.
    Run(Vec<Vec<u8>>),
    /// The batch is complete.
    Commit,
}

impl Message for Request {
    const MAX: usize = 1 << 20;

    fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Hello(version) => drop(Writer::new(bytes, b'h').u32(*version).raw(MAGIC)),
            Self::Root(path) => drop(Writer::new(bytes, b'/').raw(path)),
            Self::Directory { path, mode } => drop(Writer::new(bytes, b'd').u32(*mode).raw(path)),
            Self::File { path, mode, modified } => {
                drop(timestamp(Writer::new(bytes, b'f').u32(*mode), *modified).raw(path));
            }
            Self::Data(data) => drop(Writer::new(bytes, b'+').raw(data)),
            Self::EndOfFile => drop(Writer::new(bytes, b'.')),
            Self::AbortFile => drop(Writer::new(bytes, b'!')),
            Self::Link { path, target } => drop(Writer::new(bytes, b'l').bytes(path).raw(target)),
            Self::Keep { path, mode, size, was, modified } => {
                let fields = timestamp(Writer::new(bytes, b'k').u32(*mode).u64(*size), *was);
                drop(timestamp(fields, *modified).raw(path));
            }
            Self::Delete(path) => drop(Writer::new(bytes, b'-').raw(path)),
            Self::Run(argv) => {
                drop(argv.iter().fold(Writer::new(bytes, b'r'), |it, arg| it.bytes(arg)))
            }
            Self::Commit => drop(Writer::new(bytes, b'c')),
        }
    }

    fn decode(tag: u8, payload: &[u8]) -> Result<Self, ProtocolError> {
        let mut fields = Reader::new(payload);
        let request = match tag {
            b'h' => {
                let version = fields.u32()?;
                if fields.rest() != MAGIC {
                    return Err(ProtocolError::Malformed);
                }
                Self::Hello(version)
            }
            b'/' => Self::Root(fields.rest().to_vec()),
            b'd' => Self::Directory { mode: fields.u32()?, path: fields.rest().to_vec() },
            b'f' => Self::File {
                mode: fields.u32()?,
                modified: read_timestamp(&mut fields)?,
                path: fields.rest().to_vec(),
            },
            b'+' => Self::Data(fields.rest().to_vec()),
            b'.' => Self::EndOfFile,
            b'!' => Self::AbortFile,
            b'l' => Self::Link { path: fields.bytes()?, target: fields.rest().to_vec() },
            b'k' => Self::Keep {
                mode: fields.u32()?,
                size: fields.u64()?,
                was: read_timestamp(&mut fields)?,
                modified: read_timestamp(&mut fields)?,
                path: fields.rest().to_vec(),
            },
            b'-' => Self::Delete(fields.rest().to_vec()),
            b'r' => Self::Run(fields.all_bytes()?),
            b'c' => Self::Commit,
            _ => return Err(ProtocolError::UnknownTag(tag)),
        };
        fields.end()?;
        Ok(request)
    }
}

fn timestamp(fields: Writer<'_>, time: Timestamp) -> Writer<'_> {
    fields.i64(time.seconds).u32(time.nanos)
}

fn read_timestamp(fields: &mut Reader<'_>) -> Result<Timestamp, ProtocolError> {
    let time = Timestamp { seconds: fields.i64()?, nanos: fields.u32()? };
    if time.nanos < 1_000_000_000 { Ok(time) } else { Err(ProtocolError::Malformed) }
}
