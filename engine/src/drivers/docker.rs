//! Docker: finds the engine, follows its containers, reads their logs, removes services, prunes.

mod follow;

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use engine_core::{
    Event,
    resource::ResourceName,
    tiltfile::MAIN,
    world::{DockerEvent, Removal},
};
use engine_docker::{Docker, DockerError, Environment, Prune, PruneReport};
use engine_model::{Container, Time};
use jiff::{SignedDuration, Timestamp};

use super::DriverMessage;
use crate::{
    deploy::{
        ComposeTools,
        commands::Surroundings,
        compose::Compose,
        images::Images,
        prune::{self, TITLE},
    },
    logs::{Level, LogStore, LogWriter},
    tasks::{TaskGuard, TaskKey, Tasks},
};

/// How long Docker is left alone after it could not be reached: less at first, then more.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// Docker, from the first load that needs it.
#[derive(Debug)]
pub(crate) struct DockerDriver {
    engine: Option<DockerEngine>,
    readers: HashMap<ResourceName, LogReader>,
    logs: LogStore,
    /// Nothing that containers printed before is read.
    started: Time,
}

/// The engine that the environment names.
#[derive(Debug)]
struct DockerEngine {
    /// A client, or why there is none.
    client: Result<Docker, Arc<DockerError>>,
    compose: Compose,
    /// Builds images; there is no use for it without an engine.
    images: Option<Images>,
}

/// The time from which on a container has printed what nobody has read yet.
type Unread = Arc<Mutex<Timestamp>>;

/// Who reads a log, and of which container.
#[derive(Debug)]
struct LogReader {
    container: String,
    /// Where the reading goes on when the container runs again.
    unread: Unread,
    /// Dropping it ends the reading.
    _task: Option<TaskGuard>,
}

impl DockerDriver {
    /// Nothing yet; logs are read from `started` on.
    pub(crate) fn new(logs: LogStore, started: Time) -> Self {
        Self { engine: None, readers: HashMap::new(), logs, started }
    }

    /// Finds the engine that the environment names, and the images that were built before.
    pub(crate) fn find(
        &mut self,
        environment: Vec<(String, String)>,
        surroundings: Surroundings,
        image_memory: Option<PathBuf>,
    ) {
        let client = Docker::new(Environment::new(environment)).map_err(Arc::new);
        let images = client.as_ref().ok();
        let images = images.map(|it| Images::new(it.clone(), surroundings.clone(), image_memory));
        if let Some(problem) = images.as_ref().and_then(Images::problem) {
            self.logs.writer(MAIN, "").warn(&problem);
        }
        let compose = Compose::new(surroundings);
        self.engine = Some(DockerEngine { client, compose, images });
    }

    /// The engine, if there is one.
    pub(crate) fn client(&self) -> Option<&Docker> {
        self.engine.as_ref()?.client.as_ref().ok()
    }

    /// Who builds images, if there is an engine.
    pub(crate) fn images(&self) -> Option<&Images> {
        self.engine.as_ref()?.images.as_ref()
    }

    /// What updates of services use, if there is an engine.
    pub(crate) fn tools(&self) -> Option<ComposeTools> {
        let DockerEngine { client, compose, images } = self.engine.as_ref()?;
        let (docker, images) = (client.as_ref().ok()?.clone(), images.clone()?);
        Some(ComposeTools { docker, compose: compose.clone(), images })
    }

    /// Why there is no engine.
    pub(crate) fn error(&self) -> String {
        let error = self.engine.as_ref().and_then(|it| it.client.as_ref().err());
        error.map_or_else(|| "Docker is not available".to_owned(), ToString::to_string)
    }

    /// Follows what containers of services do.
    pub(crate) fn follow<M: DriverMessage>(&self, tasks: &mut Tasks<M>) {
        let lost = |error: String| Event::Docker(DockerEvent::Lost { error }).into();
        match self.engine.as_ref().map(|it| it.client.clone()) {
            Some(Ok(docker)) => {
                let messages = tasks.messages().clone();
                let work = follow::watch(docker, move |event| {
                    // Nobody listens when the engine ends.
                    let _ = messages.send(Event::Docker(event).into());
                });
                tasks.spawn(TaskKey::FollowDocker, work, move |result| match result {
                    Ok(()) => M::default(),
                    Err(it) => lost(it.to_string()),
                });
            }
            Some(Err(error)) => drop(tasks.messages().send(lost(error.to_string()))),
            None => {}
        }
    }

    /// Reads the log of a run of a container: from where it began, but nothing from before the engine.
    pub(crate) fn read_log<M: DriverMessage>(
        &mut self,
        tasks: &mut Tasks<M>,
        resource: ResourceName,
        container: Arc<Container>,
        log: LogWriter,
    ) {
        let Some(client) = self.client().cloned() else { return };
        let known = self.readers.get(&resource).filter(|it| it.container == container.id);
        let unread = known.map(|it| Arc::clone(&it.unread));
        let unread = unread.unwrap_or_else(|| Arc::new(Mutex::new(self.start_of(&container))));
        let id = container.id.clone();
        let work = follow::read_log(client, container, Arc::clone(&unread), log);
        let key = TaskKey::ReadLog(resource.clone());
        let task = tasks.spawn(key, work, |_| M::default());
        let reader = LogReader { container: id, unread, _task: tasks.guard(task) };
        self.readers.insert(resource, reader);
    }

    fn start_of(&self, container: &Container) -> Timestamp {
        let time = |it: Time| Timestamp::from_microsecond(it.0).unwrap_or_default();
        // Docker notes the start of a container later than its first line.
        let started = container.started.map(time).unwrap_or_default();
        (started - SignedDuration::from_secs(1)).max(time(self.started))
    }

    /// Reads the log of a resource no more.
    pub(crate) fn stop_log(&mut self, resource: &str) {
        self.readers.remove(resource);
    }

    /// Removes services, those of each project together.
    pub(crate) fn remove_services<M: DriverMessage>(
        &self,
        tasks: &mut Tasks<M>,
        removals: Vec<Removal>,
    ) {
        let (Some(engine), Some(client)) = (&self.engine, self.client()) else { return };
        let mut projects: BTreeMap<String, Vec<Removal>> = BTreeMap::new();
        for removal in removals {
            projects.entry(removal.spec.project.name.clone()).or_default().push(removal);
        }
        for (project, removals) in projects {
            let (compose, client) = (engine.compose.clone(), client.clone());
            let log = self.logs.writer("", "");
            let work = async move { remove(&compose, &client, &removals, &log).await };
            tasks.spawn(TaskKey::RemoveServices(project), work, |_| M::default());
        }
    }

    /// Removes what nobody needs any more.
    pub(crate) fn prune<M: DriverMessage>(&self, tasks: &mut Tasks<M>, request: Prune) {
        let (client, log) = (self.client().cloned(), self.logs.writer("", ""));
        let work = async move {
            let Some(docker) = client else { return };
            match docker.prune(&request).await {
                Ok(report) => log_pruned(&report, &log),
                Err(error) => log.info(&format!("{TITLE} error running docker prune: {error}")),
            }
        };
        tasks.spawn(TaskKey::Prune, work, |_| Event::Docker(DockerEvent::Pruned).into());
    }
}

/// Removes services of one project.
async fn remove(compose: &Compose, docker: &Docker, removals: &[Removal], log: &LogWriter) {
    let (gone, disabled): (Vec<_>, Vec<_>) = removals.iter().partition(|it| it.is_gone);
    for removal in gone {
        if let Err(error) = compose.discard(docker, &removal.spec, log).await {
            let service = &removal.spec.service;
            log.error(&format!("error removing docker compose service {service}, error: {error}"));
        }
    }
    let Some(first) = disabled.first() else { return };
    let mut services: Vec<&str> = disabled.iter().map(|it| it.spec.service.as_str()).collect();
    services.sort_unstable();
    if let Err(error) = compose.remove(&first.spec.project, &services, &log.clone().into()).await {
        let services = services.join(" ");
        log.error(&format!(
            "error stopping disabled docker compose services [{services}], error: {error}"
        ));
    }
}

fn log_pruned(report: &PruneReport, log: &LogWriter) {
    for line in prune::lines(report, log.level() <= Level::Verbose) {
        if line.is_detail {
            log.debug(&line.text);
        } else {
            log.info(&line.text);
        }
    }
}
