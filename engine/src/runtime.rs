//! The loop: the only writer of the engine's state, and the only module that knows both scheduler and executors.
//!
//! Everything that happens becomes an [`engine_core::Event`]; what the scheduler answers is carried out here
//! or handed to an executor. What people see is written to the object store after each turn.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use engine_api::{Change, Lagged, Store};
use engine_core::{
    Action, Effects, Event, LineKind, LogLine, World, hold::Hold, reason::Reason as BuildReason,
    resource::ResourceName, session::Verdict, tiltfile,
};
use engine_model::{FilePath, Kind, ObjectId, names};
use engine_view::{
    dump,
    explain::explain,
    graph::graph,
    reason::{Reason, reason},
};
use tokio::sync::mpsc;

use crate::{
    clock,
    drivers::{self, Drivers, Message},
    logs::{Fields, Level, LogStore},
    usage::Usage,
    watch::{Batch, Batches},
};

pub(crate) use crate::clock::now;

pub mod handle;
mod load;
mod objects;
mod publish;
pub mod reasons;
mod requests;
mod settings;
#[cfg(test)]
mod tests;
mod watchdog;

pub use engine_core::TriggerRefused;
pub use handle::{Handle, Request};
pub use reasons::{ReasonTable, Reasons, UnseenReasons};
pub use settings::{Mode, Settings};

use load::Declared;
use publish::Publisher;

/// How the engine ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Somebody asked it to.
    Stopped,
    /// `ci` found everything well.
    Success,
    /// `ci` found something wrong, or the engine cannot go on.
    Failure(String),
    /// A part of the engine that it cannot do without has gone: which.
    Broken(&'static str),
}

/// The engine while it runs.
pub struct Runtime {
    world: World,
    store: Store,
    drivers: Drivers,
    publisher: Publisher,
    tiltfiles: HashMap<ResourceName, Declared>,
    usage: Usage,
    /// A part that is gone and that nothing works without.
    broken: Option<&'static str>,
    events: VecDeque<Event>,
    is_stepping: bool,
    reasons: Reasons,
    watchdog: watchdog::Watchdog,
}

impl Runtime {
    /// An engine that has not started anything yet, and where its work reports.
    pub fn new(
        settings: Settings,
        store: Store,
        logs: LogStore,
        reasons: Reasons,
    ) -> (Self, Inbox) {
        let world = engine_core::Settings {
            has_live_updates: settings.mode != Mode::Ci,
            ci_started: (settings.mode == Mode::Ci).then_some(settings.started),
            retries_updates: settings.mode != Mode::Ci,
            started: settings.started,
            cwd: FilePath::from(std::env::current_dir().unwrap_or_default().as_path()),
        };
        let publisher =
            Publisher::new(store.clone(), logs.clone(), settings.mode, settings.started);
        let (drivers, inbox) = Drivers::new(settings, logs);
        let runtime = Self {
            world: World::new(world),
            store,
            drivers,
            publisher,
            tiltfiles: HashMap::new(),
            usage: Usage::of_environment(),
            broken: None,
            events: VecDeque::new(),
            is_stepping: false,
            reasons,
            watchdog: watchdog::Watchdog::default(),
        };
        (runtime, Inbox { messages: inbox })
    }

    /// Runs until `stop` resolves or `ci` is done.
    pub async fn run(
        &mut self,
        inbox: Inbox,
        requests: mpsc::UnboundedReceiver<Request>,
        stop: impl Future<Output = ()>,
    ) -> Exit {
        self.watchdog = self.start_watchdog();
        let batches = self.drivers.start_watching();
        self.take_events(inbox, batches, requests, stop).await
    }

    async fn take_events(
        &mut self,
        mut inbox: Inbox,
        mut batches: Batches,
        mut requests: mpsc::UnboundedReceiver<Request>,
        stop: impl Future<Output = ()>,
    ) -> Exit {
        let mut changes = self.store.client_changes();
        self.start();
        tokio::pin!(stop);
        loop {
            let deadline = match self.publish() {
                Ok(deadline) => deadline,
                Err(exit) => return exit,
            };
            self.watchdog.rest();
            tokio::select! {
                () = &mut stop => return Exit::Stopped,
                Some(message) = inbox.messages.recv() => self.take_message(message),
                batch = next_batch(&mut batches, self.drivers.watcher.is_some()) => match batch {
                    Some(batch) => self.step(drivers::batch_event(&self.world, batch)),
                    None => self.broken = Some("the watcher of files"),
                },
                Some(request) = requests.recv() => self.answer(request),
                changed = changes.next() => self.take_changes(changed),
                () = sleep_until(deadline) => {}
            }
            self.take_what_waits(&mut inbox, &mut batches, &mut requests);
            if let Some(part) = self.broken {
                return Exit::Broken(part);
            }
        }
    }

    /// Everything that has arrived is taken in before anything is shown.
    fn take_what_waits(
        &mut self,
        inbox: &mut Inbox,
        batches: &mut Batches,
        requests: &mut mpsc::UnboundedReceiver<Request>,
    ) {
        // A limit lets others see what happens even if it never stops.
        for _ in 0..64 {
            if let Ok(message) = inbox.messages.try_recv() {
                self.take_message(message);
            } else if let Some(batch) = batches.try_recv() {
                self.step(drivers::batch_event(&self.world, batch));
            } else if let Ok(request) = requests.try_recv() {
                self.answer(request);
            } else {
                break;
            }
        }
    }

    /// Stops everything that runs: Tiltfiles at once, commands gracefully for a while, then by force.
    pub async fn shut_down(&self, grace: Duration) -> bool {
        self.drivers.loads.cancel(|_| true);
        let (is_clean, ()) =
            tokio::join!(self.drivers.commands.stop_all(grace), self.usage.flush());
        is_clean
    }

    /// The settings it was started with.
    pub fn settings(&self) -> &Settings {
        &self.drivers.settings
    }

    fn start_watchdog(&self) -> watchdog::Watchdog {
        let (log, mut has_logged) = (self.drivers.logs.writer("", ""), false);
        watchdog::Watchdog::start(watchdog::LIMIT, move |step, took| {
            tracing::warn!(step, ?took, "the loop is busy");
            if !std::mem::replace(&mut has_logged, true) {
                let millis = took.as_millis();
                log.debug(&format!("The engine's loop has been busy for {millis} ms with: {step}"));
            }
        })
    }

    fn start(&mut self) {
        self.usage.count(&format!("cmd.{}", self.drivers.settings.mode.subcommand()));
        self.declare_session();
        let name: ResourceName = tiltfile::MAIN.into();
        self.declare_tiltfile(&name);
        self.report_objects(
            [
                ObjectId::new(Kind::UiButton, names::stop_button(&name)),
                ObjectId::new(Kind::Tiltfile, &*name),
            ],
            false,
        );
    }

    fn take_message(&mut self, message: Message) {
        self.watchdog.begin(message.kind());
        match message {
            Message::Loaded(loaded) => self.on_load(*loaded),
            Message::Planned(evaluation, reply) => {
                let _ = reply.send(requests::plan(&self.world, &self.drivers, evaluation));
            }
            Message::Ended(id, last) => {
                self.drivers.tasks.ended(id);
                self.take_message(*last);
            }
            message => {
                self.drivers.on_message(&self.world, message);
                self.step_drivers();
            }
        }
    }

    /// Takes in what drivers found out at once.
    fn step_drivers(&mut self) {
        for event in self.drivers.take_events() {
            self.step(event);
        }
    }

    fn answer(&mut self, request: Request) {
        self.watchdog.begin("request");
        let scrub = |drivers: &Drivers, it| drivers.logs.scrubber().scrub_value(it);
        // Whoever asked may have gone; then nobody needs the answer.
        match request {
            Request::Trigger { resource, reason, with_deps, reply } => {
                let triggered = self.world.to_trigger(&resource, with_deps);
                if triggered.is_ok() {
                    let (resource, reason) = (resource.into(), BuildReason(reason).triggers());
                    self.step(Event::Triggered { resource, reason, with_deps });
                }
                let _ = reply.send(triggered);
            }
            Request::SetArgs { args } => self.set_args(&args),
            Request::OverrideTriggerMode { resources, mode, reply } => {
                let mode = requests::trigger_mode(&self.world, &resources, mode);
                if let Ok(mode) = mode {
                    for name in resources {
                        self.step(Event::TriggerModeSet { resource: name.into(), mode });
                    }
                }
                let _ = reply.send(mode.map(|_| ()));
            }
            Request::Dump { reply } => {
                let dump = dump::engine(&self.world, &self.drivers.settings.info());
                let _ = reply.send(scrub(&self.drivers, dump));
            }
            Request::Tasks { reply } => drop(reply.send(requests::tasks(&self.drivers))),
            Request::Explain { resource, reply } => {
                let answer = explain(&self.world, &resource);
                let answer = answer.map(|it| scrub(&self.drivers, it));
                let reason = self.reasons.table().find(&resource);
                let _ = reply.send(answer.map(|mut it| {
                    it["reason"] = serde_json::json!(reason);
                    it
                }));
            }
            Request::Plan { reply } => self.drivers.start_plan(&self.world, reply),
            Request::Graph { reply } => drop(reply.send(graph(&self.world, clock::now()))),
        }
    }

    fn take_changes(&mut self, changed: Result<Vec<Change>, Lagged>) {
        self.watchdog.begin("objects changed");
        match changed {
            Ok(changes) => self.objects_changed(&changes),
            // Too much happened at once: look at everything that clients may change.
            Err(Lagged) => self.report_all_objects(),
        }
    }

    /// Tells the scheduler what happened, and does what it answers.
    ///
    /// What that leads to at once waits its turn, so that a thousand things that take no time do not nest.
    fn step(&mut self, event: Event) {
        self.events.push_back(event);
        if std::mem::replace(&mut self.is_stepping, true) {
            return;
        }
        while let Some(event) = self.events.pop_front() {
            let _step =
                tracing::debug_span!("step", event = crate::tracing_log::variant(&event)).entered();
            let Effects { actions, changed, lines } = self.world.step(clock::now(), event);
            self.write(lines);
            for id in changed {
                // Resources are many and change often, so they are published later, together.
                match id.kind {
                    Kind::UiResource => self.publisher.mark(id.name.as_str().into()),
                    Kind::Cluster => self.publish_cluster(&id),
                    _ => self.publish_object(&id),
                }
            }
            for action in actions {
                self.act(action);
            }
        }
        self.is_stepping = false;
    }

    /// Publishes a cluster, and what waits for it: why it does may have changed.
    fn publish_cluster(&mut self, id: &ObjectId) {
        self.publish_object(id);
        for resource in self.world.resources() {
            if matches!(resource.hold, Some(Hold::WaitingForCluster(_))) {
                self.publisher.mark(resource.name.clone());
            }
        }
    }

    /// Writes what a step says to the log.
    fn write(&self, lines: Vec<LogLine>) {
        for LogLine { resource, span, kind, text } in lines {
            let log = self.drivers.logs.writer(&resource, &span);
            match kind {
                LineKind::BuildEvent => log.build_event(&text),
                LineKind::Debug => log.debug(&text),
                LineKind::Info => log.info(&text),
                LineKind::Warn => log.warn(&text),
                LineKind::Error => log.error(&text),
                LineKind::Progress(step) => {
                    let fields = Fields { progress_id: Some(step.into()), ..Fields::default() };
                    log.with_fields(fields).write(Level::Info, &format!("{text}\n"));
                }
            }
        }
    }

    /// Carries out an action; what becomes known at once waits its turn.
    fn act(&mut self, action: Action) {
        match action {
            Action::StartLoad(load) => {
                let Some(declared) = self.tiltfiles.get(&load.tiltfile) else { return };
                self.drivers.start_load(&self.world, &declared.path, load);
            }
            Action::StartServe { id, resource } => self.start_serve(id, &resource),
            Action::StopServe { id, resource, is_disabled } => {
                self.stop_serve(id, &resource, is_disabled);
            }
            Action::Removed { resource } => {
                self.drivers.commands.clear(&resource);
                self.publisher.forget(&resource);
                self.reasons.publish([(resource.to_string(), None)]);
            }
            Action::Object(action) => self.act_for_object(action),
            action => self.drivers.act(&self.world, action),
        }
        self.step_drivers();
    }

    /// Publishes what changed; says when to look again, or that it is over.
    fn publish(&mut self) -> Result<Option<Instant>, Exit> {
        self.watchdog.begin("publish");
        let (now, mut wake) = (clock::now(), None);
        match self.world.wake_at() {
            Some(at) if at <= now => self.step(Event::TimePassed),
            Some(at) => wake = Some(clock::instant_of(at, now)),
            None => {}
        }
        match self.publisher.due() {
            Some(due) if due > Instant::now() => wake = earlier(wake, Some(due)),
            Some(_) => self.publish_resources(),
            None => {}
        }
        match self.publisher.session_due(self.world.resources().len()) {
            Some(due) if due > Instant::now() => wake = earlier(wake, Some(due)),
            Some(_) => self.publish_session(None),
            None => {}
        }
        if let Some((tiltfile, _)) = self.world.name_clash() {
            let name = &tiltfile.name;
            let error = format!("Extension \"{name}\" has the same name as a local resource");
            return Err(self.end(Exit::Failure(error)));
        }
        if self.drivers.settings.mode == Mode::Ci {
            wake = earlier(wake, self.judge_if_due()?);
        }
        Ok(wake)
    }

    fn publish_resources(&mut self) {
        let now = clock::now();
        let dirty = self.publisher.take_dirty();
        // Who sees an object asks for its reason next, so reasons come first.
        let (scrubber, program) = (self.drivers.logs.scrubber(), engine_cli::program());
        let present = |it: Reason| it.presented(program, |it| scrubber.scrub(it).into_owned());
        let reasons = dirty.iter().map(|it| (it.to_string(), reason(&self.world, it).map(present)));
        self.reasons.publish(reasons);
        for name in &dirty {
            self.publisher.publish_resource(&self.world, name, now);
        }
        self.publisher.publish_queue(&self.world);
    }

    fn publish_session(&mut self, verdict: Option<&str>) {
        let (started, now) = (self.drivers.settings.started, clock::now());
        self.publisher.publish_session(&self.world, started, verdict, now);
    }

    /// Whether `ci` is done; else when that must be asked again.
    fn judge_if_due(&mut self) -> Result<Option<Instant>, Exit> {
        let now = clock::now();
        if let Some(at) = self.world.judge_at(now) {
            return Ok(Some(clock::instant_of(at, now)));
        }
        match self.world.judge(now) {
            Verdict::Undecided(deadline) => Ok(deadline.map(|it| clock::instant_of(it, now))),
            Verdict::Success => Err(self.end(Exit::Success)),
            Verdict::Failure(error) => Err(self.end(Exit::Failure(error))),
        }
    }

    fn end(&mut self, exit: Exit) -> Exit {
        self.publish_resources();
        let error = if let Exit::Failure(error) = &exit { error.as_str() } else { "" };
        self.publish_session(Some(error));
        exit
    }
}

fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    [a, b].into_iter().flatten().min()
}

/// Where the work of a [`Runtime`] reports.
#[derive(Debug)]
pub struct Inbox {
    messages: mpsc::UnboundedReceiver<Message>,
}

/// What the watcher says; nothing when it is gone, which without one is never seen.
async fn next_batch(batches: &mut Batches, has_watcher: bool) -> Option<Batch> {
    match batches.recv().await {
        None if !has_watcher => std::future::pending().await,
        batch => batch,
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
