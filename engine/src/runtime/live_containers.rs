//! Which containers a live update is for: those of a Compose service, or those of pods that its selector finds.

use std::sync::Arc;

use engine_core::live_update::{Container, ContainerState, Observed};
use engine_docker::Container as DockerContainer;
use engine_formats::docker::reference::Reference;
use engine_kubernetes::{ContainerPlace, ContainerState as Told, Pod, PodContainer};
use engine_model::{DeployTarget, ImageTarget, Manifest};

use super::{Runtime, names};
use crate::{
    api::kind,
    deploy::live_update::{DockerPlace, HelperImage, Place, PodPlace, Running},
};

/// The reason of a container that is not started again for a while.
const CRASHING: &str = "CrashLoopBackOff";

/// Which containers of a resource a live update is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Selector {
    /// The one of a Compose service.
    Service,
    /// Those of pods that have this name.
    Name(String),
    /// Those of pods with an image of this name, whatever its tag.
    Image(String),
    /// Those of pods with the image of an image map.
    ImageMap(String),
}

impl Selector {
    /// What the live update of an image is for.
    pub(super) fn of(manifest: &Manifest, image: &ImageTarget) -> Self {
        if !matches!(manifest.deploy_target, DeployTarget::Kubernetes(_)) {
            return Self::Service;
        }
        let named = image.live_update_spec.selector.kubernetes.as_ref();
        match named.map(|it| &it.container_name).filter(|it| !it.is_empty()) {
            Some(name) => Self::Name(name.clone()),
            None if image.is_live_update_only => Self::Image(image.selector.clone()),
            None => Self::ImageMap(image.image_map_name.clone()),
        }
    }
}

impl Runtime {
    /// The containers that a selector finds, each with the way to it if it runs.
    pub(super) fn containers_of(
        &self,
        resource: &str,
        selector: &Selector,
    ) -> Vec<(Observed, Option<Running>)> {
        let image = match selector {
            Selector::Service => {
                let container = self.container_of(resource).into_iter();
                return container.map(|it| (of_service(it), self.running_service(it))).collect();
            }
            Selector::Name(_) => String::new(),
            Selector::Image(image) => image.clone(),
            Selector::ImageMap(name) => {
                let status = self.store.get(kind::IMAGE_MAP, name).map(|it| it.status());
                let image = status.and_then(|it| Some(it["imageFromCluster"].as_str()?.to_owned()));
                image.unwrap_or_default()
            }
        };
        let is_meant = |it: &&PodContainer| match selector {
            Selector::Name(name) => it.name == *name,
            _ => has_same_name(&image, &it.image),
        };
        let mut found = Vec::new();
        let pods = self.workload(resource).map(|it| it.current_pods()).unwrap_or_default();
        // One that is about to go gets nothing any more; what replaces it gets all.
        for pod in pods.into_iter().filter(|it| !it.is_deleting) {
            for container in pod.containers.iter().filter(is_meant) {
                let observed = of_pod(pod, container);
                let is_running = observed.state == ContainerState::Running;
                let running = is_running.then(|| self.running_in_pod(pod, container)).flatten();
                found.push((observed, running));
            }
        }
        found
    }

    /// The helper gets into containers of the cluster that is connected, should that be needed.
    pub(super) fn prepare_helper_image(&mut self) {
        let link = self.link_id();
        if self.cluster().is_none()
            || self.live.helper_image.as_ref().is_some_and(|it| it.0 == link)
        {
            return;
        }
        let Some(Ok(images)) = self.cluster_images() else { return };
        let log = self.logs.writer("", "engine-helper");
        let image = HelperImage::new(&images, &self.cluster_arch(), log);
        self.live.helper_image = Some((link, image));
    }

    /// What the nodes of the cluster are; who may not read nodes does not know it, and most are this.
    fn cluster_arch(&self) -> String {
        let status = self.store.get(kind::CLUSTER, names::KUBERNETES).map(|it| it.status());
        let arch = status.and_then(|it| Some(it["arch"].as_str()?.to_owned()));
        arch.filter(|it| it != "unknown").unwrap_or_else(|| "amd64".to_owned())
    }

    fn running_service(&self, container: &DockerContainer) -> Option<Running> {
        let docker = self.docker.as_ref()?.client.as_ref().ok()?;
        container.is_running.then(|| Running {
            id: container.id.clone(),
            started: container.started,
            place: Place::Docker(Arc::new(DockerPlace::of(docker, container))),
        })
    }

    fn running_in_pod(&self, pod: &Pod, container: &PodContainer) -> Option<Running> {
        if container.id.is_empty() {
            return None;
        }
        let place = PodPlace {
            cluster: self.cluster()?.clone(),
            at: ContainerPlace {
                namespace: pod.namespace.clone(),
                pod: pod.name.clone(),
                container: container.name.clone(),
            },
            id: container.id.clone(),
            arch: self.cluster_arch(),
            helper_image: self.live.helper_image.as_ref().map(|(_, it)| it.clone()),
        };
        // A run of a container in a pod is never started again; the next has another identity.
        let (id, place) = (container.id.clone(), Place::Pod(Arc::new(place)));
        Some(Running { id, started: None, place })
    }
}

fn of_service(container: &DockerContainer) -> Observed {
    let state = match container.status.as_str() {
        "running" => ContainerState::Running,
        "removing" | "exited" | "dead" => ContainerState::Terminated,
        _ => ContainerState::Waiting,
    };
    let container = Container {
        name: container.name.as_str().into(),
        id: container.id.as_str().into(),
        ..Container::default()
    };
    Observed { container, state }
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
        assert_eq!(of("Running", running.clone()), ContainerState::Running);
        assert_eq!(of("Succeeded", running), ContainerState::Terminated);
        assert_eq!(of("Running", waiting(CRASHING)), ContainerState::CrashLoopBackOff);
        assert_eq!(of("Pending", waiting("ContainerCreating")), ContainerState::Waiting);
        assert_eq!(of("Pending", Told::Unknown), ContainerState::Waiting);
    }
}
