//! The loop: the only writer of the engine's state, and the only module that knows both scheduler and executors.
//!
//! Everything that happens becomes an [`engine_core::Event`]; what the scheduler answers is carried out here
//! or handed to an executor. What people see is written to the object store after each turn.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    time::{Duration, Instant},
};

use builtins::Evaluation;
use engine_core::{
    Action, Event, Scheduler, Time,
    resource::{Resource, ResourceName, UpdateId},
    session::{self, Verdict},
    tiltfile,
};
use engine_model::DeployTarget;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    api::{Change, Lagged, Store},
    audit::Audit,
    logs::LogStore,
    prompt,
    usage::Usage,
    watch::{Batch, Watcher},
};

pub(crate) use clock::now;

mod buttons;
mod clock;
mod cmds;
mod commands;
mod declare;
mod deploy;
mod disable;
mod docker;
mod dump;
mod explain;
mod extensions;
mod forwards;
pub mod handle;
mod kubernetes;
mod live;
mod live_containers;
mod load;
mod names;
mod planning;
mod pod_logs;
mod pods;
mod present;
mod prune;
mod requests;
mod retries;
mod rollout;
mod services;
mod settings;
mod specs;
mod tiltfiles;
mod ui_session;
mod watches;
mod workloads;

pub use handle::{Handle, Request, TriggerRefused};
pub use settings::{Mode, Settings};

use commands::{CommandKey, Commands};
use declare::Declared;
use load::LoadedTiltfile;

/// With more changes than this to show, they are shown at most every [`SHOW_EVERY`].
const SHOW_AT_ONCE: usize = 64;
const SHOW_EVERY: Duration = Duration::from_millis(100);

/// `ci` looks at all resources at most this often, for each of them.
const JUDGE_PER_TARGET: Duration = Duration::from_micros(20);

/// Something that reached the loop from work it started.
#[derive(Debug)]
enum Message {
    /// A Tiltfile has been evaluated.
    Loaded(Box<LoadedTiltfile>),
    /// The main Tiltfile has been evaluated to see what it would change.
    Planned(Box<Evaluation>, oneshot::Sender<Value>),
    /// Files of a target changed some time ago.
    Changed(String, Vec<std::path::PathBuf>, Time),
    /// A repository of extensions was fetched, or not.
    Fetched(String, Result<String, String>),
    /// A command did something.
    Command(CommandKey, crate::exec::command::Event),
    /// Something became known of Docker.
    Docker(docker::Seen),
    /// Something became known of a Kubernetes cluster, through which connection.
    Kubernetes(u64, kubernetes::Seen),
    /// An update that builds and deploys goes on.
    Deploy(UpdateId, ResourceName, Box<deploy::Progress>),
    /// Containers took changes, or not.
    Live(ResourceName, Box<live::Progress>),
}

/// How the engine ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Somebody asked it to.
    Stopped,
    /// `ci` found everything well.
    Success,
    /// `ci` found something wrong, or the engine cannot go on.
    Failure(String),
}

/// The engine while it runs.
pub struct Runtime {
    settings: Settings,
    scheduler: Scheduler,
    store: Store,
    logs: LogStore,
    watcher: Option<Watcher>,
    /// Work reports here; it is bounded by the number of commands and Tiltfiles that run.
    messages: mpsc::UnboundedSender<Message>,
    commands: Commands,
    tiltfiles: HashMap<ResourceName, Declared>,
    environment: load::Environment,
    watched: watches::Watched,
    shown: present::Shown,
    /// What has changed and was not shown yet.
    dirty: BTreeSet<ResourceName>,
    last_show: Instant,
    /// The last click of each button that was acted on.
    clicks: HashMap<String, u64>,
    /// The kubeconfig that commands get, with only the context in use.
    kubeconfig: Option<String>,
    cmds: cmds::Cmds,
    /// The Docker engine, once something needs it.
    docker: Option<docker::Engine>,
    services: services::Services,
    kubernetes: kubernetes::Kubernetes,
    audit: Audit,
    usage: Usage,
    deploys: deploy::Deploys,
    live: live::LiveUpdates,
    pruning: prune::Pruning,
    ui_session: ui_session::UiSession,
    /// Whether something has changed since `ci` was judged, when that was, and when it must be again.
    has_changed: bool,
    last_judged: Option<Instant>,
    judge_at: Option<Instant>,
    /// Whether `ci` ends with a failure; nothing else happens then.
    has_failed: bool,
    events: VecDeque<Event>,
    is_stepping: bool,
    counts: watch::Sender<prompt::Status>,
}

impl Runtime {
    /// An engine that has not started anything yet, and where its work reports.
    #[must_use]
    pub fn new(settings: Settings, store: Store, logs: LogStore) -> (Self, Inbox) {
        let (messages, inbox) = mpsc::unbounded_channel();
        let audit = Audit::new(crate::audit::path()).scrubbed(logs.clone());
        let runtime = Self {
            environment: load::Environment::of_process(),
            settings,
            scheduler: Scheduler::default(),
            store,
            logs,
            watcher: None,
            messages,
            commands: Commands::default(),
            tiltfiles: HashMap::new(),
            watched: watches::Watched::default(),
            shown: present::Shown::default(),
            dirty: BTreeSet::new(),
            last_show: Instant::now(),
            clicks: HashMap::new(),
            kubeconfig: None,
            cmds: cmds::Cmds::default(),
            docker: None,
            services: services::Services::default(),
            kubernetes: kubernetes::Kubernetes::default(),
            audit,
            usage: Usage::of_environment(),
            deploys: deploy::Deploys::default(),
            live: live::LiveUpdates::default(),
            pruning: prune::Pruning::default(),
            ui_session: ui_session::UiSession::default(),
            has_changed: true,
            last_judged: None,
            judge_at: None,
            has_failed: false,
            events: VecDeque::new(),
            is_stepping: false,
            counts: watch::Sender::default(),
        };
        (runtime, Inbox { messages: inbox })
    }

    /// Runs until `stop` resolves or `ci` is done.
    pub async fn run(
        mut self,
        mut inbox: Inbox,
        mut requests: mpsc::UnboundedReceiver<Request>,
        stop: impl Future<Output = ()>,
    ) -> (Exit, Self) {
        let mut changes = self.store.client_changes();
        let mut batches = self.start_watching();
        self.start();
        tokio::pin!(stop);
        let exit = loop {
            let deadline = match self.show() {
                Ok(deadline) => deadline,
                Err(exit) => break exit,
            };
            tokio::select! {
                () = &mut stop => break Exit::Stopped,
                Some(message) = inbox.messages.recv() => self.take_message(message),
                Some(batch) = batches.recv() => self.take_batch(batch),
                Some(request) = requests.recv() => self.answer(request),
                changed = changes.next() => self.take_changes(changed),
                () = sleep_until(deadline) => {}
            }
            self.take_what_waits(&mut inbox, &mut batches, &mut requests);
            self.prune_if_due();
        };
        (exit, self)
    }

    /// Everything that has arrived is taken in before anything is shown.
    fn take_what_waits(
        &mut self,
        inbox: &mut Inbox,
        batches: &mut mpsc::Receiver<Batch>,
        requests: &mut mpsc::UnboundedReceiver<Request>,
    ) {
        // A limit lets others see what happens even if it never stops.
        for _ in 0..64 {
            if let Ok(message) = inbox.messages.try_recv() {
                self.take_message(message);
            } else if let Ok(batch) = batches.try_recv() {
                self.take_batch(batch);
            } else if let Ok(request) = requests.try_recv() {
                self.answer(request);
            } else {
                break;
            }
        }
    }

    /// Stops everything that runs: Tiltfiles at once, commands gracefully for a while, then by force.
    pub async fn shut_down(&self, grace: Duration) -> bool {
        self.cancel_loads(|_| true);
        let (is_clean, ()) = tokio::join!(self.commands.stop_all(grace), self.usage.flush());
        is_clean
    }

    /// How many resources do well, as it changes.
    #[must_use]
    pub fn counts(&self) -> watch::Receiver<prompt::Status> {
        self.counts.subscribe()
    }

    /// The settings it was started with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    fn start(&mut self) {
        self.usage.count(&format!("cmd.{}", self.settings.mode.subcommand()));
        self.declare_session();
        let name: ResourceName = tiltfile::MAIN.into();
        self.declare_tiltfile(&name);
        self.step(Event::TiltfileAdded { name, args: self.settings.args.clone() });
    }

    fn take_message(&mut self, message: Message) {
        match message {
            Message::Loaded(loaded) => self.take_load(*loaded),
            Message::Planned(evaluation, reply) => drop(reply.send(self.plan(&evaluation))),
            Message::Changed(target, files, at) => self.files_changed(&target, &files, at),
            Message::Fetched(repo, found) => self.take_repo(&repo, found),
            Message::Command(key, event) => self.take_command_event(&key, event),
            Message::Docker(seen) => self.take_docker(seen),
            Message::Kubernetes(id, seen) => self.take_kubernetes(id, seen),
            Message::Deploy(id, resource, progress) => self.take_progress(id, &resource, *progress),
            Message::Live(resource, progress) => self.take_live(&resource, *progress),
        }
    }

    fn take_changes(&mut self, changed: Result<Vec<Change>, Lagged>) {
        match changed {
            Ok(changes) => {
                for change in changes {
                    self.object_changed(&change);
                }
            }
            // Too much happened at once: look at everything that clients may change.
            Err(Lagged) => self.look_at_all_objects(),
        }
    }

    /// Tells the scheduler what happened, and does what it answers.
    ///
    /// What that leads to at once waits its turn, so that a thousand things that take no time do not nest.
    fn step(&mut self, event: Event) {
        if self.has_failed {
            return;
        }
        self.events.push_back(event);
        if std::mem::replace(&mut self.is_stepping, true) {
            return;
        }
        while let Some(event) = self.events.pop_front() {
            let may_end_ci = self.settings.mode == Mode::Ci
                && matches!(
                    event,
                    Event::UpdateEnded { error: Some(_), .. } | Event::ServeEnded { .. }
                );
            let actions = self.scheduler.step(clock::now(), event);
            if may_end_ci && matches!(self.verdict(clock::now()), Verdict::Failure(_)) {
                self.has_failed = true;
                // It must not wait for its turn to be judged.
                self.last_judged = None;
                self.events.clear();
                break;
            }
            for action in actions {
                self.act(action);
            }
        }
        self.is_stepping = false;
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::StartLoad { id, tiltfile, reason, files, args, resets_switches } => {
                self.start_load(load::Order { id, tiltfile, reason, files, args, resets_switches });
            }
            Action::CancelLoad { id } => self.cancel_loads(|it| it == id),
            Action::StartUpdate { id, resource, reason, files, is_full_rebuild, is_live } => {
                if is_live {
                    self.start_live_update(id, &resource, reason, &files);
                } else {
                    self.start_update(id, &resource, reason, &files, is_full_rebuild);
                }
            }
            Action::CancelUpdate { id, resource } => {
                self.commands.stop(&CommandKey::Update(id));
                self.cancel_deploy(id);
                self.cancel_live_update(id, &resource);
            }
            Action::StartServe { id, resource } => self.start_serve(id, &resource),
            Action::StopServe { id, resource, is_disabled } => {
                self.stop_serve(id, &resource, is_disabled);
            }
            Action::Switched { resource, is_enabled } => self.switched(&resource, is_enabled),
            Action::Removed { resource } => {
                self.commands.clear(&resource);
                self.service_left(&resource);
                self.forget_service(&resource);
                self.workload_left(&resource);
                self.shown.forget(&resource);
                self.dirty.remove(&resource);
            }
            Action::DeclaredTwice { resource: _, tiltfile, other } => {
                let log = self.logs.writer(&tiltfile, &names::tiltfile_span(&tiltfile, 0));
                log.error(&format!("Resource defined in two tiltfiles: {tiltfile}, {other}"));
            }
        }
    }

    /// Shows what changed; says when to look again, or that it is over.
    fn show(&mut self) -> Result<Option<Instant>, Exit> {
        let (now, mut wake) = (clock::now(), None);
        match self.scheduler.wake_at() {
            Some(at) if at <= now => self.step(Event::TimePassed),
            Some(at) => wake = Some(clock::instant_of(at, now)),
            None => {}
        }
        let changed = self.scheduler.take_changed();
        self.has_changed |= !changed.is_empty();
        self.dirty.extend(changed);
        if !self.dirty.is_empty() {
            let due = self.last_show + SHOW_EVERY;
            if self.dirty.len() > SHOW_AT_ONCE && Instant::now() < due {
                wake = [wake, Some(due)].into_iter().flatten().min();
            } else {
                self.show_dirty();
            }
        }
        wake = [wake, self.present_session_if_due()].into_iter().flatten().min();
        if let Some((tiltfile, _)) = self.scheduler.name_clash() {
            let name = &tiltfile.name;
            let error = format!("Extension \"{name}\" has the same name as a local resource");
            return Err(self.end(Exit::Failure(error)));
        }
        if self.settings.mode == Mode::Ci {
            self.judge_at = self.judge_if_due()?;
            wake = [wake, self.judge_at].into_iter().flatten().min();
        }
        Ok(wake)
    }

    fn show_dirty(&mut self) {
        self.last_show = Instant::now();
        for name in std::mem::take(&mut self.dirty) {
            self.present(&name);
        }
        self.present_queue();
        self.shown.session_changed();
        let counts = self.count();
        self.counts.send_if_modified(|it| std::mem::replace(it, counts) != counts);
    }

    /// Looks whether `ci` is done when something has changed or time is up, but not all the time: the look
    /// goes over all resources.
    fn judge_if_due(&mut self) -> Result<Option<Instant>, Exit> {
        let now = Instant::now();
        if let Some(due) = self.judge_at.filter(|it| *it > now)
            && !self.has_changed
        {
            return Ok(Some(due));
        }
        let pause = JUDGE_PER_TARGET * u32::try_from(self.scheduler.resources().len()).unwrap_or(1);
        if let Some(due) = self.last_judged.map(|it| it + pause).filter(|it| *it > now) {
            return Ok(Some(due));
        }
        self.has_changed = false;
        self.last_judged = Some(now);
        self.judge()
    }

    /// Whether `ci` is done; else when that must be asked again.
    fn judge(&mut self) -> Result<Option<Instant>, Exit> {
        if let Some(error) = self.undeployable() {
            return Err(self.end(Exit::Failure(error)));
        }
        let now = clock::now();
        match self.verdict(now) {
            Verdict::Undecided(deadline) => Ok(deadline.map(|it| clock::instant_of(it, now))),
            Verdict::Success => Err(self.end(Exit::Success)),
            Verdict::Failure(error) => Err(self.end(Exit::Failure(error))),
        }
    }

    fn verdict(&self, now: Time) -> Verdict {
        let limits = self.ci_limits();
        let targets = session::targets(&self.scheduler, limits.grace_period, now);
        session::verdict(&targets, limits, self.settings.started, now)
    }

    fn end(&mut self, exit: Exit) -> Exit {
        self.show_dirty();
        let error = if let Exit::Failure(error) = &exit { error.as_str() } else { "" };
        self.present_session(Some(error));
        exit
    }

    /// Why `ci` cannot succeed: what is deployed needs a Docker or a cluster that answers.
    fn undeployable(&self) -> Option<String> {
        let is_kubernetes =
            |it: &Resource| matches!(it.manifest.deploy_target, DeployTarget::Kubernetes(_));
        let is_service =
            |it: &Resource| matches!(it.manifest.deploy_target, DeployTarget::Compose(_));
        let mut enabled = self.scheduler.resources().iter().filter(|it| !it.is_disabled());
        if let Some(error) = self.docker_error()
            && enabled.clone().any(is_service)
        {
            return Some(format!("Failed to connect to Docker: {error}"));
        }
        self.cluster_error()?;
        enabled.any(is_kubernetes).then(|| "cluster connection failed".to_owned())
    }
}

/// Where the work of a [`Runtime`] reports.
#[derive(Debug)]
pub struct Inbox {
    messages: mpsc::UnboundedReceiver<Message>,
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("settings", &self.settings).finish_non_exhaustive()
    }
}
