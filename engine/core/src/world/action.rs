//! Everything that the world asks for.

use std::sync::Arc;

use engine_model::{FilePath, IgnoreDef, LiveUpdateName};

use crate::{
    live_update::{SyncId, SyncPlan},
    objects::ObjectAction,
    reason::Reason,
    resource::{ResourceName, ServeId, UpdateId, workload::KubernetesAction},
    tiltfile::LoadId,
    world::DockerAction,
};

/// A run of a Tiltfile.
#[derive(Clone, Debug, PartialEq)]
pub struct StartLoad {
    /// Which run.
    pub id: LoadId,
    /// The Tiltfile.
    pub tiltfile: ResourceName,
    /// Why.
    pub reason: Reason,
    /// Files that changed.
    pub files: Vec<FilePath>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Whether the switches of its resources are set anew.
    pub resets_switches: bool,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Run a Tiltfile.
    StartLoad(StartLoad),
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
        files: Vec<FilePath>,
        /// Whether nothing that was built or deployed before may be used.
        is_full_rebuild: bool,
    },
    /// Stop an update; it still ends.
    CancelUpdate {
        /// Which update.
        id: UpdateId,
        /// The resource.
        resource: ResourceName,
    },
    /// List all files below some paths that no ignore rule excludes.
    ListFiles {
        /// The resource.
        resource: ResourceName,
        /// Its live update.
        live_update: LiveUpdateName,
        /// The paths.
        roots: Vec<FilePath>,
        /// The rules.
        ignores: Arc<[IgnoreDef]>,
    },
    /// Bring files into running containers.
    StartSync {
        /// The resource.
        resource: ResourceName,
        /// Its live update.
        live_update: LiveUpdateName,
        /// The number to report with.
        id: SyncId,
        /// What the containers get.
        plan: Arc<SyncPlan>,
        /// What is left out of directories.
        ignores: Arc<[IgnoreDef]>,
    },
    /// Bring files into running containers before anybody waits for them.
    SendAhead {
        /// The resource.
        resource: ResourceName,
        /// Its live update.
        live_update: LiveUpdateName,
        /// What the containers get.
        plan: Arc<SyncPlan>,
    },
    /// Stop all that is brought into containers of a resource; each part still ends.
    CancelSync {
        /// The resource.
        resource: ResourceName,
    },
    /// Find the containers of live updates of a resource, which came, went, or do otherwise than before.
    FindContainers {
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
    /// Do something in the Kubernetes cluster.
    Kubernetes(KubernetesAction),
    /// Do something for API objects.
    Object(ObjectAction),
    /// Do something with Docker.
    Docker(DockerAction),
}
