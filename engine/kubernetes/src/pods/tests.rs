//! What is said of pods: their status and their errors.

use serde_json::{Value, json};

use super::{ContainerState, Pod, PodContainer, Time};

fn pod(value: Value) -> Pod {
    super::pod(serde_json::from_value(value).unwrap())
}

fn container(name: &str, state: &Value) -> Value {
    json!({
        "name": name, "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state,
    })
}

fn ended(code: i32, reason: &str) -> Value {
    json!({"terminated": {"exitCode": code, "reason": reason, "message": format!("said {code}")}})
}

fn waiting(reason: &str) -> Value {
    json!({"waiting": {"reason": reason, "message": format!("waits for {reason}")}})
}

fn running() -> Value {
    json!({"running": {"startedAt": "2024-01-01T00:00:00Z"}})
}

/// A pod of a phase with init containers and containers in some state.
fn with(phase: &str, init: &[Value], states: &[Value]) -> Value {
    let named = |prefix: &str, states: &[Value]| -> Vec<Value> {
        let named = states.iter().enumerate();
        named.map(|(index, it)| container(&format!("{prefix}{index}"), it)).collect()
    };
    let specs = |prefix: &str, n: usize| -> Vec<Value> {
        (0..n).map(|index| json!({"name": format!("{prefix}{index}")})).collect()
    };
    json!({
        "metadata": {"name": "p", "uid": "u"},
        "spec": {"initContainers": specs("i", init.len()), "containers": specs("c", states.len())},
        "status": {
            "phase": phase,
            "initContainerStatuses": named("i", init),
            "containerStatuses": named("c", states),
        },
    })
}

#[test]
fn the_status_is_what_kubectl_shows() {
    let completed = || ended(0, "Completed");
    let nothing = || waiting("PodInitializing");
    for (expected, given) in [
        ("Pending", with("Pending", &[], &[])),
        ("ContainerCreating", with("Pending", &[], &[waiting("ContainerCreating")])),
        ("ErrImagePull", with("Pending", &[], &[waiting("ErrImagePull")])),
        ("Running", with("Running", &[], &[running()])),
        ("CrashLoopBackOff", with("Running", &[], &[waiting("CrashLoopBackOff"), running()])),
        ("Error", with("Failed", &[], &[ended(1, "Error")])),
        ("Completed", with("Succeeded", &[], &[completed()])),
        ("ExitCode:3", with("Failed", &[], &[ended(3, "")])),
        ("Signal:9", with("Failed", &[], &[json!({"terminated": {"exitCode": 137, "signal": 9}})])),
        ("Init:0/2", with("Pending", &[running(), nothing()], &[nothing()])),
        ("Init:1/2", with("Pending", &[completed(), running()], &[nothing()])),
        ("Init:Error", with("Pending", &[ended(1, "Error")], &[nothing()])),
        ("Init:ExitCode:2", with("Pending", &[ended(2, "")], &[nothing()])),
        ("Init:CrashLoopBackOff", with("Pending", &[waiting("CrashLoopBackOff")], &[nothing()])),
        ("PodInitializing", with("Pending", &[completed()], &[nothing()])),
        // The first of the containers that are not fine says it.
        ("OOMKilled", with("Running", &[], &[ended(137, "OOMKilled"), ended(1, "Error")])),
    ] {
        assert_eq!(pod(given.clone()).status, expected, "{given}");
    }
}

#[test]
fn the_pod_itself_can_say_more_than_its_containers() {
    let mut evicted = with("Failed", &[], &[]);
    evicted["status"]["reason"] = json!("Evicted");
    let mut terminating = with("Running", &[], &[running()]);
    terminating["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
    let mut lost = terminating.clone();
    lost["status"]["reason"] = json!("NodeLost");
    let mut done = with("Succeeded", &[], &[ended(0, "Completed")]);
    done["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
    let mut gated = with("Pending", &[], &[]);
    gated["status"]["conditions"] =
        json!([{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]);
    for (expected, given) in [
        ("Evicted", evicted),
        ("Terminating", terminating),
        ("Unknown", lost),
        ("Completed", done),
        ("SchedulingGated", gated),
    ] {
        assert_eq!(pod(given.clone()).status, expected, "{given}");
    }
}

#[test]
fn a_sidecar_that_has_started_does_not_hold_up_the_pod() {
    let mut given = with("Running", &[running()], &[running()]);
    assert_eq!(pod(given.clone()).status, "Init:0/1");
    given["spec"]["initContainers"][0]["restartPolicy"] = json!("Always");
    given["status"]["initContainerStatuses"][0]["started"] = json!(true);
    assert_eq!(pod(given).status, "Running");
}

#[test]
fn a_pod_of_which_one_container_completed_still_runs() {
    for (is_ready, expected) in [("True", "Running"), ("False", "NotReady")] {
        let mut given = with("Running", &[], &[ended(0, "Completed"), running()]);
        given["status"]["containerStatuses"][1]["ready"] = json!(true);
        given["status"]["conditions"] = json!([{"type": "Ready", "status": is_ready}]);
        assert_eq!(pod(given).status, expected);
    }
}

#[test]
fn errors_are_the_words_of_the_containers() {
    let mut crashing = with("Running", &[], &[waiting("CrashLoopBackOff")]);
    crashing["status"]["containerStatuses"][0]["lastState"] = ended(1, "Error");
    let none: [&str; 0] = [];
    for (expected, given) in [
        (&none[..], with("Pending", &[], &[waiting("ContainerCreating")])),
        (&["waits for ErrImagePull"], with("Pending", &[], &[waiting("ErrImagePull")])),
        (&["said 1", "waits for CrashLoopBackOff"], crashing),
        (&["said 2", "said 1"], with("Failed", &[], &[ended(1, "Error"), ended(2, "Error")])),
        (&none, with("Succeeded", &[], &[ended(0, "Completed")])),
        (&["said 4"], with("Pending", &[ended(4, "Error")], &[waiting("PodInitializing")])),
    ] {
        assert_eq!(pod(given.clone()).errors, expected, "{given}");
    }
}

#[test]
fn containers_that_failed_or_cannot_start_are_errors() {
    let state = |state: Value| pod(with("Running", &[], &[state])).containers[0].state.clone();
    for (expected, given) in [
        (false, running()),
        (false, waiting("ContainerCreating")),
        (true, waiting("ImagePullBackOff")),
        (false, ended(0, "Completed")),
        (true, ended(1, "")),
        (false, json!({})),
    ] {
        assert_eq!(state(given.clone()).is_error(), expected, "{given}");
    }
}

#[test]
fn a_pod_is_reduced_to_what_matters() {
    let given = json!({
        "metadata": {
            "name": "web-1", "namespace": "default", "uid": "u1",
            "creationTimestamp": "1970-01-01T00:00:01Z",
            "labels": {"tilt.dev/pod-template-hash": "h1"},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs"},
            ],
        },
        "spec": {"containers": [
            {"name": "web", "image": "web:1", "ports": [{"containerPort": 80}, {"containerPort": 81}]},
        ]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Odd", "status": "True"}],
            "containerStatuses": [
                {"name": "web", "image": "sha256:x", "imageID": "", "ready": false, "restartCount": 2,
                 "containerID": "containerd://abc",
                 "state": {"terminated": {"exitCode": 1, "finishedAt": "1970-01-01T00:00:03Z"}}},
                {"name": "odd", "image": "odd:1", "imageID": "", "ready": true, "restartCount": 0,
                 "containerID": "no-scheme"},
            ],
        },
    });
    let pod = pod(given);
    assert_eq!(
        (pod.uid.as_str(), pod.name.as_str(), pod.created),
        ("u1", "web-1", Time(1_000_000))
    );
    assert_eq!(pod.template_hash.as_deref(), Some("h1"));
    assert_eq!(pod.owner.unwrap().name, "web");
    assert_eq!((pod.conditions[0].kind.as_str(), pod.conditions[0].since), ("Odd", None));
    let (finished, reason) = (Some(Time(3_000_000)), String::new());
    let web = PodContainer {
        name: "web".to_owned(),
        id: "abc".to_owned(),
        is_ready: false,
        image: "web:1".to_owned(),
        restarts: 2,
        state: ContainerState::Terminated { started: None, finished, reason, exit_code: 1 },
        last_end: Some((1, String::new())),
        ports: vec![80, 81],
    };
    assert_eq!(pod.containers, [web]);
}
