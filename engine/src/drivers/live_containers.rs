//! Which containers a live update is for: those of a Compose service, or those of pods that its selector finds.

use std::sync::Arc;

use engine_core::{
    Event, World,
    live_update::{Container, ContainerState, Observed, Selector},
    resource::{Resource, ResourceName},
};
use engine_formats::docker::reference::Reference;
use engine_kubernetes::{ContainerPlace, ContainerState as Told, Pod, PodContainer};

use super::{Drivers, live_update::found_at};
use crate::deploy::live_update::{ContainerTarget, DockerTarget, PodTarget, RunningContainer};

/// The reason of a container that is not started again for a while.
const CRASHING: &str = "CrashLoopBackOff";

impl Drivers {
    /// Looks for the containers of all live updates, which may be others than before.
    pub(crate) fn find_live_containers(&mut self, world: &World) {
        let live = world.resources().iter().filter(|it| !it.live_updates.is_empty());
        let resources: Vec<ResourceName> = live.map(|it| it.name.clone()).collect();
        self.live.retain(&resources.iter().map(|it| &**it).collect::<Vec<_>>());
        for resource in resources {
            self.live_containers_changed(world, &resource);
        }
    }

    /// Containers came, went, or do otherwise than before.
    pub(crate) fn live_containers_changed(&mut self, world: &World, resource: &ResourceName) {
        if world.resource(resource).is_none_or(|it| it.live_updates.is_empty()) {
            return;
        }
        self.prepare_helper_image(world);
        let Some(known) = world.resource(resource) else { return };
        let (mut containers, mut running) = (Vec::new(), Vec::<RunningContainer>::new());
        for (name, live_update) in &known.live_updates {
            let mut observed = Vec::new();
            for (seen, place) in containers_of(self, world, known, live_update.selector()) {
                observed.push(seen);
                // Two live updates of a resource may be for the same container.
                let place = place.filter(|it| !running.iter().any(|known| known.id == it.id));
                running.extend(place);
            }
            containers.push((name.clone(), observed));
        }
        let roots = found_at(known.sync_roots());
        self.live.observe(resource, &running);
        let resource = resource.clone();
        self.emit(Event::ContainersObserved { resource, containers, roots });
    }

    /// The helper gets into containers of the cluster that is connected, should that be needed.
    fn prepare_helper_image(&mut self, world: &World) {
        let link = self.kubernetes.link_id();
        if self.kubernetes.cluster().is_none() || self.live.is_prepared(link) {
            return;
        }
        let Some(Ok(images)) = self.cluster_images(world) else { return };
        self.live.prepare(link, &images, world.cluster().arch());
    }
}

/// The containers that a selector finds, each with the way to it if it runs.
fn containers_of(
    drivers: &Drivers,
    world: &World,
    resource: &Resource,
    selector: &Selector,
) -> Vec<(Observed, Option<RunningContainer>)> {
    let image = match selector {
        Selector::Service => {
            let observed = resource.live_container();
            return observed
                .map(|it| (it, running_service(drivers, resource)))
                .into_iter()
                .collect();
        }
        Selector::Name(_) => String::new(),
        Selector::Image(image) => image.clone(),
        Selector::ImageMap(name) => {
            world.image(name).map(|it| it.deployed.clone()).unwrap_or_default()
        }
    };
    let is_meant = |it: &&PodContainer| match selector {
        Selector::Name(name) => it.name == *name,
        _ => has_same_name(&image, &it.image),
    };
    let mut found = Vec::new();
    let pods = resource.workload.as_ref().map(|it| it.current_pods()).unwrap_or_default();
    // One that is about to go gets nothing any more; what replaces it gets all.
    for pod in pods.into_iter().filter(|it| !it.is_deleting) {
        for container in pod.containers.iter().filter(is_meant) {
            let observed = of_pod(pod, container);
            let is_running = observed.state == ContainerState::Running;
            let running =
                is_running.then(|| running_in_pod(drivers, world, pod, container)).flatten();
            found.push((observed, running));
        }
    }
    found
}

fn running_service(drivers: &Drivers, resource: &Resource) -> Option<RunningContainer> {
    let (docker, container) = (drivers.docker.client()?, resource.container()?);
    container.is_running.then(|| RunningContainer {
        id: container.id.clone(),
        started: container.started,
        target: ContainerTarget::Docker(Arc::new(DockerTarget::of(docker, container))),
    })
}

fn running_in_pod(
    drivers: &Drivers,
    world: &World,
    pod: &Pod,
    container: &PodContainer,
) -> Option<RunningContainer> {
    if container.id.is_empty() {
        return None;
    }
    let target = PodTarget {
        cluster: drivers.kubernetes.cluster()?.clone(),
        at: ContainerPlace {
            namespace: pod.namespace.clone(),
            pod: pod.name.clone(),
            container: container.name.clone(),
        },
        id: container.id.clone(),
        arch: world.cluster().arch().to_owned(),
        helper_image: drivers.live.helper_image().cloned(),
    };
    // A run of a container in a pod is never started again; the next has another identity.
    let (id, target) = (container.id.clone(), ContainerTarget::Pod(Arc::new(target)));
    Some(RunningContainer { id, started: None, target })
}

fn of_pod(pod: &Pod, container: &PodContainer) -> Observed {
    let has_ended = matches!(pod.phase.as_str(), "Succeeded" | "Failed");
    let state = match &container.state {
        _ if has_ended => ContainerState::Terminated,
        Told::Terminated { .. } => ContainerState::Terminated,
        Told::Running { .. } => ContainerState::Running,
        Told::Waiting { reason } if reason == CRASHING => ContainerState::CrashLoopBackOff,
        Told::Waiting { .. } | Told::Unknown => ContainerState::Waiting,
    };
    let container = Container {
        namespace: pod.namespace.as_str().into(),
        pod: pod.name.as_str().into(),
        name: container.name.as_str().into(),
        id: container.id.as_str().into(),
    };
    Observed { container, state }
}

/// Whether two images have the same name, whatever their tags and digests are.
fn has_same_name(image: &str, other: &str) -> bool {
    match (Reference::parse(image), Reference::parse(other)) {
        (Ok(image), Ok(other)) => image.familiar_name() == other.familiar_name(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_compared_without_tags_and_with_the_names_that_people_leave_out() {
        assert!(has_same_name("busybox", "docker.io/library/busybox:tilt-1"));
        let digest = "sha256:".to_owned() + &"0123456789abcdef".repeat(4);
        assert!(has_same_name("localhost:5000/app:a", &format!("localhost:5000/app@{digest}")));
        assert!(!has_same_name("localhost:5000/app", "app"));
        assert!(!has_same_name("", ""));
    }

    #[test]
    fn a_container_of_a_pod_that_has_ended_or_crashes_is_known_as_such() {
        let of = |phase: &str, state: Told| {
            let pod = Pod { phase: phase.into(), ..Pod::default() };
            of_pod(&pod, &PodContainer { state, ..PodContainer::default() }).state
        };
        let waiting = |reason: &str| Told::Waiting { reason: reason.into() };
        let running = Told::Running { started: None };
        assert_eq!(of("RunningContainer", running.clone()), ContainerState::Running);
        assert_eq!(of("Succeeded", running), ContainerState::Terminated);
        assert_eq!(of("RunningContainer", waiting(CRASHING)), ContainerState::CrashLoopBackOff);
        assert_eq!(of("Pending", waiting("ContainerCreating")), ContainerState::Waiting);
        assert_eq!(of("Pending", Told::Unknown), ContainerState::Waiting);
    }
}
