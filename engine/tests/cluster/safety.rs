//! The cluster that a run began with stays the cluster of that run.

use std::fs;

use crate::ground::{Project, config_map, until};

const TILTFILE: &str = "k8s_yaml('objects.yaml')\n";

#[test]
fn a_kubeconfig_that_changes_in_the_middle_of_a_run_redirects_nothing() {
    let Some(project) = Project::new(TILTFILE, &config_map("a", "one")) else { return };
    let original = std::env::var("KUBECONFIG").expect("it is set");
    let text = fs::read_to_string(original).expect("it can be read");
    project.write("kubeconfig", &text);
    let path = project.dir().join("kubeconfig").display().to_string();
    let mut project = project.with_env("KUBECONFIG", &path);
    let mut instance = project.up();
    until(&mut instance, "uncategorized", "ok", "ok");
    let other = "apiVersion: v1\nkind: Config\ncurrent-context: kind-other\n\
        contexts: [{name: kind-other, context: {cluster: kind-other, user: me}}]\n\
        clusters: [{name: kind-other, cluster: {server: 'http://127.0.0.1:1'}}]\n\
        users: [{name: me, user: {}}]\n";
    instance.write("kubeconfig", other);
    instance.write("objects.yaml", &project.text(&config_map("a", "two")));
    instance
        .until("the pinned cluster has it", |_| project.field("configmap/a", ".data.key") == "two");
    until(&mut instance, "uncategorized", "ok", "ok");
}

#[test]
fn a_context_that_is_not_for_development_is_refused() {
    let Some(project) = Project::new(TILTFILE, &config_map("a", "one")) else { return };
    let original = std::env::var("KUBECONFIG").expect("it is set");
    let text = fs::read_to_string(original).expect("it can be read");
    project.write("kubeconfig", &text.replace("kind-", "prod-"));
    let path = project.dir().join("kubeconfig").display().to_string();
    let project = project.with_env("KUBECONFIG", &path);
    let ci = project.engine(None, &["ci", "--port", "0"]);
    assert!(!ci.status.success(), "{ci:?}");
    let output = String::from_utf8_lossy(&ci.stderr);
    assert!(output.contains("might be production"), "{output}");
    assert!(!project.names("configmaps").contains(&"a".to_owned()));
}

#[test]
fn the_audit_log_says_what_was_written_and_why() {
    let Some(project) = Project::new(TILTFILE, &config_map("a", "one")) else { return };
    let ci = project.engine(None, &["ci", "--port", "0"]);
    assert!(ci.status.success(), "{ci:?}");
    let audit = project.engine(None, &["audit"]);
    let audit = String::from_utf8_lossy(&audit.stdout);
    let want =
        project.text("create ConfigMap/a in NAMESPACE: update of uncategorized: Initial Build");
    assert!(audit.contains(&want), "{audit}");
}
