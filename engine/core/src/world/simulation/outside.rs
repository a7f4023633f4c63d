//! The outside of the world: it executes actions and answers later, in any order.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use engine_model::{GoDuration, LiveUpdateName, Manifest, ResourceName, TargetId, TriggerMode};

use super::{N_NAMES, Op, ServerOp, causes::History, model::Model, oracle};
use crate::{
    effect::Effects,
    hold::Hold,
    live_update::{
        Container, ContainerState, Found, ListError, Observed, Outcome, Root, Roots, SyncId,
    },
    objects::CmdEnd,
    reason::Reason,
    resource::{EnableState, Resource, ServeId, UpdateId},
    session,
    status::RuntimeStatus,
    tiltfile::{LoadError, LoadId, MAIN},
    time::Time,
    world::{Action, Event, Loaded, StartLoad, World, fixture},
};

/// A server that ended by itself.
fn failed() -> CmdEnd {
    CmdEnd { exit_code: 1, ..CmdEnd::default() }
}

const NAMES: [&str; N_NAMES] = ["a", "b", "c", "d", "e", "f", "g", "uncategorized"];
const TILTFILES: [&str; 2] = [MAIN, "ext"];
const FILES: [&str; 3] = ["x", "y", "z"];
const FLAGS: [&str; 11] = [
    "parallel",
    "parallel",
    "nocmd",
    "serve",
    "probe",
    "v2",
    "k8s",
    "image",
    "ignore-pods",
    "live",
    "first",
];
/// The bits of a resource whose containers take changes.
const LIVE: u16 = 0b10_1100_0000;
const MODES: [&str; 4] = ["", "manual", "manual-noinit", "noinit"];

/// What a Tiltfile says about one resource.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    flags: u16,
    mode: u8,
    deps: u8,
}

impl Spec {
    pub(super) fn of(bytes: [u8; 4]) -> Self {
        let [kind, flags, mode, deps] = bytes;
        // Most are local.
        let kind = match kind {
            0..170 => 0,
            170..215 => u16::from(kind % 8) << 6,
            _ => LIVE | u16::from(kind % 4 == 0) << 10,
        };
        Self {
            flags: kind | u16::from(flags % 64),
            mode: if mode < 128 { 0 } else { mode % 4 },
            deps: deps & deps.rotate_left(3),
        }
    }

    fn manifest(&self, at: usize) -> Manifest {
        // Only on earlier ones, or there would be cycles.
        let deps = (0..at).filter(|it| self.deps >> it & 1 == 1).map(|it| NAMES[it]);
        let flags = FLAGS.iter().enumerate().filter(|(bit, _)| self.flags >> bit & 1 == 1);
        let flags: Vec<&str> =
            flags.map(|(_, it)| *it).chain([MODES[self.mode as usize]]).collect();
        let deps: Vec<&str> = deps.collect();
        fixture::manifest(&format!("{}:{}/{}", NAMES[at], deps.join(","), flags.join(",")))
    }
}

/// A live update, with its resource.
type LiveUpdateId = (ResourceName, LiveUpdateName);

/// Something that is on its way into containers.
struct Sync {
    resource: ResourceName,
    live_update: LiveUpdateName,
    containers: Vec<Container>,
}

impl Sync {
    fn ended(&self, id: SyncId, outcome: &Outcome) -> Event {
        let ended = self.containers.iter().map(|it| (it.clone(), outcome.clone())).collect();
        let (resource, live_update) = (self.resource.clone(), self.live_update.clone());
        Event::SyncEnded { resource, live_update, id, ended }
    }
}

/// Everything outside the world.
pub(super) struct Outside {
    world: World,
    model: Model,
    history: History,
    now: Time,
    with_oracle: bool,
    /// What is written in the Tiltfiles.
    written: [BTreeMap<usize, Spec>; 2],
    loads: BTreeMap<LoadId, ResourceName>,
    updates: BTreeSet<UpdateId>,
    servers: BTreeMap<ServeId, bool>,
    /// What is on its way into containers.
    syncs: BTreeMap<SyncId, Sync>,
    listings: BTreeSet<LiveUpdateId>,
    ahead: BTreeSet<LiveUpdateId>,
    /// What was seen last of the containers of each resource.
    containers: BTreeMap<ResourceName, Vec<Observed>>,
    pub(super) n_steps: u64,
    /// Holds and actions that occurred.
    pub(super) seen: BTreeSet<&'static str>,
}

impl Outside {
    pub(super) fn new(with_oracle: bool) -> Self {
        let mut world = Self {
            world: fixture::world(),
            model: Model::default(),
            history: History::default(),
            now: Time(1_000_000),
            with_oracle,
            written: Default::default(),
            loads: BTreeMap::new(),
            updates: BTreeSet::new(),
            servers: BTreeMap::new(),
            syncs: BTreeMap::new(),
            listings: BTreeSet::new(),
            ahead: BTreeSet::new(),
            containers: BTreeMap::new(),
            n_steps: 0,
            seen: BTreeSet::new(),
        };
        world.step(Event::TiltfileAdded { name: MAIN.into(), args: Vec::new() });
        world
    }

    pub(super) fn run(&mut self, op: &Op) {
        match op {
            Op::Clock(millis) => {
                self.now = self.now.plus_millis(i64::from(*millis));
                if self.world.wake_at().is_some_and(|it| it <= self.now) {
                    self.step(Event::TimePassed);
                }
            }
            Op::Rewrite { tiltfile, resource, spec } => {
                let written = &mut self.written[usize::from(tiltfile.is_multiple_of(8))];
                let at = usize::from(*resource) % N_NAMES;
                match spec {
                    Some(spec) => written.insert(at, spec.clone()),
                    None => written.remove(&at),
                };
            }
            Op::Loop { resource, rounds } => {
                for _ in 0..*rounds {
                    self.run(&Op::Change { resource: *resource, file: 0, age: 0 });
                    let it = self.world.resource(&name(*resource));
                    let Some(update) = it.and_then(|it| it.current.as_ref()) else { return };
                    self.step(Event::UpdateEnded { id: update.id, error: None });
                }
            }
            _ => {
                if let Some(event) = self.event(op) {
                    self.step(event);
                }
            }
        }
    }

    fn ago(&self, age: u8) -> Time {
        self.now.plus_millis(-i64::from(age))
    }

    fn change(&self, resource: ResourceName, number: u8, age: u8) -> Event {
        let is_live = self.live_update_of(&resource).is_some();
        let (target, file) = match (number, age) {
            (0, _) if is_live => (fixture::shared_target(), "/src/x"),
            (1, 0..16) if is_live => (fixture::shared_target(), "/src/y"),
            (1, _) if is_live => (fixture::shared_target(), "/else"),
            _ => (TargetId::Local(resource.clone()), FILES[usize::from(number)]),
        };
        let (at, roots) = (self.ago(age), roots());
        let found = match age % 8 {
            0 => {
                let earlier = 20 * i64::from(number);
                Found::Present { changed: Some(at.plus_millis(-earlier)) }
            }
            1 => Found::PRESENT,
            _ => Found::Absent,
        };
        let files = vec![(file.into(), found)];
        Event::FilesChanged { resource, target, files, at, roots }
    }

    fn event(&self, op: &Op) -> Option<Event> {
        let tiltfile = |it: u8| ResourceName::from(TILTFILES[usize::from(it.is_multiple_of(4))]);
        Some(match *op {
            Op::Change { resource, file, age } => self.change(name(resource), file, age),
            Op::Edit { tiltfile: which, age } => Event::ConfigFilesChanged {
                tiltfile: tiltfile(which),
                files: vec!["Tiltfile".into()],
                at: self.ago(age),
            },
            Op::Args { tiltfile: which, arg } => {
                Event::ArgsChanged { tiltfile: tiltfile(which), args: vec![arg.to_string()] }
            }
            Op::AddTiltfile => Event::TiltfileAdded { name: TILTFILES[1].into(), args: Vec::new() },
            Op::RemoveTiltfile => Event::TiltfileRemoved { name: TILTFILES[1].into() },
            Op::EndLoad { which, ok, max_parallel, switches } => {
                let (id, tiltfile) = nth(&self.loads, which)?;
                let result = if ok {
                    Ok(self.loaded(tiltfile, max_parallel, switches))
                } else {
                    Err(LoadError::Tiltfile(Box::new("broken".into())))
                };
                Event::LoadEnded { id: *id, result }
            }
            Op::Trigger { name: which, reason, with_deps } => Event::Triggered {
                resource: if which > 250 { MAIN.into() } else { name(which) },
                reason: [Reason::default(), Reason::TRIGGER_WEB, Reason::TRIGGER_CLI]
                    [usize::from(reason) % 3],
                with_deps,
            },
            Op::Mode { resource, mode } => Event::TriggerModeSet {
                resource: name(resource),
                mode: [
                    TriggerMode::Auto,
                    TriggerMode::ManualWithAutoInit,
                    TriggerMode::Manual,
                    TriggerMode::AutoWithManualInit,
                ][usize::from(mode)],
            },
            Op::Switch { resource, state } => {
                Event::EnableChanged { resource: name(resource), state: switch(state) }
            }
            Op::Stop { name: which, age } => Event::StopRequested {
                resource: if which > 220 { MAIN.into() } else { name(which) },
                at: self.ago(age),
            },
            Op::EndUpdate { which, ok } => Event::UpdateEnded {
                id: *self.updates.iter().nth(usize::from(which) % self.updates.len().max(1))?,
                error: (!ok).then(|| "failed".to_owned()),
            },
            Op::Server { which, what } => {
                let (&id, &has_run) = nth(&self.servers, which)?;
                match what {
                    ServerOp::Run if has_run => return None,
                    ServerOp::Run => {
                        Event::ServeStarted { id, pid: u32::from(which) + 1, at: self.now }
                    }
                    ServerOp::Ready => Event::ServeReady { id, is_ready: true },
                    ServerOp::Unready => Event::ServeReady { id, is_ready: false },
                    ServerOp::End => Event::ServeEnded { id, end: failed() },
                }
            }
            Op::Observe { resource, is_ready } => Event::RuntimeObserved {
                resource: name(resource),
                status: if is_ready { RuntimeStatus::Ok } else { RuntimeStatus::Error },
                is_satisfied: is_ready,
                error: None,
            },
            Op::Containers { resource, states, generation } => {
                let (resource, live_update) = self.live_update_of(&name(resource))?;
                let observed: Vec<Observed> =
                    (0..3).filter_map(|it| observed(it, generation, states >> (2 * it))).collect();
                let containers = vec![(live_update, observed)];
                Event::ContainersObserved { resource, containers, roots: roots() }
            }
            Op::EndSync { which, how } => {
                let (id, sync) = nth(&self.syncs, which)?;
                let outcome = match how {
                    0 => Outcome::Failed("no".to_owned()),
                    1 => Outcome::Abandoned,
                    2 => Outcome::Synced { exec_error: Some("no".to_owned()) },
                    _ => Outcome::Synced { exec_error: None },
                };
                sync.ended(*id, &outcome)
            }
            Op::Live { resource, what } => self.live_event(&name(resource), what)?,
            Op::Noise { id, what } => self.noise(u64::from(id), what)?,
            Op::Clock(_) | Op::Rewrite { .. } | Op::Loop { .. } => return None,
        })
    }

    fn live_update_of(&self, name: &str) -> Option<LiveUpdateId> {
        let resource = self.world.resource(name)?;
        Some((resource.name.clone(), resource.live_updates.keys().next()?.clone()))
    }

    fn live_event(&self, name: &str, what: u8) -> Option<Event> {
        let (resource, live_update) = self.live_update_of(name)?;
        let (target, files) = (fixture::shared_target(), vec!["/src/x".into(), "/src/y".into()]);
        Some(match what {
            0 => Event::FilesListed { resource, live_update, result: Ok(files) },
            1 => Event::FilesListed {
                resource,
                live_update,
                result: Err(ListError::Lost("no".to_owned())),
            },
            2 => fixture::built(self.ago(8)),
            3 => fixture::kept(self.ago(8), self.ago(8)),
            4 => Event::Deployed { resource, began: Some(self.ago(8)) },
            5 => Event::WentAhead { resource, live_update },
            6 => Event::SyncEnded { resource, live_update, id: SyncId(0), ended: Vec::new() },
            _ => Event::FilesChanging { target, files, roots: roots() },
        })
    }

    /// An answer to something that is not going on.
    fn noise(&self, id: u64, what: u8) -> Option<Event> {
        Some(match what {
            0 if !self.updates.contains(&UpdateId(id)) => {
                Event::UpdateEnded { id: UpdateId(id), error: None }
            }
            1 if !self.loads.contains_key(&LoadId(id)) => {
                Event::LoadEnded { id: LoadId(id), result: Ok(Loaded::default()) }
            }
            _ if self.servers.contains_key(&ServeId(id)) => return None,
            2 => Event::ServeStarted { id: ServeId(id), pid: 1, at: self.now },
            3 => Event::ServeReady { id: ServeId(id), is_ready: true },
            4 => Event::ServeEnded { id: ServeId(id), end: failed() },
            _ => return None,
        })
    }

    fn loaded(&self, tiltfile: &ResourceName, max_parallel: Option<u8>, switches: u8) -> Loaded {
        let written = &self.written[usize::from(&**tiltfile != MAIN)];
        let manifests: Vec<Arc<Manifest>> =
            written.iter().map(|(at, it)| Arc::new(it.manifest(*at))).collect();
        let enabled = manifests.iter().enumerate().filter_map(|(at, it)| {
            let known = self.world.resource(&it.name).map(|it| it.enable);
            let state = match switches.rotate_left(u32::try_from(at).unwrap()) % 16 {
                0 => EnableState::Disabled,
                1 => return None,
                _ => known.unwrap_or(EnableState::Enabled),
            };
            Some((it.name.as_str().into(), state))
        });
        Loaded {
            enabled: enabled.collect(),
            manifests,
            max_parallel: max_parallel.filter(|_| &**tiltfile == MAIN).map(usize::from),
        }
    }

    fn step(&mut self, event: Event) {
        self.n_steps += 1;
        let foretold =
            self.with_oracle.then(|| oracle::foretell(&self.world, self.now, event.clone()));
        self.model.happens(self.now, &event);
        self.history.happens(&event);
        match &event {
            Event::SyncEnded { id, .. } => drop(self.syncs.remove(id)),
            Event::FilesListed { resource, live_update, .. } => {
                self.listings.remove(&(resource.clone(), live_update.clone()));
            }
            Event::WentAhead { resource, live_update } => {
                self.ahead.remove(&(resource.clone(), live_update.clone()));
            }
            Event::ContainersObserved { resource, containers, .. } => {
                let observed = containers.iter().flat_map(|it| it.1.clone()).collect();
                self.containers.insert(resource.clone(), observed);
            }
            _ => {}
        }
        match event {
            Event::LoadEnded { id, .. } => drop(self.loads.remove(&id)),
            Event::UpdateEnded { id, .. } => drop(self.updates.remove(&id)),
            Event::ServeEnded { id, .. } => drop(self.servers.remove(&id)),
            Event::ServeStarted { id, .. } => {
                self.servers.entry(id).and_modify(|has_run| *has_run = true);
            }
            _ => {}
        }
        let Effects { actions, changed, lines } = self.world.step(self.now, event);
        self.model.begins(&lines);
        if let Some(foretold) = foretold {
            foretold.compare(&self.world, &actions);
        }
        for action in actions {
            self.model.acts(self.now, &action);
            self.seen.insert(word(&action));
            match action {
                Action::StartLoad(StartLoad { id, tiltfile, .. }) => {
                    drop(self.loads.insert(id, tiltfile))
                }
                Action::StartUpdate { id, resource, .. } => {
                    self.history.starts(self.now, id, &resource);
                    self.updates.insert(id);
                }
                Action::StartServe { id, .. } => drop(self.servers.insert(id, false)),
                Action::StartSync { resource, live_update, id, plan, .. } => {
                    for container in &plan.containers {
                        self.check_running(&resource, container);
                    }
                    let containers = plan.containers.clone();
                    self.syncs.insert(id, Sync { resource, live_update, containers });
                }
                Action::ListFiles { resource, live_update, .. } => {
                    self.listings.insert((resource, live_update));
                }
                Action::SendAhead { resource, live_update, .. } => {
                    self.ahead.insert((resource, live_update));
                }
                _ => {}
            }
        }
        self.model.follow(&self.world);
        self.check_live();
        self.model.check(&self.world, &changed);
        self.history.check(self.now, &self.world);
        if self.history.n_linked > 0 {
            self.seen.insert("cause");
        }
        let holds = self.world.resources().iter().filter_map(|it| it.hold.as_ref());
        self.seen.extend(holds.map(Hold::reason));
        if self.n_steps.is_multiple_of(16) {
            let _ = session::targets(&self.world, GoDuration(0), self.now);
        }
    }

    /// A resource that was added again starts without containers.
    fn check_running(&self, resource: &str, container: &Container) {
        let mut seen = self.containers.get(resource).into_iter().flatten();
        let seen = seen.find(|it| it.container == *container);
        let is_running = seen.is_some_and(|it| it.state == ContainerState::Running);
        assert!(is_running, "{} of {resource} does not run", container.id);
    }

    /// Who waits for containers has given them something.
    fn check_live(&self) {
        let live = |it: &&Resource| it.current.as_ref().is_some_and(|it| it.is_live);
        for it in self.world.resources().iter().filter(live) {
            let is_syncing = self.syncs.values().any(|sync| sync.resource == it.name);
            assert!(is_syncing, "the live update of {} waits for nothing", it.name);
            let mut failed = it.live_updates.values().map(|it| &it.status().failed);
            assert!(failed.all(Option::is_none), "{} should have been built", it.name);
        }
    }

    /// Answers everything and adds nothing, until nothing is going on.
    pub(super) fn settle(&mut self) {
        for name in NAMES {
            let is_unknown = |it: &Resource| it.enable == EnableState::Pending;
            if self.world.resource(name).is_some_and(is_unknown) {
                let state = EnableState::Enabled;
                self.step(Event::EnableChanged { resource: name.into(), state });
            }
        }
        let n_live = self.syncs.len() + self.listings.len() + self.ahead.len();
        let limit = self.n_steps + 20 * (N_NAMES as u64 + 2) + 4 * n_live as u64;
        while let Some(event) = self.next_answer() {
            assert!(self.n_steps < limit, "it does not settle");
            self.now = self.now.plus_millis(100);
            if let (Event::TimePassed, Some(at)) = (&event, self.world.wake_at()) {
                self.now = self.now.max(at);
            }
            self.step(event);
        }
        self.model.check_settled(&self.world);
    }

    fn next_answer(&self) -> Option<Event> {
        if let Some((id, tiltfile)) = self.loads.first_key_value() {
            return Some(Event::LoadEnded {
                id: *id,
                result: Ok(self.loaded(tiltfile, None, 255)),
            });
        }
        if let Some(id) = self.updates.first() {
            return Some(Event::UpdateEnded { id: *id, error: None });
        }
        if let Some((id, sync)) = self.syncs.first_key_value() {
            return Some(sync.ended(*id, &Outcome::Synced { exec_error: None }));
        }
        if let Some((resource, live_update)) = self.listings.first().cloned() {
            let result = Ok(vec!["/src/x".into()]);
            return Some(Event::FilesListed { resource, live_update, result });
        }
        if let Some((resource, live_update)) = self.ahead.first().cloned() {
            return Some(Event::WentAhead { resource, live_update });
        }
        let is_coming = |it: &&Resource| it.hold == Some(Hold::WaitingForDeploy);
        if let Some(it) = self.world.resources().iter().find(is_coming) {
            return Some(Event::RuntimeObserved {
                resource: it.name.clone(),
                status: RuntimeStatus::Ok,
                is_satisfied: true,
                error: None,
            });
        }
        if let Some(id) = self.model.stopping_servers().next() {
            return Some(Event::ServeEnded { id, end: failed() });
        }
        if let Some((id, _)) = self.servers.iter().find(|(_, has_run)| !**has_run) {
            return Some(Event::ServeStarted { id: *id, pid: 1, at: self.now });
        }
        if let Some(unready) = self.model.unready_servers().next() {
            return Some(Event::ServeReady { id: unready, is_ready: true });
        }
        self.world.wake_at().map(|_| Event::TimePassed)
    }
}

fn word(action: &Action) -> &'static str {
    match action {
        Action::StartLoad(_) => "start load",
        Action::CancelLoad { .. } => "cancel load",
        Action::StartUpdate { .. } => "start update",
        Action::CancelUpdate { .. } => "cancel update",
        Action::ListFiles { .. } => "list files",
        Action::StartSync { .. } => "start sync",
        Action::SendAhead { .. } => "send ahead",
        Action::CancelSync { .. } => "cancel syncs",
        Action::StartServe { .. } => "start server",
        Action::StopServe { .. } => "stop server",
        Action::Removed { .. } => "removed",
        Action::DeclaredTwice { .. } => "declared twice",
        Action::FindContainers { .. } => "find containers",
        Action::Kubernetes(_) => "cluster",
        Action::Object(_) => "object",
        Action::Docker(_) => "Docker",
    }
}

/// A container, and how it does; most of the time it runs.
fn observed(at: u8, generation: u8, state: u8) -> Option<Observed> {
    let state = match state & 0b11 {
        0 => return None,
        1 if at == 2 => ContainerState::CrashLoopBackOff,
        1 if at == 1 => ContainerState::Waiting,
        1 if generation == 3 => ContainerState::Terminated,
        _ => ContainerState::Running,
    };
    let id = format!("{at}-{generation}").into();
    Some(Observed { container: Container { id, ..Container::default() }, state })
}

fn roots() -> Roots {
    [("/src".into(), Root::Directory)].into()
}

fn name(which: u8) -> ResourceName {
    // Now and then one that does not exist.
    if which == 255 { "ghost".into() } else { NAMES[usize::from(which) % N_NAMES].into() }
}

fn switch(state: u8) -> EnableState {
    match state {
        0..4 => EnableState::Disabled,
        4..7 => EnableState::Enabled,
        7 => EnableState::Error,
        _ => EnableState::Pending,
    }
}

fn nth<K: Ord, V>(map: &BTreeMap<K, V>, which: u8) -> Option<(&K, &V)> {
    map.iter().nth(usize::from(which) % map.len().max(1))
}
