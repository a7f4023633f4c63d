//! Everything that the scheduler asks for.

use std::sync::Arc;

use crate::{
    reason::Reason,
    resource::{ResourceName, ServeId, UpdateId},
    tiltfile::LoadId,
};

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Run a Tiltfile.
    StartLoad {
        /// Which run.
        id: LoadId,
        /// The Tiltfile.
        tiltfile: ResourceName,
        /// Why.
        reason: Reason,
        /// Files that changed.
        files: Vec<Arc<str>>,
        /// Its arguments.
        args: Vec<String>,
        /// Whether the switches of its resources are set anew.
        resets_switches: bool,
    },
    /// Stop a run of a Tiltfile; it still ends.
    CancelLoad {
        /// Which run.
        id: LoadId,
    },
    /// Update a resource.
    StartUpdate {
        /// Which update.
        id: UpdateId,
        /// The resource.
        resource: ResourceName,
        /// Why.
        reason: Reason,
        /// Files that changed, those of the Tiltfile first.
        files: Vec<Arc<str>>,
        /// Whether nothing that was built or deployed before may be used.
        is_full_rebuild: bool,
        /// Whether the containers that run take the changes; nothing is built.
        is_live: bool,
    },
    /// Stop an update; it still ends.
    CancelUpdate {
        /// Which update.
        id: UpdateId,
        /// The resource.
        resource: ResourceName,
    },
    /// Start a server.
    StartServe {
        /// Which run.
        id: ServeId,
        /// The resource.
        resource: ResourceName,
    },
    /// Stop a server; it still ends.
    StopServe {
        /// Which run.
        id: ServeId,
        /// The resource.
        resource: ResourceName,
        /// Whether that is because the resource was switched off.
        is_disabled: bool,
    },
    /// A resource was switched on or off.
    Switched {
        /// The resource.
        resource: ResourceName,
        /// Which of them.
        is_enabled: bool,
    },
    /// A resource is gone.
    Removed {
        /// The resource.
        resource: ResourceName,
    },
    /// A resource is declared by two Tiltfiles; the second one does not count.
    DeclaredTwice {
        /// The resource.
        resource: ResourceName,
        /// The Tiltfile that comes second.
        tiltfile: ResourceName,
        /// The Tiltfile that has it.
        other: ResourceName,
    },
}
