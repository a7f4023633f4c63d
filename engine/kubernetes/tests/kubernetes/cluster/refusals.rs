//! What the server refuses is told in its own words.

use serde_json::json;

use crate::cluster::support::{Ground, config_map, deployment, kubectl};

#[tokio::test]
async fn a_quota_that_is_used_up_is_told() {
    let ground = Ground::new("quota").await;
    ground.kubectl(&["create", "quota", "few", "--hard=count/configmaps=1"]);
    // The namespace has its own root certificate in a config map, or will have.
    let objects = [config_map("a", json!({})), config_map("b", json!({}))];
    let applied = ground.apply(&objects).await;
    let error = applied.error.unwrap();
    assert!(error.starts_with(r#"configmaps ""#), "{error}");
    assert!(error.contains(r#" is forbidden: exceeded quota: few, requested: count/"#), "{error}");
    assert_eq!(ground.said(), Vec::<String>::new(), "no other way is tried");
}

#[tokio::test]
async fn a_namespace_that_is_going_away_is_told_as_it_is() {
    let ground = Ground::new("going").await;
    let namespace = &ground.namespace;
    let mut held = config_map("held", json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    ground.applied(&[held]).await;
    kubectl(&["delete", "namespace", namespace, "--wait=false"]);
    let applied = ground.apply(&[config_map("a", json!({}))]).await;
    assert_eq!(
        applied.error.unwrap(),
        format!(
            "configmaps \"a\" is forbidden: unable to create new content in namespace {namespace} \
             because it is being terminated"
        )
    );
    assert_eq!(ground.said(), Vec::<String>::new());
    ground.kubectl(&[
        "patch",
        "configmap",
        "held",
        "--type=merge",
        "-p",
        r#"{"metadata":{"finalizers":null}}"#,
    ]);
}

#[tokio::test]
async fn a_webhook_that_refuses_and_one_that_is_away_are_told() {
    let mut ground = Ground::new("hook").await;
    let name = ground.namespace.clone();
    ground.global.push(format!("validatingadmissionpolicybinding/{name}"));
    ground.global.push(format!("validatingadmissionpolicy/{name}"));
    ground.global.push(format!("validatingwebhookconfiguration/{name}"));
    let here = json!({"matchLabels": {"kubernetes.io/metadata.name": name}});
    let webhook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name}, "webhooks": [{
            "name": "away.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 1, "namespaceSelector": here,
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                       "resources": ["secrets"]}]}]});
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name}, "spec": {
            "matchConstraints": {"namespaceSelector": here, "resourceRules": [{"apiGroups": [""],
                "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                "resources": ["services"]}]},
            "validations": [{"expression": "false", "message": "not today"}]}});
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]}});
    let first = [webhook, policy, binding];
    ground.applied(&first).await;
    let again = ground.apply(&first).await;
    assert_eq!((again.error, again.n_writes), (None, 0), "{:?}", ground.audit());

    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"ports": [{"port": 80}]}});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    // The server takes up a new rule in its own time, so it is tried until it is in effect.
    let refused = async |object: &serde_json::Value| loop {
        if let Some(error) = ground.apply(std::slice::from_ref(object)).await.error {
            break error;
        }
        ground.delete(std::slice::from_ref(object), &crate::cluster::support::deleting()).await;
    };
    assert_eq!(
        refused(&service).await,
        format!(
            "services \"s\" is forbidden: ValidatingAdmissionPolicy '{name}' with binding '{name}' \
             denied request: not today"
        )
    );
    let away = refused(&secret).await;
    let start = "Internal error occurred: failed calling webhook \"away.example.com\": failed to \
                 call webhook: Post \"https://127.0.0.1:1/?timeout=1s\": dial tcp 127.0.0.1:1: \
                 connect: connection refused";
    assert_eq!(away, start);
}

#[tokio::test]
async fn what_is_invalid_is_told_and_what_came_before_is_not_hidden() {
    let ground = Ground::new("invalid").await;
    let mut bad = deployment("bad", "busybox");
    bad["spec"]["replicas"] = (-1).into();
    let applied = ground.apply(&[bad, config_map("good", json!({}))]).await;
    let error = applied.error.unwrap();
    assert!(
        error.starts_with("Deployment.apps \"bad\" is invalid: spec.replicas: Invalid value: -1"),
        "{error}"
    );
    assert_eq!(applied.objects.len(), 1);
    assert_eq!(applied.objects[0]["metadata"]["name"], "good");
    assert_eq!(applied.n_writes, 2);
}

#[tokio::test]
async fn a_kind_that_is_not_there_is_told() {
    let ground = Ground::new("kind").await;
    let wanted = json!({"apiVersion": "v1", "kind": "Useless", "metadata": {"name": "a"}});
    assert_eq!(
        ground.apply(&[wanted]).await.error.unwrap(),
        "kubernetes apply: error mapping /Useless: no matches for kind \"Useless\" in version \"v1\""
    );
}

#[tokio::test]
async fn a_namespace_that_is_not_there_is_told_after_another_look() {
    let ground = Ground::new("nowhere").await;
    let mut wanted = config_map("a", json!({}));
    let nowhere = format!("{}-not", ground.namespace);
    wanted["metadata"]["namespace"] = nowhere.clone().into();
    assert_eq!(
        ground.apply(&[wanted]).await.error.unwrap(),
        format!("kubernetes apply retry: namespaces \"{nowhere}\" not found")
    );
    assert_eq!(ground.said(), ["Resource a was not found during apply. Retrying..."]);
}

#[tokio::test]
async fn an_object_that_is_too_large_for_the_server_is_told() {
    let ground = Ground::new("huge").await;
    let wanted = config_map("huge", json!({"text": "x".repeat(3_300_000)}));
    let error = ground.apply(&[wanted]).await.error.unwrap();
    assert_eq!(error, "Request entity too large: limit is 3145728");
    assert_eq!(
        ground.said(),
        [
            r#"Updating "huge" failed: Request entity too large: limit is 3145728"#,
            "Attempting to create or replace",
        ]
    );
}
