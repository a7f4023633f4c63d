//! The program itself, as the engine carries it, in folders of this machine.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod client;
mod hostile;
mod planted;
mod program;
mod supervising;
mod syncing;
