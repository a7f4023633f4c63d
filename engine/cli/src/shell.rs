//! `alpha shell`: opens a shell in a container of a resource.

use std::{
    os::unix::process::CommandExt,
    process::{Command, Stdio},
};

use clap::Args;
use engine_api::Kind;
use serde_json::Value;

use super::{Printer, client::ApiClient, connect::ConnectFlags, failure::Failure, program};

/// Open a shell in a container of a Kubernetes resource.
///
/// Uses `kubectl shell` if that is installed, otherwise bash or sh in the container.
#[derive(Debug, Args)]
pub struct ShellFlags {
    /// The resource
    #[arg(required = true, value_name = "RESOURCE")]
    resource: String,
    /// Container to use; required if the pod has several
    #[arg(short, long, value_name = "NAME", default_value = "", hide_default_value = true)]
    container: String,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &ShellFlags, printer: Printer) -> Result<(), Failure> {
    let client = ApiClient::new(&flags.connect)?;
    let name = &flags.resource;
    let resource = client.get(Kind::UiResource, name).map_err(|failure| {
        if failure.is_not_found() {
            return error(format!(
                "resource {name} not found. To see available resources, run:\n{} get uiresources",
                program()
            ));
        }
        failure.native()
    })?;
    if !resource["status"]["k8sResourceInfo"].is_object() {
        return Err(error(format!(
            "resource {name} is not a Kubernetes resource. Only Kubernetes pods currently supported"
        )));
    }
    let get = |kind: Kind, name: &str, what: &str| {
        client.get(kind, name).map_err(|it| error(format!("looking up {what}: {}", plain(it))))
    };
    let discovery = get(Kind::KubernetesDiscovery, name, &format!("kubernetes status {name}"))?;
    let pod =
        best_pod(&discovery).ok_or_else(|| error(format!("no pod found for resource {name}")))?;
    let container = container(pod, &flags.container).ok_or_else(|| {
        let (container, pod) = (&flags.container, text(&pod["name"]));
        error(format!("container {container} not found in pod {pod}"))
    })?;
    let cluster = get(Kind::Cluster, "default", "cluster")?;
    let kubernetes = &cluster["status"]["connection"]["kubernetes"];
    let Some(config) = kubernetes["configPath"].as_str() else {
        let why = text(&cluster["status"]["error"]);
        return Err(error(format!("kubernetes cluster not connected: {why}")));
    };
    open(pod, container, config, printer)
}

fn error(text: String) -> Failure {
    Failure::Command(text)
}

fn plain(failure: Failure) -> String {
    match failure.native() {
        Failure::Command(text) => text,
        other => other.to_string(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The newest pod that is not being deleted, or else the newest.
fn best_pod(discovery: &Value) -> Option<&Value> {
    let pods = discovery["status"]["pods"].as_array()?.iter();
    pods.max_by_key(|it| (it["deleting"] != true, text(&it["createdAt"]), text(&it["name"])))
}

fn container<'a>(pod: &'a Value, wanted: &str) -> Option<&'a Value> {
    let list = |key: &str| pod[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let (first, rest) = (list("initContainers"), list("containers"));
    if let ([], [only], "") = (first, rest, wanted) {
        return Some(only);
    }
    first.iter().chain(rest).find(|it| it["name"] == wanted)
}

/// Replaces this process with the first available shell.
fn open(pod: &Value, container: &Value, config: &str, printer: Printer) -> Result<(), Failure> {
    let target =
        [text(&pod["name"]), "-n", text(&pod["namespace"]), "-c", text(&container["name"])];
    let has = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).env("KUBECONFIG", config);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|it| it.success())
    };
    let words = if has("kubectl-shell", &["--help"]) {
        [&["shell"], target.as_slice()].concat()
    } else {
        let exec = |shell| [&["exec"], target.as_slice(), &["--", "which", shell]].concat();
        let shell = ["bash", "sh"].into_iter().find(|it| has("kubectl", &exec(it)));
        let Some(shell) = shell else {
            let image = text(&container["image"]);
            return Err(error(format!("could not find bash or sh in container image: {image}")));
        };
        [&["exec", "-it"], target.as_slice(), &["--", shell]].concat()
    };
    printer.err(&format!("Running: kubectl {}\n", words.join(" ")));
    let failed = Command::new("kubectl").args(&words).env("KUBECONFIG", config).exec();
    Err(error(format!("could not find kubectl: {failed}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_only_container_needs_no_name() {
        let one = json!({"name": "p", "containers": [{"name": "a"}]});
        let two =
            json!({"name": "p", "initContainers": [{"name": "i"}], "containers": [{"name": "a"}]});
        assert_eq!(container(&one, "").unwrap()["name"], "a");
        assert_eq!(container(&two, "i").unwrap()["name"], "i");
        for (pod, wanted) in [(&one, "b"), (&two, "")] {
            assert_eq!(container(pod, wanted), None);
        }
    }

    #[test]
    fn a_pod_that_stays_is_better_than_a_newer_one() {
        let pods = json!({"status": {"pods": [
            {"name": "old", "createdAt": "2020-01-01T00:00:00Z"},
            {"name": "new", "createdAt": "2021-01-01T00:00:00Z"},
            {"name": "going", "createdAt": "2022-01-01T00:00:00Z", "deleting": true},
        ]}});
        assert_eq!(best_pod(&pods).unwrap()["name"], "new");
        assert_eq!(best_pod(&json!({})), None);
    }
}
