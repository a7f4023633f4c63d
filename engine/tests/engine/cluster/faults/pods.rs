//! Pods that are evicted, and pods whose image cannot be pulled.

use std::fs;

use serde_json::json;

use crate::{
    cluster::{
        faults::{Recovery, rounds, until_shown},
        ground::{Project, deployment, kubectl, page, until},
    },
    support::named_port,
};

const DOCKERFILE: &str = "FROM busybox\nCOPY www /www\nLABEL of=NAMESPACE\nCMD [\"httpd\", \"-f\", \"-p\", \"8000\", \"-h\", \"/www\"]\n";

const WEB: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: NAMESPACE}\nspec:\n\
    \x20 selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n\
    \x20     terminationGracePeriodSeconds: 0\n      containers: [{name: main, image: NAMESPACE-web}]\n---\n";

#[test]
fn a_pod_that_is_evicted_is_told_and_the_next_one_gets_all_that_was_saved() {
    let port = named_port();
    let tiltfile = format!(
        "docker_build('NAMESPACE-web', 'app', live_update=[sync('app/www', '/www')])\n\
         k8s_yaml('objects.yaml')\nk8s_resource('web', port_forwards='{port}:8000')\n"
    );
    let Some(mut project) = Project::new(&tiltfile, WEB) else { return };
    project.write("app/Dockerfile", DOCKERFILE);
    project.write("app/www/a", "0\n");
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    instance.until("the pod answers", |_| page(port, "/a") == "0\n");
    rounds("pod evicted", |n| {
        let before = instance.log().len();
        instance.write("app/www/a", &format!("{n}\n"));
        let pod = project.names("pods").remove(0);
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": pod, "namespace": project.namespace}});
        let path = instance.dir.path().join("home/eviction.json");
        fs::write(&path, eviction.to_string()).expect("it can be written");
        let target = format!("/api/v1/namespaces/{}/pods/{pod}/eviction", project.namespace);
        kubectl(&["create", "--raw", &target, "--filename", &path.display().to_string()]);
        let recovery = Recovery::begins();
        recovery.until(&mut instance, "it is told", |it| {
            it.log()[before..].contains(&format!("Pod {pod} was evicted: Eviction API: evicting"))
        });
        recovery.until(&mut instance, "another pod has what was saved", |_| {
            let pods = project.names("pods");
            pods.len() == 1 && pods[0] != pod && page(port, "/a") == format!("{n}\n")
        });
        recovery.until_well(&mut instance, "web");
        recovery.took()
    });
}

#[test]
fn an_image_that_cannot_be_pulled_is_named_and_the_next_one_runs() {
    let good = |n: u64| deployment("web", &format!("echo run {n}; exec sleep 1000"));
    let Some(mut project) = Project::new("k8s_yaml('objects.yaml')\n", &good(0)) else { return };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    rounds("image pull failure", |n| {
        let image = format!("localhost:1/nothing:{n}");
        let bad = good(n).replace("image: busybox", &format!("image: '{image}'"));
        instance.write("objects.yaml", &project.text(&bad));
        until_shown(&mut instance, "web", &["web: pod web-", &image]);
        let before = instance.log().len();
        instance.until("the event is in the log", |it| {
            it.log().contains("web │ [event: pod ") && it.log().contains(&image)
        });
        instance.write("objects.yaml", &project.text(&good(n)));
        let recovery = Recovery::begins();
        recovery.until(&mut instance, "the next pod runs", |it| {
            it.log()[before..].contains(&format!("web │ run {n}"))
        });
        recovery.until_well(&mut instance, "web");
        recovery.took()
    });
}
