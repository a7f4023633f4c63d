//! Forwards local ports to a pod.
//!
//! Each forward listens for as long as it lives: an error is reported, and the next connection tries again. It is one
//! pod only; whoever chooses another one starts other forwards.

mod connection;
mod listen;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

use crate::backoff::{self, Backoff, LONGEST_WAIT};
use crate::{Cluster, KubernetesError};
use listen::{ListenError, Listeners};

/// The first wait between tries.
const FIRST_WAIT: Duration = Duration::from_millis(50);
/// A try that lasted this long was a good one.
const GOOD: Duration = Duration::from_secs(1);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(10);

/// The forwards to one pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodPorts {
    /// Where the pod is.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// What is forwarded.
    pub forwards: Vec<Forward>,
}

/// A local port and the port of a pod that it leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Forward {
    /// The port here; zero for any that is free.
    pub local_port: u16,
    /// The port in the pod.
    pub container_port: u16,
    /// Where to listen; empty for all of localhost.
    pub host: String,
}

/// How a forward does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardStatus {
    /// Which one.
    pub forward: Forward,
    /// The port that it listens on; what was asked for if it does not.
    pub local_port: u16,
    /// The addresses that it listens on.
    pub addresses: Vec<String>,
    /// Since when it works.
    pub started: Option<Timestamp>,
    /// Why it does not work.
    pub error: Option<String>,
}

/// Who is told how forwards do.
pub type ForwardReport = Arc<dyn Fn(ForwardStatus) + Send + Sync>;

/// Forwards to one pod. Dropping it ends all of them with their connections.
#[derive(Debug)]
pub struct Forwarder {
    tasks: Vec<AbortHandle>,
}

impl Forwarder {
    /// Starts forwarding.
    pub fn start(cluster: &Cluster, ports: PodPorts, report: &ForwardReport) -> Self {
        let place = Arc::new(Place {
            cluster: cluster.clone(),
            namespace: ports.namespace,
            pod: ports.pod,
        });
        let start = |forward| {
            let task = Task { place: Arc::clone(&place), forward, report: Arc::clone(report) };
            tokio::spawn(task.run()).abort_handle()
        };
        Self { tasks: ports.forwards.into_iter().map(start).collect() }
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// A pod that is forwarded to.
struct Place {
    cluster: Cluster,
    namespace: String,
    pod: String,
}

impl Place {
    /// Why the pod cannot be reached, if so.
    async fn check(&self) -> Result<(), ForwardError> {
        let api: Api<Pod> = Api::namespaced(self.cluster.client().clone(), &self.namespace);
        let pod = self.cluster.answered(ANSWER, api.get(&self.pod)).await?;
        match pod.status.and_then(|it| it.phase).as_deref() {
            Some("Running") => Ok(()),
            phase => Err(ForwardError::NotRunning(phase.unwrap_or("Unknown").to_owned())),
        }
    }
}

/// Why a forward does not work, in the words that people know.
#[derive(Debug, thiserror::Error)]
enum ForwardError {
    #[error("error upgrading connection: {0}")]
    Connect(#[from] KubernetesError),
    #[error(
        "error upgrading connection: unable to forward port because pod is not running. Current status={0}"
    )]
    NotRunning(String),
    #[error(transparent)]
    Request(#[from] kube::core::request::Error),
    #[error("an error occurred forwarding {local_port} -> {port}: {message}")]
    Pod { local_port: u16, port: u16, message: String },
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Accept(#[from] io::Error),
}

/// One forward.
struct Task {
    place: Arc<Place>,
    forward: Forward,
    report: ForwardReport,
}

impl Task {
    async fn run(self) {
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        let listeners = loop {
            match Listeners::bind(&self.forward.host, self.forward.local_port).await {
                Ok(listeners) => break listeners,
                Err(error) => self.failed(&error.into(), None),
            }
            sleep(backoff::next(&mut backoff)).await;
        };
        backoff.reset();
        let mut connections: JoinSet<Result<(), ForwardError>> = JoinSet::new();
        // Connections are taken also while the pod is checked again after an error.
        let mut checking = JoinSet::new();
        self.check(&mut checking, Duration::ZERO);
        let mut started = Instant::now();
        loop {
            let error = tokio::select! {
                accepted = listeners.accept() => match accepted {
                    Ok(socket) => {
                        let (place, port) = (Arc::clone(&self.place), self.forward.container_port);
                        connections.spawn(async move { connection::carry(socket, &place, port).await });
                        None
                    }
                    Err(error) => {
                        // Such as too many open files: trying at once would not help.
                        sleep(FIRST_WAIT).await;
                        Some(error.into())
                    }
                },
                Some(ended) = connections.join_next() => ended.ok().and_then(Result::err),
                Some(checked) = checking.join_next() => match checked {
                    Ok(Err(error)) => Some(error),
                    Ok(Ok(())) | Err(_) => {
                        self.works(&listeners);
                        started = Instant::now();
                        None
                    }
                },
            };
            // Errors that come while one is dealt with are the same one.
            let Some(error) = error.filter(|_| checking.is_empty()) else { continue };
            self.failed(&error, Some(&listeners));
            if started.elapsed() >= GOOD {
                backoff.reset();
            }
            self.check(&mut checking, backoff::next(&mut backoff));
        }
    }

    /// Finds out after a wait whether the pod can be reached.
    fn check(&self, checking: &mut JoinSet<Result<(), ForwardError>>, wait: Duration) {
        let place = Arc::clone(&self.place);
        checking.spawn(async move {
            sleep(wait).await;
            place.check().await
        });
    }

    fn works(&self, listeners: &Listeners) {
        (self.report)(ForwardStatus {
            forward: self.forward.clone(),
            local_port: listeners.port(),
            addresses: listeners.addresses(),
            started: Some(Timestamp::now()),
            error: None,
        });
    }

    fn failed(&self, error: &ForwardError, listeners: Option<&Listeners>) {
        (self.report)(ForwardStatus {
            forward: self.forward.clone(),
            local_port: listeners.map_or(self.forward.local_port, Listeners::port),
            addresses: listeners.map(Listeners::addresses).unwrap_or_default(),
            started: None,
            error: Some(error.to_string()),
        });
    }
}
