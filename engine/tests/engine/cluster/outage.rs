//! A cluster that is not there, goes away, and comes back; and another one in its place.

use crate::{
    cluster::{
        ground::{Project, config_map, deployment, until},
        way::Way,
    },
    support::Instance,
};

const TILTFILE: &str = "k8s_yaml('objects.yaml')\n";

/// A project that reaches the cluster by a way that can be cut.
fn project(yaml: &str) -> Option<(Project, Way)> {
    Way::project(TILTFILE, yaml)
}

fn hold(instance: &Instance, resource: &str) -> serde_json::Value {
    let answer = instance.client(&["why", "--json", resource]);
    let answer: serde_json::Value = serde_json::from_str(&answer).expect("it is JSON");
    answer["hold"].clone()
}

#[test]
fn resources_wait_for_a_cluster_and_deploy_when_it_comes_up() {
    let Some((mut project, way)) = project(&config_map("a", "one")) else { return };
    let mut instance = project.up();
    until(&mut instance, "uncategorized", "pending", "pending");
    instance.until("it is known why", |it| {
        let hold = hold(it, "uncategorized");
        let error = hold["on"][0]["error"].as_str().unwrap_or_default().to_owned();
        hold["reason"] == "waiting-for-cluster" && error.contains("Kubernetes cluster")
    });
    way.open();
    until(&mut instance, "uncategorized", "ok", "ok");
    assert_eq!(project.field("configmap/a", ".data.key"), "one");
}

#[test]
fn an_update_without_a_cluster_fails_in_words_and_runs_again_when_it_is_back() {
    let Some((mut project, way)) = project(&config_map("a", "one")) else { return };
    way.open();
    let mut instance = project.up();
    until(&mut instance, "uncategorized", "ok", "ok");
    way.cut();
    instance.write("objects.yaml", &project.text(&config_map("a", "two")));
    instance.until("it is held", |it| hold(it, "uncategorized")["reason"] == "waiting-for-cluster");
    // The terminal follows the log, and may lag behind what clients see.
    instance.until("the log says why", |it| it.log().contains("ERROR: Cluster status error: "));
    way.open();
    instance.until("it is applied", |_| project.field("configmap/a", ".data.key") == "two");
    until(&mut instance, "uncategorized", "ok", "ok");
}

#[test]
fn pods_and_logs_are_followed_again_after_the_connection_broke() {
    let yaml = deployment("web", "while true; do sleep 0.2; date +tick%s; done");
    let Some((mut project, way)) = project(&yaml) else { return };
    way.open();
    let mut instance = project.up();
    instance.until("it prints", |it| it.log().contains("web │ tick"));
    way.cut();
    let before = instance.log().len();
    way.open();
    instance.until("it prints again", |it| it.log()[before..].contains("web │ tick"));
    let pod = project.names("pods").remove(0);
    project.kubectl(&["delete", "pod", &pod, "--wait=false"]);
    instance.until("the next pod is seen", |it| {
        it.log()[before..].contains("Tracking new pod rollout (web-")
    });
    until(&mut instance, "web", "ok", "ok");
}

#[test]
fn ci_ends_at_once_when_there_is_no_cluster() {
    let Some((project, _way)) = project(&config_map("a", "one")) else { return };
    let output = project.engine(None, &["ci", "--port", "0"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{output:?}");
    assert!(stderr.contains("Error: cluster connection failed"), "{stderr}");
}
