//! Decides what runs when: events in, actions out, time as an argument.
//!
//! [`Scheduler::step`] is total: it neither blocks nor fails nor panics, whatever happens in whatever
//! order. Results carry the number of what caused them; a number that is not known any more is ignored.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use crate::{
    reason::Reason,
    resource::{EnableState, HISTORY, Resource, ResourceName, ServeId, UpdateEnd, UpdateId},
    tiltfile::Tiltfile,
    time::Time,
};

mod action;
mod changes;
mod event;
mod invalidate;
mod live;
mod loops;
mod pick;
mod reload;
mod serve;
mod tiltfiles;
mod tracking;
mod trigger;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use action::Action;
pub use event::{Event, Loaded};
pub use invalidate::invalidates;
use tracking::Tracking;

/// How many updates run at once, unless the Tiltfile says otherwise.
pub const MAX_PARALLEL: usize = 3;

/// All resources and Tiltfiles, and what they do.
#[derive(Clone, Debug)]
pub struct Scheduler {
    tiltfiles: Vec<Tiltfile>,
    resources: Vec<Resource>,
    index: HashMap<ResourceName, usize>,
    /// Names of resources and Tiltfiles that somebody asked for, first come first served.
    queue: Vec<ResourceName>,
    max_parallel: usize,
    /// Clusters that can be used.
    clusters: HashSet<&'static str>,
    /// Updates that ended a moment ago; what changes now may be their doing.
    recent: Vec<loops::Ended>,
    /// Updates of resources that are gone, but not their processes.
    leaving_updates: BTreeMap<UpdateId, Leaving>,
    /// Servers of resources that are gone, but not their processes.
    leaving_servers: HashMap<ServeId, ResourceName>,
    n_loads: u64,
    n_builds: u64,
    n_serves: u64,
    /// Whose server it is.
    servers: HashMap<ServeId, ResourceName>,
    actions: Vec<Action>,
    tracking: Tracking,
}

/// An update whose resource is gone; until it has ended it counts like any other.
#[derive(Clone, Debug)]
struct Leaving {
    resource: ResourceName,
    is_exclusive: bool,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self {
            tiltfiles: Vec::new(),
            resources: Vec::new(),
            index: HashMap::new(),
            queue: Vec::new(),
            max_parallel: MAX_PARALLEL,
            clusters: HashSet::new(),
            recent: Vec::new(),
            leaving_updates: BTreeMap::new(),
            leaving_servers: HashMap::new(),
            n_loads: 0,
            n_builds: 0,
            n_serves: 0,
            servers: HashMap::new(),
            actions: Vec::new(),
            tracking: Tracking::default(),
        }
    }
}

impl Scheduler {
    /// Takes in what happened, and says what to do.
    pub fn step(&mut self, now: Time, event: Event) -> Vec<Action> {
        self.take_in(now, event);
        self.start_loads(now);
        self.start_live_updates(now);
        self.start_updates(now);
        self.reconcile_servers();
        std::mem::take(&mut self.actions)
    }

    /// All resources, in order.
    #[must_use]
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// A resource.
    #[must_use]
    pub fn resource(&self, name: &str) -> Option<&Resource> {
        self.index.get(name).map(|it| &self.resources[*it])
    }

    /// All Tiltfiles, in order.
    #[must_use]
    pub fn tiltfiles(&self) -> &[Tiltfile] {
        &self.tiltfiles
    }

    /// A Tiltfile.
    #[must_use]
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
    #[must_use]
    pub fn max_parallel(&self) -> usize {
        self.max_parallel
    }

    /// Where a resource stands among all, counted from 1; Tiltfiles come first.
    #[must_use]
    pub fn order(&self, name: &str) -> Option<usize> {
        let tiltfile = self.tiltfiles.iter().position(|it| &*it.name == name);
        let resource = || self.index.get(name).map(|it| it + self.tiltfiles.len());
        tiltfile.or_else(resource).map(|it| it + 1)
    }

    /// A Tiltfile and a resource of the same name: nobody could tell them apart.
    #[must_use]
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
            Event::ArgsChanged { tiltfile, args } => {
                if let Some(tiltfile) = self.tiltfiles.iter_mut().find(|it| it.name == tiltfile) {
                    tiltfile.args = args;
                    let name = Arc::clone(&tiltfile.name);
                    self.show_name(&name);
                }
            }
            Event::LoadEnded { id, result } => self.load_ended(now, id, result),
            Event::FilesChanged { resource, target, files, at } => {
                self.files_changed(now, &resource, &target, files, at);
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
                    self.switch(at, state);
                }
            }
            Event::StopRequested { resource, at } => self.stop_requested(&resource, at),
            Event::UpdateEnded { id, error } => self.update_ended(now, id, error),
            Event::RetryDue { resource, id } => self.retry_due(now, &resource, id),
            Event::FellBack { id } => self.fell_back(now, id),
            Event::ServeStarted { id, pid } => self.serve_started(now, id, pid),
            Event::ServeReady { id, is_ready } => self.serve_ready(now, id, is_ready),
            Event::ServeEnded { id } => self.serve_ended(now, id),
            Event::ClusterChanged { cluster, is_usable } => {
                if is_usable {
                    self.clusters.insert(cluster);
                } else {
                    self.clusters.remove(cluster);
                }
            }
            Event::TimePassed => {}
            Event::RuntimeObserved { resource, status, is_satisfied, error, pod } => {
                if let Some(&at) = self.index.get(&resource) {
                    self.resources[at].observed = Some(status);
                    self.resources[at].runtime_error = error;
                    self.resources[at].pod = pod;
                    if is_satisfied {
                        self.became_ready(now, at);
                    }
                    self.touch(at);
                }
            }
        }
    }

    fn switch(&mut self, at: usize, state: EnableState) {
        let resource = &mut self.resources[at];
        let was = std::mem::replace(&mut resource.enable, state);
        if was == state {
            return;
        }
        let name = Arc::clone(&resource.name);
        if state == EnableState::Disabled {
            resource.history.clear();
            resource.pending.clear();
            resource.cut_off = None;
            resource.retry = None;
            resource.triggered = Reason::default();
            resource.gated = false;
            resource.wants_since = None;
            if let Some(update) = &mut resource.current {
                update.is_forgotten = true;
                self.actions
                    .push(Action::CancelUpdate { id: update.id, resource: Arc::clone(&name) });
            }
            self.queue.retain(|it| *it != name);
        }
        match (was, state) {
            (EnableState::Enabled, EnableState::Disabled) => {
                self.actions.push(Action::Switched { resource: name, is_enabled: false });
            }
            (EnableState::Disabled, EnableState::Enabled) => {
                self.actions.push(Action::Switched { resource: name, is_enabled: true });
            }
            _ => {}
        }
        self.touch(at);
    }

    fn stop_requested(&mut self, name: &ResourceName, asked: Time) {
        if let Some(run) = self.tiltfile(name).and_then(|it| it.current.as_ref())
            && asked >= run.started
        {
            self.actions.push(Action::CancelLoad { id: run.id });
        }
        if let Some(update) = self.resource(name).and_then(|it| it.current.as_ref())
            && asked >= update.started
        {
            let (id, resource) = (update.id, Arc::clone(name));
            self.actions.push(Action::CancelUpdate { id, resource });
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
        if self.leaving_updates.remove(&id).is_some() {
            return;
        }
        let is_it = |at: &usize| self.resources[*at].current.as_ref().is_some_and(|it| it.id == id);
        let Some(at) = self.tracking.running.iter().copied().find(is_it) else { return };
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
            resource.last_good = Some(id);
            resource.is_live_broken = false;
        }
        let is_ready = error.is_none() && resource.is_ready_once_updated();
        update.end = Some(UpdateEnd { at: now, error });
        resource.history.push_front(update);
        resource.history.truncate(HISTORY);
        if is_ready {
            self.became_ready(now, at);
        }
    }
}
