//! Cmd objects that somebody made: each runs when it is made, when it is changed, and on the events it names.

use std::collections::BTreeMap;

use engine_model::{
    Kind, Time,
    spec::{ButtonSpec, CmdDriver, CmdObject, Exec},
};

use super::ObjectAction;
use crate::{World, resource::EnableState};

/// Which run of a Cmd object; later ones have higher numbers, over all objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CmdRunId(pub u64);

/// Something that happened to a run of a Cmd object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CmdEvent {
    /// Its process runs.
    Started {
        /// The process.
        pid: u32,
        /// Since when.
        at: Time,
    },
    /// It says whether it is ready.
    Ready(bool),
    /// Its readiness probe fails, and this is what the probe says.
    ProbeFailed(String),
    /// It has ended.
    Ended(CmdEnd),
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CmdEnd {
    /// The process; 0 if it never started.
    pub pid: u32,
    /// The exit code.
    pub exit_code: i32,
    /// Why, in Tilt's words; empty if it succeeded.
    pub reason: String,
    /// When it was started; nothing if that was not tried.
    pub started: Option<Time>,
    /// When it ended.
    pub finished: Time,
    /// Whether the engine stopped it.
    pub is_stopped: bool,
    /// The last line that it printed.
    pub last_line: String,
}

/// How far a Cmd object is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CmdPhase {
    /// It never ran.
    #[default]
    New,
    /// It is about to run.
    Starting,
    /// It waits for a click.
    AwaitsClick,
    /// It runs.
    Running {
        /// Its process.
        pid: u32,
        /// Since when.
        since: Time,
        /// Whether it says that it is ready.
        is_ready: bool,
        /// What its readiness probe last complained about.
        probe_error: String,
    },
    /// It has ended.
    Ended {
        /// How.
        end: CmdEnd,
        /// Whether it was ready before.
        was_ready: bool,
    },
}

impl CmdPhase {
    /// Its command did something.
    pub(crate) fn on_event(&mut self, event: CmdEvent) {
        match event {
            CmdEvent::Started { pid, at } => {
                let probe_error = String::new();
                *self = Self::Running { pid, since: at, is_ready: false, probe_error };
            }
            CmdEvent::Ready(now_ready) => {
                if let Self::Running { is_ready, .. } = self {
                    *is_ready = now_ready;
                }
            }
            CmdEvent::ProbeFailed(error) => {
                if let Self::Running { probe_error, .. } = self {
                    *probe_error = error;
                }
            }
            CmdEvent::Ended(end) => {
                let was_ready = matches!(self, Self::Running { is_ready: true, .. });
                *self = Self::Ended { end, was_ready };
            }
        }
    }
}

/// The runs of all Cmd objects.
#[derive(Clone, Debug, Default)]
pub(super) struct CmdRuns {
    entries: BTreeMap<String, CmdRuntime>,
    n_runs: u64,
}

/// What one object runs.
#[derive(Clone, Debug, Default)]
struct CmdRuntime {
    /// What it ran with; nothing if it never did.
    ran: Exec,
    /// The latest events that it ran for.
    restarted: Time,
    started: Time,
    current: Option<CmdRun>,
    /// It runs again, with these variables, as soon as the run that is being stopped has ended.
    again: Option<Vec<String>>,
    phase: CmdPhase,
}

/// A run that has not ended.
#[derive(Clone, Copy, Debug)]
struct CmdRun {
    id: CmdRunId,
    /// It belongs to an older version of the object; nothing more of it is published.
    is_stale: bool,
}

/// The latest event of a kind: its time, and the button that was clicked, if it was one.
#[derive(Default)]
struct Latest<'a> {
    time: Time,
    button: Option<&'a ButtonSpec>,
}

impl<'a> Latest<'a> {
    /// Takes a click into account.
    fn click(&mut self, button: Option<&'a ButtonSpec>, counts: impl Fn(Time) -> bool) {
        let Some(time) = button.and_then(|it| it.click.as_ref()).map(|it| it.at) else { return };
        if time > self.time && counts(time) {
            *self = Self { time, button };
        }
    }
}

impl World {
    /// How far the command of a Cmd object is, whoever decides when it runs.
    pub fn cmd_phase(&self, name: &str) -> Option<&CmdPhase> {
        let spec = self.objects.cmds.get(name)?;
        let resource = self.resource(&spec.resource);
        let phase = match spec.driver {
            CmdDriver::Object => self.objects.runs.entries.get(name).map(|it| &it.phase),
            CmdDriver::Update => resource.map(|it| &it.update_cmd),
            CmdDriver::Server => {
                let server = resource.and_then(|it| it.server.as_ref());
                server.filter(|it| it.object(&spec.resource) == name).map(|it| &it.phase)
            }
        };
        Some(phase.unwrap_or(&CmdPhase::New))
    }

    /// Finds out whether an object has to run.
    pub(super) fn reconcile_cmd(&mut self, name: &str) {
        let objects = &self.objects;
        let Some(spec) = objects.cmds.get(name).filter(|it| it.driver == CmdDriver::Object) else {
            return;
        };
        let (state, _) = objects.disable_state(spec.disable_source.as_ref());
        if state == EnableState::Disabled {
            return self.switch_cmd_off(name);
        }
        let (restart, start) = (objects.latest_restart(spec), objects.latest_start(spec));
        let button = if restart.time > start.time { restart.button } else { start.button };
        let variables = button.map(ButtonSpec::variables).unwrap_or_default();
        let (restarted, started) = (restart.time, start.time);
        let is_awaiting = !spec.start_on.ui_buttons.is_empty();
        let exec = spec.exec.clone();
        let entry = self.objects.runs.entries.entry(name.to_owned()).or_default();
        let is_changed = entry.ran != exec;
        let is_started = started > entry.started;
        if is_changed && is_awaiting && !is_started {
            self.await_click(name);
        } else if is_changed || is_started || restarted > entry.restarted {
            (entry.ran, entry.restarted, entry.started) = (exec, restarted, started);
            self.run_cmd(name, variables);
        }
    }

    /// The objects that are like this.
    pub(super) fn reconcile_cmds_where(&mut self, is_meant: impl Fn(&CmdObject) -> bool) {
        let meant = self.objects.cmds.iter().filter(|(_, it)| is_meant(it));
        let meant: Vec<String> = meant.map(|(name, _)| name.clone()).collect();
        for name in meant {
            self.reconcile_cmd(&name);
        }
    }

    /// Something happened to a run.
    pub(crate) fn cmd_event(&mut self, name: &str, run: CmdRunId, event: CmdEvent) {
        let Some(entry) = self.objects.runs.entries.get_mut(name) else { return };
        let Some(current) = entry.current.filter(|it| it.id == run) else { return };
        let has_ended = matches!(event, CmdEvent::Ended(_));
        let is_superseded = has_ended && entry.again.is_some();
        if !current.is_stale && !is_superseded {
            entry.phase.on_event(event);
        }
        if has_ended {
            self.cmd_ended(name);
        }
        self.publish_object(Kind::Cmd, name);
    }

    /// A run has ended; the next one may be due.
    fn cmd_ended(&mut self, name: &str) {
        let Some(entry) = self.objects.runs.entries.get_mut(name) else { return };
        entry.current = None;
        let again = entry.again.take();
        if self.objects.cmds.get(name).is_none() {
            self.objects.runs.entries.remove(name);
        } else if let Some(variables) = again {
            self.run_cmd(name, variables);
        }
    }

    /// Runs it now, or as soon as the run before has ended.
    fn run_cmd(&mut self, name: &str, variables: Vec<String>) {
        let runs = &mut self.objects.runs;
        let Some(spec) = self.objects.cmds.get(name) else { return };
        let Some(entry) = runs.entries.get_mut(name) else { return };
        if let Some(current) = entry.current {
            entry.again = Some(variables);
            return self.stop_cmd(name, current.id);
        }
        runs.n_runs += 1;
        let run = CmdRunId(runs.n_runs);
        entry.current = Some(CmdRun { id: run, is_stale: false });
        entry.phase = CmdPhase::Starting;
        let mut exec = Box::new(entry.ran.clone());
        exec.cmd.env.extend(variables);
        self.do_for_object(ObjectAction::RunCommand {
            object: name.to_owned(),
            run,
            resource: spec.resource.as_str().into(),
            span: spec.span.clone().unwrap_or_else(|| format!("Cmd-{name}")),
            exec,
        });
        self.publish_object(Kind::Cmd, name);
    }

    /// Stops what an older version of the object ran; the new one runs with the next click.
    fn await_click(&mut self, name: &str) {
        self.leave_cmd(name);
        if let Some(entry) = self.objects.runs.entries.get_mut(name) {
            entry.phase = CmdPhase::AwaitsClick;
        }
        self.publish_object(Kind::Cmd, name);
    }

    /// Stops a run, of which nothing more is published.
    fn leave_cmd(&mut self, name: &str) {
        let Some(entry) = self.objects.runs.entries.get_mut(name) else { return };
        entry.again = None;
        if let Some(current) = &mut entry.current {
            current.is_stale = true;
            let run = current.id;
            self.stop_cmd(name, run);
        }
    }

    /// A command that was switched off ends, and is then like one that never ran.
    fn switch_cmd_off(&mut self, name: &str) {
        let Some(entry) = self.objects.runs.entries.get_mut(name) else { return };
        let (current, phase) = (entry.current, std::mem::take(&mut entry.phase));
        *entry = CmdRuntime { current, phase, ..CmdRuntime::default() };
        if let Some(current) = current {
            self.stop_cmd(name, current.id);
        }
    }

    /// The object is gone, and its process with it; one that is made anew waits for that.
    pub(super) fn cmd_removed(&mut self, name: &str) {
        self.leave_cmd(name);
        let Some(entry) = self.objects.runs.entries.get_mut(name) else { return };
        if entry.current.is_some() {
            *entry = CmdRuntime { current: entry.current, ..CmdRuntime::default() };
        } else {
            self.objects.runs.entries.remove(name);
        }
    }

    fn stop_cmd(&mut self, name: &str, run: CmdRunId) {
        self.do_for_object(ObjectAction::StopCommand { object: name.to_owned(), run });
    }
}

impl super::Objects {
    /// The latest event that makes a command run again.
    fn latest_restart(&self, spec: &CmdObject) -> Latest<'_> {
        let watches = spec.restart_on.file_watches.iter();
        let times = watches.filter_map(|it| self.watches.last_event(it));
        let mut latest = Latest { time: times.max().unwrap_or_default(), button: None };
        for name in &spec.restart_on.ui_buttons {
            latest.click(self.buttons.get(name), |_| true);
        }
        latest
    }

    /// The latest click that makes a command run at all.
    fn latest_start(&self, spec: &CmdObject) -> Latest<'_> {
        const SECOND: i64 = 1_000_000;
        let after = spec.start_on.start_after.0 / SECOND;
        let mut latest = Latest::default();
        for name in &spec.start_on.ui_buttons {
            // The time to start after has no fractions.
            latest.click(self.buttons.get(name), |click| click.0 / SECOND >= after);
        }
        latest
    }
}
