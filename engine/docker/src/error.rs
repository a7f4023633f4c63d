//! What can go wrong with Docker, in words that say what to do about it.

use std::{io, path::PathBuf};

use engine_formats::golang::os_error::errno_text;

/// Why something could not be done with Docker.
#[derive(Debug, thiserror::Error)]
pub enum DockerError {
    /// Nobody listens.
    #[error("Docker is not running at {host}: start it, or set DOCKER_HOST ({cause})")]
    NotRunning {
        /// Where it was looked for.
        host: String,
        /// What the system said.
        cause: String,
    },
    /// The socket belongs to somebody else.
    #[error(
        "no permission to use Docker at {host}: add yourself to the group that owns it, or set DOCKER_HOST"
    )]
    NoPermission {
        /// Where it is.
        host: String,
    },
    /// The connection broke while it was used.
    #[error("the connection to Docker at {host} was lost: {cause}")]
    Lost {
        /// Where it was.
        host: String,
        /// What the system said.
        cause: String,
    },
    /// `DOCKER_HOST`, or the host of a context, is not understood.
    #[error("cannot use Docker host {host:?}: {why}")]
    BadHost {
        /// The host as written.
        host: String,
        /// What is wrong.
        why: String,
    },
    /// The chosen context does not exist.
    #[error("Docker context {name:?} does not exist: see `docker context ls`")]
    UnknownContext {
        /// Its name.
        name: String,
    },
    /// A file of Docker's configuration cannot be used.
    #[error("cannot use {}: {why}", path.display())]
    BadFile {
        /// Which one.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Certificates are asked for that are not there.
    #[error("unable to resolve docker endpoint: open {}: {}", path.display(), errno_text(cause))]
    NoCertificate {
        /// Where they were looked for.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The engine is too old.
    #[error("Docker API 1.23 or newer is required, but {host} has {version}")]
    TooOld {
        /// Where it is.
        host: String,
        /// Its API version.
        version: String,
    },
    /// A setting is not understood.
    #[error("{0}")]
    BadSetting(String),
    /// What was asked for does not exist.
    #[error("{0}")]
    NotFound(String),
    /// Docker refused a request.
    #[error("{message}")]
    Refused {
        /// The status of its answer.
        status: u16,
        /// Its words.
        message: String,
    },
    /// An image could not be built.
    #[error(transparent)]
    Build(#[from] crate::build::BuildError),
    /// An image could not be pushed.
    #[error(transparent)]
    Push(#[from] crate::push::PushError),
    /// An image could not be put into a node.
    #[error(transparent)]
    Import(#[from] crate::import::ImportError),
    /// Credentials could not be had.
    #[error(transparent)]
    Credentials(#[from] crate::credentials::CredentialsError),
    /// A local file could not be read.
    #[error("{doing} {}: {}", path.display(), errno_text(source))]
    File {
        /// What was tried.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Docker's answer makes no sense.
    #[error("unexpected answer from Docker: {0}")]
    Protocol(String),
}

impl DockerError {
    /// Whether the engine is not there, so that trying again later may help.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::NotRunning { .. } | Self::NoPermission { .. } | Self::Lost { .. })
    }
}

/// How a connection failed, kept inside the errors of the libraries that it passes through.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{cause}")]
pub(crate) struct TransportError {
    pub(crate) is_connecting: bool,
    pub(crate) kind: io::ErrorKind,
    pub(crate) cause: String,
}

impl TransportError {
    /// Takes the innermost words of an error, which are those of the system.
    pub(crate) fn new(is_connecting: bool, error: &(dyn std::error::Error + 'static)) -> Self {
        let mut kind = io::ErrorKind::Other;
        let mut innermost = error;
        loop {
            if let Some(found) = innermost.downcast_ref::<io::Error>() {
                kind = found.kind();
            }
            match innermost.source() {
                Some(source) => innermost = source,
                None => break,
            }
        }
        Self { is_connecting, kind, cause: innermost.to_string() }
    }

    pub(crate) fn at(self, host: &str) -> DockerError {
        let host = host.to_owned();
        match (self.is_connecting, self.kind) {
            (true, io::ErrorKind::PermissionDenied) => DockerError::NoPermission { host },
            (true, _) => DockerError::NotRunning { host, cause: self.cause },
            (false, _) => DockerError::Lost { host, cause: self.cause },
        }
    }
}

/// Translates an error of the client library.
pub(crate) fn from_client(error: bollard::errors::Error, host: &str) -> DockerError {
    use bollard::errors::Error;
    match error {
        Error::DockerResponseServerError { status_code: 404, message } => {
            DockerError::NotFound(message)
        }
        Error::DockerResponseServerError { status_code, message } => {
            DockerError::Refused { status: status_code, message }
        }
        Error::DockerStreamError { error } => DockerError::Refused { status: 200, message: error },
        Error::IOError { err } => {
            let known = err.get_ref().and_then(|it| it.downcast_ref::<TransportError>());
            known.cloned().unwrap_or_else(|| TransportError::new(false, &err)).at(host)
        }
        Error::HyperResponseError { err } => TransportError::new(false, &err).at(host),
        Error::RequestTimeoutError => {
            DockerError::Lost { host: host.to_owned(), cause: "it did not answer in time".into() }
        }
        other => DockerError::Protocol(other.to_string()),
    }
}
