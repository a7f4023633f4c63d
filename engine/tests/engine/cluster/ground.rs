//! The cluster as the tests find it: a namespace of its own for each test, of which nothing is left in the end.

use std::{
    env, fs,
    io::{Read, Write},
    net::TcpStream,
    process::{Command, Output},
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{self, Instance, Surfaces};

/// A folder with a Tiltfile, and the namespace that it deploys to.
pub(crate) struct Project {
    pub(crate) namespace: String,
    dir: Option<TempDir>,
    env: Vec<(String, String)>,
}

/// Whether there is a cluster, which is only the one of `scripts/cluster.sh`: whoever has another kubeconfig did not
/// mean it for tests. Where all tests have to run, its absence is a failure.
#[expect(clippy::print_stderr, reason = "who runs the tests is told which did not run")]
fn is_there() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|it| !it.is_empty());
    let is_there = is_set("KUBECONFIG") && is_set("ENGINE_CLUSTER_CONTAINERD");
    assert!(
        is_there || !is_set("ENGINE_TESTS_NEED_ALL"),
        "needs the cluster of scripts/cluster.sh"
    );
    if !is_there {
        eprintln!("skipped: needs a cluster");
    }
    is_there
}

impl Project {
    /// A project in a new namespace, unless there is no cluster. `NAMESPACE` in its files is that namespace.
    pub(crate) fn new(tiltfile: &str, yaml: &str) -> Option<Self> {
        if !is_there() {
            return None;
        }
        let dir = tempfile::Builder::new().prefix("engine-test-").tempdir().expect("a directory");
        let name = dir.path().file_name().and_then(|it| it.to_str()).expect("a name");
        let namespace = name.to_lowercase().replace('.', "");
        kubectl(&["create", "namespace", &namespace]);
        let names = ["KUBECONFIG", "DOCKER_HOST", "DOCKER_CONFIG"].into_iter();
        let env = names.filter_map(|it| Some((it.to_owned(), env::var(it).ok()?))).collect();
        let project = Self { namespace, dir: Some(dir), env };
        project.write("Tiltfile", tiltfile);
        project.write("objects.yaml", yaml);
        Some(project)
    }

    /// Sets a variable of the engine.
    pub(crate) fn with_env(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(it, _)| it != name);
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn dir(&self) -> &std::path::Path {
        self.dir.as_ref().expect("it was not started").path()
    }

    /// Writes a file of the project, before it is started.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.dir().join(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("it can be made");
        fs::write(path, self.text(text)).expect("it can be written");
    }

    /// A text with the namespace in it.
    pub(crate) fn text(&self, text: &str) -> String {
        text.replace("NAMESPACE", &self.namespace)
    }

    /// Starts `engine up`.
    pub(crate) fn up(&mut self) -> Instance {
        Instance::start_in(self.dir.take().expect("it was not started"), self.env.clone())
    }

    /// Starts `engine up` on a terminal, where everything is seen that people see.
    pub(crate) fn surfaces(&mut self) -> Surfaces {
        let dir = self.dir.take().expect("it was not started");
        Surfaces::of(Instance::start_on_terminal(dir, self.env.clone(), &[]))
    }

    /// Runs a command in the folder of the project, or of the instance that has taken it.
    pub(crate) fn engine(&self, instance: Option<&Instance>, args: &[&str]) -> Output {
        let dir = instance.map_or_else(|| self.dir(), |it| it.dir.path());
        let mut command = support::engine(dir);
        command.args(args).envs(self.env.iter().map(|(name, value)| (name, value)));
        command.output().expect("it starts")
    }

    /// What `kubectl` prints about things of the namespace.
    pub(crate) fn kubectl(&self, args: &[&str]) -> String {
        kubectl(&[&["--namespace", &self.namespace], args].concat())
    }

    /// The names of all objects of a kind.
    pub(crate) fn names(&self, kind: &str) -> Vec<String> {
        let found = self.kubectl(&["get", kind, "--output", "jsonpath={.items[*].metadata.name}"]);
        found.split_whitespace().map(ToOwned::to_owned).collect()
    }

    /// A field of an object.
    pub(crate) fn field(&self, object: &str, path: &str) -> String {
        self.kubectl(&["get", object, "--output", &format!("jsonpath={{{path}}}")])
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        kubectl(&["delete", "namespace", &self.namespace, "--wait=false"]);
    }
}

/// What a `kubectl` command prints.
pub(crate) fn kubectl(args: &[&str]) -> String {
    let output = Command::new("kubectl").args(args).output().expect("kubectl is in the PATH");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A Deployment of one container that runs a shell command.
pub(crate) fn deployment(name: &str, command: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: NAMESPACE}}\n\
         spec:\n  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n\
         \x20   spec:\n      terminationGracePeriodSeconds: 0\n      containers:\n\
         \x20     - {{name: main, image: busybox, imagePullPolicy: IfNotPresent, command: [sh, -c, {command:?}]}}\n---\n"
    )
}

/// A `ConfigMap` with one value.
pub(crate) fn config_map(name: &str, value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: NAMESPACE}}\ndata: {{key: {value:?}}}\n---\n"
    )
}

/// Waits until a resource has this update status and this runtime status.
pub(crate) fn until(instance: &mut Instance, resource: &str, update: &str, runtime: &str) {
    let is_so = |it: &mut Instance| {
        let output = support::engine(it.dir.path())
            .args(["why", "--json", resource, "--port", &it.port.to_string()])
            .output()
            .expect("it starts");
        // Before the Tiltfile has run, nobody knows the resource.
        let Ok(answer) = serde_json::from_slice::<Value>(&output.stdout) else { return false };
        answer["updateStatus"] == update && answer["runtimeStatus"] == runtime
    };
    instance.until(&format!("{resource} is {update}, {runtime}"), is_so);
}

/// An API object of the engine.
pub(crate) fn get(instance: &Instance, kind: &str, name: &str) -> Value {
    let answer = instance.client(&["get", kind, name, "-o", "json"]);
    serde_json::from_str(&answer).expect("it is JSON")
}

/// What a web server on this machine answers; empty if it does not.
pub(crate) fn page(port: u16, path: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return String::new() };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let request = format!("GET {path} HTTP/1.0\r\n\r\n");
    let mut answer = String::new();
    let _ = stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_string(&mut answer));
    answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned())
}
