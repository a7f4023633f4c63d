//! Pure decisions over manifests: no clock, no file, no process.
//!
//! [`graph`] knows which resource waits for which, [`scheduler`] what runs when, [`status`] how a resource
//! does, [`session`] how `ci` ends, [`live_update`] which files go into which running containers.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod graph;
pub mod hold;
pub mod live_update;
pub mod plan;
pub mod reason;
pub mod resource;
pub mod scheduler;
pub mod session;
pub mod status;
pub mod tiltfile;
pub mod time;

pub use graph::{Cycle, ResourceGraph};
pub use scheduler::{Action, Event, Loaded, Scheduler};
pub use time::Time;
