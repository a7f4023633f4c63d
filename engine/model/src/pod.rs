//! What is seen in a cluster: pods with the few fields that decide about statuses, logs, forwards and updates, and the
//! objects that were deployed.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde_json::Value;

use crate::Time;

/// The label by which a pod tells which update made it.
pub const TEMPLATE_HASH: &str = "tilt.dev/pod-template-hash";
/// The reasons of a container that waits because something went wrong.
pub const ERROR_REASONS: [&str; 6] = [
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
    pub created: Time,
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
    pub since: Option<Time>,
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
    /// How it ended the last time: with which code, and why in one word.
    pub last_end: Option<(i32, String)>,
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
        started: Option<Time>,
    },
    /// It ended.
    Terminated {
        /// When it started.
        started: Option<Time>,
        /// When it ended.
        finished: Option<Time>,
        /// Why, in one word.
        reason: String,
        /// With which code.
        exit_code: i32,
    },
}

impl ContainerState {
    /// Whether the container failed, or cannot start.
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
    pub created: Option<Time>,
    /// Which of the sets of a Deployment it is; 0 if it is none.
    pub revision: u64,
}

impl Pod {
    /// Whether it ran to an end, well or badly.
    pub fn is_completed(&self) -> bool {
        self.phase == "Succeeded" || self.phase == "Failed"
    }

    /// Whether it has containers and all of them are ready.
    pub fn all_ready(&self) -> bool {
        !self.containers.is_empty() && self.containers.iter().all(|it| it.is_ready)
    }

    /// How often its containers were started again.
    pub fn restarts(&self) -> i32 {
        self.containers.iter().map(|it| it.restarts).sum()
    }
}

/// What names one object in a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty if the kind has none.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectKey {
    /// What names an object, as it is written.
    pub fn of(object: &Value) -> Self {
        Self {
            api_version: text_at(object, "/apiVersion").to_owned(),
            kind: text_at(object, "/kind").to_owned(),
            namespace: text_at(object, "/metadata/namespace").to_owned(),
            name: text_at(object, "/metadata/name").to_owned(),
        }
    }

    /// The same in a namespace, if it names none.
    #[must_use]
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        if self.namespace.is_empty() {
            namespace.clone_into(&mut self.namespace);
        }
        self
    }

    /// Whether both name the same object, if those that name no namespace are in this one.
    pub fn is_same(&self, other: &Self, namespace: &str) -> bool {
        self.name == other.name
            && self.kind == other.kind
            && self.api_version == other.api_version
            && self.namespace_or(namespace) == other.namespace_or(namespace)
    }

    fn namespace_or<'a>(&'a self, default: &'a str) -> &'a str {
        if self.namespace.is_empty() { default } else { &self.namespace }
    }

    /// The API group; empty for the core one.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(f, "{}/{}", self.kind, self.name),
            namespace => write!(f, "{}/{} in {namespace}", self.kind, self.name),
        }
    }
}

/// An object that was deployed, as the cluster has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeployedObject {
    /// What names it.
    pub key: ObjectKey,
    /// The UID that the server gave it; empty if it has none.
    pub uid: String,
    /// The hashes of all pod templates in it, wherever its kind has them.
    pub template_hashes: Vec<String>,
    /// Whether it asks to stay when everything else is deleted.
    pub is_kept: bool,
    /// Whether it is a job that had completed before.
    pub is_complete_job: bool,
    /// All of it.
    pub value: Arc<Value>,
}

impl From<Value> for DeployedObject {
    fn from(value: Value) -> Self {
        let conditions = value.pointer("/status/conditions").and_then(Value::as_array);
        let is_complete = |it: &Value| it["type"] == "Complete" && it["status"] == "True";
        let is_complete = conditions.into_iter().flatten().any(is_complete);
        let key = ObjectKey::of(&value);
        Self {
            uid: text_at(&value, "/metadata/uid").to_owned(),
            template_hashes: template_hashes(&value),
            is_kept: value["metadata"]["annotations"]["tilt.dev/down-policy"] == "keep",
            is_complete_job: key.kind == "Job" && is_complete,
            key,
            value: Arc::new(value),
        }
    }
}

/// What a resource has deployed, or wants to find.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// The objects of the last apply with their UIDs; an object without one only says which namespace to watch.
    pub deployed: Vec<(ObjectKey, String)>,
    /// The pod templates of the last apply.
    pub template_hashes: Vec<String>,
    /// Labels of pods that belong to the resource whoever made them.
    pub extra_selectors: Vec<BTreeMap<String, String>>,
    /// Only the labels count.
    pub selectors_only: bool,
}

fn template_hashes(object: &Value) -> Vec<String> {
    match object {
        Value::Object(fields) => {
            let own = object.pointer("/metadata/labels").and_then(|it| it[TEMPLATE_HASH].as_str());
            let inner = fields.values().flat_map(template_hashes);
            own.map(ToOwned::to_owned).into_iter().chain(inner).collect()
        }
        Value::Array(items) => items.iter().flat_map(template_hashes).collect(),
        _ => Vec::new(),
    }
}

/// A text inside an object; empty if it is not there.
fn text_at<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn templates_are_found_wherever_a_kind_has_them() {
        let labels = json!({"metadata": {"labels": {TEMPLATE_HASH: "h"}}});
        let cron = json!({"spec": {"jobTemplate": {"spec": {"template": labels}}}});
        let list = json!({"spec": {"template": labels, "others": [labels]}});
        let plain = json!({"metadata": {"labels": {"app": "x"}}});
        let hashes = |it: Value| DeployedObject::from(it).template_hashes;
        assert_eq!(hashes(cron), ["h"]);
        assert_eq!(hashes(list), ["h", "h"]);
        assert!(hashes(plain).is_empty());
    }

    #[test]
    fn only_a_job_that_is_complete_counts_as_done() {
        let is_done = |kind: &str, status: &str| {
            let conditions = json!([{"type": "Complete", "status": status}]);
            let object = json!({"kind": kind, "status": {"conditions": conditions}});
            DeployedObject::from(object).is_complete_job
        };
        assert!(is_done("Job", "True"));
        assert!(!is_done("Job", "False") && !is_done("Pod", "True"));
    }
}
