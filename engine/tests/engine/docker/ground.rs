//! Docker as the tests find it: a Compose project with a name of its own, of which nothing is left in the end.

use std::{
    env, fs,
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{self, Instance, Surfaces};

/// Services end at once, so that tests do not wait for them.
const AT_ONCE: &str = "stop_grace_period: 0s";

/// A folder with a Tiltfile and a Compose file, and the name that Docker knows the project by.
pub(crate) struct Project {
    pub(crate) name: String,
    dir: Option<TempDir>,
    env: Vec<(String, String)>,
}

/// Whether there is a Docker. Where all tests have to run, its absence is a failure.
#[expect(clippy::print_stderr, reason = "who runs the tests is told which did not run")]
pub(crate) fn is_there() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|it| !it.is_empty());
    let is_there = is_set("DOCKER_HOST");
    assert!(is_there || !is_set("ENGINE_TESTS_NEED_ALL"), "needs docker: DOCKER_HOST is not set");
    if !is_there {
        eprintln!("skipped: needs docker");
    }
    is_there
}

impl Project {
    /// A project of one Compose file, unless there is no Docker. `PROJECT` in the Tiltfile is its name.
    pub(crate) fn new(tiltfile: &str, services: &str) -> Option<Self> {
        if !is_there() {
            return None;
        }
        let dir = tempfile::Builder::new().prefix("engine-test-").tempdir().expect("a directory");
        let name = dir.path().file_name().and_then(|it| it.to_str()).expect("a name");
        let name = name.to_lowercase().replace('.', "");
        let env = ["DOCKER_HOST", "DOCKER_CONFIG"].into_iter();
        let env = env.filter_map(|it| Some((it.to_owned(), env::var(it).ok()?))).collect();
        let project = Self { name, dir: Some(dir), env };
        project.write("Tiltfile", &tiltfile.replace("PROJECT", &project.name));
        project.write("compose.yml", services);
        Some(project)
    }

    /// Lets the engine find Docker at another place.
    pub(crate) fn at_host(self, host: &str) -> Self {
        self.with_env("DOCKER_HOST", host)
    }

    /// Lets the engine see another value of a variable.
    pub(crate) fn with_env(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|it| it.0 != name);
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Where a file of the project is, before it is started.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir().path().join(name)
    }

    fn dir(&self) -> &TempDir {
        self.dir.as_ref().expect("it was not started")
    }

    /// Writes a file of the project, before it is started.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
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
        let dir = instance.map_or_else(|| self.dir().path(), |it| it.dir.path());
        let mut command = support::engine(dir);
        command.args(args).envs(self.env.iter().map(|(name, value)| (name, value)));
        command.output().expect("it starts")
    }

    /// The containers of a service, stopped ones too.
    pub(crate) fn containers(&self, service: &str) -> Vec<String> {
        let service = format!("label=com.docker.compose.service={service}");
        self.find(&["ps", "--all", "--quiet", "--no-trunc", "--filter", &service])
    }

    /// Takes the names of the project from all images that have one. Those that have no other are gone then; those of
    /// the ground, which some are only another name for, stay.
    pub(crate) fn remove_images(&self) {
        let names = ["images", "--format", "{{.Repository}}:{{.Tag}}"];
        let names = docker(&[&names[..], &[&format!("{}*", self.name)]].concat());
        for name in names.lines() {
            docker(&["rmi", name]);
        }
    }

    fn find(&self, args: &[&str]) -> Vec<String> {
        let project = format!("label=com.docker.compose.project={}", self.name);
        let found = docker(&[args, &["--filter", &project]].concat());
        found.lines().map(ToOwned::to_owned).collect()
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let kinds: [(&[&str], &[&str]); 3] = [
            (&["ps", "--all", "--quiet"], &["rm", "--force", "--volumes"]),
            (&["network", "ls", "--quiet"], &["network", "rm"]),
            (&["volume", "ls", "--quiet"], &["volume", "rm"]),
        ];
        for (list, remove) in kinds {
            for id in self.find(list) {
                docker(&[remove, &[id.as_str()]].concat());
            }
        }
        self.remove_images();
    }
}

/// What a `docker` command prints.
pub(crate) fn docker(args: &[&str]) -> String {
    let output = Command::new("docker").args(args).output().expect("docker is in the PATH");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Whether one container was started before another was made.
pub(crate) fn is_in_order(first: &str, second: &str) -> bool {
    let started = docker(&["inspect", "--format", "{{.State.StartedAt}}", first]);
    let made = docker(&["inspect", "--format", "{{.Created}}", second]);
    !started.is_empty() && started < made
}

/// A Compose file; each service is its name, its command, and more lines.
pub(crate) fn services(all: &[(&str, &str, &str)]) -> String {
    let services = all.iter().map(|(name, command, more)| {
        let more: String = more.lines().flat_map(|it| ["    ", it, "\n"]).collect();
        format!(
            "  {name}:\n    image: busybox\n    {AT_ONCE}\n    command: [sh, -c, {command:?}]\n{more}"
        )
    });
    format!("services:\n{}", services.collect::<String>())
}

/// What `why` says about a resource.
pub(crate) fn why(instance: &Instance, resource: &str) -> Value {
    let answer = instance.client(&["why", "--json", resource]);
    serde_json::from_str(&answer).expect("it is JSON")
}

/// Waits until a resource has this update status and this runtime status.
pub(crate) fn until(instance: &mut Instance, resource: &str, update: &str, runtime: &str) {
    until_status(instance, resource, &[("updateStatus", update), ("runtimeStatus", runtime)]);
}

/// Waits until the last update of a resource has failed, and tells why.
pub(crate) fn until_failed(instance: &mut Instance, resource: &str) -> String {
    until_status(instance, resource, &[("updateStatus", "error")]);
    why(instance, resource)["lastRun"]["error"].as_str().unwrap_or_default().to_owned()
}

fn until_status(instance: &mut Instance, resource: &str, wanted: &[(&str, &str)]) {
    let is_so = |it: &mut Instance| {
        let output = support::engine(it.dir.path())
            .args(["why", "--json", resource, "--port", &it.port.to_string()])
            .output()
            .expect("it starts");
        // Before the Tiltfile has run, nobody knows the resource.
        let Ok(answer) = serde_json::from_slice::<Value>(&output.stdout) else { return false };
        wanted.iter().all(|(name, value)| answer[*name] == *value)
    };
    instance.until(&format!("{resource} has {wanted:?}"), is_so);
}
