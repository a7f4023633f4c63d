//! What a helper answers.

use super::{
    Message, ProtocolError,
    fields::{Reader, Writer},
};

/// Why an entry could not be put in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The container does not let it be written: permissions, or a file system that is read-only.
    Denied,
    /// A link is not followed: it leads out of the root, or the helper is root and somebody else can have made it.
    Escapes,
    /// The path makes no sense.
    BadPath,
    /// There is no room.
    NoSpace,
    /// Something else.
    Other,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// With this code.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
    /// It did not begin: there is no such program, or it cannot be executed.
    NotStarted,
}

/// Something that a helper has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The greeting, with the version that the helper speaks.
    Hello(u32),
    /// An entry of the batch, counted from 0, is not in place.
    Refused {
        /// Which one.
        entry: u32,
        /// The kind of problem.
        refusal: Refusal,
        /// The words for it, with the path.
        message: String,
    },
    /// A file that should be kept is not what it was: send it.
    Missing {
        /// Which entry of the batch.
        entry: u32,
    },
    /// A command of the batch, counted from 0, begins.
    Begins {
        /// Which one.
        run: u32,
    },
    /// Output of a command.
    Output(Vec<u8>),
    /// A command of the batch, counted from 0, has ended.
    Ran {
        /// Which one.
        run: u32,
        /// How.
        end: RunEnd,
    },
    /// The batch has been dealt with; the last answer to it.
    Done {
        /// So many entries are in place.
        placed: u32,
    },
    /// The helper gives up, for this reason; the last answer at all.
    Broken(String),
}

impl Message for Reply {
    // What is in a container is not trusted, so not much of what it says is held.
    const MAX: usize = 64 * 1024;

    fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Hello(version) => drop(Writer::new(bytes, b'H').u32(*version)),
            Self::Refused { entry, refusal, message } => {
                let refusal = match refusal {
                    Refusal::Denied => 0,
                    Refusal::Escapes => 1,
                    Refusal::BadPath => 2,
                    Refusal::NoSpace => 3,
                    Refusal::Other => 4,
                };
                drop(Writer::new(bytes, b'R').u32(*entry).u32(refusal).bytes(message.as_bytes()));
            }
            Self::Missing { entry } => drop(Writer::new(bytes, b'M').u32(*entry)),
            Self::Begins { run } => drop(Writer::new(bytes, b'G').u32(*run)),
            Self::Output(output) => drop(Writer::new(bytes, b'O').raw(output)),
            Self::Ran { run, end } => {
                let (kind, value) = match end {
                    RunEnd::Exited(code) => (0, *code),
                    RunEnd::Signaled(signal) => (1, *signal),
                    RunEnd::NotStarted => (2, 0),
                };
                drop(Writer::new(bytes, b'X').u32(*run).u32(kind).i64(i64::from(value)));
            }
            Self::Done { placed } => drop(Writer::new(bytes, b'D').u32(*placed)),
            Self::Broken(reason) => drop(Writer::new(bytes, b'B').bytes(reason.as_bytes())),
        }
    }

    fn decode(tag: u8, payload: &[u8]) -> Result<Self, ProtocolError> {
        let mut fields = Reader::new(payload);
        let reply = match tag {
            b'H' => Self::Hello(fields.u32()?),
            b'R' => Self::Refused {
                entry: fields.u32()?,
                refusal: read_refusal(&mut fields)?,
                message: fields.text()?,
            },
            b'M' => Self::Missing { entry: fields.u32()? },
            b'G' => Self::Begins { run: fields.u32()? },
            b'O' => Self::Output(fields.rest().to_vec()),
            b'X' => Self::Ran { run: fields.u32()?, end: read_end(&mut fields)? },
            b'D' => Self::Done { placed: fields.u32()? },
            b'B' => Self::Broken(fields.text()?),
            _ => return Err(ProtocolError::UnknownTag(tag)),
        };
        fields.end()?;
        Ok(reply)
    }
}

fn read_refusal(fields: &mut Reader<'_>) -> Result<Refusal, ProtocolError> {
    Ok(match fields.u32()? {
        0 => Refusal::Denied,
        1 => Refusal::Escapes,
        2 => Refusal::BadPath,
        3 => Refusal::NoSpace,
        4 => Refusal::Other,
        _ => return Err(ProtocolError::Malformed),
    })
}

fn read_end(fields: &mut Reader<'_>) -> Result<RunEnd, ProtocolError> {
    let kind = fields.u32()?;
    let value = i32::try_from(fields.i64()?).map_err(|_| ProtocolError::Malformed)?;
    Ok(match kind {
        0 => RunEnd::Exited(value),
        1 => RunEnd::Signaled(value),
        2 => RunEnd::NotStarted,
        _ => return Err(ProtocolError::Malformed),
    })
}
