//! How commands reach a running instance: its web port, and its API server.

mod api;
mod config;
mod transport;
mod web;

pub(super) use api::{ApiClient, PatchType, Selection};
pub(super) use web::WebClient;
