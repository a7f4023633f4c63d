//! What can go wrong with a cluster, in the words that `kubectl` would give.

use std::time::Duration;

use crate::Cluster;

/// Something went wrong with a cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KubernetesError {
    /// The kubeconfig cannot be used.
    #[error("kubeconfig: {0}")]
    Config(String),
    /// The API server answered, and refused.
    #[error("{}", .0.message)]
    Refused(Box<Refusal>),
    /// No answer came, or none that could be read.
    #[error("{0}")]
    Unreachable(String),
    /// The connection broke off in the middle of an answer.
    #[error("{0}")]
    Lost(String),
    /// Another cluster answers where the pinned one was.
    #[error("another cluster answers at {server}: it is {found}, not {pinned}")]
    OtherCluster {
        /// Where it answers.
        server: String,
        /// The cluster that was pinned.
        pinned: String,
        /// The cluster that is there now.
        found: String,
    },
    /// The request failed in another way.
    #[error("{0}")]
    Request(String),
}

/// What the API server says when it refuses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub code: u16,
    /// The reason in one word, such as `NotFound`.
    pub reason: String,
    /// The whole story.
    pub message: String,
}

impl KubernetesError {
    /// Whether what was asked for does not exist.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// Whether the object changed since it was read.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.reason == "Conflict")
    }

    /// Whether an object of this name is there already.
    pub(crate) fn already_exists(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.reason == "AlreadyExists")
    }

    /// The HTTP status of a refusal.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused(refusal) => Some(refusal.code),
            _ => None,
        }
    }

    /// No answer came, for too long.
    pub(crate) fn silence() -> Self {
        Self::Unreachable("the API server does not answer".to_owned())
    }

    /// The same error, said to have come up while doing something.
    pub(crate) fn during(self, what: &str) -> Self {
        match self {
            Self::Refused(mut refusal) => {
                refusal.message = format!("{what}: {}", refusal.message);
                Self::Refused(refusal)
            }
            Self::Unreachable(text) => Self::Unreachable(format!("{what}: {text}")),
            Self::Request(text) => Self::Request(format!("{what}: {text}")),
            other => other,
        }
    }
}

impl KubernetesError {
    /// What a failed request to a server means.
    pub(crate) fn of(error: kube::Error, server: &str) -> Self {
        match error {
            kube::Error::Api(status) => Self::Refused(Box::new(Refusal {
                code: status.code,
                reason: status.reason,
                message: status.message,
            })),
            other => crate::connection::unreachable("", server, &other),
        }
    }
}

impl Cluster {
    /// What a failed request means.
    pub(crate) fn failure(&self, error: kube::Error) -> KubernetesError {
        KubernetesError::of(error, self.server())
    }

    /// An answer of the client library, if it comes in time.
    pub(crate) async fn answered<T>(
        &self,
        limit: Duration,
        answer: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, KubernetesError> {
        match tokio::time::timeout(limit, answer).await {
            Ok(answer) => answer.map_err(|it| self.failure(it)),
            Err(_) => Err(self.silence()),
        }
    }
}
