//! Everything that can happen to the world.

use std::{collections::HashMap, sync::Arc};

use engine_model::{FilePath, LiveUpdateName, Manifest, TargetId, TriggerMode};

use crate::{
    cluster::ClusterEvent,
    live_update::{Container, Found, ListError, Observed, Outcome, Roots, SyncId},
    objects::{CmdEnd, CmdEvent, ObjectEvent},
    reason::Reason,
    resource::{EnableState, ResourceName, ServeId, UpdateId, workload::WorkloadEvent},
    status::RuntimeStatus,
    tiltfile::{LoadError, LoadId},
    time::Time,
    world::{DockerEvent, ImageEvent, ServiceEvent},
};

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// There is a Tiltfile to run.
    TiltfileAdded {
        /// Its name.
        name: ResourceName,
        /// Its arguments.
        args: Vec<String>,
    },
    /// A Tiltfile is gone, and its resources with it.
    TiltfileRemoved {
        /// Its name.
        name: ResourceName,
    },
    /// Files that a Tiltfile read have changed.
    ConfigFilesChanged {
        /// Its name.
        tiltfile: ResourceName,
        /// The files.
        files: Vec<FilePath>,
        /// When the change was seen.
        at: Time,
    },
    /// A Tiltfile gets other arguments.
    ArgsChanged {
        /// Its name.
        tiltfile: ResourceName,
        /// All of them.
        args: Vec<String>,
    },
    /// A Tiltfile has run.
    LoadEnded {
        /// Which run.
        id: LoadId,
        /// What it said, or what is wrong with it.
        result: Result<Loaded, LoadError>,
    },
    /// Inputs of a resource have changed.
    FilesChanged {
        /// The resource.
        resource: ResourceName,
        /// The part of it.
        target: TargetId,
        /// The files, each with what is there now.
        files: Vec<(FilePath, Found)>,
        /// When the change was seen.
        at: Time,
        /// What is at [`World::sync_roots`](crate::World::sync_roots) of the target now.
        roots: Roots,
    },
    /// Inputs of an image seem to be complete while many others of it still change.
    FilesChanging {
        /// The image, as a part of resources.
        target: TargetId,
        /// The files.
        files: Vec<FilePath>,
        /// What is at [`World::sync_roots`](crate::World::sync_roots) of the target now.
        roots: Roots,
    },
    /// Somebody asks for an update, or for another run of a Tiltfile.
    Triggered {
        /// The resource.
        resource: ResourceName,
        /// Who asks.
        reason: Reason,
        /// Whether manual dependencies that never ran are triggered first.
        with_deps: bool,
    },
    /// Somebody changes when a resource updates, until the next load.
    TriggerModeSet {
        /// The resource.
        resource: ResourceName,
        /// When.
        mode: TriggerMode,
    },
    /// A resource's switch has another value.
    EnableChanged {
        /// The resource.
        resource: ResourceName,
        /// The value.
        state: EnableState,
    },
    /// Somebody asks to stop what is running.
    StopRequested {
        /// The resource or Tiltfile.
        resource: ResourceName,
        /// When; what started later is not meant.
        at: Time,
    },
    /// An update has ended.
    UpdateEnded {
        /// Which one.
        id: UpdateId,
        /// What went wrong, if anything.
        error: Option<String>,
    },
    /// What stood in the way of an update may be gone.
    RetryDue {
        /// The resource.
        resource: ResourceName,
        /// Its last update; if there was another one since, that has seen for itself.
        id: UpdateId,
    },
    /// What a resource consists of was deployed.
    Deployed {
        /// The resource.
        resource: ResourceName,
        /// When that began, if it has images that were not built here: what runs has all changes from before that.
        began: Option<Time>,
    },
    /// Containers that live updates are for came, went, or do otherwise than before.
    ContainersObserved {
        /// The resource.
        resource: ResourceName,
        /// All containers of each of its live updates, in order.
        containers: Vec<(LiveUpdateName, Vec<Observed>)>,
        /// What is at [`Resource::sync_roots`](crate::resource::Resource::sync_roots) now.
        roots: Roots,
    },
    /// The answer to [`Action::ListFiles`](crate::Action::ListFiles).
    FilesListed {
        /// The resource.
        resource: ResourceName,
        /// Its live update.
        live_update: LiveUpdateName,
        /// The files, or what is wrong.
        result: Result<Vec<FilePath>, ListError>,
    },
    /// The answer to [`Action::StartSync`](crate::Action::StartSync).
    SyncEnded {
        /// The resource.
        resource: ResourceName,
        /// Its live update.
        live_update: LiveUpdateName,
        /// Which update of containers.
        id: SyncId,
        /// How it ended for each of them.
        ended: Vec<(Container, Outcome)>,
    },
    /// The answer to [`Action::SendAhead`](crate::Action::SendAhead).
    WentAhead {
        /// The resource.
        resource: ResourceName,
        /// Its live update.
        live_update: LiveUpdateName,
    },
    /// The process of a server runs.
    ServeStarted {
        /// Which run.
        id: ServeId,
        /// The process.
        pid: u32,
        /// Since when.
        at: Time,
    },
    /// A server says whether it is ready.
    ServeReady {
        /// Which run.
        id: ServeId,
        /// Whether it is.
        is_ready: bool,
    },
    /// The readiness probe of a server fails.
    ServeProbeFailed {
        /// Which run.
        id: ServeId,
        /// What the probe says.
        error: String,
    },
    /// The process of a server has ended.
    ServeEnded {
        /// Which run.
        id: ServeId,
        /// How.
        end: CmdEnd,
    },
    /// The command of an update did something; its end is not yet that of the update.
    UpdateCommand {
        /// Which update.
        id: UpdateId,
        /// The API object of the command.
        object: String,
        /// What it did.
        event: CmdEvent,
    },
    /// A cluster can be used now, or cannot any more.
    ClusterChanged {
        /// Its name: `default` for Kubernetes, `docker` for Compose.
        cluster: &'static str,
        /// Whether it can.
        is_usable: bool,
    },
    /// It is as late as [`World::wake_at`](crate::World::wake_at) said.
    TimePassed,
    /// An executor has looked at what it deployed.
    RuntimeObserved {
        /// The resource.
        resource: ResourceName,
        /// How it does.
        status: RuntimeStatus,
        /// Whether dependents may start.
        is_satisfied: bool,
        /// What went wrong, if it is known.
        error: Option<String>,
    },
    /// Something happened to what a resource has deployed to a cluster.
    Workload {
        /// The resource.
        resource: ResourceName,
        /// What.
        event: WorkloadEvent,
    },
    /// Something happened to the Kubernetes cluster.
    Cluster(ClusterEvent),
    /// Something happened to API objects, or to what they ask for.
    Object(ObjectEvent),
    /// Something became known of Docker.
    Docker(DockerEvent),
    /// Something became known of a Compose service.
    Service(ServiceEvent),
    /// Something became known of an image.
    Image(ImageEvent),
}

/// What a Tiltfile says.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Its resources, in order.
    pub manifests: Vec<Arc<Manifest>>,
    /// The switches of its resources.
    pub enabled: HashMap<ResourceName, EnableState>,
    /// How many updates may run at once, if this Tiltfile decides that.
    pub max_parallel: Option<usize>,
}
