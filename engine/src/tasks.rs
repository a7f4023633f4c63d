//! The work that the loop starts: the only place where it begins, and where its end comes from.
//!
//! A task ends with exactly one message, which follows everything it sent before on the same channel. A panic or an
//! abort ends it with a message, too, so that no work ends silently.

use std::{
    any::Any,
    collections::BTreeMap,
    fmt,
    panic::{self, AssertUnwindSafe},
    time::SystemTime,
};

use engine_core::resource::{ResourceName, UpdateId};
use futures_util::FutureExt;
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
};
use tracing::{Instrument, Span};

use crate::panics::Panic;

#[cfg(test)]
mod tests;

/// What a task is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TaskKey {
    /// Evaluates a Tiltfile.
    Load(ResourceName),
    /// Evaluates the main Tiltfile to see what it would change.
    Plan,
    /// Fetches a repository of extensions.
    Fetch(String),
    /// Builds and deploys a resource.
    Update(UpdateId, ResourceName),
    /// Waits until an update that the cluster refused makes sense again.
    Retry(ResourceName),
    /// Brings changed files into containers of a resource.
    Sync(ResourceName),
    /// Brings files into containers of a resource while others of the same burst still change.
    SyncAhead(ResourceName),
    /// Lists the files of a resource's sync steps.
    ListFiles(ResourceName),
    /// Follows the Docker engine.
    FollowDocker,
    /// Waits for a kubeconfig.
    AwaitKubeconfig,
    /// Follows the cluster of a context.
    FollowCluster(String),
    /// Reads the log of a container of a resource.
    ReadLog(ResourceName),
    /// Deletes what a resource has deployed.
    Delete(ResourceName),
    /// Removes Compose services of a project.
    RemoveServices(String),
    /// Prunes Docker.
    Prune,
}

impl TaskKey {
    /// The kind of task, and what it is about: a resource, a Tiltfile, a project; nothing for some.
    pub(crate) fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Load(it) => ("load", it),
            Self::Plan => ("plan", ""),
            Self::Fetch(it) => ("fetch", it),
            Self::Update(_, it) => ("update", it),
            Self::Retry(it) => ("retry", it),
            Self::Sync(it) => ("sync", it),
            Self::SyncAhead(it) => ("sync-ahead", it),
            Self::ListFiles(it) => ("list-files", it),
            Self::FollowDocker => ("follow-docker", ""),
            Self::AwaitKubeconfig => ("await-kubeconfig", ""),
            Self::FollowCluster(it) => ("follow-cluster", it),
            Self::ReadLog(it) => ("read-log", it),
            Self::Delete(it) => ("delete", it),
            Self::RemoveServices(it) => ("remove-services", it),
            Self::Prune => ("prune", ""),
        }
    }

    fn span(&self) -> Span {
        match self {
            Self::Load(tiltfile) => tracing::info_span!("load", %tiltfile),
            Self::Update(id, resource) => tracing::info_span!("update", id = id.0, %resource),
            Self::Sync(resource) => tracing::info_span!("sync", %resource),
            other => {
                let (kind, about) = other.parts();
                tracing::debug_span!("task", kind, about)
            }
        }
    }
}

/// Which task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TaskId(u64);

/// Why a task has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// It panicked.
    Panicked(Panic),
    /// It was aborted.
    Aborted,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(panic) => write!(f, "a defect of the engine: it {panic}"),
            Self::Aborted => f.write_str("build canceled"),
        }
    }
}

/// A task that runs.
#[derive(Debug)]
pub(crate) struct Task {
    /// What it is for.
    pub(crate) key: TaskKey,
    /// Since when.
    pub(crate) since: SystemTime,
    abort: AbortHandle,
}

/// A task that is aborted when this is dropped.
#[derive(Debug)]
pub(crate) struct TaskGuard(AbortHandle);

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// All tasks that run. Dropping them ends what they do.
#[derive(Debug)]
pub(crate) struct Tasks<M> {
    set: JoinSet<()>,
    running: BTreeMap<TaskId, Task>,
    n_started: u64,
    messages: mpsc::UnboundedSender<M>,
    /// Makes the message about the end of a task.
    ended: fn(TaskId, M) -> M,
    /// The next task of this kind panics.
    #[cfg(test)]
    pub(crate) fault: Option<&'static str>,
}

impl<M: Send + 'static> Tasks<M> {
    /// No tasks yet; they will report to `messages`, and their ends as `ended` has them.
    pub(crate) fn new(messages: mpsc::UnboundedSender<M>, ended: fn(TaskId, M) -> M) -> Self {
        Self {
            set: JoinSet::new(),
            running: BTreeMap::new(),
            n_started: 0,
            messages,
            ended,
            #[cfg(test)]
            fault: None,
        }
    }

    /// Where tasks report.
    pub(crate) fn messages(&self) -> &mpsc::UnboundedSender<M> {
        &self.messages
    }

    /// Starts a task; `end` makes its last message.
    pub(crate) fn spawn<R: 'static>(
        &mut self,
        key: TaskKey,
        work: impl Future<Output = R> + Send + 'static,
        end: impl FnOnce(Result<R, Lost>) -> M + Send + 'static,
    ) -> TaskId {
        let (mut ending, span) = (self.ending(end), key.span());
        let fault = self.take_fault(&key);
        let work = async move {
            fault();
            work.await
        };
        let task = async move {
            let result = AssertUnwindSafe(work).catch_unwind().await;
            ending.send(result.map_err(panicked));
        };
        let abort = self.set.spawn(task.instrument(span));
        self.add(key, abort)
    }

    /// Starts a task that blocks. Once it runs, it cannot be aborted.
    pub(crate) fn spawn_blocking<R: 'static>(
        &mut self,
        key: TaskKey,
        work: impl FnOnce() -> R + Send + 'static,
        end: impl FnOnce(Result<R, Lost>) -> M + Send + 'static,
    ) -> TaskId {
        let (mut ending, span) = (self.ending(end), key.span());
        let fault = self.take_fault(&key);
        let abort = self.set.spawn_blocking(move || {
            let _entered = span.entered();
            let work = || {
                fault();
                work()
            };
            let result = panic::catch_unwind(AssertUnwindSafe(work));
            ending.send(result.map_err(panicked));
        });
        self.add(key, abort)
    }

    /// Aborts all tasks of some kind. Their ends are reported like any other.
    pub(crate) fn abort_all(&self, is_meant: impl Fn(&TaskKey) -> bool) {
        for task in self.running.values().filter(|it| is_meant(&it.key)) {
            task.abort.abort();
        }
    }

    /// Makes the life of a task depend on its owner.
    pub(crate) fn guard(&self, id: TaskId) -> Option<TaskGuard> {
        self.running.get(&id).map(|it| TaskGuard(it.abort.clone()))
    }

    /// Whether a task of some kind runs.
    pub(crate) fn has(&self, is_meant: impl Fn(&TaskKey) -> bool) -> bool {
        self.running.values().any(|it| is_meant(&it.key))
    }

    /// The tasks that run, in the order in which they were started.
    pub(crate) fn running(&self) -> impl Iterator<Item = &Task> {
        self.running.values()
    }

    /// A task has ended, and everything it sent was taken in.
    pub(crate) fn ended(&mut self, id: TaskId) {
        self.running.remove(&id);
        // They have said everything already.
        while self.set.try_join_next().is_some() {}
    }

    fn add(&mut self, key: TaskKey, abort: AbortHandle) -> TaskId {
        let id = TaskId(self.n_started);
        self.n_started += 1;
        self.running.insert(id, Task { key, since: SystemTime::now(), abort });
        id
    }

    fn ending<R, F: FnOnce(Result<R, Lost>) -> M>(&self, end: F) -> Ending<M, R, F> {
        let (messages, ended) = (self.messages.clone(), self.ended);
        let id = TaskId(self.n_started);
        Ending { messages, id, end: Some(end), ended, result: std::marker::PhantomData }
    }

    #[cfg(test)]
    fn take_fault(&mut self, key: &TaskKey) -> impl FnOnce() + Send + 'static + use<M> {
        let fault = self.fault.take_if(|it| *it == key.parts().0);
        move || assert!(fault.is_none(), "injected")
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "only tests inject faults")]
    fn take_fault(&mut self, _key: &TaskKey) -> impl FnOnce() + Send + 'static + use<M> {
        || {}
    }
}

/// Sends the last message of a task, whatever becomes of it.
struct Ending<M, R, F: FnOnce(Result<R, Lost>) -> M> {
    messages: mpsc::UnboundedSender<M>,
    id: TaskId,
    end: Option<F>,
    ended: fn(TaskId, M) -> M,
    result: std::marker::PhantomData<fn(R)>,
}

impl<M, R, F: FnOnce(Result<R, Lost>) -> M> Ending<M, R, F> {
    fn send(&mut self, result: Result<R, Lost>) {
        if let Some(end) = self.end.take() {
            // Nobody listens when the engine ends.
            let _ = self.messages.send((self.ended)(self.id, end(result)));
        }
    }
}

impl<M, R, F: FnOnce(Result<R, Lost>) -> M> Drop for Ending<M, R, F> {
    fn drop(&mut self) {
        self.send(Err(Lost::Aborted));
    }
}

#[expect(clippy::needless_pass_by_value, reason = "panics are handed over like this")]
fn panicked(payload: Box<dyn Any + Send>) -> Lost {
    Lost::Panicked(Panic::of_payload(&*payload))
}
