//! Pods as the engine sees them: the few fields that decide about statuses, logs, forwards and updates.
//!
//! Everything else that an API server tells of a pod is dropped at once, so that a namespace with thousands of pods
//! costs little.

mod json;
mod select;
mod status;

use std::collections::BTreeMap;

use jiff::{RoundMode, Timestamp, TimestampRound, Unit};
use k8s_openapi::api::core::v1 as api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

pub use select::{container_port, filtered, most_recent, to_forward};

/// The label by which a pod tells which update made it.
const TEMPLATE_HASH: &str = "tilt.dev/pod-template-hash";
/// An annotation that repeats the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The reasons of a container that waits because something went wrong.
const ERROR_REASONS: [&str; 6] = [
    "CrashLoopBackOff",
    "ErrImagePull",
    "ImagePullBackOff",
    "RunContainerError",
    "StartError",
    "Error",
];

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// Which pod it is, also after another one got its name.
    pub uid: String,
    /// Its name.
    pub name: String,
    /// Where it is.
    pub namespace: String,
    /// When it was created.
    pub created: Timestamp,
    /// Where it is in its life, in the words of Kubernetes.
    pub phase: String,
    /// It is about to go.
    pub is_deleting: bool,
    /// What is true of it, such as `Ready`.
    pub conditions: Vec<PodCondition>,
    /// The containers that prepare it.
    pub init_containers: Vec<PodContainer>,
    /// Its containers.
    pub containers: Vec<PodContainer>,
    /// The containers that were put into it while it runs.
    pub ephemeral_containers: Vec<PodContainer>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// The object that made it.
    pub owner: Option<PodOwner>,
    /// The deployed object it belongs to; nothing if it was found by its labels.
    pub ancestor_uid: Option<String>,
    /// The update that made it.
    pub template_hash: Option<String>,
    /// What `kubectl get pods` says of it.
    pub status: String,
    /// What went wrong in it.
    pub errors: Vec<String>,
    /// The node it runs on.
    pub node: String,
}

/// Something that is, or is not, true of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodCondition {
    /// What, such as `Ready`.
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Since when.
    pub since: Option<Timestamp>,
    /// Why, in one word.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
}

/// A container of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodContainer {
    /// Its name in the pod.
    pub name: String,
    /// Which run of it this is; empty before the first.
    pub id: String,
    /// It answers its readiness probe, if it has one.
    pub is_ready: bool,
    /// Its image, as the pod names it.
    pub image: String,
    /// How often it was started again.
    pub restarts: i32,
    /// What it does now.
    pub state: ContainerState,
    /// The ports that the pod says it listens on.
    pub ports: Vec<i32>,
}

/// What a container does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ContainerState {
    /// Nothing is known yet.
    #[default]
    Unknown,
    /// It does not run yet, or not again yet.
    Waiting {
        /// Why, in one word.
        reason: String,
    },
    /// It runs.
    Running {
        /// Since when.
        started: Option<Timestamp>,
    },
    /// It ended.
    Terminated {
        /// When it started.
        started: Option<Timestamp>,
        /// When it ended.
        finished: Option<Timestamp>,
        /// Why, in one word.
        reason: String,
        /// With which code.
        exit_code: i32,
    },
}

impl ContainerState {
    /// Whether the container failed, or cannot start.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match self {
            Self::Terminated { exit_code, .. } => *exit_code != 0,
            Self::Waiting { reason } => ERROR_REASONS.contains(&reason.as_str()),
            Self::Unknown | Self::Running { .. } => false,
        }
    }
}

/// The object that made a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodOwner {
    /// Its name.
    pub name: String,
    /// Its version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// When it was created, if that could be read.
    pub created: Option<Timestamp>,
    /// Which of the sets of a Deployment it is; 0 if it is none.
    pub revision: u64,
}

impl Pod {
    /// A pod as the API server gives it.
    #[must_use]
    pub fn of(pod: api::Pod) -> Self {
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
        Self {
            uid: metadata.uid.unwrap_or_default(),
            name: metadata.name.unwrap_or_default(),
            namespace: metadata.namespace.unwrap_or_default(),
            created: time(metadata.creation_timestamp.as_ref()).unwrap_or_default(),
            phase: told.phase.unwrap_or_default(),
            is_deleting: metadata.deletion_timestamp.is_some(),
            conditions: told.conditions.into_iter().flatten().map(PodCondition::of).collect(),
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

    /// Whether it ran to an end, well or badly.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.phase == "Succeeded" || self.phase == "Failed"
    }

    /// Whether it has containers and all of them are ready.
    #[must_use]
    pub fn all_ready(&self) -> bool {
        !self.containers.is_empty() && self.containers.iter().all(|it| it.is_ready)
    }

    /// How often its containers were started again.
    #[must_use]
    pub fn restarts(&self) -> i32 {
        self.containers.iter().map(|it| it.restarts).sum()
    }
}

impl PodCondition {
    fn of(condition: api::PodCondition) -> Self {
        Self {
            kind: condition.type_,
            status: condition.status,
            since: time(condition.last_transition_time.as_ref()),
            reason: condition.reason.unwrap_or_default(),
            message: condition.message.unwrap_or_default(),
        }
    }
}

impl ContainerState {
    fn of(state: Option<api::ContainerState>) -> Self {
        let Some(state) = state else { return Self::Unknown };
        if let Some(waiting) = state.waiting {
            return Self::Waiting { reason: waiting.reason.unwrap_or_default() };
        }
        if let Some(running) = state.running {
            return Self::Running { started: time(running.started_at.as_ref()) };
        }
        let Some(ended) = state.terminated else { return Self::Unknown };
        Self::Terminated {
            started: time(ended.started_at.as_ref()),
            finished: time(ended.finished_at.as_ref()),
            reason: ended.reason.unwrap_or_default(),
            exit_code: ended.exit_code,
        }
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
            state: ContainerState::of(status.state),
            ports: ports.map(|it| it.container_port).collect(),
            name: status.name,
        })
    };
    statuses.into_iter().flatten().filter_map(container).collect()
}

/// The id of a container without the name of what runs it; nothing if it is none.
pub(crate) fn normal_id(id: &str) -> Option<String> {
    if id.is_empty() {
        return Some(String::new());
    }
    id.split_once("://").map(|(_, id)| id.to_owned())
}

pub(crate) fn time(time: Option<&Time>) -> Option<Timestamp> {
    time.map(|it| it.0)
}

/// The second in which a moment is.
pub(crate) fn whole_second(time: Timestamp) -> Timestamp {
    let floor = TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Floor);
    time.round(floor).unwrap_or(time)
}

#[cfg(test)]
mod tests;
