//! What is known of one resource: its manifest, its updates, its server, and what it waits for.

use std::{collections::VecDeque, sync::Arc};

use engine_model::{DeployTarget, LocalTarget, Manifest, PodReadiness, TriggerMode};

use crate::{hold::Hold, reason::Reason, status::RuntimeStatus, time::Time};

/// A resource's name.
pub type ResourceName = Arc<str>;

/// Which update; later ones have higher numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpdateId(pub u64);

/// Which run of a server; later ones have higher numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServeId(pub u64);

/// So many finished updates are remembered.
pub const HISTORY: usize = 2;

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
    /// The part, such as `local:web`.
    pub target: Arc<str>,
    /// The file.
    pub path: Arc<str>,
    /// When the change was seen.
    pub at: Time,
    /// The update that may have made the change itself.
    pub suspect: Option<Suspect>,
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
    pub files: Vec<Arc<str>>,
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
    /// The files that changed, those of the Tiltfile first.
    pub files: Vec<Arc<str>>,
    /// What it consumes.
    pub changes: Vec<ChangedFile>,
    /// The change of the Tiltfile that it consumes.
    pub config: Option<ConfigChange>,
    /// The dependency whose readiness let it start, if it waited for one.
    pub released_by: Option<ResourceName>,
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
    /// How far it is.
    pub phase: ServerPhase,
    /// Whether it has been asked to stop.
    pub is_stopping: bool,
}

/// How far a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerPhase {
    /// It is being started.
    Starting,
    /// It runs.
    Running {
        /// Its process.
        pid: u32,
        /// Since when.
        since: Time,
        /// Whether it says that it is ready.
        is_ready: bool,
    },
    /// It has ended.
    Ended {
        /// Its process; 0 if it never ran.
        pid: u32,
        /// When it started.
        since: Time,
        /// When it ended.
        at: Time,
    },
}

impl Server {
    /// Whether its process may still be there.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        !matches!(self.phase, ServerPhase::Ended { .. })
    }
}

/// One resource.
#[derive(Clone, Debug)]
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
    pub pending: Vec<ChangedFile>,
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
    /// When its last good update ended.
    pub last_success: Option<Time>,
    /// Its last good update; times can be equal, these cannot.
    pub(crate) last_good: Option<UpdateId>,
    /// When it last became ready, or succeeded; dependents start after the first time.
    pub last_ready: Option<Time>,
    /// Its server.
    pub server: Option<Server>,
    /// The process of its latest server.
    pub last_pid: u32,
    /// What executors of clusters and Compose say about it.
    pub observed: Option<RuntimeStatus>,
    /// What is wrong with what it deployed, in its executor's words.
    pub runtime_error: Option<String>,
    /// Its newest pod, if it has any.
    pub pod: Option<PodSummary>,
    /// Parts whose changes its containers can take while they run.
    pub(crate) live_targets: Arc<[Arc<str>]>,
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
        let live_targets = live_targets(&manifest);
        Self {
            name: manifest.name.as_str().into(),
            local: local_of(&manifest),
            trigger_mode: manifest.trigger_mode,
            manifest,
            tiltfile,
            enable: EnableState::Pending,
            current: None,
            history: VecDeque::new(),
            pending: Vec::new(),
            config_change: None,
            cut_off: None,
            retry: None,
            triggered: Reason::default(),
            gated: false,
            last_success: None,
            last_good: None,
            last_ready: None,
            server: None,
            last_pid: 0,
            observed: None,
            runtime_error: None,
            pod: None,
            live_targets,
            is_live_broken: false,
            hold: None,
            missing_deps: Arc::default(),
            wants_since: None,
            is_shown: false,
        }
    }

    /// Whether it runs before anything changed.
    #[must_use]
    pub fn is_auto_init(&self) -> bool {
        self.trigger_mode.is_auto_init()
    }

    /// Whether changes make it run.
    #[must_use]
    pub fn is_auto_on_change(&self) -> bool {
        self.trigger_mode.is_auto_on_change()
    }

    /// Whether it runs, or ever ran to an end.
    #[must_use]
    pub fn has_started_once(&self) -> bool {
        self.current.is_some() || !self.history.is_empty()
    }

    /// Whether it is switched off.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        self.enable == EnableState::Disabled
    }

    /// Whether something changed that no finished update has consumed.
    #[must_use]
    pub fn has_pending_changes(&self) -> bool {
        self.pending_since().is_some()
    }

    /// Since when something has been waiting for an update.
    #[must_use]
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

    /// Since when something has been waiting that no update has begun to consume.
    pub(crate) fn waiting_since(&self) -> Option<Time> {
        self.waiting_times().min()
    }

    /// Why the next update would run; empty if there is no reason.
    #[must_use]
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
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.local.as_ref().is_some_and(|it| it.update_cmd_spec.is_some() && !it.allow_parallel)
    }

    /// Whether it only has a server.
    #[must_use]
    pub fn is_serve_only(&self) -> bool {
        self.local.as_ref().is_some_and(|it| it.update_cmd_spec.is_none())
    }

    /// Whether it has a server.
    #[must_use]
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

/// The images with a live update, and those that they are built from.
pub(crate) fn live_targets(manifest: &Manifest) -> Arc<[Arc<str>]> {
    let images = manifest.image_targets.as_deref().unwrap_or_default();
    let live = images.iter().filter(|it| it.live_update_reconciler);
    live.flat_map(|it| it.with_bases(images)).map(|it| Arc::from(it.id())).collect()
}
