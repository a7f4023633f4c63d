//! Speaks to Docker: builds and pushes images, and reaches into containers.
//!
//! [`Docker`] stands for one engine. It can be made before the engine runs, and goes on working
//! when the engine was away. Everything that happens is told as plain data; futures cancel what
//! they do when they are dropped. Nothing here knows what is built when, or why.

mod build;
mod client;
mod config;
mod containers;
mod context;
mod credentials;
mod csv;
mod endpoint;
mod environment;
mod error;
mod images;
mod import;
mod messages;
mod program;
mod push;
mod session;
mod transport;

pub use build::{BuildError, BuildEvent, BuildProblem, BuiltImage, Events, Step};
pub use client::{ApiVersion, Builder, Docker, Server};
pub use containers::{Answers, Attached, Event, Exec, Listed, Logged, Output};
pub use context::{
    BuildContext, Filter,
    archive::{Archive, PathMapping},
    fingerprint::{Fingerprint, Fingerprints},
    listing::Listing,
    walk::Kind as FileKind,
};
pub use credentials::CredentialsError;
pub use endpoint::Endpoint;
pub use environment::Environment;
pub use error::DockerError;
pub use images::{Image, Prune, PruneReport, Removed, content_tag};
pub use import::{ImportError, Imported};
pub use push::{PushError, PushProgress};
