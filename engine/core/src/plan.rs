//! What would happen, without letting it: the first run of a Tiltfile, and the effect of another load.

use std::collections::HashSet;

use engine_model::Manifest;

use crate::{
    hold::Hold,
    resource::{Resource, ResourceName},
    status::RuntimeStatus,
    tiltfile::{LoadId, MAIN},
    time::Time,
    world::{Action, Event, Loaded, StartLoad, World, invalidates},
};

/// What a first run would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstRun {
    /// Resources in the order in which they would first update, if everything goes well at once.
    pub updates: Vec<ResourceName>,
    /// Resources that would wait, and for what.
    pub waiting: Vec<(ResourceName, Hold)>,
    /// Resources that would not run before they are triggered or their files change.
    pub idle: Vec<ResourceName>,
    /// Resources that are switched off.
    pub disabled: Vec<ResourceName>,
}

/// What a first run of these resources would do: the world itself decides, and nothing happens.
pub fn first_run(loaded: Loaded) -> FirstRun {
    let mut world = World::default();
    let mut now = Time(0);
    let added = Event::TiltfileAdded { name: MAIN.into(), args: Vec::new() };
    let mut next: Vec<Action> = world.step(now, added).actions;
    for cluster in ["default", "docker"] {
        next.extend(world.step(now, Event::ClusterChanged { cluster, is_usable: true }).actions);
    }
    let mut loaded = Some(loaded);
    let mut plan = FirstRun::default();
    while !next.is_empty() {
        now = now.plus_millis(1);
        let actions = std::mem::take(&mut next);
        for event in actions.into_iter().flat_map(|it| outcome(it, &mut loaded, &mut plan)) {
            next.extend(world.step(now, event).actions);
        }
    }
    let ran: HashSet<&ResourceName> = plan.updates.iter().collect();
    for resource in world.resources().iter().filter(|it| !ran.contains(&it.name)) {
        let name = resource.name.clone();
        match &resource.hold {
            _ if resource.is_disabled() => plan.disabled.push(name),
            Some(hold) => plan.waiting.push((name, hold.clone())),
            None => plan.idle.push(name),
        }
    }
    plan
}

/// What would become of an action in a world where all goes well.
fn outcome(action: Action, loaded: &mut Option<Loaded>, plan: &mut FirstRun) -> Vec<Event> {
    match action {
        Action::StartLoad(StartLoad { id, .. }) => {
            let result = Ok(loaded.take().unwrap_or_default());
            vec![Event::LoadEnded { id: LoadId(id.0), result }]
        }
        Action::StartUpdate { id, resource, .. } => {
            plan.updates.push(resource.clone());
            let observed = Event::RuntimeObserved {
                resource,
                status: RuntimeStatus::Ok,
                is_satisfied: true,
                error: None,
            };
            vec![Event::UpdateEnded { id, error: None }, observed]
        }
        Action::StartServe { id, .. } => {
            vec![
                Event::ServeStarted { id, pid: 1, at: Time::default() },
                Event::ServeReady { id, is_ready: true },
            ]
        }
        Action::CancelLoad { .. }
        | Action::CancelUpdate { .. }
        | Action::ListFiles { .. }
        | Action::StartSync { .. }
        | Action::SendAhead { .. }
        | Action::CancelSync { .. }
        | Action::Kubernetes(_)
        | Action::StopServe { .. }
        | Action::Removed { .. }
        | Action::DeclaredTwice { .. }
        | Action::FindContainers { .. }
        | Action::Object(_)
        | Action::Docker(_) => Vec::new(),
    }
}

/// What another load of a Tiltfile would change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reload {
    /// New resources.
    pub added: Vec<ResourceName>,
    /// Resources that would update.
    pub updated: Vec<ResourceName>,
    /// Resources that would need an update, and wait for somebody to trigger it.
    pub pending: Vec<ResourceName>,
    /// Resources that would be stopped and removed.
    pub removed: Vec<ResourceName>,
    /// Resources that would stay as they are.
    pub unchanged: Vec<ResourceName>,
}

/// What another load of a Tiltfile would change.
pub fn reload(world: &World, tiltfile: &str, manifests: &[Manifest]) -> Reload {
    let mut plan = Reload::default();
    let names: HashSet<&str> = manifests.iter().map(|it| it.name.as_str()).collect();
    let is_gone = |it: &&Resource| &*it.tiltfile == tiltfile && !names.contains(&*it.name);
    let gone = world.resources().iter().filter(is_gone);
    plan.removed = gone.map(|it| it.name.clone()).collect();
    for manifest in manifests {
        let name: ResourceName = manifest.name.as_str().into();
        match world.resource(&name) {
            None => plan.added.push(name),
            Some(resource) if !invalidates(&resource.manifest, manifest) => {
                plan.unchanged.push(name);
            }
            Some(resource) if resource.is_auto_on_change() && !resource.is_disabled() => {
                plan.updated.push(name);
            }
            Some(_) => plan.pending.push(name),
        }
    }
    plan
}
