//! Everything that can happen to the scheduler.

use std::{collections::HashMap, sync::Arc};

use engine_model::{Manifest, TriggerMode};

use crate::{
    reason::Reason,
    resource::{EnableState, PodSummary, ResourceName, ServeId, UpdateId},
    status::RuntimeStatus,
    tiltfile::LoadId,
    time::Time,
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
        files: Vec<Arc<str>>,
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
        result: Result<Loaded, String>,
    },
    /// Inputs of a resource have changed.
    FilesChanged {
        /// The resource.
        resource: ResourceName,
        /// The part of it.
        target: Arc<str>,
        /// The files.
        files: Vec<Arc<str>>,
        /// When the change was seen.
        at: Time,
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
    /// An update of running containers could not be done: everything is built instead.
    FellBack {
        /// Which update.
        id: UpdateId,
    },
    /// The process of a server runs.
    ServeStarted {
        /// Which run.
        id: ServeId,
        /// The process.
        pid: u32,
    },
    /// A server says whether it is ready.
    ServeReady {
        /// Which run.
        id: ServeId,
        /// Whether it is.
        is_ready: bool,
    },
    /// The process of a server has ended.
    ServeEnded {
        /// Which run.
        id: ServeId,
    },
    /// A cluster can be used now, or cannot any more.
    ClusterChanged {
        /// Its name: `default` for Kubernetes, `docker` for Compose.
        cluster: &'static str,
        /// Whether it can.
        is_usable: bool,
    },
    /// It is as late as [`Scheduler::wake_at`](crate::Scheduler::wake_at) said.
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
        /// The newest pod, if there are any.
        pod: Option<PodSummary>,
    },
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
