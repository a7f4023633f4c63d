//! Pure decisions over manifests: no clock, no file, no process.
//!
//! [`graph`] knows which resource waits for which, [`world`] what runs when, [`status`] how a resource
//! does, [`cluster`] whether Kubernetes can be used, [`session`] how `ci` ends, [`judge`] when that is asked,
//! [`live_update`] which files of a resource go into which running containers, [`objects`] what API objects ask for.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod cause;
pub mod changed;
pub mod cluster;
pub mod effect;
mod entry;
pub mod graph;
pub mod hold;
pub mod image;
pub mod judge;
pub mod live_update;
pub mod objects;
pub mod plan;
mod prune;
pub mod reason;
pub mod resource;
pub mod retry;
pub mod session;
pub mod status;
pub mod tiltfile;
pub mod world;

pub use engine_model::{Time, time};

pub use effect::{Effects, LineKind, LogLine};
pub use graph::{Cycle, ResourceGraph};
pub use world::{Action, Event, Loaded, Settings, TriggerRefused, World};
