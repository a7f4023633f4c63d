//! What is known of one resource: its manifest, its updates, its server, and what it waits for.

pub mod workload;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use engine_model::{
    DeployTarget, FilePath, ImageName, KubernetesTarget, LiveUpdateName, LocalTarget, Manifest,
    PodReadiness, TargetId, TriggerMode,
};

use crate::{
    changed::ChangedFiles, hold::Hold, image::ImageBuild, live_update::LiveUpdate,
    objects::CmdPhase, reason::Reason, status::RuntimeStatus, time::Time,
};

mod service;

pub use engine_model::ResourceName;
pub(crate) use service::ContainerRun;
pub use service::{Applied, ApplyError, Service};
pub use workload::Workload;

/// Which update; later ones have higher numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpdateId(pub u64);

impl UpdateId {
    /// The span of its log.
    pub fn span(self) -> String {
        format!("build:{}", self.0)
    }
}

/// Which run of a server; later ones have higher numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServeId(pub u64);

impl ServeId {
    /// The span of its log.
    pub fn span(self) -> String {
        format!("localserve:{}", self.0)
    }

    /// The API object of its command.
    pub fn object(self, resource: &str) -> String {
        format!("{resource}-serve-{}", self.0)
    }
}

/// So many finished updates are remembered.
pub const HISTORY: usize = 2;

/// So many changed files of something that has ended are remembered; nobody needs them but people.
pub const LISTED: usize = 1_000;

/// Whether a resource takes part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EnableState {
    /// Not known yet.
    #[default]
    Pending,
    /// It does.
    Enabled,
    /// It does not.
    Disabled,
    /// Its switch cannot be read; it does, as far as updates go.
    Error,
}

/// How far a pod is, as far as that matters for what is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodPhase {
    /// It does not run yet, or nothing is known of it.
    Pending,
    /// It runs.
    Running,
    /// It has ended well.
    Succeeded,
    /// It has ended badly.
    Failed,
}

/// The newest pod of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodSummary {
    /// How far it is.
    pub phase: PodPhase,
    /// Its state, in a word; may be empty.
    pub status: String,
    /// Since when a container of it is in trouble that keeps it from running.
    pub broken_since: Option<Time>,
}

/// A file that changed, and for which part of the resource that matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// The part.
    pub target: TargetId,
    /// The file.
    pub path: FilePath,
    /// When it changed, or when that was seen if nobody knows better.
    pub at: Time,
    /// The updates that may have made the change, in the order in which they started; none if somebody outside did.
    pub suspects: Arc<[Suspect]>,
}

impl ChangedFile {
    /// How many updates led to the change that nobody outside asked for; none if somebody outside made it.
    pub(crate) fn depth(&self) -> Option<u32> {
        self.suspects.iter().map(|it| it.depth).max()
    }
}

/// A dependency that became ready, which let a resource start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The dependency.
    pub resource: ResourceName,
    /// The update that made it ready.
    pub update: Option<UpdateId>,
}

/// An update that was running when a file changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// Of which resource.
    pub resource: ResourceName,
    /// Which one.
    pub update: UpdateId,
    /// How many updates led to it that nobody outside asked for.
    pub depth: u32,
}

/// The Tiltfile says something else about the resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// Since when.
    pub at: Time,
    /// The files that made the Tiltfile run.
    pub files: Vec<FilePath>,
}

/// An update, running or finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// Which one.
    pub id: UpdateId,
    /// Why.
    pub reason: Reason,
    /// When it started.
    pub started: Time,
    /// The files that changed, those of the Tiltfile first; none any more when it has ended.
    pub files: Vec<FilePath>,
    /// What it consumes; the first [`LISTED`] when it has ended.
    pub changes: Vec<ChangedFile>,
    /// How many more there were.
    pub n_unlisted: usize,
    /// The change of the Tiltfile that it consumes.
    pub config: Option<ConfigChange>,
    /// The dependency whose readiness let it start, if it waited for one.
    pub released_by: Option<Release>,
    /// How many updates led to it that nobody outside asked for.
    pub depth: u32,
    /// How many updates of this resource in a row, with this one, nobody outside asked for.
    pub rounds: u32,
    /// When and how it ended.
    pub end: Option<UpdateEnd>,
    /// It was cancelled and leaves no trace, because the resource was disabled.
    pub is_forgotten: bool,
    /// Whether running containers take the changes.
    pub is_live: bool,
}

impl Update {
    /// It has ended, and is remembered for those who ask.
    pub(crate) fn end(&mut self, end: UpdateEnd) {
        self.end = Some(end);
        self.files = Vec::new();
        self.n_unlisted = self.changes.len().saturating_sub(LISTED);
        self.changes.truncate(LISTED);
        self.changes.shrink_to_fit();
    }
}

/// How an update ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateEnd {
    /// When.
    pub at: Time,
    /// What went wrong, if anything.
    pub error: Option<String>,
}

/// A server, and how it does.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Which run.
    pub id: ServeId,
    /// What it was started from.
    pub(crate) target: Arc<LocalTarget>,
    /// The update it was started after.
    pub(crate) after: Option<UpdateId>,
    /// How far its command is.
    pub phase: CmdPhase,
    /// Whether it has been asked to stop.
    pub is_stopping: bool,
}

impl Server {
    /// Whether its process may still be there.
    pub fn is_alive(&self) -> bool {
        !matches!(self.phase, CmdPhase::Ended { .. })
    }

    /// Whether it runs and is ready; without a probe, to run is to be ready.
    pub fn is_ready(&self) -> bool {
        match self.phase {
            CmdPhase::Running { is_ready, .. } => is_ready || self.target.readiness_probe.is_none(),
            CmdPhase::New | CmdPhase::Starting | CmdPhase::AwaitsClick | CmdPhase::Ended { .. } => {
                false
            }
        }
    }

    /// The name of the API object of its command.
    pub fn object(&self, resource: &str) -> String {
        self.id.object(resource)
    }
}

/// One resource.
#[derive(Clone, Debug, Default)]
pub struct Resource {
    /// Its name.
    pub name: ResourceName,
    /// What the Tiltfile says about it.
    pub manifest: Arc<Manifest>,
    /// Its local side, if it is a local resource; shared with its server.
    pub local: Option<Arc<LocalTarget>>,
    /// The Tiltfile that declared it.
    pub tiltfile: ResourceName,
    /// When it updates.
    pub trigger_mode: TriggerMode,
    /// Whether it takes part.
    pub enable: EnableState,
    /// The update that is running.
    pub current: Option<Update>,
    /// Finished updates, newest first.
    pub history: VecDeque<Update>,
    /// Changes that no update has begun to consume.
    pub pending: ChangedFiles,
    /// The Tiltfile said something else, and no update has begun to consume that.
    pub config_change: Option<ConfigChange>,
    /// Since when an update is to run again that failed because its cluster went away.
    pub cut_off: Option<Time>,
    /// Since when an update is to run again because what stood in its way is gone.
    pub retry: Option<Time>,
    /// Why it is in the trigger queue, if it is.
    pub triggered: Reason,
    /// A trigger that waits for the dependencies, whether or not it ran before.
    pub gated: bool,
    /// What it waited for last before the update that it wants.
    pub(crate) released_by: Option<Release>,
    /// When its last good update ended.
    pub last_success: Option<Time>,
    /// Its last good update; times can be equal, these cannot.
    pub(crate) last_good: Option<UpdateId>,
    /// When it last became ready, or succeeded; dependents start after the first time.
    pub last_ready: Option<Time>,
    /// The latest run of its update command.
    pub update_cmd: CmdPhase,
    /// Its server.
    pub server: Option<Server>,
    /// The process of its latest server.
    pub last_pid: u32,
    /// Its Compose service, from the first time that something is known of it.
    pub service: Option<Service>,
    /// Builds of its images, by image map.
    pub(crate) builds: BTreeMap<ImageName, ImageBuild>,
    /// What executors of clusters and Compose say about it.
    pub observed: Option<RuntimeStatus>,
    /// What is wrong with what it deployed, in its executor's words.
    pub runtime_error: Option<String>,
    /// Its newest pod, if it has any.
    pub pod: Option<PodSummary>,
    /// What it has deployed to a cluster, once an update has begun to.
    pub workload: Option<Workload>,
    /// How its containers take changes while they run, by name.
    pub live_updates: BTreeMap<LiveUpdateName, LiveUpdate>,
    /// What went wrong with a command in a container since its last live update began.
    pub(crate) exec_error: Option<String>,
    /// Its containers could not take a change; nothing but a good build helps.
    pub(crate) is_live_broken: bool,
    /// What it waits for.
    pub hold: Option<Hold>,
    /// Dependencies that were never ready.
    pub(crate) missing_deps: Arc<[ResourceName]>,
    /// Since when it has wanted to update.
    pub(crate) wants_since: Option<Time>,
    /// Whether it is among those that may look different.
    pub(crate) is_shown: bool,
}

impl Resource {
    pub(crate) fn new(manifest: Arc<Manifest>, tiltfile: ResourceName) -> Self {
        Self {
            name: manifest.name.as_str().into(),
            local: local_of(&manifest),
            trigger_mode: manifest.trigger_mode,
            manifest,
            tiltfile,
            ..Self::default()
        }
    }

    /// Whether it runs before anything changed.
    pub fn is_auto_init(&self) -> bool {
        self.trigger_mode.is_auto_init()
    }

    /// Whether changes make it run.
    pub fn is_auto_on_change(&self) -> bool {
        self.trigger_mode.is_auto_on_change()
    }

    /// Whether it runs, or ever ran to an end.
    pub fn has_started_once(&self) -> bool {
        self.current.is_some() || !self.history.is_empty()
    }

    /// What it deploys to a cluster, if it does.
    pub fn kubernetes_target(&self) -> Option<&KubernetesTarget> {
        match &self.manifest.deploy_target {
            DeployTarget::Kubernetes(target) => Some(target),
            DeployTarget::Local(_) | DeployTarget::Compose(_) => None,
        }
    }

    /// Whether it is switched off.
    pub fn is_disabled(&self) -> bool {
        self.enable == EnableState::Disabled
    }

    /// Whether something changed that no finished update has consumed.
    pub fn has_pending_changes(&self) -> bool {
        let current = self.current.as_ref().filter(|it| !it.is_forgotten);
        self.is_waiting() || current.is_some_and(|it| !it.changes.is_empty() || it.config.is_some())
    }

    /// Since when something has been waiting for an update.
    pub fn pending_since(&self) -> Option<Time> {
        let consumed = self.current.iter().filter(|it| !it.is_forgotten);
        let of_current = consumed.flat_map(|it| {
            it.changes.iter().map(|it| it.at).chain(it.config.as_ref().map(|it| it.at))
        });
        self.waiting_times().chain(of_current).min()
    }

    fn waiting_times(&self) -> impl Iterator<Item = Time> {
        let of_config = self.config_change.as_ref().map(|it| it.at);
        self.pending.iter().map(|it| it.at).chain(of_config).chain(self.cut_off).chain(self.retry)
    }

    /// Whether something waits that no update has begun to consume.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
            || self.config_change.is_some()
            || self.cut_off.is_some()
            || self.retry.is_some()
    }

    /// Since when something has been waiting that no update has begun to consume.
    pub(crate) fn waiting_since(&self) -> Option<Time> {
        self.waiting_times().min()
    }

    /// Why the next update would run; empty if there is no reason.
    pub fn next_reason(&self) -> Reason {
        let mut reason = self.triggered;
        if !self.pending.is_empty() {
            reason = reason.with(Reason::FILES);
        }
        if self.config_change.is_some() {
            reason = reason.with(Reason::CONFIG);
        }
        if self.cut_off.is_some() {
            reason = reason.with(Reason::OUTAGE);
        }
        if self.retry.is_some() {
            reason = reason.with(Reason::RETRY);
        }
        if !self.has_started_once() && self.is_auto_init() {
            reason = reason.with(Reason::INITIAL);
        }
        reason
    }

    /// Whether nothing else may update beside it.
    pub fn is_exclusive(&self) -> bool {
        self.local.as_ref().is_some_and(|it| it.update_cmd_spec.is_some() && !it.allow_parallel)
    }

    /// Whether it only has a server.
    pub fn is_serve_only(&self) -> bool {
        self.local.as_ref().is_some_and(|it| it.update_cmd_spec.is_none())
    }

    /// Whether it has a server.
    pub fn has_server(&self) -> bool {
        self.local.as_ref().is_some_and(|it| !it.serve_cmd.is_empty())
    }

    /// Whether dependents may start after a good update, whatever becomes of what it started.
    pub(crate) fn is_ready_once_updated(&self) -> bool {
        match &self.manifest.deploy_target {
            DeployTarget::Local(target) => target.readiness_probe.is_none(),
            DeployTarget::Kubernetes(target) => target.pod_readiness == PodReadiness::Ignore,
            DeployTarget::Compose(_) => false,
        }
    }

    /// The local paths of the sync steps of its live updates.
    pub fn sync_roots(&self) -> BTreeSet<FilePath> {
        self.live_updates.values().flat_map(LiveUpdate::sync_roots).cloned().collect()
    }

    /// What it waits for at first.
    pub fn dependencies(&self) -> impl Iterator<Item = &str> {
        self.manifest.resource_dependencies.iter().flatten().map(String::as_str)
    }
}

/// The local side of a manifest.
pub(crate) fn local_of(manifest: &Manifest) -> Option<Arc<LocalTarget>> {
    match &manifest.deploy_target {
        DeployTarget::Local(target) => Some(Arc::new(target.as_ref().clone())),
        DeployTarget::Kubernetes(_) | DeployTarget::Compose(_) => None,
    }
}
