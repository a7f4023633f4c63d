//! What must hold after every step, from a second and simpler account of what happened.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use engine_model::{DeployTarget, FilePath, Manifest, PodReadiness, ResourceName};

use crate::{
    reason::Reason,
    resource::{EnableState, ServeId, UpdateId},
    time::Time,
    world::{Event, Loaded, invalidates},
};

mod acts;
mod checks;
mod live;
mod resource;

use resource::{Resource, Served, Update};

/// A Tiltfile as the model sees it.
#[derive(Default)]
struct Tiltfile {
    args: Vec<String>,
    running: Option<(crate::tiltfile::LoadId, bool)>,
    /// When and with what it last began.
    last: Option<(Time, Vec<String>)>,
    is_edited: bool,
    triggered: Reason,
}

/// A process that may be there.
struct Server {
    resource: ResourceName,
    has_run: bool,
    is_ready: bool,
    has_probe: bool,
    is_stopping: bool,
}

/// The account.
#[derive(Default)]
pub(super) struct Model {
    tiltfiles: BTreeMap<ResourceName, Tiltfile>,
    resources: BTreeMap<ResourceName, Resource>,
    order: Vec<ResourceName>,
    queue: Vec<ResourceName>,
    max_parallel: Option<usize>,
    /// Updates whose resource is gone, and whether they were exclusive.
    leaving: BTreeMap<UpdateId, (ResourceName, bool)>,
    servers: BTreeMap<ServeId, Server>,
    /// What the step that is going on must cancel, and stop.
    must_cancel: BTreeSet<UpdateId>,
    must_cancel_syncs: BTreeSet<ResourceName>,
    must_remove: BTreeSet<ResourceName>,
    /// Whose containers take changes, or did so in the step that is going on.
    live: BTreeSet<ResourceName>,
    latest: (u64, u64, u64),
    /// How everything looked after the last step.
    views: BTreeMap<ResourceName, checks::View>,
}

impl Model {
    fn max_parallel(&self) -> usize {
        self.max_parallel.unwrap_or(3)
    }

    fn n_running(&self) -> usize {
        self.leaving.len() + self.resources.values().filter(|it| it.running.is_some()).count()
    }

    pub(super) fn stopping_servers(&self) -> impl Iterator<Item = ServeId> {
        self.servers.iter().filter(|(_, it)| it.is_stopping).map(|(id, _)| *id)
    }

    pub(super) fn unready_servers(&self) -> impl Iterator<Item = ServeId> {
        self.servers.iter().filter(|(_, it)| it.has_run && !it.is_ready).map(|(id, _)| *id)
    }

    /// Takes in what happens, before the world does.
    pub(super) fn happens(&mut self, now: Time, event: &Event) {
        match event {
            Event::TiltfileAdded { name, args } => {
                let new = Tiltfile { args: args.clone(), ..Tiltfile::default() };
                self.tiltfiles.entry(name.clone()).or_insert(new);
            }
            Event::TiltfileRemoved { name } => {
                if self.tiltfiles.remove(name).is_some() {
                    self.queue.retain(|it| it != name);
                    self.remove(|_, it| it.tiltfile == *name);
                }
            }
            Event::ConfigFilesChanged { tiltfile, at, .. } => {
                if let Some(it) = self.tiltfiles.get_mut(tiltfile) {
                    let is_known = it.last.as_ref().is_some_and(|it| is_before(*at, it.0, now));
                    it.is_edited |= !is_known;
                }
            }
            Event::ArgsChanged { tiltfile, args } => {
                if let Some(it) = self.tiltfiles.get_mut(tiltfile) {
                    it.args.clone_from(args);
                }
            }
            Event::LoadEnded { id, result } => {
                let mut all = self.tiltfiles.iter_mut();
                let found = all.find(|(_, it)| it.running.is_some_and(|it| it.0 == *id));
                if let Some((name, tiltfile)) = found {
                    tiltfile.running = None;
                    if let Ok(loaded) = result {
                        let name = name.clone();
                        self.loads(&name, loaded);
                    }
                }
            }
            Event::FilesChanged { resource, files, at, .. } => {
                if let Some(it) = self.resources.get_mut(resource) {
                    let files: Vec<FilePath> = files.iter().map(|it| it.0.clone()).collect();
                    it.files_change(now, &files, *at);
                }
            }
            Event::Triggered { resource, reason, with_deps } => {
                self.is_triggered(resource, *reason, *with_deps);
            }
            Event::TriggerModeSet { resource, mode } => {
                if let Some(it) = self.resources.get_mut(resource) {
                    it.mode = *mode;
                }
            }
            Event::EnableChanged { resource, state } => self.switches(resource, *state),
            Event::StopRequested { resource, at } => {
                let running = self.resources.get(resource).and_then(|it| it.running.as_ref());
                self.must_cancel.extend(running.filter(|it| it.started <= *at).map(|it| it.id));
                let live = self.resources.get(resource).and_then(|it| it.live);
                if live.is_some_and(|it| it <= *at) {
                    self.must_cancel_syncs.insert(resource.clone());
                }
            }
            Event::UpdateEnded { id, error } => self.update_ends(now, *id, error.is_none()),
            Event::ServeStarted { id, .. } => self.server_runs(*id),
            Event::ServeReady { id, is_ready } => self.server_is_ready(*id, *is_ready),
            Event::ServeEnded { id, .. } => drop(self.servers.remove(id)),
            // Clusters can be used from the start and take all that comes. What becomes of containers is followed.
            Event::ClusterChanged { .. }
            | Event::RetryDue { .. }
            | Event::UpdateCommand { .. }
            | Event::ServeProbeFailed { .. }
            | Event::FilesChanging { .. }
            | Event::Deployed { .. }
            | Event::ContainersObserved { .. }
            | Event::FilesListed { .. }
            | Event::SyncEnded { .. }
            | Event::WentAhead { .. }
            | Event::TimePassed
            | Event::Workload { .. }
            | Event::Cluster(_)
            | Event::Object(_)
            | Event::Docker(_)
            | Event::Service(_)
            | Event::Image(_) => {}
            Event::RuntimeObserved { resource, is_satisfied, .. } => {
                if let Some(it) = self.resources.get_mut(resource) {
                    it.was_ready |= is_satisfied;
                }
            }
        }
    }

    fn loads(&mut self, tiltfile: &ResourceName, loaded: &Loaded) {
        if let Some(max_parallel) = loaded.max_parallel {
            self.max_parallel = Some(max_parallel.max(1));
        }
        let names: BTreeSet<&str> = loaded.manifests.iter().map(|it| it.name.as_str()).collect();
        self.remove(|name, it| it.tiltfile == *tiltfile && !names.contains(name));
        for manifest in &loaded.manifests {
            let name: ResourceName = manifest.name.as_str().into();
            match self.resources.get_mut(&name) {
                Some(old) if old.tiltfile != *tiltfile => continue,
                Some(old) if is_same_kind(&old.manifest, manifest) => {
                    if invalidates(&old.manifest, manifest) {
                        old.changed.clear();
                        old.is_reconfigured = true;
                    }
                    old.mode = manifest.trigger_mode;
                    old.manifest = Arc::clone(manifest);
                }
                Some(_) => {
                    self.abandon(&name);
                    self.resources.insert(name.clone(), Resource::new(manifest, tiltfile));
                }
                None => {
                    self.order.push(name.clone());
                    self.resources.insert(name.clone(), Resource::new(manifest, tiltfile));
                }
            }
            if let Some(state) = loaded.enabled.get(&name) {
                self.switches(&name, *state);
            }
        }
    }

    fn remove(&mut self, is_gone: impl Fn(&str, &Resource) -> bool) {
        let gone = self.resources.iter().filter(|(name, it)| is_gone(name, it));
        let gone: BTreeSet<ResourceName> = gone.map(|(name, _)| name.clone()).collect();
        for name in &gone {
            self.abandon(name);
            self.resources.remove(name);
        }
        self.order.retain(|it| !gone.contains(it));
        self.must_remove.extend(gone);
    }

    /// What a resource runs goes on without it until it has ended.
    fn abandon(&mut self, name: &ResourceName) {
        self.queue.retain(|it| it != name);
        if let Some(it) = self.resources.get(name)
            && let Some(update) = &it.running
        {
            self.must_cancel.insert(update.id);
            self.leaving.insert(update.id, (name.clone(), it.is_exclusive()));
        }
        if self.resources.get(name).is_some_and(|it| it.live.is_some()) {
            self.must_cancel_syncs.insert(name.clone());
        }
    }

    fn is_triggered(&mut self, name: &ResourceName, reason: Reason, with_deps: bool) {
        let reason = if reason.is_empty() { Reason::TRIGGER_UNKNOWN } else { reason };
        if let Some(it) = self.tiltfiles.get_mut(name) {
            it.triggered = it.triggered.with(reason);
            return enqueue(&mut self.queue, name);
        }
        let Some(it) = self.resources.get(name) else { return };
        if it.enable == EnableState::Disabled {
            return;
        }
        let deps = if with_deps { self.deps_to_trigger(name) } else { BTreeSet::new() };
        for name in deps.iter().chain([name]) {
            if let Some(it) = self.resources.get_mut(name) {
                it.triggered = it.triggered.with(reason);
            }
        }
        if let Some(it) = self.resources.get_mut(name) {
            it.waits_for_deps = with_deps;
        }
        // Their order among each other is another matter than that they come before it.
        for name in deps.iter().chain([name]) {
            enqueue(&mut self.queue, name);
        }
    }

    fn deps_to_trigger(&self, name: &ResourceName) -> BTreeSet<ResourceName> {
        let mut found: BTreeSet<ResourceName> = BTreeSet::new();
        let mut next = vec![name.clone()];
        while let Some(name) = next.pop() {
            let Some(it) = self.resources.get(&name) else { continue };
            for dep in it.manifest.resource_dependencies.iter().flatten() {
                if found.insert(dep.as_str().into()) {
                    next.push(dep.as_str().into());
                }
            }
        }
        found.retain(|it| {
            self.resources.get(it).is_some_and(|it| {
                let waits_for_its_turn = it.starts_by_itself() && it.never_ran();
                it.enable != EnableState::Disabled
                    && it.running.is_none()
                    && it.last_success.is_none()
                    && !waits_for_its_turn
            })
        });
        found
    }

    fn switches(&mut self, name: &ResourceName, state: EnableState) {
        let Some(it) = self.resources.get_mut(name) else { return };
        let was = std::mem::replace(&mut it.enable, state);
        if was == state || state != EnableState::Disabled {
            return;
        }
        it.changed.clear();
        it.triggered = Reason::default();
        it.waits_for_deps = false;
        it.last = None;
        if let Some(update) = &mut it.running {
            update.is_forgotten = true;
            self.must_cancel.insert(update.id);
        }
        if it.live.is_some() {
            self.must_cancel_syncs.insert(name.clone());
        }
        self.queue.retain(|it| it != name);
    }

    fn update_ends(&mut self, now: Time, id: UpdateId, is_good: bool) {
        self.leaving.remove(&id);
        let mut all = self.resources.values_mut();
        let found = all.find(|it| it.running.as_ref().is_some_and(|it| it.id == id));
        let Some(it) = found else { return };
        let is_forgotten = it.running.take().is_some_and(|it| it.is_forgotten);
        if is_forgotten {
            return;
        }
        it.last = Some(is_good);
        if is_good {
            it.last_good = Some(id);
            it.last_success = Some(now);
            it.was_ready |= match &it.manifest.deploy_target {
                DeployTarget::Local(target) => target.readiness_probe.is_none(),
                DeployTarget::Kubernetes(target) => target.pod_readiness == PodReadiness::Ignore,
                DeployTarget::Compose(_) => false,
            };
        }
    }

    fn server_runs(&mut self, id: ServeId) {
        let Some(server) = self.servers.get_mut(&id) else { return };
        server.has_run = true;
        server.is_ready = !server.has_probe;
        self.note_ready(id);
    }

    fn server_is_ready(&mut self, id: ServeId, is_ready: bool) {
        if let Some(server) = self.servers.get_mut(&id)
            && server.has_run
        {
            server.is_ready = is_ready;
            self.note_ready(id);
        }
    }

    fn note_ready(&mut self, id: ServeId) {
        let server = &self.servers[&id];
        if server.is_ready
            && let Some(it) = self.resources.get_mut(&server.resource)
            && it.served.as_ref().is_some_and(|it| it.id == id)
        {
            it.was_ready = true;
        }
    }
}

/// Whether the clock says so, and has not been set back since.
fn is_before(a: Time, b: Time, now: Time) -> bool {
    a < b && b <= now
}

fn is_same_kind(a: &Manifest, b: &Manifest) -> bool {
    std::mem::discriminant(&a.deploy_target) == std::mem::discriminant(&b.deploy_target)
}

fn enqueue(queue: &mut Vec<ResourceName>, name: &ResourceName) {
    if !queue.contains(name) {
        queue.push(name.clone());
    }
}
