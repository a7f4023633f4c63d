//! The rules of choosing, word by word: slow, and without any cleverness.

use std::{collections::BTreeMap, sync::Arc};

use engine_model::{DeployTarget, ImageName, ResourceName};

use crate::{
    hold::Hold,
    resource::{ChangedFile, EnableState, Resource, Suspect},
    time::Time,
    world::{Action, Event, World},
};

/// What a step should start, and what everybody else should be told.
pub(super) struct Foretold {
    starts: Vec<ResourceName>,
    holds: Holds,
}

/// Takes a step of its own on a copy, with its own choice.
pub(super) fn foretell(world: &World, now: Time, event: Event) -> Foretold {
    let mut copy = world.clone();
    copy.take_in(now, event);
    copy.start_loads(now);
    copy.start_live_updates(now);
    let mut starts = Vec::new();
    loop {
        let (next, holds) = choose(&copy, now);
        let n_running = running(&copy).count() + copy.leaving_updates.len();
        let Some(name) = next.filter(|_| n_running < copy.max_parallel()) else {
            return Foretold { starts, holds };
        };
        let at = copy.index[&name];
        copy.start_update(now, at);
        starts.push(name);
    }
}

impl Foretold {
    pub(super) fn compare(&self, world: &World, actions: &[Action]) {
        let starts = actions.iter().filter_map(|it| match it {
            Action::StartUpdate { resource, .. } => Some(resource),
            _ => None,
        });
        assert!(starts.eq(&self.starts), "{:?} should start", self.starts);
        for it in world.resources() {
            assert_eq!(it.hold.as_ref(), self.holds.get(&it.name), "{}", it.name);
        }
    }
}

fn running(all: &World) -> impl Iterator<Item = &Resource> {
    all.resources().iter().filter(|it| it.current.as_ref().is_some_and(|it| !it.is_live))
}

type Holds = BTreeMap<ResourceName, Hold>;

fn choose(all: &World, now: Time) -> (Option<ResourceName>, Holds) {
    let eligible: Vec<&Resource> =
        all.resources().iter().filter(|it| is_eligible(all, it)).collect();
    let mut holds = Holds::new();
    if let Some(hold) = hold_of_all(all, &eligible) {
        for it in &eligible {
            add_hold(&mut holds, it, Some(hold.clone()));
        }
        return (None, holds);
    }
    let n_running = running(all).count() + all.leaving_updates.len();
    let rules: [&dyn Fn(&Resource) -> Option<Hold>; 7] = [
        // 4. Anything is running.
        &|it| (n_running > 0 && is_exclusive(it)).then_some(Hold::Unparallelizable),
        // 5. `uncategorized` is running.
        &|it| {
            let found = running(all).find(|it| &*it.name == "uncategorized")?;
            is_kubernetes(it).then(|| Hold::WaitingForUncategorized(found.name.clone()))
        },
        // 6. An image of it is being built.
        &|it| building_component(all, it),
        // 7. Dependencies that were never ready.
        &|it| waiting_for_dep(all, it),
        // Our own: what was there before under its name has not ended.
        &|it| {
            let mut leaving = all.leaving_updates.values();
            let is_there = leaving.any(|leaving| leaving.resource == it.name);
            is_there.then(|| Hold::WaitingForLocal(it.name.clone()))
        },
        // Our own: containers that could take the change do not run yet.
        &crate::world::live::hold,
        // Our own: updates that cause each other.
        &|it| rebuild_loop(it, now),
    ];
    for rule in rules {
        for it in &eligible {
            add_hold(&mut holds, it, rule(it));
        }
    }
    let is_free = |it: &&Resource| it.current.is_none() && !holds.contains_key(&it.name);
    let free: Vec<&Resource> = eligible.into_iter().filter(is_free).collect();
    (pick(all, &free), holds)
}

/// §3.3.
fn is_eligible(all: &World, it: &Resource) -> bool {
    let needs_initial = it.is_auto_init() && it.current.is_none() && it.history.is_empty();
    let is_queued = all.queue().any(|(name, _)| name == &*it.name);
    let has_changes = !it.pending.is_empty() || it.config_change.is_some();
    it.enable != EnableState::Disabled
        && (needs_initial || is_queued || (has_changes && it.is_auto_on_change()))
}

/// Running ones never get a hold, and the first one stays.
fn add_hold(holds: &mut Holds, it: &Resource, hold: Option<Hold>) {
    if let Some(hold) = hold
        && it.current.is_none()
    {
        holds.entry(it.name.clone()).or_insert(hold);
    }
}

/// The first three rules.
fn hold_of_all(all: &World, eligible: &[&Resource]) -> Option<Hold> {
    // 1. A Tiltfile with pending changes.
    for tiltfile in all.tiltfiles() {
        let is_loading_them = tiltfile.current.as_ref().is_some_and(|it| !it.files.is_empty());
        if !tiltfile.pending.is_empty() || is_loading_them {
            return Some(Hold::TiltfileReload([tiltfile.name.clone()].into()));
        }
    }
    // 2. A switch that is not known.
    let unknown = eligible.iter().filter(|it| it.enable == EnableState::Pending);
    let unknown: Arc<[ResourceName]> = unknown.map(|it| it.name.clone()).collect();
    if !unknown.is_empty() {
        return Some(Hold::TiltfileReload(unknown));
    }
    // 3. An exclusive local resource is running.
    let current = running(all).filter(|it| is_exclusive(it)).map(|it| &it.name);
    let leaving = all.leaving_updates.values().filter(|it| it.is_exclusive).map(|it| &it.resource);
    current.chain(leaving).next().map(|it| Hold::WaitingForLocal(it.clone()))
}

fn building_component(all: &World, it: &Resource) -> Option<Hold> {
    let is_building = |image: &ImageName| running(all).any(|it| images(it).contains(image));
    let shared: Vec<ImageName> = images(it).into_iter().filter(is_building).collect();
    (!shared.is_empty()).then_some(Hold::BuildingComponent(shared))
}

/// At first, and where somebody asked for it.
fn waiting_for_dep(all: &World, it: &Resource) -> Option<Hold> {
    if !it.history.is_empty() && !it.gated {
        return None;
    }
    let is_ready =
        |name: &str| all.resources().iter().any(|it| &*it.name == name && it.last_ready.is_some());
    let deps = it.manifest.resource_dependencies.iter().flatten();
    let missing: Arc<[ResourceName]> =
        deps.filter(|it| !is_ready(it)).map(|it| it.as_str().into()).collect();
    (!missing.is_empty()).then_some(Hold::WaitingForDeps(missing))
}

/// The last rules.
fn pick(all: &World, free: &[&Resource]) -> Option<ResourceName> {
    // 9. First updates.
    let initial: Vec<&Resource> =
        free.iter().copied().filter(|it| it.is_auto_init() && it.history.is_empty()).collect();
    if !initial.is_empty() {
        let local = initial.iter().find(|it| it.local.is_some());
        let uncategorized = initial.iter().find(|it| &*it.name == "uncategorized");
        let no_image = initial.iter().find(|it| is_kubernetes(it) && images(it).is_empty());
        let choice = local.or(uncategorized).or(no_image).unwrap_or(&initial[0]);
        return Some(choice.name.clone());
    }
    // 11. The trigger queue.
    for (name, _) in all.queue() {
        if let Some(it) = free.iter().find(|it| &*it.name == name) {
            return Some(it.name.clone());
        }
    }
    // 13. The earliest change.
    let mut choice: Option<(&Resource, Time)> = None;
    for it in free.iter().filter(|it| it.is_auto_on_change()) {
        let changes = it.pending.iter().map(|it| it.at);
        let earliest = changes.chain(it.config_change.as_ref().map(|it| it.at)).min();
        if let Some(at) = earliest
            && choice.is_none_or(|it| at < it.1)
        {
            choice = Some((it, at));
        }
    }
    choice.map(|it| it.0.name.clone())
}

fn is_exclusive(it: &Resource) -> bool {
    matches!(&it.manifest.deploy_target, DeployTarget::Local(target) if !target.allow_parallel)
}

fn is_kubernetes(it: &Resource) -> bool {
    matches!(it.manifest.deploy_target, DeployTarget::Kubernetes(_))
}

fn images(it: &Resource) -> Vec<ImageName> {
    it.manifest.image_targets.iter().flatten().map(|it| it.selector.as_str().into()).collect()
}

fn rebuild_loop(it: &Resource, now: Time) -> Option<Hold> {
    let is_only_files = it.triggered.is_empty()
        && it.config_change.is_none()
        && !(it.is_auto_init() && it.history.is_empty());
    let first = it.pending.iter().next()?;
    let is_loop = it.pending.iter().all(|it| deepest(it).is_some_and(|it| it.depth >= 10));
    (is_only_files && is_loop).then_some(())?;
    // Not if it is new to the chain.
    it.history.front().filter(|it| it.rounds >= 3)?;
    // After 1, 2 and 4 seconds it is tried again.
    let depths = it.pending.iter().filter_map(deepest).map(|it| it.depth);
    let pause = match depths.min()? {
        10 => 1_000,
        11 => 2_000,
        12 => 4_000,
        _ => i64::MAX / 1_000,
    };
    let waited = it.wants_since.map_or(0, |since| now.micros_since(since) / 1_000);
    (waited < pause).then_some(())?;
    let during = deepest(first)?.resource.clone();
    Some(Hold::RebuildLoop { file: first.path.clone(), during })
}

/// Of the updates that may have made a change, the one furthest down a chain.
fn deepest(change: &ChangedFile) -> Option<&Suspect> {
    change.suspects.iter().max_by_key(|it| (it.depth, it.update))
}
