//! Pods as the engine sees them: the few fields that decide about statuses, logs, forwards and updates.
//!
//! Everything else that an API server tells of a pod is dropped at once, so that a namespace with thousands of pods
//! costs little.

mod status;

use engine_model::{
    Time,
    pod::{ContainerState, Pod, PodCondition, PodContainer, PodOwner, TEMPLATE_HASH},
};
use k8s_openapi::api::core::v1 as api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

/// An annotation that repeats the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// A pod as the API server gives it.
pub(crate) fn pod(pod: api::Pod) -> Pod {
    let status = status::text(&pod);
    let errors = status::errors(&pod);
    let api::Pod { metadata, spec, status: told, .. } = pod;
    let (spec, told) = (spec.unwrap_or_default(), told.unwrap_or_default());
    let labels = metadata.labels.unwrap_or_default();
    let mut annotations = metadata.annotations.unwrap_or_default();
    annotations.remove(LAST_APPLIED);
    let owner = metadata.owner_references.into_iter().flatten().next().map(|it| PodOwner {
        name: it.name,
        api_version: it.api_version,
        kind: it.kind,
        created: None,
        revision: 0,
    });
    Pod {
        uid: metadata.uid.unwrap_or_default(),
        name: metadata.name.unwrap_or_default(),
        namespace: metadata.namespace.unwrap_or_default(),
        created: time(metadata.creation_timestamp.as_ref()).unwrap_or_default(),
        phase: told.phase.unwrap_or_default(),
        is_deleting: metadata.deletion_timestamp.is_some(),
        conditions: told.conditions.into_iter().flatten().map(condition).collect(),
        init_containers: containers(&spec.containers, told.init_container_statuses),
        containers: containers(&spec.containers, told.container_statuses),
        ephemeral_containers: containers(&[], told.ephemeral_container_statuses),
        template_hash: labels.get(TEMPLATE_HASH).filter(|it| !it.is_empty()).cloned(),
        labels,
        annotations,
        owner,
        ancestor_uid: None,
        status,
        errors,
        node: spec.node_name.unwrap_or_default(),
    }
}

fn condition(condition: api::PodCondition) -> PodCondition {
    PodCondition {
        kind: condition.type_,
        status: condition.status,
        since: time(condition.last_transition_time.as_ref()),
        reason: condition.reason.unwrap_or_default(),
        message: condition.message.unwrap_or_default(),
    }
}

fn state(state: Option<api::ContainerState>) -> ContainerState {
    let Some(state) = state else { return ContainerState::Unknown };
    if let Some(waiting) = state.waiting {
        return ContainerState::Waiting { reason: waiting.reason.unwrap_or_default() };
    }
    if let Some(running) = state.running {
        return ContainerState::Running { started: time(running.started_at.as_ref()) };
    }
    let Some(ended) = state.terminated else { return ContainerState::Unknown };
    ContainerState::Terminated {
        started: time(ended.started_at.as_ref()),
        finished: time(ended.finished_at.as_ref()),
        reason: ended.reason.unwrap_or_default(),
        exit_code: ended.exit_code,
    }
}

/// The containers of statuses; image and ports are the pod's own words, as Kubernetes mixes up images with many tags.
fn containers(
    specs: &[api::Container],
    statuses: Option<Vec<api::ContainerStatus>>,
) -> Vec<PodContainer> {
    let container = |status: api::ContainerStatus| {
        let id = normal_id(&status.container_id.unwrap_or_default())?;
        let spec = specs.iter().find(|it| it.name == status.name);
        (!status.name.is_empty()).then_some(())?;
        let ports = spec.and_then(|it| it.ports.as_ref()).into_iter().flatten();
        Some(PodContainer {
            id,
            is_ready: status.ready,
            image: spec.and_then(|it| it.image.clone()).unwrap_or(status.image),
            restarts: status.restart_count,
            last_end: last_end(status.state.as_ref(), status.last_state.as_ref()),
            state: state(status.state),
            ports: ports.map(|it| it.container_port).collect(),
            name: status.name,
        })
    };
    statuses.into_iter().flatten().filter_map(container).collect()
}

/// How a container ended that has ended, or that ended before what it does now.
fn last_end(
    now: Option<&api::ContainerState>,
    before: Option<&api::ContainerState>,
) -> Option<(i32, String)> {
    let ended = [now, before].into_iter().flatten().find_map(|it| it.terminated.as_ref())?;
    Some((ended.exit_code, ended.reason.clone().unwrap_or_default()))
}

/// The id of a container without the name of what runs it; nothing if it is none.
pub(crate) fn normal_id(id: &str) -> Option<String> {
    if id.is_empty() {
        return Some(String::new());
    }
    id.split_once("://").map(|(_, id)| id.to_owned())
}

/// A moment as a cluster tells it.
pub(crate) fn time(time: Option<&meta::Time>) -> Option<Time> {
    time.map(|it| Time(it.0.as_microsecond()))
}

#[cfg(test)]
mod tests;
