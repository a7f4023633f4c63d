//! Streams of Docker: what happens to containers, and what they print. Each is connected again when it breaks.

use std::{
    convert::Infallible,
    sync::{Arc, PoisonError},
};

use engine_core::world::DockerEvent;
use engine_docker::{Docker, DockerError};
use engine_model::{Container, container::PROJECT_LABEL};
use futures_util::StreamExt;
use jiff::Span;

use super::{FIRST_PAUSE, LAST_PAUSE, Unread};
use crate::{
    exec::Text,
    logs::{Level, LogWriter},
};

/// Follows the engine for as long as anybody listens; one that went away is tried again and again.
pub(super) async fn watch(docker: Docker, report: impl Fn(DockerEvent)) {
    let mut pause = FIRST_PAUSE;
    loop {
        let mut has_answered = false;
        let Err(error) = follow(&docker, &report, &mut has_answered).await;
        report(DockerEvent::Lost { error: error.to_string() });
        pause = if has_answered { FIRST_PAUSE } else { (pause * 2).min(LAST_PAUSE) };
        tokio::time::sleep(pause).await;
    }
}

/// Follows the engine until it is gone. What happens while the list is made is not missed: the stream of
/// changes begins before.
async fn follow(
    docker: &Docker,
    report: &impl Fn(DockerEvent),
    has_answered: &mut bool,
) -> Result<Infallible, DockerError> {
    let server = docker.server().await?;
    let mut events = docker.events(&[("type", "container"), ("label", PROJECT_LABEL)]).await?;
    *has_answered = true;
    report(DockerEvent::Connected { arch: server.arch, version: server.version });
    let mut containers = Vec::new();
    for listed in docker.containers(&[PROJECT_LABEL.to_owned()]).await? {
        containers.extend(docker.container(&listed.id).await?);
    }
    report(DockerEvent::Listed { containers });
    loop {
        match events.next().await {
            Some(Ok(event)) if event.action == "destroy" => {
                report(DockerEvent::ContainerGone { id: event.id });
            }
            // Commands inside say nothing about the container.
            Some(Ok(event)) if event.action.starts_with("exec_") => {}
            Some(Ok(event)) => inspect(docker, &event.id, report).await?,
            Some(Err(error)) => return Err(error),
            None => {
                let cause = "it ended the stream of events".to_owned();
                return Err(DockerError::Lost { host: docker.host().to_owned(), cause });
            }
        }
    }
}

/// Reports a container; an event says so if it went away in the meantime.
async fn inspect(
    docker: &Docker,
    id: &str,
    report: &impl Fn(DockerEvent),
) -> Result<(), DockerError> {
    if let Some(container) = docker.container(id).await? {
        report(DockerEvent::ContainerSeen { container: Box::new(container) });
    }
    Ok(())
}

/// Reads what a container prints until its run ends. A connection that breaks before is made again; no line is read
/// twice.
pub(super) async fn read_log(
    docker: Docker,
    container: Arc<Container>,
    unread: Unread,
    log: LogWriter,
) {
    let unread = || unread.lock().unwrap_or_else(PoisonError::into_inner);
    let mut pause = FIRST_PAUSE;
    loop {
        let since = *unread();
        if let Ok(mut lines) = docker.logs(&container, Some(since)).await {
            let mut text = Text::default();
            while let Some(Ok(line)) = lines.next().await {
                text.take(&line.output.bytes, |it| log.write(Level::Info, it));
                log.room().await;
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
