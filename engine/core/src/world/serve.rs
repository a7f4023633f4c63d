//! Starts and stops servers: one per resource, from its last good update.

use std::sync::Arc;

use engine_model::{Kind, LocalTarget, ObjectId};

use crate::{
    effect::{LineKind, LogLine},
    objects::{CmdEnd, CmdEvent, CmdPhase},
    resource::{Resource, ServeId, Server},
    status::UpdateStatus,
    time::Time,
    world::{Action, World},
};

/// What should become of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    Leave,
    Stop,
    Forget,
    Start,
}

impl World {
    /// Lets every server be what it should be; of what nothing happened to, it is.
    pub(super) fn reconcile_servers(&mut self) {
        for at in self.take_dirty() {
            match plan(&self.resources[at]) {
                Plan::Leave => {}
                Plan::Stop => self.stop_server(at),
                Plan::Forget => {
                    self.resources[at].server = None;
                    self.show(at);
                }
                Plan::Start => self.start_server(at),
            }
        }
    }

    fn start_server(&mut self, at: usize) {
        let name = self.resources[at].name.clone();
        if self.leaving_servers.values().any(|it| *it == name) {
            return;
        }
        let Some(target) = self.resources[at].local.clone() else { return };
        self.n_serves += 1;
        let id = ServeId(self.n_serves);
        let resource = &mut self.resources[at];
        resource.server = Some(Server {
            id,
            target,
            after: resource.last_good,
            phase: CmdPhase::Starting,
            is_stopping: false,
        });
        self.show(at);
        self.servers.insert(id, name.clone());
        self.effects.actions.push(Action::StartServe { id, resource: name });
    }

    fn stop_server(&mut self, at: usize) {
        let resource = &mut self.resources[at];
        let is_disabled = resource.is_disabled();
        let Some(server) = &mut resource.server else { return };
        server.is_stopping = true;
        let id = server.id;
        let name = resource.name.clone();
        self.show(at);
        self.effects.actions.push(Action::StopServe { id, resource: name, is_disabled });
    }

    /// Stops the server of a resource that is going away.
    pub(super) fn abandon_server(&mut self, resource: &mut Resource) {
        let Some(server) = resource.server.take().filter(Server::is_alive) else { return };
        self.servers.remove(&server.id);
        self.leaving_servers.insert(server.id, resource.name.clone());
        if !server.is_stopping {
            let resource = resource.name.clone();
            self.effects.actions.push(Action::StopServe {
                id: server.id,
                resource,
                is_disabled: false,
            });
        }
    }

    fn server_at(&self, id: ServeId) -> Option<usize> {
        self.index.get(self.servers.get(&id)?).copied()
    }

    pub(super) fn serve_started(&mut self, now: Time, id: ServeId, pid: u32, since: Time) {
        let Some(at) = self.server_at(id) else { return };
        let is_starting =
            self.resources[at].server.as_ref().is_some_and(|it| it.phase == CmdPhase::Starting);
        if is_starting {
            self.resources[at].last_pid = pid;
            self.on_server_event(now, at, CmdEvent::Started { pid, at: since });
        }
    }

    pub(super) fn serve_ready(&mut self, now: Time, id: ServeId, ready: bool) {
        let Some(at) = self.server_at(id) else { return };
        let server = self.resources[at].server.as_ref();
        let is_news = |it: &Server| matches!(it.phase, CmdPhase::Running { is_ready, .. } if is_ready != ready);
        if server.is_some_and(is_news) {
            self.on_server_event(now, at, CmdEvent::Ready(ready));
        }
    }

    pub(super) fn serve_probe_failed(&mut self, now: Time, id: ServeId, error: String) {
        if let Some(at) = self.server_at(id) {
            self.on_server_event(now, at, CmdEvent::ProbeFailed(error));
        }
    }

    pub(super) fn serve_ended(&mut self, now: Time, id: ServeId, end: CmdEnd) {
        if let Some(name) = self.leaving_servers.remove(&id) {
            // The one that follows it may start now.
            if let Some(&at) = self.index.get(&name) {
                self.touch(at);
            }
            return;
        }
        let Some(at) = self.server_at(id) else { return };
        self.servers.remove(&id);
        let resource = &self.resources[at];
        if resource.server.as_ref().is_some_and(Server::is_alive) {
            if !end.is_stopped && end.exit_code == 0 {
                self.effects.lines.push(LogLine {
                    resource: resource.name.clone(),
                    span: id.span(),
                    kind: LineKind::Error,
                    text: "Server exited with exit code 0".to_owned(),
                });
            }
            self.on_server_event(now, at, CmdEvent::Ended(end));
        }
    }

    /// The command of the current server did something.
    fn on_server_event(&mut self, now: Time, at: usize, event: CmdEvent) {
        let resource = &mut self.resources[at];
        let Some(server) = &mut resource.server else { return };
        let was_ready = server.is_ready();
        server.phase.on_event(event);
        self.effects.changed.insert(ObjectId::new(Kind::Cmd, server.object(&resource.name)));
        if server.is_ready() && !was_ready {
            self.became_ready(now, at);
        }
        self.touch(at);
    }
}

fn plan(resource: &Resource) -> Plan {
    let stop = |server: &Server| match (server.is_alive(), server.is_stopping) {
        (true, false) => Plan::Stop,
        (true, true) => Plan::Leave,
        (false, _) => Plan::Forget,
    };
    let wanted = resource.local.as_ref();
    let wanted = wanted.filter(|it| !resource.is_disabled() && !it.serve_cmd.is_empty());
    let Some(wanted) = wanted else {
        return resource.server.as_ref().map_or(Plan::Leave, stop);
    };
    // The old server lives on while an update is due, running, or has failed.
    if !matches!(resource.update_status(), UpdateStatus::Ok | UpdateStatus::NotApplicable) {
        return Plan::Leave;
    }
    match &resource.server {
        Some(server) if is_current(resource, server, wanted) => Plan::Leave,
        Some(server) if server.is_alive() => stop(server),
        Some(_) | None => Plan::Start,
    }
}

fn is_current(resource: &Resource, server: &Server, wanted: &Arc<LocalTarget>) -> bool {
    let is_same = Arc::ptr_eq(&server.target, wanted)
        || (server.target.serve_cmd == wanted.serve_cmd
            && server.target.readiness_probe == wanted.readiness_probe);
    is_same && server.after == resource.last_good && !server.is_stopping
}
