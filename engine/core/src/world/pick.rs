//! Chooses what updates next, and says of everything else that wants to why it does not.
//!
//! The order of the rules is Tilt's: of several holds, the first one is told.

use std::{collections::HashSet, sync::Arc};

use engine_model::{DeployTarget, FilePath, ImageName};

use crate::{
    hold::Hold,
    reason::Reason,
    resource::{EnableState, Resource, ResourceName, Update, UpdateId},
    time::Time,
    world::{Action, World, live, loops},
};

/// The resource that takes all objects which belong to no workload.
const UNCATEGORIZED: &str = "uncategorized";

impl World {
    /// Starts updates until no more may run, then publishes what the others wait for.
    pub(super) fn start_updates(&mut self, now: Time) {
        loop {
            self.sort_dirty();
            let holds = holds(self, now);
            let has_slot = n_running(self) < self.max_parallel();
            match has_slot.then(|| next(self, &holds)).flatten() {
                Some(at) => self.start_update(now, at),
                None => return self.publish(now, holds),
            }
        }
    }

    fn publish(&mut self, now: Time, holds: Holds) {
        for at in std::mem::take(&mut self.tracking.held) {
            if holds.binary_search_by_key(&at, |it| it.0).is_err() {
                self.resources[at].hold = None;
                self.show(at);
            }
        }
        for (at, hold) in holds {
            if hold.is_some() {
                self.tracking.held.push(at);
            }
            let resource = &mut self.resources[at];
            resource.wants_since.get_or_insert(now);
            if resource.hold != hold {
                resource.hold = hold;
                self.show(at);
            }
        }
    }

    pub(super) fn start_update(&mut self, now: Time, at: usize) {
        self.n_builds += 1;
        let id = UpdateId(self.n_builds);
        let resource = &mut self.resources[at];
        let (reason, depth) = (resource.next_reason(), loops::next_depth(resource));
        let rounds = if depth > 0 { loops::own_rounds(resource) + 1 } else { 0 };
        let is_full_rebuild = is_full_rebuild(resource, reason);
        let is_live = live::applies(resource);
        let changes = resource.pending.take();
        let config = resource.config_change.take();
        resource.cut_off = None;
        resource.retry = None;
        let mut files: Vec<FilePath> = config.iter().flat_map(|it| it.files.clone()).collect();
        let mut seen: HashSet<FilePath> = files.iter().cloned().collect();
        let mut changed: Vec<FilePath> = changes.iter().map(|it| it.path.clone()).collect();
        changed.sort_unstable();
        files.extend(changed.into_iter().filter(|it| seen.insert(it.clone())));
        resource.triggered = Reason::default();
        resource.gated = false;
        let released_by = resource.released_by.take();
        let name = resource.name.clone();
        resource.current = Some(Update {
            id,
            reason,
            started: now,
            files: files.clone(),
            changes,
            n_unlisted: 0,
            config,
            released_by,
            depth,
            rounds,
            end: None,
            is_forgotten: false,
            is_live,
        });
        resource.wants_since = None;
        self.queue.retain(|it| *it != name);
        self.touch(at);
        if is_live {
            return self.begin_live_update(now, at, reason, &files);
        }
        self.stop_waiting(at);
        self.effects.actions.push(Action::StartUpdate {
            id,
            resource: name,
            reason,
            files,
            is_full_rebuild,
        });
    }
}

/// Whether a trigger wants everything done again, or only what changed.
pub(super) fn is_full_rebuild(resource: &Resource, reason: Reason) -> bool {
    let only_files = reason.triggers().with(Reason::FILES) == reason && reason.has(Reason::FILES);
    !reason.triggers().is_empty() && (resource.is_auto_on_change() || !only_files)
}

/// Those that want to update and do not, in order, each with what it waits for.
type Holds = Vec<(usize, Option<Hold>)>;

/// All updates that take a slot, also those whose resource is gone.
fn n_running(all: &World) -> usize {
    running(all).count() + all.leaving_updates.len()
}

/// Those that update, but for changes that their containers take.
fn running(all: &World) -> impl Iterator<Item = &Resource> {
    let running = all.tracking.running.iter().map(|at| &all.resources[*at]);
    running.filter(|it| it.current.as_ref().is_some_and(|it| !it.is_live))
}

fn waiting(all: &World) -> impl Iterator<Item = (usize, &Resource)> {
    let wanting = all.tracking.wanting.iter().map(|at| (*at, &all.resources[*at]));
    wanting.filter(|(_, it)| it.current.is_none())
}

fn holds(all: &World, now: Time) -> Holds {
    if let Some(hold) = hold_of_everything(all) {
        return waiting(all).map(|(at, _)| (at, Some(hold.clone()))).collect();
    }
    let is_alone = n_running(all) == 0;
    let uncategorized = running(all).find(|it| &*it.name == UNCATEGORIZED);
    let in_work: HashSet<&str> = running(all).flat_map(images).collect();
    let hold = |it: &Resource| {
        let exclusive = (!is_alone && it.is_exclusive()).then_some(Hold::Unparallelizable);
        exclusive
            .or_else(|| waits_for_uncategorized(it, uncategorized))
            .or_else(|| shared_images(it, &in_work))
            .or_else(|| unready_deps(it))
            .or_else(|| unusable_cluster(all, it))
            .or_else(|| is_leaving(all, it))
            .or_else(|| live::hold(it))
            .or_else(|| loops::hold(it, now))
    };
    waiting(all).map(|(at, it)| (at, hold(it))).collect()
}

/// The rules that let nothing start at all.
fn hold_of_everything(all: &World) -> Option<Hold> {
    if let Some(tiltfile) = all.tiltfiles.iter().find(|it| it.holds_updates()) {
        return Some(Hold::TiltfileReload([tiltfile.name.clone()].into()));
    }
    let wanting = all.tracking.wanting.iter().map(|at| &all.resources[*at]);
    let unknown = wanting.filter(|it| it.enable == EnableState::Pending);
    let unknown: Arc<[ResourceName]> = unknown.map(|it| it.name.clone()).collect();
    if !unknown.is_empty() {
        return Some(Hold::TiltfileReload(unknown));
    }
    let current = running(all).filter(|it| it.is_exclusive()).map(|it| &it.name);
    let leaving = all.leaving_updates.values().filter(|it| it.is_exclusive).map(|it| &it.resource);
    current.chain(leaving).next().map(|it| Hold::WaitingForLocal(it.clone()))
}

/// What starts next, as soon as there is a slot.
fn next(all: &World, holds: &Holds) -> Option<usize> {
    let free = || holds.iter().filter(|it| it.1.is_none()).map(|it| it.0);
    if let Some(at) = first_initial(all, free) {
        return Some(at);
    }
    let is_free = |at: &usize| {
        holds.binary_search_by_key(at, |it| it.0).is_ok_and(|found| holds[found].1.is_none())
    };
    let mut queued = all.queue.iter().filter_map(|it| all.index.get(it).copied());
    if let Some(at) = queued.find(is_free) {
        return Some(at);
    }
    let changed = free().filter(|at| all.resources[*at].is_auto_on_change());
    let since = |at: usize| all.resources[at].waiting_since();
    changed.filter_map(|at| Some((since(at)?, at))).min().map(|(_, at)| at)
}

fn images(resource: &Resource) -> impl Iterator<Item = &str> {
    resource.manifest.image_targets.iter().flatten().map(|it| it.image_map_name.as_str())
}

/// Work for a cluster waits until it can be used; local work needs none.
pub(super) fn unusable_cluster(all: &World, resource: &Resource) -> Option<Hold> {
    let cluster = match resource.manifest.deploy_target {
        DeployTarget::Local(_) => return None,
        DeployTarget::Kubernetes(_) => "default",
        DeployTarget::Compose(_) => "docker",
    };
    (!all.clusters.contains(cluster)).then_some(Hold::WaitingForCluster(cluster))
}

fn is_kubernetes(resource: &Resource) -> bool {
    matches!(resource.manifest.deploy_target, DeployTarget::Kubernetes(_))
}

/// Dependencies count for the first update only, and for triggers that ask for them.
pub(super) fn is_gated(resource: &Resource) -> bool {
    resource.gated || !resource.has_started_once()
}

fn unready_deps(resource: &Resource) -> Option<Hold> {
    let missing = &resource.missing_deps;
    (!missing.is_empty() && is_gated(resource)).then(|| Hold::WaitingForDeps(Arc::clone(missing)))
}

fn waits_for_uncategorized(it: &Resource, uncategorized: Option<&Resource>) -> Option<Hold> {
    let name = &uncategorized.filter(|_| is_kubernetes(it))?.name;
    Some(Hold::WaitingForUncategorized(name.clone()))
}

/// Images that two resources need are built once at a time.
fn shared_images(it: &Resource, in_work: &HashSet<&str>) -> Option<Hold> {
    let shared: Vec<ImageName> =
        images(it).filter(|it| in_work.contains(it)).map(Into::into).collect();
    (!shared.is_empty()).then_some(Hold::BuildingComponent(shared))
}

/// Work of a former resource of the same name is still being stopped.
fn is_leaving(all: &World, resource: &Resource) -> Option<Hold> {
    let is_there = all.leaving_updates.values().any(|it| it.resource == resource.name);
    is_there.then(|| Hold::WaitingForLocal(resource.name.clone()))
}

/// Of those that never ran: local ones first, then objects without a workload, then deployments without
/// images, then whatever comes first.
fn first_initial<I: Iterator<Item = usize>>(all: &World, free: impl Fn() -> I) -> Option<usize> {
    let is_initial = |it: &Resource| it.is_auto_init() && !it.has_started_once();
    let initial = || free().filter(|at| is_initial(&all.resources[*at]));
    let is = |meant: fn(&Resource) -> bool| initial().find(|at| meant(&all.resources[*at]));
    is(|it| it.local.is_some())
        .or_else(|| is(|it| &*it.name == UNCATEGORIZED))
        .or_else(|| is(|it| is_kubernetes(it) && images(it).next().is_none()))
        .or_else(|| initial().next())
}
