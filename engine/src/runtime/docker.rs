//! The Docker engine: whether it can be reached, what its containers do, and what is taken away from it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use engine_core::{Event, resource::ResourceName};
use engine_docker::{Container, Docker, DockerError, Environment, Server};
use engine_model::{ComposeSpec, DeployTarget};
use futures_util::StreamExt;
use jiff::{Span, Timestamp};
use serde_json::json;
use tokio::task::JoinSet;

use super::{Message, Runtime, clock, names};
use crate::{
    api::kind,
    deploy::{
        compose::{Compose, PROJECT_LABEL},
        images::Images,
    },
    exec::Text,
    logs::LogWriter,
};

/// How long Docker is left alone after it could not be reached: less at first, then more.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// Services that are switched off together are removed together.
const REMOVAL_DELAY: Duration = Duration::from_millis(200);

/// Docker, from the first load that needs it.
#[derive(Debug)]
pub(super) struct Engine {
    /// The engine that the environment names, or why there is none.
    pub(super) client: Result<Docker, Arc<DockerError>>,
    pub(super) compose: Compose,
    /// Builds images; there is no use for it without an engine.
    pub(super) images: Option<Images>,
    /// Whether somebody looks after it.
    is_watched: bool,
    /// Looks after the engine, and removes services; ends with the runtime.
    tasks: JoinSet<()>,
    /// Services to be removed, unless they are switched on again before that.
    removals: BTreeMap<ResourceName, Removal>,
}

/// A service to be removed.
#[derive(Debug)]
struct Removal {
    spec: ComposeSpec,
    /// Whether the Tiltfile does not have it any more; its Compose file may not know it either.
    is_gone: bool,
}

/// What became known of the engine.
#[derive(Debug)]
pub(super) enum Seen {
    /// It answers.
    Connected(Server),
    /// It does not.
    Lost(String),
    /// All containers, after a time in which it was not known what they do.
    Listed(Vec<Container>),
    /// A container is there, or does otherwise than before.
    Container(Box<Container>),
    /// A container is gone.
    Gone(String),
    /// Services that were switched off may be removed.
    RemovalsDue,
}

impl Runtime {
    /// Finds Docker as soon as some image is built, and looks after it as soon as some resource is a Compose service.
    pub(super) fn watch_docker(&mut self) {
        let all = self.scheduler.resources();
        let has_service =
            all.iter().any(|it| matches!(it.manifest.deploy_target, DeployTarget::Compose(_)));
        let has_image = all
            .iter()
            .any(|it| it.manifest.image_targets.as_ref().is_some_and(|it| !it.is_empty()));
        if !has_service && !has_image {
            return;
        }
        if self.docker.is_none() {
            self.docker = Some(self.find_docker());
        }
        let messages = self.messages.clone();
        let Some(engine) = self.docker.as_mut().filter(|it| has_service && !it.is_watched) else {
            return;
        };
        engine.is_watched = true;
        match &engine.client {
            Ok(docker) => {
                engine.tasks.spawn(watch(docker.clone(), move |seen| {
                    // Nobody listens when the engine ends.
                    let _ = messages.send(Message::Docker(seen));
                }));
            }
            Err(error) => {
                let error = error.to_string();
                self.docker_is_lost(&error);
            }
        }
    }

    fn find_docker(&self) -> Engine {
        let environment = self.environment.get();
        let client = Docker::new(Environment::new(environment)).map_err(Arc::new);
        let surroundings = self.surroundings_for("build of an image, or Compose");
        let file = self.settings.image_memory.clone();
        let images =
            client.as_ref().ok().map(|it| Images::new(it.clone(), surroundings.clone(), file));
        Engine {
            client,
            compose: Compose::new(surroundings),
            images,
            is_watched: false,
            tasks: JoinSet::new(),
            removals: BTreeMap::new(),
        }
    }

    pub(super) fn take_docker(&mut self, seen: Seen) {
        match seen {
            Seen::Connected(server) => {
                let status = json!({
                    "arch": server.arch,
                    "version": server.version,
                    "connectedAt": clock::micro(clock::now()),
                });
                self.store.set_status(kind::CLUSTER, names::DOCKER, &status);
                self.step(Event::ClusterChanged { cluster: names::DOCKER, is_usable: true });
            }
            Seen::Lost(error) => self.docker_is_lost(&error),
            Seen::Listed(containers) => self.containers_listed(containers),
            Seen::Container(container) => self.container_seen(*container),
            Seen::Gone(id) => self.container_gone(&id),
            Seen::RemovalsDue => self.remove_services(),
        }
    }

    /// Why Docker cannot be used, if that is so.
    pub(super) fn docker_error(&self) -> Option<String> {
        let status = self.store.get(kind::CLUSTER, names::DOCKER)?.status();
        status["error"].as_str().map(ToOwned::to_owned)
    }

    fn docker_is_lost(&mut self, error: &str) {
        if self.docker_error().is_some_and(|it| it == error) {
            return;
        }
        self.logs.writer("", "").error(error);
        let status = json!({"error": error, "connectedAt": null});
        self.store.set_status(kind::CLUSTER, names::DOCKER, &status);
        // Even if nothing could be done with it before: `ci` gives up now.
        self.has_changed = true;
        self.step(Event::ClusterChanged { cluster: names::DOCKER, is_usable: false });
    }

    /// Removes a service after a while, together with others.
    pub(super) fn remove_service_later(&mut self, resource: &ResourceName, spec: ComposeSpec) {
        let is_gone = self.scheduler.resource(resource).is_none();
        let Some(docker) = &mut self.docker else { return };
        docker.removals.insert(Arc::clone(resource), Removal { spec, is_gone });
        let messages = self.messages.clone();
        docker.tasks.spawn(async move {
            tokio::time::sleep(REMOVAL_DELAY).await;
            let _ = messages.send(Message::Docker(Seen::RemovalsDue));
        });
    }

    /// A service that is wanted again stays.
    pub(super) fn keep_service(&mut self, resource: &ResourceName) {
        if let Some(docker) = &mut self.docker {
            docker.removals.remove(resource);
        }
    }

    fn remove_services(&mut self) {
        let Some(docker) = &mut self.docker else { return };
        let Ok(client) = docker.client.clone() else { return };
        let mut projects: BTreeMap<String, Vec<Removal>> = BTreeMap::new();
        for removal in std::mem::take(&mut docker.removals).into_values() {
            projects.entry(removal.spec.project.name.clone()).or_default().push(removal);
        }
        for removals in projects.into_values() {
            let (compose, client) = (docker.compose.clone(), client.clone());
            let log = self.logs.writer("", "");
            docker.tasks.spawn(async move { remove(&compose, &client, &removals, &log).await });
        }
        while docker.tasks.try_join_next().is_some() {}
    }
}

/// Removes services of one project.
async fn remove(compose: &Compose, docker: &Docker, removals: &[Removal], log: &LogWriter) {
    let (gone, switched_off): (Vec<_>, Vec<_>) = removals.iter().partition(|it| it.is_gone);
    for removal in gone {
        if let Err(error) = compose.discard(docker, &removal.spec, log).await {
            let service = &removal.spec.service;
            log.error(&format!("error removing docker compose service {service}, error: {error}"));
        }
    }
    let Some(first) = switched_off.first() else { return };
    let mut services: Vec<&str> = switched_off.iter().map(|it| it.spec.service.as_str()).collect();
    services.sort_unstable();
    if let Err(error) = compose.remove(&first.spec.project, &services, &log.clone().into()).await {
        let services = services.join(" ");
        log.error(&format!(
            "error stopping disabled docker compose services [{services}], error: {error}"
        ));
    }
}

/// Follows the engine for as long as anybody listens; one that went away is tried again and again.
async fn watch(docker: Docker, report: impl Fn(Seen)) {
    let mut pause = FIRST_PAUSE;
    loop {
        let mut has_answered = false;
        let Err(error) = follow(&docker, &report, &mut has_answered).await;
        report(Seen::Lost(error.to_string()));
        pause = if has_answered { FIRST_PAUSE } else { (pause * 2).min(LAST_PAUSE) };
        tokio::time::sleep(pause).await;
    }
}

/// Follows the engine until it is gone. What happens while the list is made is not missed: the stream of
/// changes begins before.
async fn follow(
    docker: &Docker,
    report: &impl Fn(Seen),
    has_answered: &mut bool,
) -> Result<std::convert::Infallible, DockerError> {
    let server = docker.server().await?;
    let mut events = docker.events(&[("type", "container"), ("label", PROJECT_LABEL)]).await?;
    *has_answered = true;
    report(Seen::Connected(server));
    let mut containers = Vec::new();
    for listed in docker.containers(&[PROJECT_LABEL.to_owned()]).await? {
        containers.extend(docker.container(&listed.id).await?);
    }
    report(Seen::Listed(containers));
    loop {
        match events.next().await {
            Some(Ok(event)) if event.action == "destroy" => report(Seen::Gone(event.id)),
            // Commands inside say nothing about the container.
            Some(Ok(event)) if event.action.starts_with("exec_") => {}
            Some(Ok(event)) => look_at(docker, &event.id, report).await?,
            Some(Err(error)) => return Err(error),
            None => {
                let cause = "it ended the stream of events".to_owned();
                return Err(DockerError::Lost { host: docker.host().to_owned(), cause });
            }
        }
    }
}

/// A container that went away in the meantime is told by an event.
async fn look_at(docker: &Docker, id: &str, report: &impl Fn(Seen)) -> Result<(), DockerError> {
    if let Some(container) = docker.container(id).await? {
        report(Seen::Container(Box::new(container)));
    }
    Ok(())
}

/// The time from which on a container has printed what nobody has read yet.
pub(super) type Unread = Arc<Mutex<Timestamp>>;

/// Reads what a container prints until its run ends. A connection that breaks before is made again; no line is read
/// twice.
pub(super) async fn read_log(
    docker: Docker,
    container: Container,
    unread: Unread,
    write: impl Fn(&str),
) {
    let unread = || unread.lock().unwrap_or_else(PoisonError::into_inner);
    let mut pause = FIRST_PAUSE;
    loop {
        let since = *unread();
        if let Ok(mut lines) = docker.logs(&container.id, Some(since)).await {
            let mut text = Text::default();
            while let Some(Ok(line)) = lines.next().await {
                text.take(&line.output.bytes, &write);
                let next = line.at.and_then(|it| it.checked_add(Span::new().nanoseconds(1)).ok());
                if let Some(next) = next {
                    *unread() = next;
                }
                pause = FIRST_PAUSE;
            }
        }
        match docker.container(&container.id).await {
            Ok(Some(now)) if now.is_running && now.started == container.started => {}
            Err(error) if error.is_unreachable() => {}
            // There is another run, or none: either is noticed elsewhere.
            _ => return,
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}
