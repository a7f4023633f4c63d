//! Why changed files are not in a container.

use std::{io, sync::Arc};

use engine_core::live_update::permission_denied;
use engine_docker::DockerError;
use engine_kubernetes::KubernetesError;

/// Words of tools that may not write, in upper and lower case.
const DENIED: [&str; 3] = ["ermission denied", "cannot open", "ead-only"];

/// Why a container is not updated, in the words that Tilt has for it.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum SyncError {
    #[error("the container is not running")]
    NotRunning,
    #[error("the container is gone")]
    Gone,
    #[error("Error deleting files from container: {0}")]
    Delete(#[source] Arc<CopyError>),
    #[error("removing old files: {0}")]
    Remove(#[source] Arc<CopyError>),
    #[error("copying changed files: {0}")]
    Copy(#[source] Arc<CopyError>),
    #[error("{}", permission_denied(&Self::Copy(Arc::clone(.0)).to_string()))]
    Denied(#[source] Arc<CopyError>),
    #[error(transparent)]
    Archive(Arc<CopyError>),
    #[error("ContainerRestart: {0}")]
    Restart(#[source] Arc<DockerError>),
    #[error("ContainerRestart: a container of a pod cannot be restarted from outside")]
    RestartInPod,
    /// A command failed because of the container.
    #[error("{0}")]
    Run(String),
}

/// What went wrong with files or commands.
#[derive(Debug, thiserror::Error)]
pub(super) enum CopyError {
    #[error(transparent)]
    File(#[from] io::Error),
    #[error(transparent)]
    Docker(#[from] DockerError),
    #[error(transparent)]
    Kubernetes(#[from] KubernetesError),
    /// A command failed, and printed this.
    #[error("{0}")]
    Printed(String),
    /// A command of a pod failed.
    #[error("{command} exited with code {code}: {stderr}")]
    Exit { command: String, code: i32, stderr: String },
    /// The helper could not put something in place, in its words.
    #[error("{0}")]
    Refused(String),
}

impl SyncError {
    /// Files could not be copied; says what to check if the container denied access.
    pub(super) fn copying(error: CopyError) -> Self {
        let text = error.to_string();
        let is_denied = DENIED.iter().any(|it| text.contains(it));
        if is_denied { Self::Denied(Arc::new(error)) } else { Self::Copy(Arc::new(error)) }
    }

    /// Whether the cluster did not answer.
    pub(super) fn is_unreachable(&self) -> bool {
        matches!(self.cause(), Some(CopyError::Kubernetes(KubernetesError::Unreachable(_))))
    }

    /// Whether only the connection broke off.
    pub(super) fn is_disconnect(&self) -> bool {
        matches!(self.cause(), Some(CopyError::Kubernetes(KubernetesError::Lost(_))))
    }

    fn cause(&self) -> Option<&CopyError> {
        match self {
            Self::Delete(it)
            | Self::Remove(it)
            | Self::Copy(it)
            | Self::Denied(it)
            | Self::Archive(it) => Some(it),
            Self::NotRunning
            | Self::Gone
            | Self::Restart(_)
            | Self::RestartInPod
            | Self::Run(_) => None,
        }
    }
}
