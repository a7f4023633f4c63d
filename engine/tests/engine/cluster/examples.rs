//! The example projects of real systems do on a cluster what their texts say.

use std::{env, fs, path::Path};

use serde_json::{Value, json};

use crate::{
    cluster::ground::{Project, kubectl, until},
    support::Instance,
};

/// An example that runs. Its namespace is made by its own Tiltfile, and goes in the end.
struct Example {
    project: Project,
    instance: Instance,
    namespace: String,
}

impl Example {
    /// Starts a copy of an example in a namespace of its own, with these settings, unless there is no cluster.
    fn start(name: &str, settings: &Value) -> Option<Self> {
        let containerd = env::var("ENGINE_CLUSTER_CONTAINERD").unwrap_or_default();
        let mut project = Project::new("", "")?.with_env("ENGINE_CLUSTER_CONTAINERD", &containerd);
        let namespace = format!("{}-example", project.namespace);
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name), project.dir());
        // It is to run beside others.
        rename(project.dir(), name, &namespace);
        project.write("tilt_config.json", &settings.to_string());
        let instance = project.up();
        Some(Self { project, instance, namespace })
    }

    fn until(&mut self, resource: &str, update: &str, runtime: &str) {
        until(&mut self.instance, resource, update, runtime);
    }

    /// Replaces a text in a file of the project, as an editor does.
    fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.instance.dir.path().join(file);
        let text = fs::read_to_string(&path).expect("it can be read");
        assert!(text.contains(from), "{from} in {file}");
        fs::write(path, text.replace(from, to)).expect("it can be written");
    }

    fn until_log(&mut self, line: &str) {
        self.instance.until(line, |it| it.log().contains(line));
    }

    fn kubectl(&self, args: &[&str]) -> String {
        kubectl(&[&["--namespace", &self.namespace], args].concat())
    }

    fn pods(&self, app: &str) -> String {
        let label = format!("app={app}");
        self.kubectl(&[
            "get",
            "pods",
            "--selector",
            &label,
            "--output",
            "jsonpath={.items[*].metadata.name}",
        ])
    }

    /// `down` removes what was deployed.
    fn down(&self) {
        let down = self.project.engine(Some(&self.instance), &["down", "--delete-namespaces"]);
        assert_eq!(down.status.code(), Some(0), "{down:?}");
        assert_eq!(self.kubectl(&["get", "deployments", "--output", "name"]), "");
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        kubectl(&["delete", "namespace", &self.namespace, "--wait=false", "--ignore-not-found"]);
    }
}

/// Copies an example, so that nothing is written to the original.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("it can be made");
    for entry in fs::read_dir(from).expect("there is such an example").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("it can be copied");
        }
    }
}

/// Gives the namespace of an example, which is named like the example, another name in all its files.
fn rename(dir: &Path, from: &str, to: &str) {
    for entry in fs::read_dir(dir).expect("it is there").flatten() {
        let path = entry.path();
        if path.is_dir() {
            rename(&path, from, to);
        } else if let Ok(text) = fs::read_to_string(&path)
            && text.contains(from)
        {
            fs::write(&path, text.replace(from, to)).expect("it can be written");
        }
    }
}

#[test]
fn an_operator_of_three_components_is_updated_in_place_and_its_tests_wait() {
    let Some(mut example) = Example::start("operator-stack", &json!({})) else { return };
    for resource in ["stack-init", "stack-webhook", "stack-scheduler", "stack-controller"] {
        example.until(resource, "ok", "ok");
    }
    let before =
        ["stack-webhook", "stack-scheduler", "stack-controller"].map(|it| example.pods(it));
    example.edit("pkg/version.sh", "version=1", "version=2");
    for component in ["webhook", "scheduler", "controller"] {
        example.until_log(&format!("{component} 2 is running"));
    }
    let after = ["stack-webhook", "stack-scheduler", "stack-controller"].map(|it| example.pods(it));
    assert_eq!(before, after, "pods were replaced:\n{}", example.instance.log());
    example.until("e2e", "none", "not_applicable");
    example.instance.client(&["trigger", "--with-deps", "e2e"]);
    example.until_log("install-runner: installed");
    example.until("e2e", "ok", "not_applicable");
    example.down();
}

#[test]
fn an_operator_pushes_two_tags_and_both_of_its_components_run() {
    let registry = env::var("ENGINE_TEST_REGISTRY").unwrap_or_default();
    let settings = json!({"registry": registry});
    let Some(mut example) = Example::start("registry-operator", &settings) else { return };
    for resource in ["operator", "validator"] {
        example.until(resource, "ok", "ok");
    }
    example.until_log("operator of dev is running");
    example.until_log("validator of dev is running");
    example.edit("src/operator.sh", "is running", "runs again");
    example.until_log("operator of dev runs again");
    example.down();
}

#[test]
fn a_binary_is_replaced_in_a_container_that_is_not_root() {
    let Some(mut example) = Example::start("settings-operator", &json!({})) else { return };
    example.until("operator", "ok", "ok");
    example.until_log("manager 1 is running as 1000 with --log-level=info");
    let before = example.pods(&example.namespace);
    example.edit("src/manager.sh", "manager 1", "manager 2");
    example.until_log("manager 2 is running as 1000");
    let after = example.pods(&example.namespace);
    assert_eq!(before, after, "the pod was replaced:\n{}", example.instance.log());
    example.down();
}

#[test]
fn an_app_without_a_registry_runs_beside_broken_ones_and_its_secret_survives() {
    let settings = json!({"modes": ["triggers"]});
    let Some(mut example) = Example::start("direct-import", &settings) else { return };
    example.until("pulse", "ok", "ok");
    example.until_log("pulse 1 is running");
    example.until_log("broken on purpose");
    let patch = r#"{"stringData": {"token": "mine"}}"#;
    example.kubectl(&["patch", "secret", "pulse-credentials", "--patch", patch]);
    example.edit("src/pulse.sh", "pulse 1", "pulse 2");
    example.until_log("pulse 2 is running");
    let path = "jsonpath={.data.token}";
    let token = example.kubectl(&["get", "secret", "pulse-credentials", "--output", path]);
    assert_eq!(token, "bWluZQ==", "{}", example.instance.log());
    example.down();
}

#[test]
fn a_controller_starts_again_in_place_and_then_with_its_debugger() {
    let Some(mut example) = Example::start("debug-switch", &json!({})) else { return };
    example.until("controller", "ok", "ok");
    let before = example.pods("controller");
    example.edit("src/manager.sh", "controller 1", "controller 2");
    example.until_log("controller 2 is running");
    assert_eq!(example.pods("controller"), before, "{}", example.instance.log());
    example.instance.write("tilt-settings.yaml", "debug: {enabled: true}\n");
    example.until_log("debugger listens on :30000");
    assert!(!example.instance.log().contains("not-a-real-token"));
    example.down();
}
