//! Which actions are right.

use std::collections::BTreeSet;

use engine_model::{FilePath, ResourceName};

use super::{Model, Served, Server, Update};
use crate::{
    reason::Reason,
    resource::{EnableState, ServeId, UpdateId},
    time::Time,
    world::{Action, StartLoad},
};

impl Model {
    /// Takes in what the world asks for.
    pub(in super::super) fn acts(&mut self, now: Time, action: &Action) {
        match action {
            Action::StartLoad(StartLoad { id, tiltfile, files, args, resets_switches, .. }) => {
                assert!(id.0 > self.latest.0, "numbers only grow");
                self.latest.0 = id.0;
                let it = self.tiltfiles.get_mut(tiltfile).expect("only known Tiltfiles run");
                assert!(it.running.is_none(), "runs of a Tiltfile never overlap");
                let before = it.last.as_ref().map_or(&[][..], |it| &it.1);
                assert_eq!(*resets_switches, before != args);
                assert_eq!(it.args, *args);
                let has_cause =
                    it.last.is_none() || it.is_edited || !it.triggered.is_empty() || before != args;
                assert!(has_cause, "{tiltfile} runs without a cause");
                assert_eq!(it.is_edited, !files.is_empty());
                it.running = Some((*id, it.is_edited));
                it.last = Some((now, args.clone()));
                it.is_edited = false;
                it.triggered = Reason::default();
                self.queue.retain(|it| it != tiltfile);
            }
            Action::CancelLoad { .. }
            | Action::DeclaredTwice { .. }
            | Action::ListFiles { .. }
            | Action::StartSync { .. }
            | Action::SendAhead { .. }
            | Action::FindContainers { .. }
            | Action::Docker(_)
            | Action::Kubernetes(_)
            | Action::Object(_) => {}
            Action::StartUpdate { id, resource, reason, files, .. } => {
                self.check_start(*id, resource);
                let it = self.resources.get_mut(resource).expect("it was checked");
                let files: BTreeSet<FilePath> = files.iter().cloned().collect();
                // What containers could not take counts as well.
                if !self.live.contains(resource) {
                    assert_eq!(*reason, it.reason(), "{resource} starts for what happened");
                    assert!(files.is_superset(&it.changed), "{resource} takes every change");
                }
                it.changed.clear();
                it.is_reconfigured = false;
                it.triggered = Reason::default();
                it.waits_for_deps = false;
                it.running = Some(Update { id: *id, started: now, files, is_forgotten: false });
                self.queue.retain(|it| it != resource);
            }
            Action::CancelUpdate { id, .. } => {
                assert!(self.must_cancel.remove(id), "nobody wanted {id:?} to be cancelled");
            }
            Action::CancelSync { resource } => {
                assert!(self.must_cancel_syncs.remove(resource), "nobody stopped {resource}");
            }
            Action::StartServe { id, resource } => self.serve_starts(*id, resource),
            Action::StopServe { id, resource, .. } => self.serve_stops(*id, resource),
            Action::Removed { resource } => {
                assert!(self.must_remove.remove(resource), "{resource} is not gone");
            }
        }
    }

    /// Whether an update may start now.
    fn check_start(&mut self, id: UpdateId, name: &ResourceName) {
        assert!(id.0 > self.latest.1, "numbers only grow");
        self.latest.1 = id.0;
        let it = self.resources.get(name).expect("only known resources update");
        assert!(it.wants() || self.live.contains(name), "{name} does not want to update");
        assert!(it.running.is_none(), "{name} updates already");
        assert!(self.leaving.values().all(|it| it.0 != *name), "a former {name} has not ended");
        let is_held = |it: &super::Tiltfile| it.is_edited || it.running.is_some_and(|it| it.1);
        assert!(!self.tiltfiles.values().any(is_held), "{name} starts before the Tiltfile ran");
        assert_ne!(it.enable, EnableState::Pending, "it is not known whether {name} takes part");
        assert!(self.n_running() < self.max_parallel(), "no slot for {name}");
        assert!(!it.is_exclusive() || self.n_running() == 0, "{name} would not be alone");
        let mut running = self.resources.values().filter(|it| it.running.is_some());
        assert!(!running.any(super::Resource::is_exclusive), "{name} beside an exclusive one");
        assert!(!self.leaving.values().any(|it| it.1), "{name} beside an exclusive one");
        if it.never_ran() || it.waits_for_deps {
            for dep in it.manifest.resource_dependencies.iter().flatten() {
                let is_ready = self.resources.get(dep.as_str()).is_some_and(|it| it.was_ready);
                assert!(is_ready, "{name} starts although {dep} was never ready");
            }
        }
    }

    fn serve_starts(&mut self, id: ServeId, name: &ResourceName) {
        assert!(id.0 > self.latest.2, "numbers only grow");
        self.latest.2 = id.0;
        assert!(self.servers.values().all(|it| it.resource != *name), "two servers of {name}");
        let it = self.resources.get_mut(name).expect("only known resources serve");
        let target = it.local().expect("only local resources serve").clone();
        assert!(!target.serve_cmd.is_empty());
        assert_ne!(it.enable, EnableState::Disabled, "{name} is disabled");
        assert!(it.running.is_none() && !it.wants(), "{name} has an update to do first");
        assert_eq!(it.last, Some(true), "the server of {name} comes after a good update");
        let good = it.last_good.expect("the last update was good");
        assert!(!it.is_served(), "{name} is served twice for one update");
        let has_probe = target.readiness_probe.is_some();
        it.served = Some(Served { id, good, target, was_stopped: false });
        let resource = name.clone();
        let server =
            Server { resource, has_run: false, is_ready: false, has_probe, is_stopping: false };
        self.servers.insert(id, server);
    }

    fn serve_stops(&mut self, id: ServeId, name: &ResourceName) {
        let server = self.servers.get_mut(&id).expect("only what is there is stopped");
        assert!(!server.is_stopping, "{id:?} is stopped twice");
        server.is_stopping = true;
        let Some(it) = self.resources.get_mut(name) else { return };
        let is_latest = it.served.as_ref().is_some_and(|it| it.id == id);
        let is_wanted = is_latest && it.is_served() && it.enable != EnableState::Disabled;
        assert!(!is_wanted, "the server of {name} is stopped although it is what is wanted");
        if let Some(served) = it.served.as_mut().filter(|_| is_latest) {
            served.was_stopped = true;
        }
    }
}
