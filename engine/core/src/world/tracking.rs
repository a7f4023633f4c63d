//! Remembers what a step must look at, so that thousands of idle resources cost nothing.
//!
//! Whoever changes a resource calls [`World::touch`]; whoever adds or removes some,
//! [`World::renumber`].

use std::collections::BTreeSet;

use engine_model::{Kind, ObjectId};

use crate::{
    resource::{Release, Resource, ResourceName},
    time::Time,
    world::{World, pick::is_gated},
};

/// What is known of resources by their place among all.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracking {
    /// Those that want to update.
    pub(super) wanting: BTreeSet<usize>,
    /// Those that do.
    pub(super) running: BTreeSet<usize>,
    /// Those that have a hold.
    pub(super) held: Vec<usize>,
    /// For each, who has it as a dependency.
    dependents: Vec<Vec<usize>>,
    /// Those that something happened to in this step.
    dirty: Vec<usize>,
    /// So many of them have been sorted into those that want to update and those that do.
    n_sorted: usize,
    /// Those that this step may have made look different.
    shown: Vec<usize>,
    /// The same for Tiltfiles, and for resources that are gone.
    shown_names: Vec<ResourceName>,
}

impl World {
    /// Resources and Tiltfiles that this step may have made look different.
    pub(super) fn publish_changed(&mut self) {
        self.name_shown();
        let names = self.tracking.shown_names.drain(..);
        let objects = names.map(|it| ObjectId::new(Kind::UiResource, &*it));
        self.effects.changed.extend(objects);
    }

    /// Something happened to a resource.
    pub(super) fn touch(&mut self, at: usize) {
        self.tracking.dirty.push(at);
        self.show(at);
    }

    /// A resource looks different, but nothing follows from that.
    pub(super) fn show(&mut self, at: usize) {
        if !std::mem::replace(&mut self.resources[at].is_shown, true) {
            self.tracking.shown.push(at);
        }
    }

    /// A Tiltfile looks different, or a resource is gone.
    pub(super) fn show_name(&mut self, name: &ResourceName) {
        self.tracking.shown_names.push(name.clone());
    }

    /// Places are about to change.
    pub(super) fn name_shown(&mut self) {
        for at in self.tracking.shown.drain(..) {
            let resource = &mut self.resources[at];
            resource.is_shown = false;
            self.tracking.shown_names.push(resource.name.clone());
        }
    }

    /// Places have changed; everything is looked at anew.
    pub(super) fn renumber(&mut self) {
        self.objects.watches.is_stale = true;
        let all = self.resources.iter().enumerate();
        self.index = all.clone().map(|(at, it)| (it.name.clone(), at)).collect();
        self.tracking.held = all.filter(|(_, it)| it.hold.is_some()).map(|(at, _)| at).collect();
        self.tracking.wanting.clear();
        self.tracking.running.clear();
        self.tracking.dirty.clear();
        self.tracking.n_sorted = 0;
        self.tracking.dependents = vec![Vec::new(); self.resources.len()];
        for at in 0..self.resources.len() {
            for dep in self.resources[at].dependencies().filter_map(|it| self.index.get(it)) {
                self.tracking.dependents[*dep].push(at);
            }
            self.find_missing_deps(at);
            self.touch(at);
        }
        let tiltfiles = self.tiltfiles.iter().map(|it| it.name.clone());
        self.tracking.shown_names.extend(tiltfiles);
    }

    /// Sorts those that something happened to.
    pub(super) fn sort_dirty(&mut self) {
        let Tracking { wanting, running, dirty, n_sorted, .. } = &mut self.tracking;
        for &at in &dirty[*n_sorted..] {
            keep(wanting, at, wants(&self.resources[at]));
            keep(running, at, self.resources[at].current.is_some());
        }
        *n_sorted = dirty.len();
    }

    /// Those that something happened to in this step, which is over.
    pub(super) fn take_dirty(&mut self) -> Vec<usize> {
        let mut dirty = std::mem::take(&mut self.tracking.dirty);
        self.tracking.n_sorted = 0;
        dirty.sort_unstable();
        dirty.dedup();
        dirty
    }

    /// A resource is ready, or has succeeded; dependents may start after the first time.
    pub(super) fn became_ready(&mut self, now: Time, at: usize) {
        if self.resources[at].last_ready.replace(now).is_some() {
            return;
        }
        let Resource { name, last_good, .. } = &self.resources[at];
        let release = Release { resource: name.clone(), update: *last_good };
        for n in 0..self.tracking.dependents[at].len() {
            let dependent = self.tracking.dependents[at][n];
            self.find_missing_deps(dependent);
            let dependent = &mut self.resources[dependent];
            let has_waited = dependent.wants_since.is_some() && is_gated(dependent);
            if has_waited && dependent.missing_deps.is_empty() {
                dependent.released_by = Some(release.clone());
            }
        }
    }

    fn find_missing_deps(&mut self, at: usize) {
        let is_ready = |name: &str| self.resource(name).is_some_and(|it| it.last_ready.is_some());
        let missing = self.resources[at].dependencies().filter(|it| !is_ready(it));
        self.resources[at].missing_deps = missing.map(Into::into).collect();
    }
}

/// Whether a resource would update if nothing held it.
fn wants(it: &Resource) -> bool {
    !it.is_disabled()
        && ((it.is_auto_init() && !it.has_started_once())
            || !it.triggered.is_empty()
            || (it.is_auto_on_change() && it.is_waiting()))
}

fn keep(set: &mut BTreeSet<usize>, at: usize, is_in: bool) {
    if is_in {
        set.insert(at);
    } else {
        set.remove(&at);
    }
}
