//! One task for each container that can be updated: it keeps a helper ready there between saves.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use engine_core::live_update::ContainerCommand;
use engine_helper::restart::restart_file;
use engine_model::{FilePath, ResourceName, Time};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};

use super::{
    batch::{Piece, Sent, SentFiles, below_root},
    session::{BatchReply, Session},
    target::ContainerTarget,
};
use crate::logs::LogWriter;

/// Orders that wait for a container; there is hardly ever more than one.
const BACKLOG: usize = 4;

/// How long a container without a helper is left alone before it is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// All containers that can be updated.
#[derive(Debug, Default)]
pub struct Sidecars {
    known: HashMap<String, Sidecar>,
    /// They end with their containers, or with this.
    tasks: JoinSet<()>,
}

/// The way to the helper of a container.
#[derive(Clone, Debug)]
pub struct Sidecar {
    owner: ResourceName,
    /// When the container was started.
    started: Option<Time>,
    orders: mpsc::Sender<Order>,
    sent: Arc<Mutex<SentFiles>>,
    target: ContainerTarget,
}

/// A container that runs.
#[derive(Clone, Debug)]
pub struct RunningContainer {
    /// Its identity.
    pub id: String,
    /// When it was started.
    pub started: Option<Time>,
    /// Where it is.
    pub target: ContainerTarget,
}

/// Something for a helper.
#[derive(Debug)]
enum Order {
    /// The container was started (again): get ready.
    GetReady,
    /// A batch.
    Update(SyncJob),
}

/// A batch for a helper.
#[derive(Debug)]
pub(super) struct SyncJob {
    pub(super) pieces: mpsc::Receiver<Piece>,
    pub(super) runs: Vec<ContainerCommand>,
    pub(super) log: LogWriter,
    pub(super) ended: oneshot::Sender<End>,
}

/// How a batch ended.
#[derive(Debug)]
pub(super) enum End {
    /// The helper has answered.
    Answered {
        answer: BatchReply,
        /// Whether the commands are still to be run, as whoever the container runs as.
        leaves_runs: bool,
    },
    /// The stream broke, as containers that are restarted do to it; another try makes sense.
    Broke,
    /// There is no helper for this container, for this reason.
    Hopeless(String),
    /// The cluster does not answer, for this reason; nothing is known of the container.
    Away(String),
}

impl Sidecars {
    /// These are the containers of a resource that run: each gets a helper before anybody saves a file.
    pub fn observe(&mut self, owner: &ResourceName, containers: &[RunningContainer]) {
        while self.tasks.try_join_next().is_some() {}
        let is_there = |id: &str| containers.iter().any(|it| it.id == id);
        self.known.retain(|id, it| it.owner != *owner || is_there(id));
        for container in containers {
            match self.known.get_mut(&container.id) {
                Some(known) if known.is_served() && known.started == container.started => {}
                Some(known) if known.is_served() => {
                    known.started = container.started;
                    // If it has other things to do it finds out by itself.
                    let _ = known.orders.try_send(Order::GetReady);
                }
                _ => {
                    let (orders, queue) = mpsc::channel(BACKLOG);
                    let _ = orders.try_send(Order::GetReady);
                    self.tasks.spawn(serve(container.target.clone(), queue));
                    let (owner, started) = (owner.clone(), container.started);
                    let (sent, target) = (Arc::default(), container.target.clone());
                    let sidecar = Sidecar { owner, started, orders, sent, target };
                    self.known.insert(container.id.clone(), sidecar);
                }
            }
        }
    }

    /// Only these resources have containers that can be updated.
    pub fn retain(&mut self, owners: &[&str]) {
        self.known.retain(|_, it| owners.contains(&&*it.owner));
    }

    /// The way to a container, if it runs.
    pub fn get(&self, id: &str) -> Option<Sidecar> {
        self.known.get(id).filter(|it| it.is_served()).cloned()
    }
}

impl Sidecar {
    /// Hands over a batch; fails if the container is gone.
    pub(super) async fn update(&self, job: SyncJob) -> Result<(), Gone> {
        self.orders.send(Order::Update(job)).await.map_err(|_| Gone)
    }

    /// Whether somebody takes orders.
    fn is_served(&self) -> bool {
        !self.orders.is_closed()
    }

    /// Where the container is.
    pub(super) fn target(&self) -> &ContainerTarget {
        &self.target
    }

    /// What the container was sent for a path.
    pub(super) fn sent(&self, path: &Path) -> Option<Sent> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).get(path).copied()
    }

    /// A batch has arrived.
    pub(super) fn remember(&self, deletions: &[FilePath], sent: &SentFiles) {
        let mut known = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        for path in deletions {
            known.remove(below_root(path));
        }
        known.extend(sent.iter().map(|(path, sent)| (path.clone(), *sent)));
    }

    /// Nobody knows any more what is in the container.
    pub(super) fn forget(&self) {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The container is gone.
#[derive(Debug)]
pub(super) struct Gone;

/// How the helper of a container does.
#[derive(Debug, Default)]
enum State {
    #[default]
    None,
    Ready(Session),
    /// There was none at this time, for this reason.
    Hopeless(Instant, String),
    /// The cluster did not answer, for this reason.
    Away(String),
}

/// Does what is ordered, until nobody can order anything any more.
async fn serve(target: ContainerTarget, mut orders: mpsc::Receiver<Order>) {
    let mut state = State::None;
    while let Some(order) = orders.recv().await {
        match order {
            Order::GetReady => state = target.prepare().await.map_or(State::None, State::Ready),
            // Canceled while it waited.
            Order::Update(job) if job.ended.is_closed() => {}
            Order::Update(job) => {
                if state.is_due() {
                    state = open(&target).await;
                }
                state = update(&target, state, job).await;
            }
        }
    }
}

async fn open(target: &ContainerTarget) -> State {
    match target.open().await {
        Ok(session) => State::Ready(session),
        Err(error) if error.is_unreachable() => State::Away(error.to_string()),
        Err(error) if error.is_disconnect() => State::None,
        Err(error) => State::Hopeless(Instant::now(), error.to_string()),
    }
}

impl State {
    /// Whether it makes sense to start a helper. What stood in the way may be gone after a while.
    fn is_due(&self) -> bool {
        match self {
            Self::None | Self::Away(_) => true,
            Self::Ready(_) => false,
            Self::Hopeless(since, _) => since.elapsed() > TRY_AGAIN,
        }
    }
}

async fn update(target: &ContainerTarget, state: State, mut job: SyncJob) -> State {
    let (state, end) = match state {
        State::Ready(mut session) => {
            // To ask for a restart, nobody has to be who the container is.
            let is_restart = |it: &ContainerCommand| restart_file(&it.argv).is_some();
            let leaves_runs = session.leaves_runs() && !job.runs.iter().all(is_restart);
            let runs = if leaves_runs { &[] } else { job.runs.as_slice() };
            let updated = tokio::select! {
                biased;
                // Canceled: without the rest of the stream, the helper gives up what it has got of the batch.
                () = job.ended.closed() => return State::None,
                updated = session.update(&mut job.pieces, runs, &job.log) => updated,
            };
            match updated {
                Ok(answer) if answer.is_denied => match target.open_as_root().await {
                    Ok(session) => (State::Ready(session), End::Broke),
                    Err(error) => {
                        job.log.debug(&format!("No other way into the container: {error}"));
                        (State::Ready(session), End::Answered { answer, leaves_runs })
                    }
                },
                Ok(answer) => (State::Ready(session), End::Answered { answer, leaves_runs }),
                Err(_) => (State::None, End::Broke),
            }
        }
        State::Hopeless(since, reason) => {
            (State::Hopeless(since, reason.clone()), End::Hopeless(reason))
        }
        State::Away(reason) => (State::None, End::Away(reason)),
        State::None => (State::None, End::Broke),
    };
    // Whoever ordered it may have stopped waiting.
    let _ = job.ended.send(end);
    state
}
