//! Running containers: which there are, what they write, and how files get into them.

use std::{collections::HashMap, io, pin::Pin, sync::Arc};

use bollard::{
    container::LogOutput,
    models::{ContainerInspectResponse, ContainerSummary, EventMessage, Health, HealthStatusEnum},
    query_parameters::{
        DownloadFromContainerOptions, InspectContainerOptions, ListContainersOptions,
        RemoveContainerOptions, RestartContainerOptions, StopContainerOptions,
        UploadToContainerOptions,
    },
};
use bytes::Bytes;
use engine_model::{Container, Port, Time};
use futures_util::{Stream, StreamExt, future::join_all, stream};
use hyper::{HeaderMap, Method};
use jiff::Timestamp;
use tokio::{sync::mpsc, task::spawn_blocking};

use crate::{
    client::{self, Docker},
    context::archive::Archive,
    error::DockerError,
    messages::Messages,
};

mod exec;
mod logs;

pub use exec::{Attached, Exec};
pub use logs::Logged;

/// The first entry of an archive begins before this.
const HEADERS_MAX: usize = 64 * 1024;

/// Pieces of an archive that wait for one container.
const BACKLOG: usize = 4;

/// Something that a container or a command in it wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Whether it was written to standard error.
    pub is_stderr: bool,
    /// What was written.
    pub bytes: Bytes,
}

impl From<LogOutput> for Output {
    fn from(output: LogOutput) -> Self {
        let is_stderr = matches!(output, LogOutput::StdErr { .. });
        Self { is_stderr, bytes: output.into_bytes() }
    }
}

/// A stream of answers that ends with the connection.
pub type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, DockerError>> + Send>>;

/// A container in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// The container's ID.
    pub id: String,
    /// Its names, without slashes.
    pub names: Vec<String>,
    /// The image as it was named when the container was made.
    pub image: String,
    /// The image's digest.
    pub image_id: String,
    /// Such as `running`.
    pub state: String,
    /// Its labels.
    pub labels: HashMap<String, String>,
}

impl From<ContainerSummary> for Listed {
    fn from(summary: ContainerSummary) -> Self {
        let names = summary.names.unwrap_or_default();
        Self {
            id: summary.id.unwrap_or_default(),
            names: names.iter().map(|it| it.trim_start_matches('/').to_owned()).collect(),
            image: summary.image.unwrap_or_default(),
            image_id: summary.image_id.unwrap_or_default(),
            state: summary.state.map(|it| it.to_string()).unwrap_or_default(),
            labels: summary.labels.unwrap_or_default(),
        }
    }
}

/// Reads what Docker says about a container.
fn read(found: ContainerInspectResponse) -> Container {
    let (ports, volumes) = (ports(&found), volumes(&found));
    let state = found.state.unwrap_or_default();
    let config = found.config.unwrap_or_default();
    let host = found.host_config.unwrap_or_default();
    // Docker writes the year 1 for what never happened.
    let time = |text: Option<String>| {
        let time = text.and_then(|it| it.parse::<Timestamp>().ok());
        time.filter(|it| it.as_second() > 0).map(|it| Time(it.as_microsecond()))
    };
    let health_output = state.health.as_ref().and_then(unhealthy_output);
    let health = state.health.and_then(|it| it.status).map(|it| it.to_string());
    Container {
        id: found.id.unwrap_or_default(),
        name: found.name.unwrap_or_default().trim_start_matches('/').to_owned(),
        image: config.image.unwrap_or_default(),
        image_id: found.image.unwrap_or_default(),
        status: state.status.map(|it| it.to_string()).unwrap_or_default(),
        is_running: state.running.unwrap_or_default(),
        is_read_only: host.readonly_rootfs.unwrap_or_default(),
        volumes,
        has_tty: config.tty.unwrap_or_default(),
        health: health.filter(|it| !it.is_empty() && it != "none"),
        health_output,
        exit_code: state.exit_code.unwrap_or_default(),
        error: state.error.unwrap_or_default(),
        created: time(found.created),
        started: time(state.started_at),
        finished: time(state.finished_at),
        restarts: found.restart_count.unwrap_or_default(),
        user: config.user.unwrap_or_default(),
        labels: config.labels.unwrap_or_default(),
        ports,
    }
}

fn unhealthy_output(health: &Health) -> Option<String> {
    let is_unhealthy = health.status == Some(HealthStatusEnum::UNHEALTHY);
    health.log.as_ref()?.last()?.output.clone().filter(|_| is_unhealthy)
}

/// Directories of people's own machines are not among them: nobody wants to find our files there.
fn volumes(found: &ContainerInspectResponse) -> Vec<String> {
    let mounts = found.mounts.iter().flatten();
    let volumes = mounts.filter(|it| it.typ.as_deref() == Some("volume") && it.rw == Some(true));
    volumes.filter_map(|it| it.destination.clone()).collect()
}

fn ports(found: &ContainerInspectResponse) -> Vec<Port> {
    let settings = found.network_settings.as_ref().and_then(|it| it.ports.as_ref());
    let mut ports = Vec::new();
    for (container, bindings) in settings.into_iter().flatten() {
        for binding in bindings.iter().flatten() {
            let host_port = binding.host_port.as_ref().and_then(|it| it.parse().ok());
            ports.extend(host_port.map(|host_port| Port {
                container: container.clone(),
                host_ip: binding.host_ip.clone().unwrap_or_default(),
                host_port,
            }));
        }
    }
    ports.sort();
    ports
}

/// Something that happened in the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Such as `container`.
    pub kind: String,
    /// Such as `start` or `die`.
    pub action: String,
    /// What it happened to.
    pub id: String,
    /// Labels and more.
    pub attributes: HashMap<String, String>,
}

impl From<EventMessage> for Event {
    fn from(message: EventMessage) -> Self {
        let actor = message.actor.unwrap_or_default();
        Self {
            kind: message.typ.map(|it| it.to_string()).unwrap_or_default(),
            action: message.action.unwrap_or_default(),
            id: actor.id.unwrap_or_default(),
            attributes: actor.attributes.unwrap_or_default(),
        }
    }
}

/// Whether the first entry of an archive is root's, and nobody else may write it, once it is there.
fn is_first_of_root(archive: &[u8]) -> Option<bool> {
    let mut archive = tar::Archive::new(archive);
    let entry = archive.entries().ok()?.next()?.ok()?;
    let header = entry.header();
    let (uid, mode) = (header.uid().ok()?, header.mode().ok()?);
    Some(header.entry_type().is_dir() && uid == 0 && mode & 0o022 == 0)
}

impl Docker {
    /// Lists containers that have all of these labels (`key` or `key=value`), stopped ones too.
    pub async fn containers(&self, labels: &[String]) -> Result<Vec<Listed>, DockerError> {
        let filters = HashMap::from([("label".to_owned(), labels.to_vec())]);
        let options =
            ListContainersOptions { all: true, filters: Some(filters), ..Default::default() };
        let listed = self.client().await?.list_containers(Some(options)).await;
        Ok(listed.map_err(|error| self.explain(error))?.into_iter().map(Into::into).collect())
    }

    /// Looks at one container; `None` if it does not exist.
    pub async fn container(&self, id: &str) -> Result<Option<Container>, DockerError> {
        let client = self.client().await?;
        let found = client.inspect_container(id, None::<InspectContainerOptions>).await;
        match found.map_err(|error| self.explain(error)) {
            Ok(container) => Ok(Some(read(container))),
            Err(DockerError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Follows what happens to things with these properties, such as `("type", "container")`, from
    /// now on.
    pub async fn events(&self, filters: &[(&str, &str)]) -> Result<Answers<Event>, DockerError> {
        let mut by_key: HashMap<&str, Vec<&str>> = HashMap::new();
        for (key, value) in filters {
            by_key.entry(key).or_default().push(value);
        }
        let query = [("filters", serde_json::json!(by_key).to_string())];
        let answer =
            self.ask(Method::GET, "/events", &query, HeaderMap::new(), client::empty()).await?;
        let messages = Messages::new(answer.into_body(), self.host());
        Ok(Box::pin(stream::unfold(Some(messages), |messages| async {
            let mut messages = messages?;
            match messages.next::<EventMessage>().await {
                Ok(Some(event)) => Some((Ok(event.into()), Some(messages))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        })))
    }

    /// Kills a container's process and starts it again, without waiting for a graceful end.
    pub async fn restart(&self, id: &str) -> Result<(), DockerError> {
        let options = RestartContainerOptions { t: Some(0), ..RestartContainerOptions::default() };
        let restarted = self.client().await?.restart_container(id, Some(options)).await;
        restarted.map_err(|error| self.explain(error))
    }

    /// Stops a container as gracefully as it wishes, and removes it; fine if it is gone already.
    pub async fn remove(&self, id: &str) -> Result<(), DockerError> {
        let client = self.client().await?;
        // One that cannot be stopped, or does not run, is removed by force below.
        let _ = client.stop_container(id, None::<StopContainerOptions>).await;
        let options = RemoveContainerOptions { force: true, ..RemoveContainerOptions::default() };
        let removed = client.remove_container(id, Some(options)).await;
        match removed.map_err(|error| self.explain(error)) {
            Err(DockerError::NotFound(_)) => Ok(()),
            removed => removed,
        }
    }

    /// Unpacks an archive into a directory of several containers at once. Files are read once;
    /// what goes wrong in one container does not concern the others.
    pub async fn upload(
        &self,
        containers: &[String],
        dir: &str,
        archive: Arc<Archive>,
    ) -> Result<Vec<Result<(), DockerError>>, DockerError> {
        let client = self.client().await?;
        let mut senders = Vec::new();
        let mut uploads = Vec::new();
        for id in containers {
            let (sender, receiver) = mpsc::channel::<io::Result<Bytes>>(BACKLOG);
            senders.push(sender);
            let pieces = stream::unfold(receiver, |mut receiver| async {
                receiver.recv().await.map(|piece| (piece, receiver))
            });
            let options = UploadToContainerOptions { path: dir.to_owned(), ..Default::default() };
            let client = client.clone();
            uploads.push(async move {
                let body = bollard::body_try_stream(pieces);
                let done = client.upload_to_container(id, Some(options), body).await;
                done.map_err(|error| self.explain(error))
            });
        }
        spawn_blocking(move || archive.send(senders));
        Ok(join_all(uploads).await)
    }

    /// Puts a program into a directory of a container, which needs nothing of its own for that.
    pub async fn put_program(
        &self,
        container: &str,
        dir: &str,
        name: &str,
        program: &[u8],
    ) -> Result<(), DockerError> {
        let archive = Archive::of_program(name, program)
            .map_err(|error| DockerError::Protocol(error.to_string()))?;
        let options = UploadToContainerOptions { path: dir.to_owned(), ..Default::default() };
        let body = bollard::body_full(archive.into());
        let done = self.client().await?.upload_to_container(container, Some(options), body).await;
        done.map_err(|error| self.explain(error))
    }

    /// Whether a directory of a container is root's, and nobody else may write it.
    pub async fn is_of_root(&self, container: &str, dir: &str) -> Result<bool, DockerError> {
        let options = DownloadFromContainerOptions { path: dir.to_owned() };
        let mut archive = self.client().await?.download_from_container(container, Some(options));
        let mut bytes = Vec::new();
        // The directory comes first, before all that is in it.
        while bytes.len() < HEADERS_MAX
            && let Some(piece) = archive.next().await
        {
            bytes.extend_from_slice(&piece.map_err(|error| self.explain(error))?);
            if let Some(is_of_root) = is_first_of_root(&bytes) {
                return Ok(is_of_root);
            }
        }
        Err(DockerError::Protocol(format!("nothing is known of {dir}")))
    }

    /// Turns answers of the client library into ours.
    fn answers<T, U: From<T> + 'static>(
        &self,
        answers: impl Stream<Item = Result<T, bollard::errors::Error>> + Send + 'static,
    ) -> Answers<U> {
        let docker = self.clone();
        let translate = move |it: Result<T, _>| match it {
            Ok(it) => Ok(U::from(it)),
            Err(error) => Err(docker.explain(error)),
        };
        Box::pin(answers.map(translate))
    }
}
