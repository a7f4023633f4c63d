//! Runs the commands of updates, servers and Cmd objects, and reports what happens to them.

use std::{collections::HashMap, time::Duration};

use engine_core::{
    Event,
    objects::{CmdEnd, CmdEvent, CmdRunId, ObjectEvent},
    resource::{ResourceName, ServeId, UpdateId},
};
use engine_formats::golang::quote::quote;
use engine_model::Time;

use crate::{
    clock,
    exec::{
        self,
        command::{self, CommandHandle, Ended, Run},
    },
    logs::{LogStore, LogWriter},
};

/// Which command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CommandKey {
    /// Of an update of a resource.
    Update(UpdateId, ResourceName),
    /// Of a server.
    Serve(ServeId),
    /// Of a Cmd object that somebody made, and which run of it.
    Object(String, CmdRunId),
}

/// A command to run.
pub(crate) struct CommandRequest {
    /// Which one.
    pub(crate) key: CommandKey,
    /// The resource it belongs to; empty for none.
    pub(crate) resource: ResourceName,
    /// Its API object.
    pub(crate) object: String,
    /// What to run, and where.
    pub(crate) run: Run,
    /// Where its output goes.
    pub(crate) log: LogWriter,
}

/// A command that runs.
struct RunningCommand {
    handle: CommandHandle,
    resource: ResourceName,
    object: String,
    text: String,
    started: Option<Time>,
}

/// All commands that run.
pub(crate) struct Commands {
    /// Knows the secrets that must not get out.
    logs: LogStore,
    running: HashMap<CommandKey, RunningCommand>,
    /// Servers that have ended by themselves; what they started goes when they are stopped.
    lingering: HashMap<ResourceName, CommandHandle>,
}

impl Commands {
    /// No commands yet.
    pub(crate) fn new(logs: LogStore) -> Self {
        Self { logs, running: HashMap::new(), lingering: HashMap::new() }
    }

    /// Starts a command; `report` hears what happens to it.
    pub(crate) fn start(
        &mut self,
        request: CommandRequest,
        report: impl Fn(CommandKey, command::Event) + Send + Sync + 'static,
    ) {
        let CommandRequest { key, resource, object, run, log } = request;
        let (text, reported) = (exec::shell_text(&run.argv), key.clone());
        let handle = command::start(run, log, move |event| report(reported.clone(), event));
        self.running.insert(key, RunningCommand { handle, resource, object, text, started: None });
    }

    /// Asks a command to stop; it still ends.
    pub(crate) fn stop(&self, key: &CommandKey) {
        if let Some(running) = self.running.get(key) {
            running.handle.stop();
        }
    }

    /// Stops all commands; whether they all went in time.
    pub(crate) async fn stop_all(&self, grace: Duration) -> bool {
        let running = self.running.values().map(|it| &it.handle);
        exec::stop_all(running.chain(self.lingering.values()), grace).await
    }

    /// The resources of commands that have started, and since when each runs.
    pub(crate) fn running(&self) -> impl Iterator<Item = (&str, Time)> {
        self.running.values().filter_map(|it| Some((&*it.resource, it.started?)))
    }

    /// Ends what a server has left behind when it ended by itself.
    pub(crate) fn clear(&mut self, resource: &str) {
        self.lingering.remove(resource);
    }

    /// What it means for the world that a command did something.
    pub(crate) fn on_event(&mut self, key: &CommandKey, event: command::Event) -> Vec<Event> {
        let event = self.translate(key, event);
        match key.clone() {
            CommandKey::Object(object, run) => {
                if matches!(event, CmdEvent::Ended(_)) {
                    self.running.remove(key);
                }
                vec![Event::Object(ObjectEvent::Cmd { object, run, event })]
            }
            CommandKey::Serve(id) => match event {
                CmdEvent::Started { pid, at } => vec![Event::ServeStarted { id, pid, at }],
                CmdEvent::Ready(is_ready) => vec![Event::ServeReady { id, is_ready }],
                CmdEvent::ProbeFailed(error) => vec![Event::ServeProbeFailed { id, error }],
                CmdEvent::Ended(end) => {
                    let running = self.running.remove(key);
                    if let Some(running) = running.filter(|_| !end.is_stopped) {
                        self.lingering.insert(running.resource, running.handle);
                    }
                    vec![Event::ServeEnded { id, end }]
                }
            },
            CommandKey::Update(id, _) => {
                let Some(running) = self.running.get(key) else { return Vec::new() };
                let (object, error) = (running.object.clone(), error_of(&event, &running.text));
                let has_ended = matches!(event, CmdEvent::Ended(_));
                let mut events = vec![Event::UpdateCommand { id, object, event }];
                if has_ended {
                    self.running.remove(key);
                    events.push(Event::UpdateEnded { id, error });
                }
                events
            }
        }
    }

    fn translate(&mut self, key: &CommandKey, event: command::Event) -> CmdEvent {
        match event {
            command::Event::Started { pid, at } => {
                let at = clock::of_system(at);
                if let Some(running) = self.running.get_mut(key) {
                    running.started = Some(at);
                }
                CmdEvent::Started { pid, at }
            }
            command::Event::Ready(is_ready) => CmdEvent::Ready(is_ready),
            command::Event::ProbeFailed(error) => {
                CmdEvent::ProbeFailed(self.logs.scrubber().scrub(&error).into_owned())
            }
            command::Event::Ended(ended) => CmdEvent::Ended(self.end_of(ended)),
        }
    }

    fn end_of(&self, ended: Ended) -> CmdEnd {
        CmdEnd {
            pid: ended.pid,
            exit_code: ended.exit_code,
            reason: ended.reason,
            started: ended.started_at.map(clock::of_system),
            finished: clock::of_system(ended.finished_at),
            is_stopped: ended.stopped,
            last_line: self.logs.scrubber().scrub(&ended.last_line).into_owned(),
        }
    }
}

/// What went wrong with the command of an update, in Tilt's words.
fn error_of(event: &CmdEvent, text: &str) -> Option<String> {
    match event {
        CmdEvent::Ended(end) if end.is_stopped => Some("build canceled".to_owned()),
        CmdEvent::Ended(end) if end.exit_code != 0 => {
            Some(format!("Command {} failed: {}", quote(text), end.reason))
        }
        CmdEvent::Started { .. }
        | CmdEvent::Ready(_)
        | CmdEvent::ProbeFailed(_)
        | CmdEvent::Ended(_) => None,
    }
}
