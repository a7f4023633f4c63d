//! Pods as Tilt's API shows them.

use engine_model::{
    Time,
    pod::{ContainerState, Pod, PodCondition, PodContainer, PodOwner},
};
use serde_json::{Map, Value, json};

use crate::time;

/// A pod as an entry of `status.pods` of a `KubernetesDiscovery`.
pub fn pod(pod: &Pod) -> Value {
    let mut json = Map::new();
    let mut put = |name: &str, value: Value| json.insert(name.to_owned(), value);
    put("uid", json!(pod.uid));
    put("name", json!(pod.name));
    put("namespace", json!(pod.namespace));
    put("createdAt", moment(Some(pod.created)));
    put("phase", json!(pod.phase));
    put("deleting", json!(pod.is_deleting));
    if !pod.conditions.is_empty() {
        put("conditions", pod.conditions.iter().map(condition).collect());
    }
    if !pod.init_containers.is_empty() {
        put("initContainers", pod.init_containers.iter().map(container).collect());
    }
    put("containers", pod.containers.iter().map(container).collect());
    if let Some(uid) = &pod.ancestor_uid {
        put("ancestorUID", json!(uid));
    }
    if let Some(hash) = &pod.template_hash {
        put("podTemplateSpecHash", json!(hash));
    }
    put("status", json!(pod.status));
    put("errors", json!(pod.errors));
    if let Some(it) = &pod.owner {
        put("owner", owner(it));
    }
    Value::Object(json)
}

fn condition(condition: &PodCondition) -> Value {
    let mut json = json!({
        "type": condition.kind,
        "status": condition.status,
        "lastTransitionTime": moment(condition.since),
    });
    for (name, text) in [("reason", &condition.reason), ("message", &condition.message)] {
        if !text.is_empty() {
            json[name] = json!(text);
        }
    }
    json
}

fn container(container: &PodContainer) -> Value {
    json!({
        "name": container.name,
        "id": container.id,
        "ready": container.is_ready,
        "image": container.image,
        "restarts": container.restarts,
        "state": state(&container.state),
        "ports": container.ports,
    })
}

/// All three kinds of state, of which at most one is there.
fn state(state: &ContainerState) -> Value {
    let mut json = json!({ "waiting": null, "running": null, "terminated": null });
    match state {
        ContainerState::Unknown => {}
        ContainerState::Waiting { reason } => json["waiting"] = json!({ "reason": reason }),
        ContainerState::Running { started } => {
            json["running"] = json!({ "startedAt": moment(*started) });
        }
        ContainerState::Terminated { started, finished, reason, exit_code } => {
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

fn owner(owner: &PodOwner) -> Value {
    json!({
        "name": owner.name,
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "creationTimestamp": moment(owner.created),
    })
}

/// A moment in whole seconds, as Kubernetes writes it.
fn moment(time: Option<Time>) -> Value {
    time.map_or(Value::Null, |it| json!(time::seconds(it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_is_that_of_tilt() {
        let second = |it: i64| Some(Time(1_704_067_200_000_000 + it * 1_000_000));
        let condition = |kind: &str, status: &str| PodCondition {
            kind: kind.into(),
            status: status.into(),
            ..PodCondition::default()
        };
        let ready = PodCondition {
            since: second(2),
            reason: "ContainersNotReady".into(),
            message: "no".into(),
            ..condition("Ready", "False")
        };
        let (started, finished, reason) = (second(1), second(3), String::new());
        let given = Pod {
            uid: "u1".into(),
            name: "web-1".into(),
            namespace: "default".into(),
            created: second(0).unwrap_or_default(),
            phase: "Running".into(),
            conditions: vec![ready, condition("Odd", "True")],
            containers: vec![PodContainer {
                name: "web".into(),
                id: "abc".into(),
                image: "web:1".into(),
                restarts: 2,
                state: ContainerState::Terminated { started, finished, reason, exit_code: 1 },
                ports: vec![80, 81],
                ..PodContainer::default()
            }],
            owner: Some(PodOwner {
                name: "web".into(),
                api_version: "apps/v1".into(),
                kind: "ReplicaSet".into(),
                ..PodOwner::default()
            }),
            ancestor_uid: Some("deploy".into()),
            template_hash: Some("h1".into()),
            status: "ExitCode:1".into(),
            ..Pod::default()
        };
        assert_eq!(
            pod(&given).to_string(),
            json!({
                "uid": "u1", "name": "web-1", "namespace": "default",
                "createdAt": "2024-01-01T00:00:00Z", "phase": "Running", "deleting": false,
                "conditions": [
                    {"type": "Ready", "status": "False", "lastTransitionTime": "2024-01-01T00:00:02Z",
                     "reason": "ContainersNotReady", "message": "no"},
                    {"type": "Odd", "status": "True", "lastTransitionTime": null},
                ],
                "containers": [
                    {"name": "web", "id": "abc", "ready": false, "image": "web:1", "restarts": 2,
                     "state": {"waiting": null, "running": null, "terminated": {
                         "startedAt": "2024-01-01T00:00:01Z", "finishedAt": "2024-01-01T00:00:03Z",
                         "exitCode": 1}},
                     "ports": [80, 81]},
                ],
                "ancestorUID": "deploy", "podTemplateSpecHash": "h1", "status": "ExitCode:1", "errors": [],
                "owner": {"name": "web", "apiVersion": "apps/v1", "kind": "ReplicaSet",
                          "creationTimestamp": null},
            })
            .to_string()
        );
    }
}
