//! Runs the commands of local resources: updates and servers.

use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Duration};

use engine_core::{
    Event,
    reason::Reason,
    resource::{ResourceName, ServeId, UpdateId},
};
use engine_model::{CmdSpec, LocalTarget};
use serde_json::{Value, json};

use super::{Message, Runtime, clock, names};
use crate::{
    api::{Meta, kind},
    deploy::commands::Surroundings,
    exec::{
        self, Lifetime,
        command::{self, Ended, Run},
    },
    logs::LogWriter,
};

/// How many files an entry line names.
const MAX_FILES: usize = 5;

/// Which command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum CommandKey {
    /// Of an update.
    Update(UpdateId),
    /// Of a server.
    Serve(ServeId),
    /// Of a Cmd object that somebody made, and which run of it.
    Object(String, u64),
}

/// A command that runs.
struct Running {
    handle: command::Handle,
    resource: ResourceName,
    object: String,
    text: String,
    pid: u32,
    started: Option<String>,
    /// The object is gone, or about to go; its status does not matter any more.
    is_leaving: bool,
}

/// All commands that run.
#[derive(Default)]
pub(super) struct Commands {
    running: HashMap<CommandKey, Running>,
    /// Servers that have ended by themselves; what they started goes when they are stopped.
    lingering: HashMap<ResourceName, command::Handle>,
}

impl Commands {
    /// Asks a command to stop; it still ends.
    pub(super) fn stop(&mut self, key: &CommandKey) {
        if let Some(running) = self.running.get(key) {
            running.handle.stop();
        }
    }

    /// Asks a command to stop, and shows nothing more of it.
    pub(super) fn abandon(&mut self, key: &CommandKey) {
        if let Some(running) = self.running.get_mut(key) {
            running.is_leaving = true;
            running.handle.stop();
        }
    }

    /// Stops all commands; whether they all went in time.
    pub(super) async fn stop_all(&self, grace: Duration) -> bool {
        let running = self.running.values().map(|it| &it.handle);
        exec::stop_all(running.chain(self.lingering.values()), grace).await
    }

    /// Ends what a server has left behind when it ended by itself.
    pub(super) fn clear(&mut self, resource: &str) {
        self.lingering.remove(resource);
    }
}

impl Runtime {
    pub(super) fn start_update(
        &mut self,
        id: UpdateId,
        resource: &ResourceName,
        reason: Reason,
        files: &[Arc<str>],
        is_full_rebuild: bool,
    ) {
        let log = self.logs.writer(resource, &build_span(id));
        log.build_event(&entry_line(reason, files));
        let Some(target) = self.scheduler.resource(resource).and_then(|it| it.local.clone()) else {
            return self.start_deploy(id, resource, reason, files, is_full_rebuild);
        };
        if let Some(watcher) = &self.watcher {
            watcher.updating(&names::local_target(resource), true);
        }
        let Some(spec) = &target.update_cmd_spec else {
            return self.end_update(id, resource, None);
        };
        let object = names::update_cmd(resource);
        let log = self.logs.writer(resource, &format!("cmd:{object}"));
        let cause = format!("update of {resource}: {}", entry_line(reason, files));
        let run = self.run_of(spec, &cause, None, Lifetime::Task);
        self.start_command(CommandKey::Update(id), resource, object, run, log);
    }

    pub(super) fn start_serve(&mut self, id: ServeId, resource: &ResourceName) {
        let Some(target) = self.scheduler.resource(resource).and_then(|it| it.local.clone()) else {
            return;
        };
        self.commands.clear(resource);
        let (object, span) = (names::serve_cmd(resource, id.0), serve_span(id));
        self.put_serve_object(&object, resource, &span, &target);
        let spec = serve_spec(&target);
        let cause = format!("server of {resource}");
        let run = self.run_of(&spec, &cause, target.readiness_probe.clone(), Lifetime::Server);
        let log = self.logs.writer(resource, &span);
        self.start_command(CommandKey::Serve(id), resource, object, run, log);
    }

    fn put_serve_object(&self, name: &str, resource: &str, span: &str, target: &LocalTarget) {
        let mut spec = json!(serve_spec(target));
        if let Some(probe) = &target.readiness_probe {
            spec["readinessProbe"] = json!(probe);
        }
        let note = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let annotations = [
            note("tilt.dev/log-span-id", span),
            note("tilt.dev/owner-kind", "CmdServer"),
            note("tilt.dev/owner-name", resource),
            note("tilt.dev/resource", resource),
        ];
        let meta = Meta { annotations: annotations.into(), ..Meta::default() };
        self.store.put(kind::CMD, name, &meta, &spec);
    }

    pub(super) fn stop_serve(&mut self, id: ServeId, resource: &str, is_disabled: bool) {
        let Some(running) = self.commands.running.get_mut(&CommandKey::Serve(id)) else { return };
        running.is_leaving = true;
        running.handle.stop();
        self.store.remove(kind::CMD, &running.object);
        if is_disabled && let Some(it) = self.scheduler.resource(resource) {
            let argv = it.local.as_ref().and_then(|it| it.serve_cmd.argv.clone());
            let argv: Vec<String> =
                argv.into_iter().flatten().map(|it| builtins::golang::quote::quote(&it)).collect();
            let log = self.logs.writer(resource, &format!("CmdServer-{resource}"));
            log.info(&format!("Resource is disabled, stopping cmd [{}]", argv.join(" ")));
        }
    }

    pub(super) fn run_of(
        &self,
        spec: &CmdSpec,
        cause: &str,
        probe: Option<engine_model::Probe>,
        lifetime: Lifetime,
    ) -> Run {
        let surroundings = self.surroundings_for(cause);
        let mut run = surroundings.run(spec.args.clone(), PathBuf::from(&spec.dir), &spec.env);
        run.probe = probe;
        run.lifetime = lifetime;
        run
    }

    /// What all commands find around them.
    pub(super) fn surroundings(&self) -> Surroundings {
        let mut base = self.environment.get();
        if let Some(kubeconfig) = &self.kubeconfig {
            base.retain(|(name, _)| name != "KUBECONFIG");
            base.push(("KUBECONFIG".to_owned(), kubeconfig.clone()));
        }
        Surroundings::new(base, &self.settings.host, self.settings.port, self.settings.colors)
    }

    /// The same for something that is done for a reason; what could write to a cluster is noted with it.
    pub(super) fn surroundings_for(&self, cause: &str) -> Surroundings {
        let surroundings = self.surroundings();
        if self.kubeconfig.is_none() {
            return surroundings;
        }
        surroundings.noted(self.audit.about(self.context()), cause)
    }

    pub(super) fn start_command(
        &mut self,
        key: CommandKey,
        resource: &ResourceName,
        object: String,
        run: Run,
        log: LogWriter,
    ) {
        let text = exec::shell_text(&run.argv);
        let messages = self.messages.clone();
        let reported = key.clone();
        let handle = command::start(run, log, move |event| {
            // Nobody listens when the engine ends.
            let _ = messages.send(Message::Command(reported.clone(), event));
        });
        let resource = Arc::clone(resource);
        let running =
            Running { handle, resource, object, text, pid: 0, started: None, is_leaving: false };
        self.commands.running.insert(key, running);
    }

    pub(super) fn take_command_event(&mut self, key: &CommandKey, event: command::Event) {
        let Some(running) = self.commands.running.get_mut(key) else { return };
        match event {
            command::Event::Started { pid, at } => {
                running.pid = pid;
                running.started = Some(clock::micro(clock::of_system(at)));
                let is_ready = false;
                self.show_running(key, is_ready);
                if let CommandKey::Serve(id) = *key {
                    self.step(Event::ServeStarted { id, pid });
                }
            }
            command::Event::Ready(is_ready) => {
                self.show_running(key, is_ready);
                if let CommandKey::Serve(id) = *key {
                    self.step(Event::ServeReady { id, is_ready });
                }
            }
            command::Event::Ended(ended) => self.command_ended(key, &ended),
        }
    }

    fn command_ended(&mut self, key: &CommandKey, ended: &Ended) {
        let Some(running) = self.commands.running.remove(key) else { return };
        let runs_again = matches!(key, CommandKey::Object(name, _) if self.cmd_runs_again(name));
        if !running.is_leaving && !runs_again {
            self.show_ended(&running, ended);
        }
        match *key {
            CommandKey::Update(id) => {
                let error = if ended.stopped {
                    Some("build canceled".to_owned())
                } else if ended.exit_code == 0 {
                    None
                } else {
                    let text = builtins::golang::quote::quote(&running.text);
                    Some(format!("Command {text} failed: {}", ended.reason))
                };
                self.end_update(id, &running.resource, error);
            }
            CommandKey::Serve(id) => {
                if !ended.stopped && ended.exit_code == 0 {
                    let log = self.logs.writer(&running.resource, &serve_span(id));
                    log.error("Server exited with exit code 0");
                }
                if !ended.stopped {
                    self.commands.lingering.insert(running.resource, running.handle);
                }
                self.step(Event::ServeEnded { id });
            }
            CommandKey::Object(ref name, _) => self.cmd_ended(name),
        }
    }

    pub(super) fn end_update(
        &mut self,
        id: UpdateId,
        resource: &ResourceName,
        error: Option<String>,
    ) {
        self.pruning.n_updates += 1;
        let error = error.map(|it| self.logs.scrubber().scrub(&it).into_owned());
        let is_forgotten = self
            .scheduler
            .resource(resource)
            .and_then(|it| it.current.as_ref())
            .is_none_or(|it| it.id != id);
        if let Some(error) = error.as_ref().filter(|_| !is_forgotten) {
            self.logs.writer(resource, &build_span(id)).error(&format!("Build Failed: {error}"));
        }
        if let Some(watcher) = &self.watcher {
            watcher.updating(&names::local_target(resource), false);
        }
        self.step(Event::UpdateEnded { id, error });
    }

    fn show_running(&self, key: &CommandKey, is_ready: bool) {
        let Some(running) = self.commands.running.get(key).filter(|it| !it.is_leaving) else {
            return;
        };
        let mut status = json!({
            "running": {"pid": running.pid, "startedAt": running.started},
            "disableStatus": self.disable_status(kind::CMD, &running.object),
        });
        if is_ready {
            status["ready"] = json!(true);
        }
        self.store.set_status(kind::CMD, &running.object, &status);
    }

    fn show_ended(&self, running: &Running, ended: &Ended) {
        let time = |it| Value::String(clock::micro(clock::of_system(it)));
        let mut terminated = json!({
            "pid": ended.pid,
            "exitCode": ended.exit_code,
            "startedAt": ended.started_at.map_or(Value::Null, time),
            // What was not even tried has no end either.
            "finishedAt": ended.started_at.map_or(Value::Null, |_| time(ended.finished_at)),
        });
        if !ended.reason.is_empty() {
            terminated["reason"] = json!(ended.reason);
        }
        let old = self.store.get(kind::CMD, &running.object).map(|it| it.status());
        let mut status = json!({"terminated": terminated});
        for key in ["ready", "disableStatus"] {
            if let Some(value) = old.as_ref().and_then(|it| it.get(key)) {
                status[key] = value.clone();
            }
        }
        self.store.set_status(kind::CMD, &running.object, &status);
    }
}

fn serve_spec(target: &LocalTarget) -> CmdSpec {
    CmdSpec {
        args: target.serve_cmd.argv.clone().unwrap_or_default(),
        dir: target.serve_cmd.dir.clone(),
        env: target.serve_cmd.env.clone().unwrap_or_default(),
    }
}

/// The log of one update.
pub(super) fn build_span(id: UpdateId) -> String {
    format!("build:{}", id.0)
}

/// The log of one run of a server.
fn serve_span(id: ServeId) -> String {
    format!("localserve:{}", id.0)
}

/// The first line of an update: why it runs.
pub(super) fn entry_line(reason: Reason, files: &[Arc<str>]) -> String {
    if reason.has(Reason::INITIAL) {
        return "Initial Build".to_owned();
    }
    if files.is_empty() {
        return reason.to_string();
    }
    let mut names: Vec<String> = files.iter().take(MAX_FILES).map(|it| near(it)).collect();
    if files.len() > MAX_FILES {
        names.push("...".to_owned());
    }
    let noun = if files.len() == 1 { "File" } else { "Files" };
    format!("{} {noun} Changed: [{}]", files.len(), names.join(" "))
}

/// A path as seen from here, if it is below.
fn near(path: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    match std::path::Path::new(path).strip_prefix(&here) {
        Ok(below) if !below.as_os_str().is_empty() => below.display().to_string(),
        _ => path.to_owned(),
    }
}
