//! A control plane that is restarted and has forgotten what happened, or is made again as another cluster.

use std::{path::Path, process::Command};

use serde_json::json;

use crate::{
    cluster::{
        faults::{Recovery, rounds, until_shown, why},
        ground::{Project, config_map, until},
        way::Way,
    },
    support::control::Control,
};

/// A pod that nobody runs; a test says how it does.
const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: default}\n\
    spec:\n  containers: [{name: main, image: busybox}]\n";

fn control() -> Control {
    Control::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
}

/// What `kubectl` prints about a control plane, also if it fails.
fn kubectl(control: &Control, args: &[&str]) -> String {
    let mut command = Command::new("kubectl");
    let output = command.arg("--kubeconfig").arg(control.kubeconfig()).args(args).output();
    let output = output.expect("kubectl is in the PATH");
    let both = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&both).trim().to_owned()
}

/// Says how the pod does.
fn set_status(control: &Control, restarts: u64) {
    let status = json!({"status": {"phase": "Running", "containerStatuses": [{
        "name": "main", "image": "busybox", "imageID": "", "ready": true, "restartCount": restarts,
        "containerID": format!("containerd://{restarts}"), "state": {"running": {}}}]}});
    let patch = status.to_string();
    kubectl(
        control,
        &["patch", "pod", "web", "--subresource=status", "--type=merge", "-p", &patch],
    );
}

#[test]
fn a_version_that_the_server_has_forgotten_leads_to_a_new_look() {
    let Some(project) = Project::new("k8s_yaml('objects.yaml')\n", POD) else { return };
    let control = control();
    kubectl(&control, &["create", "serviceaccount", "default"]);
    let (way, kubeconfig) = Way::of(&control.kubeconfig());
    way.open();
    project.write("way", &kubeconfig);
    let path = project.dir().join("way").display().to_string();
    let mut project = project.with_env("KUBECONFIG", &path);
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "pending");
    set_status(&control, 0);
    until(&mut instance, "web", "ok", "ok");
    rounds("410 Gone", |n| {
        let version = ["get", "pod", "web", "--output", "jsonpath={.metadata.resourceVersion}"];
        let before = kubectl(&control, &version);
        way.cut();
        set_status(&control, n);
        control.run(&["stop", "apiserver"]);
        control.run(&["start", "apiserver"]);
        let watch = format!(
            "/api/v1/namespaces/default/pods?watch=1&timeoutSeconds=1&resourceVersion={before}"
        );
        let answer = kubectl(&control, &["get", "--raw", &watch]);
        assert!(answer.contains("too old resource version"), "it is not forgotten: {answer}");
        way.open();
        let recovery = Recovery::begins();
        recovery.until(&mut instance, "the change is seen", |it| {
            why(it, "web")["pod"]["restarts"] == n
        });
        recovery.until_well(&mut instance, "web");
        recovery.took()
    });
}

#[test]
fn a_cluster_that_was_made_again_gets_nothing_until_the_tiltfile_is_loaded_again() {
    let tiltfile = "k8s_yaml('objects.yaml')\n\
        k8s_custom_deploy('custom', deps=['n'], delete_cmd='true',\n\
        \x20   apply_cmd='kubectl create configmap custom-$(cat n) --output yaml')\n";
    let yaml = config_map("a", "one").replace("NAMESPACE", "default");
    let Some(project) = Project::new(tiltfile, &yaml) else { return };
    project.write("n", "0");
    let control = control();
    let path = control.kubeconfig().display().to_string();
    let mut project = project.with_env("KUBECONFIG", &path);
    let mut instance = project.up();
    until(&mut instance, "uncategorized", "ok", "ok");
    let names = || kubectl(&control, &["get", "configmaps", "--output", "name"]);
    instance.until("the command has run", |_| names().contains("/custom-0"));
    rounds("cluster made again", |n| {
        control.make_again();
        // Somebody asks for an update, and something is saved that a command would bring there.
        instance.trigger("uncategorized");
        instance.write("n", &n.to_string());
        let way_out = "engine trigger \"(Tiltfile)\"";
        let words = ["waiting for Kubernetes", "another cluster answers", way_out];
        until_shown(&mut instance, "uncategorized", &words);
        until_shown(&mut instance, "custom", &words);
        let written = names();
        assert!(!written.contains("/a") && !written.contains("custom"), "{written}");
        instance.trigger("(Tiltfile)");
        let recovery = Recovery::begins();
        recovery.until(&mut instance, "all of it is there", |_| {
            let written = names();
            written.contains("/a") && written.contains(&format!("/custom-{n}"))
        });
        recovery.until_well(&mut instance, "uncategorized");
        recovery.took()
    });
}
