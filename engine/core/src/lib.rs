//! Pure decisions over manifests: no clock, no file, no process.
//!
//! [`graph`] knows which resource waits for which.

pub mod graph;

pub use graph::{Cycle, ResourceGraph};
