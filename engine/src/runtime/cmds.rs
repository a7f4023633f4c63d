//! Cmd objects that somebody made: each runs when it is made, when it is changed, and on the events it names.

use std::collections::HashMap;

use builtins::golang::quote::quote;
use engine_core::{resource::EnableState, tiltfile::MAIN};
use engine_model::{CmdSpec, ExecAction, HttpGetAction, Probe, TcpSocketAction};
use serde_json::{Value, json};

use super::{
    Runtime, clock,
    commands::CommandKey,
    declare::{MANAGED_BY, RESOURCE, SPAN},
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
    ran: Option<Value>,
    /// The latest events that were acted on.
    restarted: String,
    started: String,
    /// The run that is going on.
    running: Option<u64>,
    /// It runs again as soon as the run that is being stopped has ended.
    again: Option<Value>,
    is_off: bool,
}

/// The latest event of a kind: its time, and the button that was clicked, if it was one.
#[derive(Debug, Default)]
struct Latest {
    time: String,
    button: Option<std::sync::Arc<Object>>,
}

impl Runtime {
    /// Looks whether an object has to run.
    pub(super) fn look_at_cmd(&mut self, name: &str) {
        let Some(object) = self.store.get(kind::CMD, name) else { return };
        let annotations = object.annotations();
        if annotations.contains_key(MANAGED_BY) || annotations.contains_key(OWNER_KIND) {
            return;
        }
        let spec = object.spec();
        if self.is_switched_off(&spec) {
            return self.switch_cmd_off(name);
        }
        let exec = json!([spec["args"], spec["dir"], spec["env"], spec["readinessProbe"]]);
        let restart = self.latest(&spec["restartOn"], None);
        let start = self.latest(&spec["startOn"], spec["startOn"]["startAfter"].as_str());
        let waits = !names_in(&spec["startOn"]["uiButtons"]).is_empty();
        let known = self.cmds.known.entry(name.to_owned()).or_default();
        known.is_off = false;
        let is_changed = known.ran.as_ref() != Some(&exec);
        let is_started = start.time > known.started;
        if is_changed && waits && !is_started {
            self.stop_cmd(name);
            let status = json!({
                "waiting": {"reason": "cmd StartOn has not been triggered"},
                "disableStatus": self.disable_status_of(&spec),
            });
            self.store.set_status(kind::CMD, name, &status);
        } else if is_changed || is_started || restart.time > known.restarted {
            known.ran = Some(exec);
            let button = if restart.time > start.time { &restart.button } else { &start.button };
            let inputs = button.as_ref().map(|it| inputs_of(it)).unwrap_or_default();
            known.restarted = restart.time;
            known.started = start.time;
            self.run_cmd(name, &object, &spec, &inputs);
        }
    }

    /// Runs it now, or as soon as the run before has ended.
    fn run_cmd(&mut self, name: &str, object: &Object, spec: &Value, inputs: &[String]) {
        let known = self.cmds.known.entry(name.to_owned()).or_default();
        if let Some(n) = known.running {
            known.again = Some(json!(inputs));
            return self.commands.abandon(&CommandKey::Object(name.to_owned(), n));
        }
        self.cmds.n_runs += 1;
        let n = self.cmds.n_runs;
        if let Some(known) = self.cmds.known.get_mut(name) {
            known.running = Some(n);
        }
        let annotations = object.annotations();
        let resource = annotations.get(RESOURCE).map_or("", String::as_str);
        let span = annotations.get(SPAN).cloned().unwrap_or_else(|| format!("Cmd-{name}"));
        let mut cmd: CmdSpec = CmdSpec {
            args: names_in(&spec["args"]),
            dir: spec["dir"].as_str().unwrap_or_default().to_owned(),
            env: names_in(&spec["env"]),
        };
        cmd.env.extend(inputs.iter().cloned());
        if cmd.dir.is_empty() {
            let here = std::env::current_dir().unwrap_or_default();
            cmd.dir = here.display().to_string();
        }
        let run = self.run_of(&cmd, probe(&spec["readinessProbe"]), Lifetime::Server);
        let log = self.logs.writer(resource, &span);
        let status = json!({"waiting": {}, "disableStatus": self.disable_status_of(spec)});
        self.store.set_status(kind::CMD, name, &status);
        let key = CommandKey::Object(name.to_owned(), n);
        self.start_command(key, &resource.into(), name.to_owned(), run, log);
    }

    fn stop_cmd(&mut self, name: &str) {
        let Some(known) = self.cmds.known.get_mut(name) else { return };
        known.again = None;
        if let Some(n) = known.running {
            self.commands.abandon(&CommandKey::Object(name.to_owned(), n));
        }
    }

    /// A command that was switched off looks as if it never ran.
    fn switch_cmd_off(&mut self, name: &str) {
        self.stop_cmd(name);
        let known = self.cmds.known.entry(name.to_owned()).or_default();
        let running = known.running;
        *known = Known { running, is_off: true, ..Known::default() };
        let Some(object) = self.store.get(kind::CMD, name) else { return };
        let status = json!({"disableStatus": self.disable_status_of(&object.spec())});
        self.store.set_status(kind::CMD, name, &status);
    }

    /// A run has ended; the next one may be due.
    pub(super) fn cmd_ended(&mut self, name: &str) {
        let Some(known) = self.cmds.known.get_mut(name) else { return };
        known.running = None;
        let Some(inputs) = known.again.take() else { return };
        if let Some(object) = self.store.get(kind::CMD, name) {
            self.run_cmd(name, &object, &object.spec(), &names_in(&inputs));
        }
    }

    /// The object is gone, and its process with it.
    pub(super) fn cmd_removed(&mut self, name: &str) {
        self.stop_cmd(name);
        self.cmds.known.remove(name);
    }

    /// Commands that start or restart on this button.
    pub(super) fn look_at_cmds_of_button(&mut self, button: &str) {
        self.look_at_cmds(|spec| {
            ["startOn", "restartOn"]
                .iter()
                .any(|it| names_in(&spec[*it]["uiButtons"]).iter().any(|it| it == button))
        });
    }

    /// Commands that restart when these files change.
    pub(super) fn look_at_cmds_of_watch(&mut self, watch: &str) {
        self.look_at_cmds(|spec| {
            names_in(&spec["restartOn"]["fileWatches"]).iter().any(|it| it == watch)
        });
    }

    /// Commands that follow this switch.
    pub(super) fn look_at_cmds_of_switch(&mut self, config_map: &str) {
        self.look_at_cmds(|spec| {
            switches(&spec["disableSource"]).iter().any(|(map, _)| map == config_map)
        });
    }

    fn look_at_cmds(&mut self, is_meant: impl Fn(&Value) -> bool) {
        let objects = self.store.list(kind::CMD);
        for object in objects.iter().filter(|it| is_meant(&it.spec())) {
            self.look_at_cmd(object.name());
        }
    }

    /// The latest event of the files and buttons that are named.
    fn latest(&self, on: &Value, after: Option<&str>) -> Latest {
        let mut latest = Latest::default();
        for name in names_in(&on["fileWatches"]) {
            let status = self.store.get(kind::FILE_WATCH, &name).map(|it| it.status());
            let time = status.as_ref().and_then(|it| it["lastEventTime"].as_str());
            if let Some(time) = time.filter(|it| **it > *latest.time) {
                latest = Latest { time: time.to_owned(), button: None };
            }
        }
        for name in names_in(&on["uiButtons"]) {
            let Some(button) = self.store.get(kind::UI_BUTTON, &name) else { continue };
            let status = button.status();
            let time = status["lastClickedAt"].as_str();
            let is_after = |it: &&str| after.is_none_or(|after| **it > *after);
            if let Some(time) = time.filter(|it| **it > *latest.time).filter(is_after) {
                latest = Latest { time: time.to_owned(), button: Some(button) };
            }
        }
        latest
    }

    /// Whether the switch of an object says that it does not take part.
    pub(super) fn is_switched_off(&self, spec: &Value) -> bool {
        let switches = switches(&spec["disableSource"]);
        !switches.is_empty()
            && switches.iter().all(|(map, key)| {
                matches!(self.switch_state(map, key), EnableState::Disabled | EnableState::Pending)
            })
    }

    fn disable_status_of(&self, spec: &Value) -> Value {
        let switches = switches(&spec["disableSource"]);
        let Some((map, key)) = switches.first() else { return self.disable_status(None) };
        let (is_off, state, reason) = match self.switch_state(map, key) {
            EnableState::Disabled => (true, "Disabled", "is true"),
            EnableState::Enabled => (false, "Enabled", "is false"),
            EnableState::Error => (true, "Error", "is not a bool"),
            EnableState::Pending => (true, "", "does not exist"),
        };
        json!({
            "disabled": is_off,
            "lastUpdateTime": clock::seconds(self.settings.started),
            "reason": format!("ConfigMap/key {}/{} {reason}", quote(map), quote(key)),
            "state": state,
        })
    }

    /// Which resource's log the objects of clients write to by default.
    pub(super) fn main_log(&self) -> crate::logs::LogWriter {
        self.logs.writer(MAIN, "")
    }
}

fn names_in(value: &Value) -> Vec<String> {
    let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// The config maps and keys that an object follows.
fn switches(source: &Value) -> Vec<(String, String)> {
    let one = |it: &Value| Some((it["name"].as_str()?.to_owned(), it["key"].as_str()?.to_owned()));
    match one(&source["configMap"]) {
        Some(switch) => vec![switch],
        None => source["everyConfigMap"].as_array().into_iter().flatten().filter_map(one).collect(),
    }
}

/// What was typed and chosen beside a button, as variables.
fn inputs_of(button: &Object) -> Vec<String> {
    let (spec, status) = (button.spec(), button.status());
    let given = |name: &Value| {
        status["inputs"].as_array().into_iter().flatten().find(|it| it["name"] == *name)
    };
    let inputs = spec["inputs"].as_array().into_iter().flatten();
    inputs
        .filter_map(|input| {
            let name = input["name"].as_str()?;
            let value = given(&input["name"]).map_or(String::new(), |it| input_text(input, it));
            Some(format!("{name}={value}"))
        })
        .collect()
}

fn input_text(spec: &Value, status: &Value) -> String {
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    if let Some(it) = status.get("text") {
        text(&it["value"])
    } else if let Some(it) = status.get("bool") {
        let is_on = it["value"].as_bool().unwrap_or(false);
        let key = if is_on { "trueString" } else { "falseString" };
        spec["bool"][key].as_str().map_or_else(|| is_on.to_string(), str::to_owned)
    } else if let Some(it) = status.get("hidden") {
        text(&it["value"])
    } else if let Some(it) = status.get("choice") {
        let choices = names_in(&spec["choice"]["choices"]);
        let value = text(&it["value"]);
        if choices.contains(&value) {
            value
        } else {
            choices.into_iter().next().unwrap_or_default()
        }
    } else {
        String::new()
    }
}

/// A probe as the API writes it.
fn probe(value: &Value) -> Option<Probe> {
    value.as_object()?;
    let int = |it: &Value| i32::try_from(it.as_i64().unwrap_or(0)).unwrap_or(i32::MAX);
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    Some(Probe {
        exec: value.get("exec").map(|it| ExecAction { command: names_in(&it["command"]) }),
        http_get: value.get("httpGet").map(|it| HttpGetAction {
            path: text(&it["path"]),
            port: int(&it["port"]),
            host: text(&it["host"]),
            scheme: text(&it["scheme"]),
            ..HttpGetAction::default()
        }),
        tcp_socket: value
            .get("tcpSocket")
            .map(|it| TcpSocketAction { port: int(&it["port"]), host: text(&it["host"]) }),
        initial_delay_seconds: int(&value["initialDelaySeconds"]),
        timeout_seconds: int(&value["timeoutSeconds"]),
        period_seconds: int(&value["periodSeconds"]),
        success_threshold: int(&value["successThreshold"]),
        failure_threshold: int(&value["failureThreshold"]),
    })
}
