//! API objects: their kinds, and the store that holds them.

pub mod change;
pub mod client;
mod decode;
mod duplicates;
pub mod error;
mod incoming;
mod kind;
pub mod log;
mod managed;
pub mod object;
mod patch;
pub mod schema;
pub mod selector;
mod specs;
pub mod store;
mod validate;

pub use change::{Change, Changes, Event, Lagged};
pub use client::{Saved, Subresource, Validation, WriteOptions};
pub use duplicates::in_json as duplicates;
pub use engine_model::object::{GROUP, Kind, ObjectId};
pub use error::ApiError;
pub use kind::KindSchema;
pub use object::{Meta, Object, reads};
pub use patch::{Patch, go_syntax, is_deeper};
pub use selector::Selector;
pub use store::{Snapshot, Store, Written};

/// The version of all kinds.
pub const VERSION: &str = "v1alpha1";
/// Group and version, as objects name them.
pub const GROUP_VERSION: &str = "tilt.dev/v1alpha1";
