//! What carries out the actions of the world. A driver holds clients and handles, and reports events; it decides nothing.
//!
//! [`Drivers`] has all of them, and gives each action to the one that can do it. What becomes known at once is an event
//! that the loop takes after the action; everything else arrives as a [`Message`] later. Drivers read the world to see what
//! an action is about, and never change it.

use builtins::Evaluation;
use engine_core::{
    Action, Event, World,
    live_update::Found,
    objects::{ObjectAction, ObjectEvent, WatchEvent},
    resource::{LISTED, ResourceName, UpdateId},
    tiltfile::MAIN,
    world::DockerAction,
};
use engine_model::{FilePath, WatchTarget, names};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::{
    clock,
    deploy::prune,
    logs::LogStore,
    runtime::{Mode, Settings},
    tasks::{TaskGuard, TaskId, TaskKey, Tasks},
    watch::{self, Batch, BatchKind, Batches, Watcher},
};

mod cluster;
pub(crate) mod commands;
pub(crate) mod deploy;
pub(crate) mod docker;
pub(crate) mod environment;
pub(crate) mod extensions;
pub(crate) mod kubernetes;
mod live_containers;
pub(crate) mod live_update;
pub(crate) mod load;
mod local;
pub(crate) mod tiltfiles;
mod update;

use commands::{CommandKey, Commands};
use docker::DockerDriver;
use environment::Environment;
use kubernetes::{KubernetesDriver, Report};
use live_update::{LiveUpdateDriver, found, found_at};
use load::{LoadedTiltfile, Loads};
pub(crate) use update::Progress;

/// Something that reached the loop from work that a driver started.
#[derive(Debug, Default)]
pub(crate) enum Message {
    /// A Tiltfile has been evaluated.
    Loaded(Box<LoadedTiltfile>),
    /// The main Tiltfile has been evaluated to see what it would change, or not.
    Planned(Result<Box<Evaluation>, String>, oneshot::Sender<Value>),
    /// A repository of extensions was fetched, or not.
    Fetched(String, Result<String, String>),
    /// A command did something.
    Command(CommandKey, crate::exec::command::Event),
    /// Something became known of a Kubernetes cluster.
    Kubernetes(Report),
    /// An update that builds and deploys goes on.
    Deploy(UpdateId, ResourceName, Box<Progress>),
    /// A driver reports something.
    Event(Box<Event>),
    /// A task has ended; the last message it sent.
    Ended(TaskId, Box<Self>),
    /// Something has ended that nobody waits for.
    #[default]
    Done,
}

impl Message {
    /// What it is about, for people who look for a problem.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Loaded(_) => "load",
            Self::Planned(..) => "plan",
            Self::Fetched(..) => "repository",
            Self::Command(..) => "command",
            Self::Kubernetes(..) => "Kubernetes",
            Self::Deploy(..) => "update",
            Self::Event(event) if matches!(**event, Event::Docker(_)) => "Docker",
            Self::Event(_) => "live update",
            Self::Ended(_, last) => last.kind(),
            Self::Done => "task",
        }
    }
}

impl From<Event> for Message {
    fn from(event: Event) -> Self {
        Self::Event(Box::new(event))
    }
}

/// What drivers send: an event, or that a task has ended that nobody waits for.
pub(crate) trait DriverMessage: From<Event> + Default + Send + 'static {}

impl<T: From<Event> + Default + Send + 'static> DriverMessage for T {}

/// All drivers, and what they share.
pub(crate) struct Drivers {
    /// What the engine was started with.
    pub(crate) settings: Settings,
    /// Where everything is logged.
    pub(crate) logs: LogStore,
    /// What Tiltfiles and commands find around them.
    pub(crate) environment: Environment,
    /// Watches files; nothing in `ci`.
    pub(crate) watcher: Option<Watcher>,
    /// The work that runs.
    pub(crate) tasks: Tasks<Message>,
    /// Commands that run.
    pub(crate) commands: Commands,
    /// Tiltfiles that run.
    pub(crate) loads: Loads,
    docker: DockerDriver,
    /// The connection to the cluster.
    pub(crate) kubernetes: KubernetesDriver<Message>,
    /// Waits for a kubeconfig while there is none.
    kubeconfig_wait: Option<TaskGuard>,
    live: LiveUpdateDriver,
    /// Work reports here; it is bounded by the number of commands and Tiltfiles that run.
    messages: mpsc::UnboundedSender<Message>,
    /// What became known at once.
    events: Vec<Event>,
}

impl Drivers {
    /// Drivers that do nothing yet, and where their work reports.
    pub(crate) fn new(
        settings: Settings,
        logs: LogStore,
    ) -> (Self, mpsc::UnboundedReceiver<Message>) {
        let (messages, inbox) = mpsc::unbounded_channel();
        let kubernetes = KubernetesDriver::new(
            messages.clone(),
            logs.clone(),
            settings.started,
            settings.forwards_ports,
        );
        let drivers = Self {
            environment: Environment::of_process(&logs),
            watcher: None,
            tasks: Tasks::new(messages.clone(), |id, end| Message::Ended(id, Box::new(end))),
            commands: Commands::new(logs.clone()),
            loads: Loads::default(),
            docker: DockerDriver::new(logs.clone(), settings.started),
            kubernetes,
            kubeconfig_wait: None,
            live: LiveUpdateDriver::new(logs.clone()),
            messages,
            events: Vec::new(),
            settings,
            logs,
        };
        (drivers, inbox)
    }

    /// Takes out what became known at once.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn emit(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Carries out an action that writes no objects.
    pub(crate) fn act(&mut self, world: &World, action: Action) {
        match action {
            Action::CancelLoad { id } => self.loads.cancel(|it| it == id),
            Action::StartUpdate { id, resource, reason, files, is_full_rebuild } => {
                self.start_update(world, id, &resource, (reason, &files), is_full_rebuild);
            }
            Action::CancelUpdate { id, resource } => {
                self.commands.stop(&CommandKey::Update(id, resource.clone()));
                self.cancel_deploy(id, &resource);
            }
            Action::ListFiles { resource, live_update, roots, ignores } => {
                let id = (resource, live_update);
                live_update::list_files(&mut self.tasks, id, roots, &ignores);
            }
            Action::StartSync { resource, live_update, id, plan, ignores } => {
                let name = (resource, live_update);
                self.live.start_sync(&mut self.tasks, name, id, plan, &ignores);
            }
            Action::SendAhead { resource, live_update, plan } => {
                self.live.send_ahead(&mut self.tasks, (resource, live_update), plan);
            }
            Action::CancelSync { resource } => live_update::cancel_syncs(&self.tasks, &resource),
            Action::FindContainers { resource } => self.live_containers_changed(world, &resource),
            Action::DeclaredTwice { resource: _, tiltfile, other } => {
                let log = self.logs.writer(&tiltfile, &names::tiltfile_span(&tiltfile, 0));
                log.error(&format!("Resource defined in two tiltfiles: {tiltfile}, {other}"));
            }
            Action::Kubernetes(action) => self.act_in_cluster(world, action),
            Action::Object(action) => self.act_for_object(world, action),
            Action::Docker(action) => self.act_with_docker(action),
            // The loop does these, as they write objects.
            Action::StartLoad(_)
            | Action::StartServe { .. }
            | Action::StopServe { .. }
            | Action::Removed { .. } => {}
        }
    }

    fn act_with_docker(&mut self, action: DockerAction) {
        match action {
            DockerAction::Find => {
                let surroundings = self.surroundings_for("build of an image, or Compose");
                let memory = self.settings.image_memory.clone();
                self.docker.find(self.environment.variables.get(), surroundings, memory);
            }
            DockerAction::Follow => self.docker.follow(&mut self.tasks),
            DockerAction::ReadLog { resource, container } => {
                let log = self.logs.writer(&resource, &names::compose_span(&resource));
                self.docker.read_log(&mut self.tasks, resource, container, log);
            }
            DockerAction::StopLog { resource } => self.docker.stop_log(&resource),
            DockerAction::RemoveServices { removals } => {
                self.docker.remove_services(&mut self.tasks, removals);
            }
            DockerAction::Prune { settings, manifests } => {
                let images = manifests.iter().flat_map(|it| it.image_targets.iter().flatten());
                let request =
                    prune::request(&settings, images, self.kubernetes.registry().as_ref());
                self.docker.prune(&mut self.tasks, request);
            }
        }
    }

    fn act_for_object(&mut self, world: &World, action: ObjectAction) {
        match action {
            ObjectAction::WatchFiles { targets } => {
                if let Some(watcher) = &self.watcher {
                    watcher.set(targets.iter().map(|it| WatchTarget::clone(it)).collect());
                }
            }
            ObjectAction::ImageInputsChanged { image } => {
                if let Some(images) = self.docker.images() {
                    images.inputs_changed(&image);
                }
            }
            ObjectAction::RunCommand { object, run, resource, span, exec } => {
                self.run_object(object, run, (resource, &span), *exec);
            }
            ObjectAction::StopCommand { object, run } => {
                self.commands.stop(&CommandKey::Object(object, run));
            }
            ObjectAction::FindFolder { repo, path } => {
                self.emit(Event::Object(extensions::find_folder(repo, &path)));
            }
            ObjectAction::FetchRepo { repo, url, reference } => {
                let main = world.tiltfile_object(MAIN).map_or("", |it| it.path.as_str());
                let (variables, log) =
                    (self.environment.variables.get(), self.logs.writer(MAIN, ""));
                let work = extensions::fetch(main, (url, reference), variables, log);
                self.tasks.spawn_blocking(TaskKey::Fetch(repo.clone()), work, |found| {
                    Message::Fetched(repo, found.unwrap_or_else(|lost| Err(lost.to_string())))
                });
            }
            ObjectAction::FindExtension { name, path } => {
                self.emit(Event::Object(extensions::find_extension(name, path)));
            }
            // The loop does these, as they write objects.
            ObjectAction::SetConfigMapKey { .. }
            | ObjectAction::DeclareTiltfile { .. }
            | ObjectAction::ForgetTiltfile { .. }
            | ObjectAction::PutExtensionTiltfile { .. }
            | ObjectAction::RemoveExtensionTiltfile { .. } => {}
        }
    }

    /// Takes in what work reports; the end of a task, a load and a plan are the loop's.
    pub(crate) fn on_message(&mut self, world: &World, message: Message) {
        match message {
            Message::Fetched(repo, found) => {
                self.emit(Event::Object(extensions::fetched(repo, found)));
            }
            Message::Command(key, event) => self.on_command_event(&key, event),
            Message::Kubernetes(report) => self.on_cluster_report(report),
            Message::Deploy(id, resource, progress) => {
                self.on_progress(world, id, &resource, *progress);
            }
            Message::Event(event) => self.emit(*event),
            Message::Loaded(_) | Message::Planned(..) | Message::Ended(..) | Message::Done => {}
        }
    }

    /// Starts the watcher of files; if that fails, changes are not noticed, and the log says so.
    pub(crate) fn start_watching(&mut self) -> Batches {
        let (sink, batches) = watch::queue();
        if self.settings.mode == Mode::Ci {
            return batches;
        }
        match Watcher::start(sink) {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(error) => {
                self.logs.writer("", "").error(&format!("Cannot watch files: {error}"));
            }
        }
        batches
    }
}

/// What a batch of the watcher means, with what is there now.
pub(crate) fn batch_event(world: &World, batch: Batch) -> Event {
    let Batch { target, at, kind } = batch;
    let event = match kind {
        BatchKind::Early { files } => {
            let files = files.iter().map(|it| it.as_path().into()).collect();
            let roots = found_at(world.sync_roots(&target));
            return Event::FilesChanging { target, files, roots };
        }
        BatchKind::Started => WatchEvent::Started,
        BatchKind::Failed { message } => WatchEvent::Failed { message },
        BatchKind::Recovered => WatchEvent::Recovered,
        BatchKind::Changed { files, during_update } => {
            let roots = found_at(world.sync_roots(&target));
            // When each of many files changed matters only where they are copied.
            let is_worth_a_look = !roots.is_empty() || files.len() <= LISTED;
            let look = |it: &FilePath| if is_worth_a_look { found(it) } else { Found::PRESENT };
            let files = files.iter().map(|it| FilePath::from(it.as_path()));
            let files = files.map(|it| (it.clone(), look(&it))).collect();
            WatchEvent::Changed { files, roots, during_update }
        }
    };
    Event::Object(ObjectEvent::Watch { target, at: clock::of_system(at), event })
}
