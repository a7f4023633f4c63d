//! How servers ask the loop for something.

use engine_core::TriggerRefused;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::Reasons;

/// Something the loop is asked for.
#[derive(Debug)]
pub enum Request {
    /// Update a resource, or run a Tiltfile again.
    Trigger {
        /// Its name.
        resource: String,
        /// Who asks: a bit of Tilt's build reasons.
        reason: u32,
        /// Whether manual dependencies that never ran are triggered too.
        with_deps: bool,
        /// What became of it; on success, the names that were queued.
        reply: oneshot::Sender<Result<Vec<String>, TriggerRefused>>,
    },
    /// Run the main Tiltfile with other arguments.
    SetArgs {
        /// All of them.
        args: Vec<String>,
    },
    /// Change when resources update, until the next load.
    OverrideTriggerMode {
        /// Their names.
        resources: Vec<String>,
        /// Tilt's number of the mode.
        mode: u8,
        /// What became of it: an unknown name is refused.
        reply: oneshot::Sender<Result<(), TriggerRefused>>,
    },
    /// The whole state, as `dump engine` prints it.
    Dump {
        /// The state.
        reply: oneshot::Sender<Value>,
    },
    /// What runs, as `dump tasks` prints it.
    Tasks {
        /// All tasks.
        reply: oneshot::Sender<Value>,
    },
    /// Why a resource last ran, or what it waits for.
    Explain {
        /// Its name.
        resource: String,
        /// The answer; nothing for an unknown resource.
        reply: oneshot::Sender<Option<Value>>,
    },
    /// What another run of the main Tiltfile would change.
    Plan {
        /// The answer.
        reply: oneshot::Sender<Value>,
    },
    /// The graph as it is.
    Graph {
        /// The answer.
        reply: oneshot::Sender<Value>,
    },
}

/// Asks the loop, and reads what it publishes; cheap to clone.
#[derive(Clone, Debug)]
pub struct Handle {
    sender: mpsc::UnboundedSender<Request>,
    reasons: Reasons,
}

impl Handle {
    /// A handle, and where its requests arrive.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<Request>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { sender, reasons: Reasons::default() }, receiver)
    }

    /// Why each resource is in its state.
    pub fn reasons(&self) -> &Reasons {
        &self.reasons
    }

    /// Asks for an update of a resource.
    ///
    /// # Errors
    /// If it is refused.
    pub async fn trigger(
        &self,
        resource: &str,
        reason: u32,
        with_deps: bool,
    ) -> Result<Vec<String>, TriggerRefused> {
        let resource = resource.to_owned();
        self.ask(|reply| Request::Trigger { resource, reason, with_deps, reply })
            .await
            .unwrap_or(Err(TriggerRefused::Ending))
    }

    /// Asks for other arguments of the main Tiltfile.
    pub fn set_args(&self, args: Vec<String>) {
        // Nobody is there to answer when the engine ends.
        let _ = self.sender.send(Request::SetArgs { args });
    }

    /// Asks for another trigger mode.
    ///
    /// # Errors
    /// If a resource does not exist.
    pub async fn override_trigger_mode(
        &self,
        resources: Vec<String>,
        mode: u8,
    ) -> Result<(), TriggerRefused> {
        self.ask(|reply| Request::OverrideTriggerMode { resources, mode, reply })
            .await
            .unwrap_or(Err(TriggerRefused::Ending))
    }

    /// The whole state.
    pub async fn dump(&self) -> Value {
        self.ask(|reply| Request::Dump { reply }).await.unwrap_or_default()
    }

    /// What runs.
    pub async fn tasks(&self) -> Value {
        self.ask(|reply| Request::Tasks { reply }).await.unwrap_or_default()
    }

    /// Why a resource last ran, or what it waits for.
    pub async fn explain(&self, resource: &str) -> Option<Value> {
        let resource = resource.to_owned();
        self.ask(|reply| Request::Explain { resource, reply }).await.flatten()
    }

    /// What another run of the main Tiltfile would change.
    pub async fn plan(&self) -> Value {
        self.ask(|reply| Request::Plan { reply }).await.unwrap_or_default()
    }

    /// The graph as it is.
    pub async fn graph(&self) -> Value {
        self.ask(|reply| Request::Graph { reply }).await.unwrap_or_default()
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.sender.send(request(reply)).ok()?;
        answer.await.ok()
    }
}
