//! Cmd objects that somebody made: each runs when it is made, when it is changed, and on the events it names.

use std::{collections::HashMap, sync::Arc};

use engine_core::{resource::EnableState, tiltfile::MAIN};
use serde_json::json;

use super::{
    Runtime,
    commands::CommandKey,
    declare::{MANAGED_BY, RESOURCE, SPAN},
    specs::{self, ButtonStatus, Exec, FileWatchStatus},
};
use crate::{
    api::{Object, kind},
    exec::Lifetime,
};

/// Which server an object belongs to, if the engine made it for one.
const OWNER_KIND: &str = "tilt.dev/owner-kind";

/// What is known of all such objects.
#[derive(Debug, Default)]
pub(super) struct Cmds {
    known: HashMap<String, Known>,
    n_runs: u64,
}

#[derive(Debug, Default)]
struct Known {
    /// What it ran with; nothing if it never did.
    ran: Exec,
    /// The latest events that were acted on.
    restarted: u64,
    started: u64,
    /// The run that is going on.
    running: Option<u64>,
    /// It runs again, with these inputs, as soon as the run that is being stopped has ended.
    again: Option<Vec<String>>,
}

/// The latest event of a kind: its time, and the button that was clicked, if it was one.
#[derive(Debug, Default)]
struct Latest {
    time: u64,
    button: Option<Arc<Object>>,
}

impl Latest {
    /// Takes a click into account.
    fn click(&mut self, button: Option<Arc<Object>>, counts: impl Fn(u64) -> bool) {
        let Some(button) = button else { return };
        let time = specs::status_of::<ButtonStatus>(&button).clicked();
        if time > self.time && counts(time) {
            *self = Self { time, button: Some(button) };
        }
    }
}

impl Runtime {
    /// Looks whether an object has to run.
    pub(super) fn look_at_cmd(&mut self, name: &str) {
        let Some(object) = self.store.get(kind::CMD, name) else { return };
        let annotations = object.annotations();
        if annotations.contains_key(OWNER_KIND) {
            return;
        }
        self.show_disable_status(kind::CMD, name);
        // The commands of resources run when these update.
        let managed_by = annotations.get(MANAGED_BY).map(String::as_str);
        if matches!(managed_by, Some("local_resource" | "cmd_image")) {
            return;
        }
        let spec: specs::Cmd = specs::of(&object);
        let (state, _) = self.disable_state(spec.disable_source.as_ref());
        if state == EnableState::Disabled {
            return self.switch_cmd_off(name);
        }
        let (restart, start) = (self.latest_restart(&spec), self.latest_start(&spec));
        let known = self.cmds.known.entry(name.to_owned()).or_default();
        let is_changed = known.ran != spec.exec;
        let is_started = start.time > known.started;
        if is_changed && !spec.start_on.ui_buttons.is_empty() && !is_started {
            self.await_start(name);
        } else if is_changed || is_started || restart.time > known.restarted {
            let button = if restart.time > start.time { &restart.button } else { &start.button };
            let inputs = button.as_deref().map(specs::inputs_of).unwrap_or_default();
            known.ran = spec.exec;
            known.restarted = restart.time;
            known.started = start.time;
            self.run_cmd(name, inputs);
        }
    }

    /// Runs it now, or as soon as the run before has ended.
    fn run_cmd(&mut self, name: &str, inputs: Vec<String>) {
        let Some(object) = self.store.get(kind::CMD, name) else { return };
        let known = self.cmds.known.entry(name.to_owned()).or_default();
        if let Some(n) = known.running {
            known.again = Some(inputs);
            return self.commands.stop(&CommandKey::Object(name.to_owned(), n));
        }
        self.cmds.n_runs += 1;
        let n = self.cmds.n_runs;
        known.running = Some(n);
        let Exec { mut cmd, readiness_probe } = known.ran.clone();
        let annotations = object.annotations();
        let resource = annotations.get(RESOURCE).map_or("", String::as_str);
        let span = annotations.get(SPAN).cloned().unwrap_or_else(|| format!("Cmd-{name}"));
        cmd.env.extend(inputs);
        if cmd.dir.is_empty() {
            let here = std::env::current_dir().unwrap_or_default();
            cmd.dir = here.display().to_string();
        }
        let cause = format!("Cmd object {name}");
        let run = self.run_of(&cmd, &cause, readiness_probe, Lifetime::Server);
        let log = self.logs.writer(resource, &span);
        let disable = self.disable_status(kind::CMD, name);
        let status = json!({"waiting": {}, "disableStatus": disable});
        self.store.set_status(kind::CMD, name, &status);
        let key = CommandKey::Object(name.to_owned(), n);
        self.start_command(key, &resource.into(), name.to_owned(), run, log);
    }

    /// Stops what an older version of the object ran; the new one runs with the next click.
    fn await_start(&mut self, name: &str) {
        self.leave_cmd(name);
        let status = json!({
            "waiting": {"reason": "cmd StartOn has not been triggered"},
            "disableStatus": self.disable_status(kind::CMD, name),
        });
        self.store.set_status(kind::CMD, name, &status);
    }

    /// Stops a run, of which nothing more is shown.
    fn leave_cmd(&mut self, name: &str) {
        let Some(known) = self.cmds.known.get_mut(name) else { return };
        known.again = None;
        if let Some(n) = known.running {
            self.commands.abandon(&CommandKey::Object(name.to_owned(), n));
        }
    }

    /// A command that was switched off ends, and is then like one that never ran.
    fn switch_cmd_off(&mut self, name: &str) {
        let Some(known) = self.cmds.known.get_mut(name) else { return };
        let running = known.running;
        *known = Known { running, ..Known::default() };
        if let Some(n) = running {
            self.commands.stop(&CommandKey::Object(name.to_owned(), n));
        }
    }

    /// Whether another run of an object waits for the end of this one.
    pub(super) fn cmd_runs_again(&self, name: &str) -> bool {
        self.cmds.known.get(name).is_some_and(|it| it.again.is_some())
    }

    /// A run has ended; the next one may be due.
    pub(super) fn cmd_ended(&mut self, name: &str) {
        let Some(known) = self.cmds.known.get_mut(name) else { return };
        known.running = None;
        let again = known.again.take();
        if self.store.get(kind::CMD, name).is_none() {
            self.cmds.known.remove(name);
        } else if let Some(inputs) = again {
            self.run_cmd(name, inputs);
        }
    }

    /// The object is gone, and its process with it; one that is made anew waits for that.
    pub(super) fn cmd_removed(&mut self, name: &str) {
        self.leave_cmd(name);
        let Some(known) = self.cmds.known.get_mut(name) else { return };
        match known.running {
            Some(_) => *known = Known { running: known.running, ..Known::default() },
            None => drop(self.cmds.known.remove(name)),
        }
    }

    /// Commands that start or restart on this button.
    pub(super) fn look_at_cmds_of_button(&mut self, button: &str) {
        self.look_at_cmds(|spec| {
            let buttons = spec.start_on.ui_buttons.iter().chain(&spec.restart_on.ui_buttons);
            buttons.into_iter().any(|it| it == button)
        });
    }

    /// Commands that restart when these files change.
    pub(super) fn look_at_cmds_of_watch(&mut self, watch: &str) {
        self.look_at_cmds(|spec| spec.restart_on.file_watches.iter().any(|it| it == watch));
    }

    fn look_at_cmds(&mut self, is_meant: impl Fn(&specs::Cmd) -> bool) {
        let objects = self.store.list(kind::CMD);
        for object in objects.iter().filter(|it| is_meant(&specs::of(it))) {
            self.look_at_cmd(object.name());
        }
    }

    /// The latest event that makes it run again.
    fn latest_restart(&self, spec: &specs::Cmd) -> Latest {
        let mut latest = Latest::default();
        for name in &spec.restart_on.file_watches {
            let Some(watch) = self.store.get(kind::FILE_WATCH, name) else { continue };
            let status: FileWatchStatus = specs::status_of(&watch);
            let time = specs::micros(status.last_event_time.as_deref());
            latest.time = latest.time.max(time);
        }
        for name in &spec.restart_on.ui_buttons {
            latest.click(self.store.get(kind::UI_BUTTON, name), |_| true);
        }
        latest
    }

    /// The latest click that makes it run at all.
    fn latest_start(&self, spec: &specs::Cmd) -> Latest {
        const SECOND: u64 = 1_000_000;
        let after = specs::micros(spec.start_on.start_after.as_deref());
        let mut latest = Latest::default();
        for name in &spec.start_on.ui_buttons {
            // The time to start after has no fractions.
            let counts = |click: u64| click / SECOND >= after / SECOND;
            latest.click(self.store.get(kind::UI_BUTTON, name), counts);
        }
        latest
    }

    /// Which resource's log the objects of clients write to by default.
    pub(super) fn main_log(&self) -> crate::logs::LogWriter {
        self.logs.writer(MAIN, "")
    }
}
