//! API objects: their kinds, and the store that holds them.

pub mod change;
pub mod client;
mod decode;
mod duplicates;
pub mod error;
mod incoming;
pub mod kind;
mod managed;
pub mod object;
mod patch;
pub mod schema;
pub mod selector;
pub mod store;
mod validate;

pub use change::{Change, Changes, Event, Lagged};
pub use client::{Saved, Subresource, Validation, WriteOptions};
pub(crate) use duplicates::in_json as duplicates;
pub use error::ApiError;
pub use kind::{Kind, KindRef};
pub use object::{Meta, Object, Owner};
pub use patch::Patch;
pub(crate) use patch::{go_syntax, is_deeper};
pub use selector::Selector;
pub use store::{Snapshot, Store, Written};

/// The group of all kinds.
pub const GROUP: &str = "tilt.dev";
/// The version of all kinds.
pub const VERSION: &str = "v1alpha1";
/// Group and version, as objects name them.
pub const GROUP_VERSION: &str = "tilt.dev/v1alpha1";
