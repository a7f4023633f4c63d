//! Where a container runs, and what can be done to it from outside.

use std::sync::Arc;

use engine_core::live_update::{Container, ContainerCommand, RunEnd, RunError};
use engine_docker::Archive;
use engine_model::FilePath;

use super::{
    error::SyncError,
    in_docker::DockerTarget,
    in_pod::PodTarget,
    session::{Session, SessionError},
};
use crate::logs::LogWriter;

/// A container of a Docker engine, or one of a pod.
#[derive(Clone, Debug)]
pub enum ContainerTarget {
    /// On a Docker engine.
    Docker(Arc<DockerTarget>),
    /// In a pod.
    Pod(Arc<PodTarget>),
}

impl ContainerTarget {
    /// Puts a helper there and starts it, before anybody needs it: nothing is done that others can see.
    pub(super) async fn prepare(&self) -> Result<Session, SessionError> {
        match self {
            Self::Docker(target) => target.open().await,
            Self::Pod(target) => target.open_inside().await,
        }
    }

    /// Puts a helper there and starts it.
    pub(super) async fn open(&self) -> Result<Session, SessionError> {
        match self {
            Self::Docker(target) => target.open().await,
            Self::Pod(target) => target.open().await,
        }
    }

    /// Starts a helper that may do more than the container itself, if the container does not let another one write.
    pub(super) async fn open_as_root(&self) -> Result<Session, SessionError> {
        match self {
            Self::Docker(target) => target.open_as_root().await,
            Self::Pod(target) => target.open_beside().await,
        }
    }

    /// Runs a command as the container would.
    pub(super) async fn execute(
        &self,
        container: &Container,
        run: &ContainerCommand,
        log: &LogWriter,
    ) -> Result<RunEnd, RunError> {
        match self {
            Self::Docker(target) => target.execute(container, run, log).await,
            Self::Pod(target) => target.execute(run, log).await,
        }
    }

    /// Starts the container's own process again.
    pub(super) async fn restart(&self) -> Result<(), SyncError> {
        match self {
            Self::Docker(target) => {
                target.restart().await.map_err(|error| SyncError::Restart(Arc::new(error)))
            }
            Self::Pod(_) => Err(SyncError::RestartInPod),
        }
    }
}

/// Removes and copies files without a helper, in all places at once; says of each how that went.
pub(super) async fn copy_without_helper(
    targets: &[(Container, ContainerTarget)],
    deletions: &[FilePath],
    archive: &Arc<Archive>,
) -> Vec<Result<(), SyncError>> {
    let mut docker = Vec::new();
    for (container, target) in targets {
        if let ContainerTarget::Docker(target) = target {
            docker.push((container.clone(), Arc::clone(target)));
        }
    }
    let in_docker = super::upload::update(&docker, deletions, archive);
    let in_pods = futures_util::future::join_all(targets.iter().filter_map(|(_, it)| match it {
        ContainerTarget::Pod(target) => Some(target.copy(deletions, archive)),
        ContainerTarget::Docker(_) => None,
    }));
    let (in_docker, in_pods) = tokio::join!(in_docker, in_pods);
    let (mut in_docker, mut in_pods) = (in_docker.into_iter(), in_pods.into_iter());
    let results = targets.iter().map(|(_, target)| match target {
        ContainerTarget::Docker(_) => in_docker.next(),
        ContainerTarget::Pod(_) => in_pods.next(),
    });
    results.map(|it| it.unwrap_or(Err(SyncError::Gone))).collect()
}
