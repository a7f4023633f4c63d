//! The loop without a program around it: what a load costs, and what it cannot do without.

use std::{path::PathBuf, time::SystemTime};

use engine_api::{Kind, reads};
use engine_core::{reason::Reason, resource::LISTED, world::DockerEvent};
use engine_model::{
    Container, TargetId,
    container::{PROJECT_LABEL, SERVICE_LABEL},
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::*;
use crate::{
    drivers::{Progress, environment::Variables},
    exec::env::Colors,
    logs,
    tasks::TaskKey,
    watch::{BatchKind, Watcher, queue},
};

/// Nothing takes this long, unless something is broken.
const DEADLINE: Duration = Duration::from_secs(20);

struct Rig {
    dir: TempDir,
    runtime: Runtime,
    inbox: Inbox,
}

impl Rig {
    fn new(tiltfile: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let settings = Settings {
            mode: Mode::Up,
            tiltfile: dir.path().join("Tiltfile").display().to_string(),
            args: Vec::new(),
            context: None,
            namespace: None,
            host: "localhost".to_owned(),
            port: 0,
            ci_timeout: None,
            colors: Colors::Off,
            started: now(),
            forwards_ports: false,
            image_memory: None,
        };
        let logs = LogStore::new(&logs::Options::default());
        let (runtime, inbox) = Runtime::new(settings, Store::new(), logs, Reasons::default());
        let home = dir.path().display().to_string();
        let before = runtime.drivers.environment.variables.get();
        let docker = dir.path().join("docker").display().to_string();
        let after = [("HOME", home), ("DOCKER_HOST", format!("unix://{docker}"))];
        let after = after.map(|(name, value)| (name.to_owned(), value)).to_vec();
        runtime.drivers.environment.variables.apply(&before, after);
        let world = Self { dir, runtime, inbox };
        world.write(tiltfile);
        world
    }

    fn write(&self, tiltfile: &str) {
        std::fs::write(self.dir.path().join("Tiltfile"), tiltfile).expect("it can be written");
    }

    async fn next(&mut self) -> Message {
        let message = tokio::time::timeout(DEADLINE, self.inbox.messages.recv());
        message.await.expect("something happens").expect("the runtime can send")
    }

    /// Takes in what happens until nothing of a resource or a Tiltfile runs; says how its last run failed.
    async fn error_of(&mut self, name: &str) -> String {
        let error = |runtime: &Runtime| {
            let scheduler = &runtime.world;
            let resource = scheduler.resource(name).filter(|it| it.current.is_none());
            let tiltfile = scheduler.tiltfile(name).filter(|it| it.current.is_none());
            let ended = resource.and_then(|it| it.history.front()?.end.as_ref());
            let loaded = tiltfile.and_then(|it| it.last.as_ref());
            let error = ended.map(|it| &it.error).or(loaded.map(|it| &it.error))?;
            Some(error.clone().unwrap_or_default())
        };
        self.until(|it| error(it).is_some()).await;
        error(&self.runtime).unwrap_or_default()
    }

    /// Takes in what happens until something is so; what Docker says does not count.
    async fn until(&mut self, is_so: impl Fn(&Runtime) -> bool) {
        while !is_so(&self.runtime) {
            let message = self.next().await;
            let is_of_docker =
                |it: &Message| matches!(it, Message::Event(it) if matches!(**it, Event::Docker(_)));
            if !is_of_docker(&message) {
                self.runtime.take_message(message);
            }
        }
    }

    /// Loads, and goes on as if Docker could be used.
    async fn start_with_docker(&mut self) {
        self.runtime.start();
        self.reads_of_load().await;
        self.runtime.step(Event::ClusterChanged { cluster: names::DOCKER, is_usable: true });
    }

    fn trigger(&mut self, name: &str) {
        let (resource, reason) = (name.into(), Reason::TRIGGER_CLI);
        self.runtime.step(Event::Triggered { resource, reason, with_deps: false });
    }

    /// Takes in the load that is going on; says how often that looked into objects.
    async fn reads_of_load(&mut self) -> usize {
        let message = self.next().await;
        let is_load =
            matches!(&message, Message::Ended(_, last) if matches!(**last, Message::Loaded(_)));
        assert!(is_load, "{message:?}");
        reads::take();
        self.runtime.take_message(message);
        reads::take()
    }

    async fn reads_of_reload(&mut self) -> usize {
        self.trigger(tiltfile::MAIN);
        self.reads_of_load().await
    }

    /// How many files the oldest event of the first resource lists, and what is noted about the others.
    fn listed(&self) -> (Option<usize>, Option<String>) {
        let object = self.runtime.store.get(Kind::FileWatch, "local:r0").expect("it is declared");
        let listed = object.status()["fileEvents"][0]["seenFiles"].as_array().map(Vec::len);
        (listed, object.annotations().remove("tilt.dev/unlisted-files"))
    }

    /// Loads so many resources, then all but half of them; says how often each of it looked into objects.
    async fn reads(n_resources: usize) -> (usize, usize) {
        let mut world = Self::new(&resources(n_resources));
        world.runtime.start();
        let first = world.reads_of_load().await;
        assert_eq!(world.runtime.world.resources().len(), n_resources);
        world.write(&resources(n_resources / 2));
        let second = world.reads_of_reload().await;
        assert_eq!(world.runtime.world.resources().len(), n_resources / 2);
        // Those of the resources, and of the Tiltfile.
        let shown = world.runtime.store.list(Kind::UiResource).len();
        assert_eq!(shown, n_resources / 2 + 1);
        (first, second)
    }
}

fn resources(n_resources: usize) -> String {
    let mut text = String::new();
    for n in 0..n_resources {
        text.push_str(&format!(
            "local_resource('r{n}', 'true', deps=['d{n}'], auto_init=False, trigger_mode=TRIGGER_MODE_MANUAL)\n"
        ));
    }
    text
}

#[tokio::test]
async fn four_times_as_many_resources_take_four_times_as_many_looks() {
    let (few, many) = (Rig::reads(50).await, Rig::reads(200).await);
    assert!(many.0 <= 5 * few.0, "the first load: {few:?} looks, then {many:?}");
    assert!(many.1 <= 5 * few.1, "removing half of them: {few:?} looks, then {many:?}");
}

#[tokio::test]
async fn an_engine_whose_watcher_is_gone_does_not_go_on_blindly() {
    let mut world = Rig::new(&resources(1));
    let (sink, batches) = queue();
    let (_handle, requests) = Handle::new();
    // One that has ended lets go of what it tells.
    drop(sink);
    let (other, _batches) = queue();
    world.runtime.drivers.watcher = Watcher::start(other).ok();
    let stop = std::future::pending();
    let exit = world.runtime.take_events(world.inbox, batches, requests, stop).await;
    assert_eq!(exit, Exit::Broken("the watcher of files"));
}

#[tokio::test]
async fn of_many_files_that_change_at_once_the_first_are_listed_and_the_rest_is_counted() {
    let mut world = Rig::new(&resources(1));
    world.runtime.start();
    world.reads_of_load().await;
    let files = (0..LISTED + 30).map(|it| PathBuf::from(format!("/w/{it:06}"))).collect();
    let kind = BatchKind::Changed { files, during_update: false };
    let (target, at) = (TargetId::Local("r0".into()), SystemTime::now());
    let event = drivers::batch_event(&world.runtime.world, Batch { target, at, kind });
    world.runtime.step(event);
    let expected = (Some(LISTED), Some("30".to_owned()));
    assert_eq!(world.listed(), expected);
    let answer = explain(&world.runtime.world, "r0").expect("it was loaded");
    assert_eq!(answer["pending"]["files"].as_array().map(Vec::len), Some(LISTED));
    assert_eq!(answer["pending"]["moreFiles"], 30);

    world.reads_of_reload().await;
    assert_eq!(world.listed(), expected, "a load leaves what is noted");

    let kind = BatchKind::Changed { files: vec!["/w/a".into()], during_update: false };
    let (target, at) = (TargetId::Local("r0".into()), SystemTime::now());
    let event = drivers::batch_event(&world.runtime.world, Batch { target, at, kind });
    world.runtime.step(event);
    let expected = (Some(LISTED - 1), Some("31".to_owned()));
    assert_eq!(world.listed(), expected, "what came later takes the place of what came before");
}

#[tokio::test]
async fn a_load_that_panics_fails_with_its_words_and_the_next_one_does_not() {
    let mut world = Rig::new(&resources(1));
    world.runtime.drivers.tasks.fault = Some("load");
    world.runtime.start();
    let error = world.error_of(tiltfile::MAIN).await;
    assert!(error.contains("a defect of the engine: it panicked at "), "{error}");
    assert!(error.contains("injected"), "{error}");
    world.reads_of_reload().await;
    assert_eq!(world.error_of(tiltfile::MAIN).await, "");
    assert!(world.runtime.world.resource("r0").is_some());
    assert_eq!(world.runtime.drivers.tasks.running().count(), 0);
}

#[tokio::test]
async fn an_update_that_panics_fails_with_its_words_and_frees_its_slot() {
    let mut world = Rig::new(
        "update_settings(max_parallel_updates=1)\n\
         docker_compose(encode_yaml({'services': {'a': {'image': 'a'}, 'b': {'image': 'b'}}}))\n",
    );
    world.runtime.drivers.tasks.fault = Some("update");
    world.start_with_docker().await;
    let error = world.error_of("a").await;
    assert!(error.starts_with("a defect of the engine: it panicked at "), "{error}");
    assert!(error.ends_with(": injected"), "{error}");
    let error = world.error_of("b").await;
    assert!(!error.is_empty() && !error.contains("injected"), "{error}");
    let is_update = |it: &TaskKey| matches!(it, TaskKey::Update(..));
    assert!(!world.runtime.drivers.tasks.has(is_update));
}

#[tokio::test]
async fn a_plan_that_panics_is_answered() {
    let mut world = Rig::new(&resources(1));
    world.runtime.start();
    world.reads_of_load().await;
    world.runtime.drivers.tasks.fault = Some("plan");
    let (reply, answer) = oneshot::channel();
    world.runtime.answer(Request::Plan { reply });
    let message = world.next().await;
    world.runtime.take_message(message);
    let answer = answer.await.expect("there is an answer");
    let error = answer["error"].as_str().unwrap_or_default();
    assert!(error.ends_with(": injected"), "{answer}");
}

#[test]
fn tiltfiles_that_load_at_the_same_time_keep_what_the_other_puts_into_the_environment() {
    let vars = |all: &[(&str, &str)]| -> Vec<(String, String)> {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let environment = Variables::of_process();
    let start = vars(&[("PATH", "/bin"), ("gone", "1"), ("same", "1")]);
    environment.apply(&environment.get(), start.clone());
    // Both began with the same.
    environment.apply(&start, vars(&[("PATH", "/bin"), ("same", "1"), ("first", "1")]));
    let second = [("PATH", "/usr/bin"), ("gone", "1"), ("same", "1"), ("second", "2")];
    environment.apply(&start, vars(&second));
    let mut now = environment.get();
    now.sort();
    let expected = [("PATH", "/usr/bin"), ("first", "1"), ("same", "1"), ("second", "2")];
    assert_eq!(now, vars(&expected));
}

/// Whether files of the resource `web` are on their way into containers.
fn is_syncing(runtime: &Runtime) -> bool {
    runtime.drivers.tasks.has(|it| matches!(it, TaskKey::Sync(name) if &**name == "web"))
}

#[tokio::test]
async fn stop_ends_a_live_update_that_gets_no_answer_and_the_next_change_starts_another() {
    let mut world = Rig::new(
        "docker_compose(encode_yaml({'services': {'web': {'image': 'web'}}}))\n\
         docker_build('web', '.', live_update=[sync('.', '/app')])\n",
    );
    std::fs::write(world.dir.path().join("Dockerfile"), "FROM scratch\n").expect("it is written");
    // A Docker that never answers.
    let _docker = std::os::unix::net::UnixListener::bind(world.dir.path().join("docker"));
    world.start_with_docker().await;
    world.until(|it| it.world.resource("web").is_some_and(|it| it.current.is_some())).await;
    let web = world.runtime.world.resource("web").expect("it was loaded");
    let id = web.current.as_ref().expect("it is updated").id;
    let ended = Box::new(Progress::Ended(Ok(())));
    world.runtime.take_message(Message::Deploy(id, "web".into(), ended));
    let web = world.runtime.world.resource("web").expect("it was loaded");
    let spec = web.compose_spec().expect("it is a service").clone();
    let labels = [(PROJECT_LABEL, spec.project.name), (SERVICE_LABEL, spec.service)];
    let container = Container {
        id: "c".to_owned(),
        status: "running".to_owned(),
        is_running: true,
        started: Some(now()),
        labels: labels.map(|(name, value)| (name.to_owned(), value)).into(),
        ..Container::default()
    };
    let container = Box::new(container);
    world.runtime.step(Event::Docker(DockerEvent::ContainerSeen { container }));

    let file = world.dir.path().join("a");
    for text in ["1", "2"] {
        std::fs::write(&file, text).expect("it is written");
        let kind = BatchKind::Changed { files: vec![file.clone()], during_update: false };
        let (target, at) = (TargetId::Image("web".into()), SystemTime::now());
        let event = drivers::batch_event(&world.runtime.world, Batch { target, at, kind });
        world.runtime.step(event);
        world.until(is_syncing).await;
        world.runtime.step(Event::StopRequested { resource: "web".into(), at: now() });
        assert_eq!(world.error_of("web").await, "build canceled");
        world.until(|it| !is_syncing(it)).await;
        // Whatever makes it look again, nothing is copied before the next change.
        let runtime = &mut world.runtime;
        runtime.drivers.live_containers_changed(&runtime.world, &"web".into());
        runtime.step_drivers();
        assert!(!is_syncing(&world.runtime));
    }
}

#[tokio::test]
async fn what_runs_can_be_seen() {
    let mut world = Rig::new(&resources(1));
    world.runtime.start();
    let tasks = requests::tasks(&world.runtime.drivers);
    assert_eq!(tasks[0]["kind"], "load");
    assert_eq!(tasks[0]["resource"], tiltfile::MAIN);
    assert!(tasks[0]["since"].is_string(), "{tasks}");
    world.reads_of_load().await;
    assert_eq!(requests::tasks(&world.runtime.drivers), Value::Array(Vec::new()));
}
