//! Tiltfile in, manifests or diagnostics out.
//!
//! [`evaluate`] executes a Tiltfile with the dialect and the API of Tilt and assembles its declarations into plain
//! data. It reaches the outside world only through [`host::Host`].

pub mod api;
pub mod diagnostic;
pub mod docs;
pub mod extension;
pub mod host;
pub mod lsp;

mod assemble;
mod cache;
mod declarations;
mod eval;
mod loader;
mod objects;
mod session;

pub use declarations::settings::Features;
pub use eval::{Evaluation, evaluate};
pub use session::{BuiltinCall, Request};

/// The version of Tilt whose behavior this is; version constraints of Tiltfiles are checked against it.
pub const COMPATIBLE_VERSION: &str = "0.37.6";
