//! Pods as Tilt's API shows them.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{ContainerState, Pod, PodCondition, PodContainer, PodOwner, whole_second};

impl Pod {
    /// The pod as an entry of `status.pods` of a `KubernetesDiscovery`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut json = Map::new();
        let mut put = |name: &str, value: Value| json.insert(name.to_owned(), value);
        put("uid", json!(self.uid));
        put("name", json!(self.name));
        put("namespace", json!(self.namespace));
        put("createdAt", moment(Some(self.created)));
        put("phase", json!(self.phase));
        put("deleting", json!(self.is_deleting));
        if !self.conditions.is_empty() {
            put("conditions", self.conditions.iter().map(PodCondition::to_json).collect());
        }
        if !self.init_containers.is_empty() {
            put("initContainers", self.init_containers.iter().map(PodContainer::to_json).collect());
        }
        put("containers", self.containers.iter().map(PodContainer::to_json).collect());
        if let Some(uid) = &self.ancestor_uid {
            put("ancestorUID", json!(uid));
        }
        if let Some(hash) = &self.template_hash {
            put("podTemplateSpecHash", json!(hash));
        }
        put("status", json!(self.status));
        put("errors", json!(self.errors));
        if let Some(owner) = &self.owner {
            put("owner", owner.to_json());
        }
        Value::Object(json)
    }
}

impl PodCondition {
    fn to_json(&self) -> Value {
        let mut json = json!({
            "type": self.kind,
            "status": self.status,
            "lastTransitionTime": moment(self.since),
        });
        for (name, text) in [("reason", &self.reason), ("message", &self.message)] {
            if !text.is_empty() {
                json[name] = json!(text);
            }
        }
        json
    }
}

impl PodContainer {
    /// The container as Tilt's API shows it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "id": self.id,
            "ready": self.is_ready,
            "image": self.image,
            "restarts": self.restarts,
            "state": self.state.to_json(),
            "ports": self.ports,
        })
    }
}

impl ContainerState {
    /// The state as Tilt's API shows it: all three kinds, of which at most one is there.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut json = json!({ "waiting": null, "running": null, "terminated": null });
        match self {
            Self::Unknown => {}
            Self::Waiting { reason } => json["waiting"] = json!({ "reason": reason }),
            Self::Running { started } => json["running"] = json!({ "startedAt": moment(*started) }),
            Self::Terminated { started, finished, reason, exit_code } => {
                let mut ended = Map::new();
                ended.insert("startedAt".to_owned(), moment(*started));
                ended.insert("finishedAt".to_owned(), moment(*finished));
                if !reason.is_empty() {
                    ended.insert("reason".to_owned(), json!(reason));
                }
                ended.insert("exitCode".to_owned(), json!(exit_code));
                json["terminated"] = Value::Object(ended);
            }
        }
        json
    }
}

impl PodOwner {
    fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "apiVersion": self.api_version,
            "kind": self.kind,
            "creationTimestamp": moment(self.created),
        })
    }
}

/// A moment in whole seconds, as Kubernetes writes it.
fn moment(time: Option<Timestamp>) -> Value {
    let Some(time) = time else { return Value::Null };
    json!(whole_second(time).to_string())
}
