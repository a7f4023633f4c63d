//! Where a container runs, and what can be done to it from outside.

use std::sync::Arc;

use engine_core::live_update::{Container, Run, RunEnd, RunError};
use engine_docker::Archive;

use super::{
    in_docker::DockerPlace,
    in_pod::PodPlace,
    session::{Session, SessionError},
};
use crate::logs::LogWriter;

/// A container of a Docker engine, or one of a pod.
#[derive(Clone, Debug)]
pub enum Place {
    /// On a Docker engine.
    Docker(Arc<DockerPlace>),
    /// In a pod.
    Pod(Arc<PodPlace>),
}

impl Place {
    /// Puts a helper there and starts it, before anybody needs it: nothing is done that others can see.
    pub(super) async fn prepare(&self) -> Result<Session, SessionError> {
        match self {
            Self::Docker(place) => place.open().await,
            Self::Pod(place) => place.open_inside().await,
        }
    }

    /// Puts a helper there and starts it.
    pub(super) async fn open(&self) -> Result<Session, SessionError> {
        match self {
            Self::Docker(place) => place.open().await,
            Self::Pod(place) => place.open().await,
        }
    }

    /// Starts a helper that may do more than the container itself, if the container does not let another one write.
    pub(super) async fn open_as_root(&self) -> Result<Session, SessionError> {
        match self {
            // There, it is root from the start.
            Self::Docker(_) => Err(SessionError::NoPlace),
            Self::Pod(place) => place.open_beside().await,
        }
    }

    /// Runs a command as the container would.
    pub(super) async fn execute(
        &self,
        container: &Container,
        run: &Run,
        log: &LogWriter,
    ) -> Result<RunEnd, RunError> {
        match self {
            Self::Docker(place) => place.execute(container, run, log).await,
            Self::Pod(place) => place.execute(run, log).await,
        }
    }

    /// Starts the container's own process again.
    pub(super) async fn restart(&self) -> Result<(), String> {
        match self {
            Self::Docker(place) => place.restart().await.map_err(|error| error.to_string()),
            Self::Pod(_) => Err("a container of a pod cannot be restarted from outside".to_owned()),
        }
    }
}

/// Removes and copies files without a helper, in all places at once; says of each how that went.
pub(super) async fn copy_without_helper(
    places: &[(Container, Place)],
    deletions: &[String],
    archive: &Arc<Archive>,
) -> Vec<Result<(), String>> {
    let mut docker = Vec::new();
    for (container, place) in places {
        if let Place::Docker(place) = place {
            docker.push((container.clone(), Arc::clone(place)));
        }
    }
    let in_docker = super::upload::update(&docker, deletions, archive);
    let in_pods = futures_util::future::join_all(places.iter().filter_map(|(_, it)| match it {
        Place::Pod(place) => Some(place.copy(deletions, archive)),
        Place::Docker(_) => None,
    }));
    let (in_docker, in_pods) = tokio::join!(in_docker, in_pods);
    let (mut in_docker, mut in_pods) = (in_docker.into_iter(), in_pods.into_iter());
    let results = places.iter().map(|(_, place)| match place {
        Place::Docker(_) => in_docker.next(),
        Place::Pod(_) => in_pods.next(),
    });
    results.map(|it| it.unwrap_or_else(|| Err("the container is gone".to_owned()))).collect()
}
