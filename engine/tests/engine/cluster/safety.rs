//! The cluster that a run began with stays the cluster of that run.

use std::fs;

use crate::cluster::ground::{Project, config_map, deployment, kubectl, until};

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

#[test]
fn an_account_that_may_do_nothing_outside_of_a_namespace_can_deploy_there() {
    let Some(mut project) = Project::new(TILTFILE, &deployment("web", "exec sleep 1000")) else {
        return;
    };
    project.write(
        "access.yaml",
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: me}\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: all}\n\
         rules: [{apiGroups: ['', apps], resources: ['*'], verbs: ['*']}]\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: me}\n\
         subjects: [{kind: ServiceAccount, name: me}]\n\
         roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: all}\n",
    );
    let access = project.dir().join("access.yaml").display().to_string();
    project.kubectl(&["apply", "--filename", &access]);
    let token = project.kubectl(&["create", "token", "me"]);
    project.write("kubeconfig", &kubectl(&["config", "view", "--minify", "--raw"]));
    let path = project.dir().join("kubeconfig").display().to_string();
    let config = |args: &[&str]| kubectl(&[&["--kubeconfig", &path, "config"], args].concat());
    config(&["set-credentials", "me", &format!("--token={token}")]);
    config(&["set-context", "--current", "--user=me", "--namespace", &project.namespace]);
    project = project.with_env("KUBECONFIG", &path);
    let ci = project.engine(None, &["ci", "--port", "0"]);
    assert!(ci.status.success(), "{ci:?}");
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
}
