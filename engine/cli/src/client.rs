//! How commands reach a running instance: its web port, and its API server.

mod api;
mod config;
mod transport;
mod web;

pub use api::ApiClient;
pub(crate) use api::{PatchType, Selection, escape};
pub use config::instances;
pub(crate) use transport::{Answer, Transport, TransportError};
pub use web::WebClient;
