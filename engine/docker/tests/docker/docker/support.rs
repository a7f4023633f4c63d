//! The engine of the test ground, contexts, and images that are removed again.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
};

use engine_docker::{BuildEvent, BuiltImage, Docker, DockerError, Environment, Step};
use engine_model::DockerBuild;
use tempfile::TempDir;

/// Whether there is a test ground. Where all tests have to run, its absence is a failure.
#[expect(clippy::print_stderr, reason = "who runs the tests is told which did not run")]
pub(crate) fn is_there() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|it| !it.is_empty());
    let is_there = is_set("DOCKER_HOST") && is_set("ENGINE_TEST_REGISTRY");
    assert!(
        is_there || !is_set("ENGINE_TESTS_NEED_ALL"),
        "needs docker: run this with `scripts/ground.sh run cargo test …`"
    );
    if !is_there {
        eprintln!("skipped: needs docker");
    }
    is_there
}

/// A variable of the test ground.
pub(crate) fn ground(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

pub(crate) fn registry() -> String {
    ground("ENGINE_TEST_REGISTRY")
}

/// The program that the registry of the ground is, to run another one.
pub(crate) fn registry_program() -> String {
    ground("ENGINE_TEST_REGISTRY_PROGRAM")
}

/// The ground's variables, changed by some of our own.
pub(crate) fn environment(changes: &[(&str, &str)]) -> Environment {
    let inherited = ["PATH", "HOME"].map(|it| (it.to_owned(), std::env::var(it).unwrap()));
    let own = ["DOCKER_HOST", "DOCKER_CONFIG"].map(|it| (it.to_owned(), ground(it)));
    let changes = changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned()));
    Environment::new(inherited.into_iter().chain(own).chain(changes))
}

pub(crate) fn docker() -> Docker {
    Docker::new(environment(&[])).unwrap()
}

/// A name that no other test uses.
pub(crate) fn unique(name: &str) -> String {
    format!("{name}-{}", uuid::Uuid::new_v4().simple())
}

/// Runs the Docker command line on the ground.
pub(crate) fn cli(words: &[&str]) -> String {
    let output = Command::new("docker").args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A directory with these files.
pub(crate) fn context(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        write(&dir, name, text);
    }
    dir
}

pub(crate) fn write(dir: &TempDir, name: &str, text: &str) {
    let full = dir.path().join(name);
    fs::create_dir_all(full.parent().unwrap()).unwrap();
    fs::write(full, text).unwrap();
}

pub(crate) fn spec(context: &Path, dockerfile: &str) -> DockerBuild {
    DockerBuild {
        context: engine_model::path::to_text(context).into_owned(),
        dockerfile_contents: dockerfile.to_owned(),
        ..DockerBuild::default()
    }
}

pub(crate) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&it| it.to_owned()).collect()
}

/// What a build has told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) events: Vec<BuildEvent>,
}

impl Told {
    /// All text that steps or builders have written.
    pub(crate) fn text(&self) -> String {
        let text = |event: &BuildEvent| match event {
            BuildEvent::Output(text) | BuildEvent::Log { text, .. } => Some(text.clone()),
            _ => None,
        };
        self.events.iter().filter_map(text).collect()
    }

    /// The last state of the step whose name has this in it.
    pub(crate) fn step(&self, part: &str) -> Step {
        let step = |event: &BuildEvent| match event {
            BuildEvent::Step(step) if step.name.contains(part) => Some(step.clone()),
            _ => None,
        };
        self.events.iter().rev().find_map(step).unwrap_or_else(|| panic!("{part}: {self:#?}"))
    }
}

/// Builds an image, which is removed when the result is dropped.
pub(crate) async fn build(
    docker: &Docker,
    spec: &DockerBuild,
) -> Result<(Kept, Told), DockerError> {
    let told = Arc::new(Mutex::new(Told::default()));
    let listener = Arc::clone(&told);
    let built =
        docker.build(spec, &mut move |event| listener.lock().unwrap().events.push(event)).await?;
    Ok((Kept(built), std::mem::take(&mut told.lock().unwrap())))
}

/// An image that goes with its owner.
#[derive(Debug)]
pub(crate) struct Kept(pub(crate) BuiltImage);

impl Kept {
    /// What a command prints in a container of the image.
    pub(crate) fn run(&self, command: &[&str]) -> String {
        cli(&[&["run", "--rm", "--network", "none", &self.0.id], command].concat())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Two tests may have built the same image, and the other one may still use it.
        let _ = Command::new("docker").args(["image", "rm", "--force", &self.0.id]).output();
    }
}

/// A container that goes with its owner.
#[derive(Debug)]
pub(crate) struct Running(pub(crate) String);

impl Running {
    pub(crate) fn start(words: &[&str]) -> Self {
        Self(cli(&[&["run", "--detach", "--network", "none"], words].concat()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = Command::new("docker").args(["rm", "--force", "--volumes", &self.0]).output();
    }
}
