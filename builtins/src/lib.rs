//! Tiltfile in, manifests or diagnostics out.
//!
//! [`evaluate`] executes a Tiltfile with the dialect and the API of Tilt and assembles what it said into plain
//! data. The world is reached only through [`host::Host`].

pub mod api;
pub mod compose;
pub mod diagnostic;
pub mod dialect;
pub mod docs;
pub mod extension;
pub mod golang;
pub mod host;
pub mod kube_config;
pub mod kubernetes;
pub mod language;
pub mod syntax;
pub mod yaml;

mod assemble;
mod cache;
mod declarations;
mod eval;
mod loader;
mod objects;
mod session;

pub use declarations::settings::Features;
pub use engine_formats::docker;
pub use eval::{Evaluation, evaluate};
pub use session::{BuiltinCall, Request};

/// The version of Tilt whose behavior this is; version constraints of Tiltfiles are checked against it.
pub const COMPATIBLE_VERSION: &str = "0.37.6";
