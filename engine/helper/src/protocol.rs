//! The bytes between the engine and a helper that serves in a container.
//!
//! Both sides begin with a greeting. Then the engine sends batches: entries in the order in which they are
//! applied, commands, [`Request::Commit`]. It need not wait for anything in between, so that a batch takes
//! one round trip. The helper answers with what went wrong, with output, and at last with [`Reply::Done`].
//! Commands run only if all entries of their batch are in place, and up to the first that fails.
//!
//! A message is a tag, the length of the rest, and the rest. Contents of files come in pieces, so neither
//! side has to hold more than [`Message::MAX`] of one.

mod fields;
mod frame;
mod reply;
mod request;

pub use frame::{Decoder, ProtocolError};
pub use reply::{Refusal, Reply, RunEnd};
pub use request::{CHUNK, Request, Timestamp};

/// Changes whenever a message changes.
pub const VERSION: u32 = 2;

/// Something that is sent.
pub trait Message: Sized {
    /// None has more bytes than this behind its header.
    const MAX: usize;

    /// Appends its bytes, as they are sent.
    fn encode(&self, bytes: &mut Vec<u8>);

    /// Reads it from the parts of a frame.
    fn decode(tag: u8, payload: &[u8]) -> Result<Self, ProtocolError>;
}

#[cfg(test)]
mod tests;
