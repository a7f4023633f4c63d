//! How commands reach a running instance: its web port, and its API server.

mod api;
mod config;
mod transport;
mod web;

pub(super) use api::{ApiClient, PatchType, Selection, escape};
pub(super) use config::instances;
pub(super) use transport::{Answer, Transport, TransportError};
pub(super) use web::WebClient;
