//! What is said of pods: their status, their errors, and which of them count.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;

fn pod(value: Value) -> Pod {
    Pod::of(serde_json::from_value(value).unwrap())
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
fn the_json_is_that_of_tilt() {
    let given = json!({
        "metadata": {
            "name": "web-1", "namespace": "default", "uid": "u1",
            "creationTimestamp": "2024-01-01T00:00:00Z",
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
            "conditions": [
                {"type": "Ready", "status": "False", "lastTransitionTime": "2024-01-01T00:00:02Z",
                 "reason": "ContainersNotReady", "message": "no"},
                {"type": "Odd", "status": "True"},
            ],
            "containerStatuses": [
                {"name": "web", "image": "sha256:x", "imageID": "", "ready": false, "restartCount": 2,
                 "containerID": "containerd://abc",
                 "state": {"terminated": {"exitCode": 1, "startedAt": "2024-01-01T00:00:01Z",
                                          "finishedAt": "2024-01-01T00:00:03Z"}}},
                {"name": "odd", "image": "odd:1", "imageID": "", "ready": true, "restartCount": 0,
                 "containerID": "no-scheme"},
            ],
        },
    });
    let mut pod = pod(given);
    pod.ancestor_uid = Some("deploy".to_owned());
    assert_eq!(
        pod.to_json().to_string(),
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

/// A pod in words: its name, then `at` its age, `of` its owner and when that was made, its `revision`, `under` its ancestor, `hash`.
fn worded(text: &str) -> Pod {
    let mut words = text.split_whitespace();
    let mut pod = Pod { name: words.next().unwrap().to_owned(), ..Pod::default() };
    let moment = |text: &str| Timestamp::from_second(text.parse().unwrap()).unwrap();
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap().to_owned();
        match word {
            "at" => pod.created = moment(&next()),
            "of" => {
                let (kind, name, created) = (next(), next(), Some(moment(&next())));
                pod.owner = Some(PodOwner { name, kind, created, ..PodOwner::default() });
            }
            "revision" => pod.owner.as_mut().unwrap().revision = next().parse().unwrap(),
            "under" => pod.ancestor_uid = Some(next()),
            "hash" => pod.template_hash = Some(next()),
            "running" => pod.phase = "Running".to_owned(),
            "deleting" => pod.is_deleting = true,
            word => panic!("{word}"),
        }
    }
    pod
}

fn names<'a>(pods: impl IntoIterator<Item = &'a Pod>) -> String {
    pods.into_iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn pods_of_earlier_updates_do_not_count() {
    let uids = BTreeSet::from(["web".to_owned(), "jobs".to_owned()]);
    for (pods, expected) in [
        // Only the newer set of one deployment counts.
        (&["a under web of ReplicaSet old 1", "b under web of ReplicaSet new 2"][..], "b"),
        // Sets of the same second are told apart by their revisions.
        (
            &[
                "a under web of ReplicaSet new 1 revision 2",
                "b under web of ReplicaSet old 1 revision 1",
            ],
            "a",
        ),
        // The jobs of one set all count.
        (&["a under jobs of Job one 1", "b under jobs of Job two 2"], "a b"),
        // An owner that could not be read is no older one.
        (&["a under web", "b under web of ReplicaSet new 2"], "a b"),
        (&["a hash now", "b hash old", "c"], "a c"),
        (&["a under web", "b under gone", "c"], "a c"),
        // One that is about to go counts while it is there.
        (&["a under web deleting"], "a"),
    ] {
        let given: Vec<Pod> = pods.iter().map(|it| worded(it)).collect();
        assert_eq!(names(filtered(&given, &["now".to_owned()], &uids)), expected, "{pods:?}");
    }
}

#[test]
fn the_newest_pod_counts_and_then_the_greater_name() {
    let pods: Vec<Pod> = ["a at 2", "c at 1", "b at 2"].map(worded).into();
    assert_eq!(most_recent(&pods).unwrap().name, "b");
    assert_eq!(most_recent(&[]), None);
}

#[test]
fn ports_are_forwarded_to_a_pod_that_stays() {
    for (pods, expected) in [
        (&["a at 1 running", "b at 2"][..], Some("a")),
        (&["a at 1 running", "b at 2 running deleting"], Some("a")),
        (&["a at 1 running deleting", "b at 2 running deleting"], Some("b")),
        (&["a at 1 deleting"], None),
        (&["a at 1 running", "b at 1 running"], Some("b")),
        (&["a at 1"], None),
    ] {
        let given: Vec<Pod> = pods.iter().map(|it| worded(it)).collect();
        assert_eq!(to_forward(&given).map(|it| it.name.as_str()), expected, "{pods:?}");
    }
}

#[test]
fn a_forward_without_a_container_port_takes_one_that_the_pod_declares() {
    let with_ports = |ports: &[i32]| Pod {
        containers: vec![PodContainer { ports: ports.to_vec(), ..PodContainer::default() }],
        ..Pod::default()
    };
    for (ports, expected) in [(&[80, 8000][..], 8000), (&[80, 81], 80), (&[], 8000), (&[-1], 8000)]
    {
        assert_eq!(container_port(8000, &with_ports(ports)), expected, "{ports:?}");
    }
}
