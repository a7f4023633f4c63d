//! Why workloads are red or wait: every surface says the same, and it names the cause.

use serde_json::json;

use crate::cluster::ground::{Project, config_map, deployment};

/// Five workloads, each of which is not well in its own way, and one that waits for the first.
const TILTFILE: &str = "
k8s_yaml('objects.yaml')
local_resource('after', 'true', resource_deps=['crash'])
";

const SLEEP: &str = "exec sleep 1000";

/// A Pod that no node takes.
const NOWHERE: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: evicted, namespace: NAMESPACE}\n\
    spec:\n  nodeSelector: {is: nowhere}\n  containers: [{name: main, image: busybox}]\n---\n";

#[test]
fn pods_that_crash_or_have_no_image_no_node_or_no_answer_say_why() {
    let missing =
        deployment("missing", SLEEP).replace("image: busybox", "image: 'localhost:1/no:1'");
    let far = deployment("far", SLEEP)
        .replace("      containers:", "      nodeSelector: {is: far}\n      containers:");
    let probe =
        "readinessProbe: {periodSeconds: 1, exec: {command: [sh, -c, 'echo no disk; exit 1']}}";
    let slow =
        deployment("slow", SLEEP).replace("{name: main,", &format!("{{name: main, {probe},"));
    let yaml = deployment("crash", "echo soon; exit 3") + &missing + &far + &slow;
    let Some(mut project) = Project::new(TILTFILE, &yaml) else { return };
    let mut all = project.surfaces();
    let crash = "pod crash-*: container main exited with status 3";
    all.show(&[
        ("crash", crash),
        ("after", &format!("waiting for crash: {crash}")),
        ("missing", "pod missing-*localhost:1/no:1*"),
        ("far", "pod far-*: 0/1 nodes are available*"),
        ("slow", "pod slow-* is running, but not ready: Readiness probe failed: no disk"),
    ]);
    all.finish();
}

#[test]
fn objects_that_are_refused_pods_that_cannot_be_made_and_pods_that_are_evicted_say_why() {
    let yaml = NOWHERE.to_owned() + &config_map("more", "1") + &deployment("crowd", SLEEP);
    let Some(mut project) = Project::new("k8s_yaml('objects.yaml')\n", &yaml) else { return };
    let hard = "--hard=count/configmaps=0,count/pods=1";
    project.kubectl(&["create", "quota", "few", hard]);
    let mut all = project.surfaces();
    all.show(&[("uncategorized", "*exceeded quota: few*")]);
    let status = json!({"status": {"phase": "Failed", "reason": "Evicted", "conditions": [{
        "type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet",
        "message": "The node was low on resource: memory."}]}});
    let patch = ["patch", "pod", "evicted", "--subresource=status", "--patch"];
    project.kubectl(&[&patch[..], &[status.to_string().as_str()]].concat());
    all.show(&[
        ("evicted", "pod evicted: Evicted: The node was low on resource: memory."),
        ("crowd", "*exceeded quota: few*"),
    ]);
    all.finish();
}
