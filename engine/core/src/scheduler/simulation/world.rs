//! The world around the scheduler: it executes actions and answers later, in any order.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use engine_model::{GoDuration, Manifest, TriggerMode};

use super::{N_NAMES, Op, ServerOp, model::Model, oracle};
use crate::{
    hold::Hold,
    reason::Reason,
    resource::{EnableState, ServeId, UpdateId},
    scheduler::{Action, Event, Loaded, Scheduler, fixture},
    session,
    status::RuntimeStatus,
    tiltfile::{LoadId, MAIN},
    time::Time,
};

const NAMES: [&str; N_NAMES] = ["a", "b", "c", "d", "e", "f", "g", "uncategorized"];
const TILTFILES: [&str; 2] = [MAIN, "ext"];
const FILES: [&str; 3] = ["x", "y", "z"];
const FLAGS: [&str; 9] =
    ["parallel", "parallel", "nocmd", "serve", "probe", "v2", "k8s", "image", "ignore-pods"];
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
        let kind = if kind < 170 { 0 } else { u16::from(kind % 8) << 6 };
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

/// Everything outside the scheduler.
pub(super) struct World {
    scheduler: Scheduler,
    model: Model,
    now: Time,
    with_oracle: bool,
    /// What is written in the Tiltfiles.
    written: [BTreeMap<usize, Spec>; 2],
    loads: BTreeMap<LoadId, Arc<str>>,
    updates: BTreeSet<UpdateId>,
    servers: BTreeMap<ServeId, bool>,
    pub(super) n_steps: u64,
    /// Holds and actions that occurred.
    pub(super) seen: BTreeSet<&'static str>,
}

impl World {
    pub(super) fn new(with_oracle: bool) -> Self {
        let mut world = Self {
            scheduler: fixture::scheduler(),
            model: Model::default(),
            now: Time(1_000_000),
            with_oracle,
            written: Default::default(),
            loads: BTreeMap::new(),
            updates: BTreeSet::new(),
            servers: BTreeMap::new(),
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
                if self.scheduler.wake_at().is_some_and(|it| it <= self.now) {
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
                    let it = self.scheduler.resource(&name(*resource));
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

    fn event(&self, op: &Op) -> Option<Event> {
        let tiltfile = |it: u8| Arc::<str>::from(TILTFILES[usize::from(it.is_multiple_of(4))]);
        Some(match *op {
            Op::Change { resource, file, age } => Event::FilesChanged {
                resource: name(resource),
                target: "local".into(),
                files: vec![FILES[usize::from(file)].into()],
                at: self.ago(age),
            },
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
                    Err("broken".to_owned())
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
                    ServerOp::Run => Event::ServeStarted { id, pid: u32::from(which) + 1 },
                    ServerOp::Ready => Event::ServeReady { id, is_ready: true },
                    ServerOp::Unready => Event::ServeReady { id, is_ready: false },
                    ServerOp::End => Event::ServeEnded { id },
                }
            }
            Op::Observe { resource, is_ready } => Event::RuntimeObserved {
                resource: name(resource),
                status: if is_ready { RuntimeStatus::Ok } else { RuntimeStatus::Error },
                is_satisfied: is_ready,
                error: None,
                pod: None,
            },
            Op::Noise { id, what } => self.noise(u64::from(id), what)?,
            Op::Clock(_) | Op::Rewrite { .. } | Op::Loop { .. } => return None,
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
            2 => Event::ServeStarted { id: ServeId(id), pid: 1 },
            3 => Event::ServeReady { id: ServeId(id), is_ready: true },
            4 => Event::ServeEnded { id: ServeId(id) },
            _ => return None,
        })
    }

    fn loaded(&self, tiltfile: &Arc<str>, max_parallel: Option<u8>, switches: u8) -> Loaded {
        let written = &self.written[usize::from(&**tiltfile != MAIN)];
        let manifests: Vec<Arc<Manifest>> =
            written.iter().map(|(at, it)| Arc::new(it.manifest(*at))).collect();
        let enabled = manifests.iter().enumerate().filter_map(|(at, it)| {
            let known = self.scheduler.resource(&it.name).map(|it| it.enable);
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
            self.with_oracle.then(|| oracle::foretell(&self.scheduler, self.now, event.clone()));
        self.model.happens(self.now, &event);
        match event {
            Event::LoadEnded { id, .. } => drop(self.loads.remove(&id)),
            Event::UpdateEnded { id, .. } => drop(self.updates.remove(&id)),
            Event::ServeEnded { id } => drop(self.servers.remove(&id)),
            Event::ServeStarted { id, .. } => {
                self.servers.entry(id).and_modify(|has_run| *has_run = true);
            }
            _ => {}
        }
        let actions = self.scheduler.step(self.now, event);
        if let Some(foretold) = foretold {
            foretold.compare(&self.scheduler, &actions);
        }
        for action in actions {
            self.model.acts(self.now, &action);
            self.seen.insert(word(&action));
            match action {
                Action::StartLoad { id, tiltfile, .. } => drop(self.loads.insert(id, tiltfile)),
                Action::StartUpdate { id, .. } => drop(self.updates.insert(id)),
                Action::StartServe { id, .. } => drop(self.servers.insert(id, false)),
                _ => {}
            }
        }
        self.model.check(&mut self.scheduler);
        let holds = self.scheduler.resources().iter().filter_map(|it| it.hold.as_ref());
        self.seen.extend(holds.map(Hold::reason));
        if self.n_steps.is_multiple_of(16) {
            let _ = session::targets(&self.scheduler, GoDuration(0), self.now);
        }
    }

    /// Answers everything and adds nothing, until nothing is going on.
    pub(super) fn settle(&mut self) {
        for name in NAMES {
            let is_unknown = |it: &crate::resource::Resource| it.enable == EnableState::Pending;
            if self.scheduler.resource(name).is_some_and(is_unknown) {
                let state = EnableState::Enabled;
                self.step(Event::EnableChanged { resource: name.into(), state });
            }
        }
        let limit = self.n_steps + 20 * (N_NAMES as u64 + 2);
        while let Some(event) = self.next_answer() {
            assert!(self.n_steps < limit, "it does not settle");
            self.now = self.now.plus_millis(100);
            if let (Event::TimePassed, Some(at)) = (&event, self.scheduler.wake_at()) {
                self.now = self.now.max(at);
            }
            self.step(event);
        }
        self.model.check_settled(&self.scheduler);
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
        if let Some(id) = self.model.stopping_servers().next() {
            return Some(Event::ServeEnded { id });
        }
        if let Some((id, _)) = self.servers.iter().find(|(_, has_run)| !**has_run) {
            return Some(Event::ServeStarted { id: *id, pid: 1 });
        }
        if let Some(unready) = self.model.unready_servers().next() {
            return Some(Event::ServeReady { id: unready, is_ready: true });
        }
        self.scheduler.wake_at().map(|_| Event::TimePassed)
    }
}

fn word(action: &Action) -> &'static str {
    match action {
        Action::StartLoad { .. } => "start load",
        Action::CancelLoad { .. } => "cancel load",
        Action::StartUpdate { .. } => "start update",
        Action::CancelUpdate { .. } => "cancel update",
        Action::StartServe { .. } => "start server",
        Action::StopServe { .. } => "stop server",
        Action::Switched { .. } => "switched",
        Action::Removed { .. } => "removed",
        Action::DeclaredTwice { .. } => "declared twice",
    }
}

fn name(which: u8) -> Arc<str> {
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
