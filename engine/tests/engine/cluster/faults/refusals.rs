//! What the cluster refuses for a while: a quota, a webhook that is away or says no, a namespace that does not go. Each is
//! said with the way out, and what was refused is applied when it is accepted.

use std::fs;

use serde_json::{Value, json};

use crate::{
    cluster::{
        faults::{Recovery, rounds, until_shown},
        ground::{Project, config_map, deployment, kubectl, until},
        webhook::Webhook,
    },
    support::Instance,
};

const TILTFILE: &str = "k8s_yaml('objects.yaml')\n";
const AGAIN: &str = "The update runs again automatically when the cluster accepts it";

fn objects(n: u64) -> String {
    config_map("a", &n.to_string())
}

fn start(yaml: &str) -> Option<(Project, Instance)> {
    let mut project = Project::new(TILTFILE, yaml)?;
    let mut instance = project.up();
    until(&mut instance, "uncategorized", "ok", "ok");
    Some((project, instance))
}

/// Applies an object that is not in a file.
fn apply(instance: &Instance, object: &Value) {
    let path = instance.dir.path().join("home/object.json");
    fs::write(&path, object.to_string()).expect("it can be written");
    kubectl(&["apply", "--filename", &path.display().to_string()]);
}

#[test]
fn a_quota_that_is_used_up_is_named_and_more_is_applied_when_there_is_room() {
    let Some((project, mut instance)) = start(&objects(0)) else { return };
    rounds("quota refused", |n| {
        project.kubectl(&["create", "quota", "few", "--hard=count/configmaps=1"]);
        instance.until("the quota is counted", |_| {
            !project.field("quota/few", ".status.used").is_empty()
        });
        let more = format!("more-{n}");
        let yaml = objects(n) + &config_map(&more, "one");
        instance.write("objects.yaml", &project.text(&yaml));
        let way_out = project.text("kubectl describe quota few --namespace NAMESPACE");
        let words = ["exceeded quota: few", "Quota few is exhausted", &way_out, AGAIN];
        until_shown(&mut instance, "uncategorized", &words);
        // What is saved meanwhile is what counts.
        instance.write("objects.yaml", &project.text(&yaml.replace("one", "two")));
        until_shown(&mut instance, "uncategorized", &words);
        project.kubectl(&["delete", "quota", "few"]);
        let recovery = Recovery::begins();
        recovery.until(&mut instance, "it is applied", |_| {
            project.field(&format!("configmap/{more}"), ".data.key") == "two"
        });
        recovery.until_well(&mut instance, "uncategorized");
        assert_eq!(project.field("configmap/a", ".data.key"), n.to_string());
        recovery.took()
    });
}

#[test]
fn pods_that_a_quota_does_not_let_in_are_explained_and_come_when_there_is_room() {
    let Some((project, mut instance)) = start(&objects(0)) else { return };
    rounds("quota refused pods", |n| {
        project.kubectl(&["create", "quota", "none", "--hard=pods=0"]);
        instance.until("the quota is counted", |_| {
            !project.field("quota/none", ".status.used").is_empty()
        });
        let before = instance.log().len();
        let name = format!("web-{n}");
        let yaml = objects(n) + &deployment(&name, "exec sleep 1000");
        instance.write("objects.yaml", &project.text(&yaml));
        instance.until("it is told why there is no pod", |it| {
            it.log()[before..].contains("exceeded quota: none, requested: pods=1")
        });
        project.kubectl(&["delete", "quota", "none"]);
        // The cluster tries again in its own time.
        instance.until("a pod runs", |_| {
            project.field(&format!("deployment/{name}"), ".status.readyReplicas") == "1"
        });
        let recovery = Recovery::begins();
        recovery.until_well(&mut instance, &name);
        recovery.took()
    });
}

/// Removes what holds a namespace. The cluster takes its time to notice; the fault is over when the namespace is gone.
fn set_free(instance: &mut Instance, namespace: &str) -> Recovery {
    let uid = || kubectl(&["get", "namespace", namespace, "--output", "jsonpath={.metadata.uid}"]);
    let before = uid();
    let free = r#"{"metadata":{"finalizers":null}}"#;
    kubectl(&["-n", namespace, "patch", "configmap", "held", "--type=merge", "-p", free]);
    instance.until("the namespace is gone", |_| uid() != before);
    Recovery::begins()
}

/// A webhook for the config maps of a namespace.
fn configuration(namespace: &str, client: &Value) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": namespace}, "webhooks": [{
            "name": "refusing.example.com", "sideEffects": "None", "timeoutSeconds": 2,
            "admissionReviewVersions": ["v1"], "clientConfig": client,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                       "operations": ["CREATE", "UPDATE"]}]}]})
}

/// Lets a webhook stand in the way of what is saved, until it is gone.
fn in_the_way(fault: &str, client: &Value, words: &[&str]) {
    let Some((project, mut instance)) = start(&objects(0)) else { return };
    let namespace = project.namespace.clone();
    rounds(fault, |n| {
        apply(&instance, &configuration(&namespace, client));
        // The server takes up a new webhook in its own time.
        instance.until("the webhook is asked", |_| {
            let tried = kubectl(&[
                "-n",
                &namespace,
                "annotate",
                "configmap",
                "a",
                "--overwrite",
                &format!("try={n}"),
            ]);
            tried.is_empty()
        });
        instance.write("objects.yaml", &project.text(&objects(n)));
        until_shown(&mut instance, "uncategorized", words);
        until_shown(&mut instance, "uncategorized", &[AGAIN]);
        kubectl(&["delete", "validatingwebhookconfiguration", &namespace]);
        let recovery = Recovery::begins();
        recovery.until(&mut instance, "it is applied", |_| {
            project.field("configmap/a", ".data.key") == n.to_string()
        });
        recovery.until_well(&mut instance, "uncategorized");
        recovery.took()
    });
}

#[test]
fn a_webhook_that_is_away_is_named_and_what_waited_for_it_is_applied_after() {
    let words = [
        "failed calling webhook \"refusing.example.com\"",
        "The admission webhook refusing.example.com does not answer: repair or remove it",
    ];
    in_the_way("webhook away", &json!({"url": "https://127.0.0.1:1/"}), &words);
}

#[test]
fn a_webhook_that_refuses_is_named_and_what_it_refused_is_applied_after() {
    let webhook = Webhook::refusing("not today");
    let words = [
        "admission webhook \"refusing.example.com\" denied the request: not today",
        "The admission webhook refusing.example.com rejects this: change the object",
    ];
    in_the_way("webhook refusing", &webhook.client_config(), &words);
}

#[test]
fn a_namespace_that_does_not_go_is_explained_and_made_again_when_it_is_gone() {
    let yaml = |n: u64| {
        let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: NAMESPACE-stuck}\n---\n";
        let inside = config_map("a", &n.to_string()).replace("NAMESPACE", "NAMESPACE-stuck");
        namespace.to_owned() + &inside
    };
    let Some((project, mut instance)) = start(&yaml(0)) else { return };
    let stuck = format!("{}-stuck", project.namespace);
    rounds("namespace stuck terminating", |n| {
        let before = instance.log().len();
        let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": "held", "namespace": stuck, "finalizers": ["example.com/held"]}});
        apply(&instance, &held);
        kubectl(&["delete", "namespace", &stuck, "--wait=false"]);
        instance.until("the namespace knows what holds it", |_| {
            kubectl(&["get", "namespace", &stuck, "--output", "json"])
                .contains("example.com/held in 1")
        });
        instance.write("objects.yaml", &project.text(&yaml(n)));
        instance.until("it is told what holds it", |it| {
            let log = &it.log()[before..];
            log.contains(&format!("Resource {stuck} is currently being deleted"))
                && log.contains("finalizers remaining: example.com/held in 1 resource instances")
        });
        let recovery = set_free(&mut instance, &stuck);
        recovery.until(&mut instance, "it is there again", |_| {
            let value = ["get", "configmap", "a", "--output", "jsonpath={.data.key}"];
            kubectl(&[&["-n", &stuck], &value[..]].concat()) == n.to_string()
        });
        recovery.until_well(&mut instance, "uncategorized");
        recovery.took()
    });
    kubectl(&["delete", "namespace", &stuck, "--wait=false"]);
}

#[test]
fn what_is_in_a_namespace_that_goes_away_is_refused_until_it_is_made_again() {
    let inside = |n: u64| config_map("a", &n.to_string()).replace("NAMESPACE", "NAMESPACE-going");
    let tiltfile = "k8s_yaml(['namespace.yaml', 'objects.yaml'])\n\
        k8s_resource(new_name='space', objects=['NAMESPACE-going:namespace'])\n\
        k8s_resource(new_name='inside', objects=['a:configmap'], resource_deps=['space'])\n";
    let Some(mut project) = Project::new(tiltfile, &inside(0)) else { return };
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: NAMESPACE-going}\n";
    project.write("namespace.yaml", namespace);
    let mut instance = project.up();
    until(&mut instance, "inside", "ok", "ok");
    let going = format!("{}-going", project.namespace);
    rounds("namespace of others terminating", |n| {
        let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": "held", "namespace": going, "finalizers": ["example.com/held"]}});
        apply(&instance, &held);
        kubectl(&["delete", "namespace", &going, "--wait=false"]);
        instance.until("what is inside is gone", |_| {
            kubectl(&["-n", &going, "get", "configmap", "a", "--output", "name"]).is_empty()
        });
        instance.write("objects.yaml", &project.text(&inside(n)));
        let words = ["because it is being terminated", "The namespace is being deleted", AGAIN];
        until_shown(&mut instance, "inside", &words);
        let recovery = set_free(&mut instance, &going);
        recovery.until(&mut instance, "it is there again", |_| {
            let value = ["get", "configmap", "a", "--output", "jsonpath={.data.key}"];
            kubectl(&[&["-n", &going], &value[..]].concat()) == n.to_string()
        });
        recovery.until_well(&mut instance, "inside");
        recovery.took()
    });
    kubectl(&["delete", "namespace", &going, "--wait=false"]);
}
