//! Kubernetes objects as a Tiltfile declares them: parsing and normalizing manifests, and everything that is asked of
//! an object before it is deployed: its names, labels, images and place in the order of applying.
//!
//! Nothing here reads files or talks to a cluster.

pub mod images;
pub mod inject;
pub mod jsonpath;
pub mod locator;
pub mod names;
pub mod object;
pub mod order;
pub mod parse;
pub mod secrets;
pub mod selector;
pub mod services;

mod bytes;
mod numbers;
mod quantity;
mod schema;
mod stream;
mod time;
mod typed;
mod walk;

#[cfg(test)]
mod tests;

pub use object::{DEFAULT_NAMESPACE, GroupVersion, Object};
pub use order::kind_rank;
pub use parse::{Notation, ParseError, parse_document};
pub use stream::{parse, to_yaml};
