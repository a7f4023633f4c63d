//! Decides what runs when: events in, actions out, time as an argument.
//!
//! [`World::step`] is total: it neither blocks nor fails nor panics, whatever happens in whatever
//! order. Results carry the number of what caused them; a number that is not known any more is ignored.

use std::collections::{BTreeMap, HashMap, HashSet};

use engine_model::{FilePath, ImageName, Kind, ObjectId};

use crate::{
    cluster::Cluster,
    effect::{Effects, LineKind, LogLine},
    image::ImageNames,
    judge::Judging,
    live_update::SyncId,
    objects::{CmdEvent, Objects},
    prune::Pruning,
    reason::Reason,
    resource::{EnableState, HISTORY, Resource, ResourceName, ServeId, UpdateEnd, UpdateId},
    status::RuntimeStatus,
    tiltfile::Tiltfile,
    time::Time,
};

mod action;
mod changes;
mod docker;
mod event;
mod images;
mod invalidate;
mod live;
mod loops;
mod pick;
mod reload;
mod serve;
mod services;
mod tiltfiles;
mod tracking;
mod trigger;
mod workloads;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use action::{Action, StartLoad};
pub use docker::{DOCKER, Docker, DockerAction, DockerConnection, DockerEvent, Removal};
pub use event::{Event, Loaded};
pub use images::ImageEvent;
pub use invalidate::invalidates;
pub use services::ServiceEvent;
use tracking::Tracking;
pub use trigger::TriggerRefused;

/// How many updates run at once, unless the Tiltfile says otherwise.
pub const MAX_PARALLEL: usize = 3;

/// What the world is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether running containers take changes; `ci` does nothing but build.
    pub has_live_updates: bool,
    /// When `ci` started; nothing if there is no verdict to come to.
    pub ci_started: Option<Time>,
    /// Whether updates that a cluster refused run again; `ci` fails instead.
    pub retries_updates: bool,
    /// When the engine was started.
    pub started: Time,
    /// The directory that lines of the log name files relative to.
    pub cwd: FilePath,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            has_live_updates: true,
            ci_started: None,
            retries_updates: true,
            started: Time::default(),
            cwd: FilePath::default(),
        }
    }
}

/// All resources and Tiltfiles, and what they do.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub(crate) settings: Settings,
    tiltfiles: Vec<Tiltfile>,
    resources: Vec<Resource>,
    index: HashMap<ResourceName, usize>,
    /// Names of resources and Tiltfiles that somebody asked for, first come first served.
    queue: Vec<ResourceName>,
    /// As the main Tiltfile has it, if it has.
    max_parallel: Option<usize>,
    /// Clusters that can be used.
    pub(crate) clusters: HashSet<&'static str>,
    pub(crate) cluster: Cluster,
    /// Updates that ended a moment ago; what changes now may be their doing.
    recent: Vec<loops::Ended>,
    /// Updates of resources that are gone, but not their processes.
    leaving_updates: BTreeMap<UpdateId, Leaving>,
    /// Servers of resources that are gone, but not their processes.
    leaving_servers: HashMap<ServeId, ResourceName>,
    n_loads: u64,
    n_builds: u64,
    n_serves: u64,
    latest_sync: SyncId,
    /// Whose server it is.
    servers: HashMap<ServeId, ResourceName>,
    pub(crate) effects: Effects,
    tracking: Tracking,
    /// API objects that clients and Tiltfiles make.
    pub(crate) objects: Objects,
    docker: Docker,
    pub(crate) pruning: Pruning,
    /// Images that were built, by image map.
    images: BTreeMap<ImageName, ImageNames>,
    pub(crate) judging: Judging,
}

/// An update whose resource is gone; until it has ended it counts like any other.
#[derive(Clone, Debug)]
struct Leaving {
    resource: ResourceName,
    is_exclusive: bool,
}

impl World {
    /// A world in which nothing has happened yet.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Takes in what happened, and says what to do.
    pub fn step(&mut self, now: Time, event: Event) -> Effects {
        if self.has_failed() {
            return Effects::default();
        }
        let may_end_ci = self.may_end_ci(&event);
        self.release_delayed_changes(now);
        self.take_in(now, event);
        self.refresh_watches();
        self.start_loads(now);
        self.start_live_updates(now);
        self.start_updates(now);
        self.reconcile_servers();
        self.remove_services(now);
        self.prune_if_due(now);
        self.publish_changed();
        self.end_step(now, may_end_ci)
    }

    /// All resources, in order.
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// A resource.
    pub fn resource(&self, name: &str) -> Option<&Resource> {
        self.index.get(name).map(|it| &self.resources[*it])
    }

    /// All Tiltfiles, in order.
    pub fn tiltfiles(&self) -> &[Tiltfile] {
        &self.tiltfiles
    }

    /// A Tiltfile.
    pub fn tiltfile(&self, name: &str) -> Option<&Tiltfile> {
        self.tiltfiles.iter().find(|it| &*it.name == name)
    }

    /// The trigger queue, with the reason of each.
    pub fn queue(&self) -> impl Iterator<Item = (&str, Reason)> {
        self.queue.iter().map(|name| {
            let reason = match self.resource(name) {
                Some(resource) => resource.triggered,
                None => self.tiltfile(name).map_or(Reason::default(), |it| it.triggered),
            };
            (&**name, reason)
        })
    }

    /// How many updates may run at once.
    pub fn max_parallel(&self) -> usize {
        self.max_parallel.unwrap_or(MAX_PARALLEL)
    }

    /// Where a resource stands among all, counted from 1; Tiltfiles come first.
    pub fn order(&self, name: &str) -> Option<usize> {
        let tiltfile = self.tiltfiles.iter().position(|it| &*it.name == name);
        let resource = || self.index.get(name).map(|it| it + self.tiltfiles.len());
        tiltfile.or_else(resource).map(|it| it + 1)
    }

    /// A Tiltfile and a resource of the same name: nobody could tell them apart.
    pub fn name_clash(&self) -> Option<(&Tiltfile, &Resource)> {
        self.tiltfiles.iter().find_map(|it| Some((it, self.resource(&it.name)?)))
    }

    fn take_in(&mut self, now: Time, event: Event) {
        match event {
            Event::TiltfileAdded { name, args } => self.add_tiltfile(name, args),
            Event::TiltfileRemoved { name } => self.remove_tiltfile(&name),
            Event::ConfigFilesChanged { tiltfile, files, at } => {
                self.config_files_changed(now, &tiltfile, files, at);
            }
            Event::ArgsChanged { tiltfile, args } => self.set_args(&tiltfile, args),
            Event::LoadEnded { id, result } => self.load_ended(now, id, result),
            Event::FilesChanged { resource, target, files, at, roots } => {
                self.files_changed(now, &resource, &target, files, at, &roots);
            }
            Event::FilesChanging { target, files, roots } => {
                self.files_changing(&target, &files, &roots);
            }
            Event::Triggered { resource, reason, with_deps } => {
                self.triggered(&resource, reason, with_deps);
            }
            Event::TriggerModeSet { resource, mode } => {
                if let Some(&at) = self.index.get(&resource) {
                    self.resources[at].trigger_mode = mode;
                    self.touch(at);
                }
            }
            Event::EnableChanged { resource, state } => {
                if let Some(&at) = self.index.get(&resource) {
                    self.switch(now, at, state);
                }
            }
            Event::StopRequested { resource, at } => self.stop_requested(now, &resource, at),
            Event::UpdateEnded { id, error } => self.update_ended(now, id, error),
            Event::RetryDue { resource, id } => self.retry_due(now, &resource, id),
            Event::Deployed { resource, began } => self.deployed(now, &resource, began),
            Event::ContainersObserved { resource, containers, roots } => {
                self.containers_observed(now, &resource, containers, &roots);
            }
            Event::FilesListed { resource, live_update, result } => {
                self.files_listed(now, &resource, &live_update, result);
            }
            Event::SyncEnded { resource, live_update, id, ended } => {
                self.sync_ended(now, &resource, &live_update, id, ended);
            }
            Event::WentAhead { resource, live_update } => self.went_ahead(&resource, &live_update),
            Event::ServeStarted { id, pid, at } => self.serve_started(now, id, pid, at),
            Event::ServeReady { id, is_ready } => self.serve_ready(now, id, is_ready),
            Event::ServeProbeFailed { id, error } => self.serve_probe_failed(now, id, error),
            Event::ServeEnded { id, end } => self.serve_ended(now, id, end),
            Event::UpdateCommand { id, object, event } => self.update_command(id, object, event),
            Event::ClusterChanged { cluster, is_usable } => {
                // Even if nothing could be done with it before: `ci` gives up now.
                self.judging.has_changed = true;
                if is_usable {
                    self.clusters.insert(cluster);
                } else {
                    self.clusters.remove(cluster);
                }
            }
            Event::TimePassed => {}
            Event::RuntimeObserved { resource, status, is_satisfied, error } => {
                if let Some(&at) = self.index.get(&resource) {
                    self.runtime_observed(now, at, status, is_satisfied, error);
                }
            }
            Event::Workload { resource, event } => self.workload_event(now, &resource, event),
            Event::Cluster(event) => self.cluster_event(now, event),
            Event::Object(event) => self.object_event(now, event),
            Event::Docker(event) => self.docker_event(now, event),
            Event::Service(event) => self.service_event(now, event),
            Event::Image(event) => self.image_event(now, event),
        }
    }

    /// What a resource has deployed does so.
    fn runtime_observed(
        &mut self,
        now: Time,
        at: usize,
        status: RuntimeStatus,
        is_satisfied: bool,
        error: Option<String>,
    ) {
        self.resources[at].observed = Some(status);
        self.resources[at].runtime_error = error;
        if is_satisfied {
            self.became_ready(now, at);
        }
        self.touch(at);
    }

    /// Where a resource stands among all.
    pub(crate) fn place_of(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    pub(crate) fn switch(&mut self, now: Time, at: usize, state: EnableState) {
        let resource = &mut self.resources[at];
        let was = std::mem::replace(&mut resource.enable, state);
        if was == state {
            return;
        }
        let name = resource.name.clone();
        self.objects.watches.is_stale = true;
        if state == EnableState::Disabled {
            resource.history.clear();
            resource.pending.clear();
            resource.cut_off = None;
            resource.retry = None;
            resource.triggered = Reason::default();
            resource.gated = false;
            resource.released_by = None;
            resource.wants_since = None;
            if let Some(update) = &mut resource.current {
                update.is_forgotten = true;
            }
            self.cancel_update(now, at);
            self.queue.retain(|it| *it != name);
        }
        match (was, state) {
            (EnableState::Enabled, EnableState::Disabled) => {
                self.log_switch(&name, false);
                self.disable_workload(now, at);
            }
            (EnableState::Disabled, EnableState::Enabled) => self.log_switch(&name, true),
            _ => {}
        }
        self.touch(at);
    }

    /// A resource was switched on or off.
    fn log_switch(&mut self, resource: &ResourceName, is_enabled: bool) {
        let verb = if is_enabled { "enabled" } else { "disabled" };
        self.effects.lines.push(LogLine {
            resource: resource.clone(),
            span: format!("disabletoggle-{resource}"),
            kind: LineKind::Info,
            text: format!(
                "Resource \"{resource}\" {verb}. To enable/disable it, use the Tilt Web UI."
            ),
        });
        if is_enabled {
            self.keep_service(resource);
        } else if let Some(at) = self.place_of(resource)
            && let Some(mut service) = self.resources[at].service.take()
        {
            self.service_left(resource, &mut service, false);
            self.resources[at].service = Some(service);
        }
    }

    pub(crate) fn stop_requested(&mut self, now: Time, name: &ResourceName, asked: Time) {
        if let Some(run) = self.tiltfile(name).and_then(|it| it.current.as_ref())
            && asked >= run.started
        {
            self.effects.actions.push(Action::CancelLoad { id: run.id });
        }
        if let Some(&at) = self.index.get(name)
            && self.resources[at].current.as_ref().is_some_and(|it| asked >= it.started)
        {
            self.cancel_update(now, at);
        }
    }

    /// The last update of a resource runs again.
    fn retry_due(&mut self, now: Time, name: &ResourceName, id: UpdateId) {
        let Some(&at) = self.index.get(name) else { return };
        let resource = &mut self.resources[at];
        let Some(last) = resource.history.front().filter(|it| it.id == id) else { return };
        if resource.current.is_some() || resource.is_disabled() {
            return;
        }
        if resource.config_change.is_none() {
            resource.config_change.clone_from(&last.config);
        }
        resource.retry = Some(now);
        self.touch(at);
    }

    fn update_ended(&mut self, now: Time, id: UpdateId, error: Option<String>) {
        self.pruning.n_updates += 1;
        if self.leaving_updates.remove(&id).is_some() {
            return;
        }
        let is_it = |at: &usize| {
            let current = self.resources[*at].current.as_ref();
            current.is_some_and(|it| it.id == id && !it.is_live)
        };
        let Some(at) = self.tracking.running.iter().copied().find(is_it) else { return };
        if let Some(error) = &error {
            self.effects.lines.push(LogLine {
                resource: self.resources[at].name.clone(),
                span: id.span(),
                kind: LineKind::Error,
                text: format!("Build Failed: {error}"),
            });
            self.end_builds(now, at, error);
        }
        self.end_update(now, at, error);
    }

    /// The command of a running update did something.
    fn update_command(&mut self, id: UpdateId, object: String, event: CmdEvent) {
        let is_it = |at: &usize| self.resources[*at].current.as_ref().is_some_and(|it| it.id == id);
        if let Some(at) = self.tracking.running.iter().copied().find(is_it) {
            self.resources[at].update_cmd.on_event(event);
            self.effects.changed.insert(ObjectId::new(Kind::Cmd, object));
        }
    }

    /// The update of a resource has ended.
    fn end_update(&mut self, now: Time, at: usize, error: Option<String>) {
        let Some(mut update) = self.resources[at].current.take() else { return };
        self.remember_end(now, at, &update);
        self.touch(at);
        if update.is_forgotten {
            return;
        }
        let is_cut_off =
            error.is_some() && pick::unusable_cluster(self, &self.resources[at]).is_some();
        let resource = &mut self.resources[at];
        if is_cut_off {
            // What failed because its cluster went away runs again when that is back.
            resource.cut_off = Some(now);
            if resource.config_change.is_none() {
                resource.config_change.clone_from(&update.config);
            }
        }
        if error.is_none() {
            resource.last_success = Some(now);
            resource.last_good = Some(update.id);
            resource.is_live_broken = false;
        }
        let is_ready = error.is_none() && resource.is_ready_once_updated();
        update.end(UpdateEnd { at: now, error });
        resource.history.push_front(update);
        resource.history.truncate(HISTORY);
        if is_ready {
            self.became_ready(now, at);
        }
    }
}
