//! Renders what the world knows as API objects: pure functions from state to JSON.

pub mod cluster;
pub mod declare;
pub mod disable;
pub mod draft;
pub mod dump;
pub mod explain;
pub mod extension;
pub mod graph;
pub mod image;
pub mod live_update;
pub mod local;
pub mod plan;
pub mod pod;
pub mod queue;
pub mod reason;
pub mod resource;
pub mod service;
pub mod session;
pub mod tiltfile;
pub mod time;
pub mod toggle;
pub mod workload;

#[cfg(test)]
mod tests;
