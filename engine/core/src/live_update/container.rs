//! Containers: what is seen of them, and what is known to be in them.

use std::sync::Arc;

use crate::time::Time;

use super::{failure::Failure, plan::SyncId};

/// One life of a container: a container that is replaced gets another identity.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Container {
    /// The namespace of its pod; empty outside of Kubernetes.
    pub namespace: Arc<str>,
    /// Its pod; empty outside of Kubernetes.
    pub pod: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Its identity, empty as long as it has none.
    pub id: Arc<str>,
}

impl Container {
    /// How people call it.
    pub fn display_name(&self) -> String {
        match (self.pod.is_empty(), self.name.is_empty()) {
            (true, true) => self.short_id().to_owned(),
            (true, false) => self.name.to_string(),
            (false, _) => format!("{}/{}", self.pod, self.name),
        }
    }

    pub(super) fn short_id(&self) -> &str {
        self.id.get(..10).unwrap_or(&self.id)
    }
}

/// How a container does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerState {
    /// It does not run yet, or not at the moment.
    Waiting,
    /// It is not started again for a while, because it crashed too often.
    CrashLoopBackOff,
    /// It runs.
    Running,
    /// It has ended, or its pod has.
    Terminated,
}

/// A container that the live update is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Which one.
    pub container: Container,
    /// How it does.
    pub state: ContainerState,
}

/// Why a container is not updated yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// It does not run.
    Container,
    /// Somebody has to ask for it.
    Trigger,
}

impl Waiting {
    /// Its name in API objects.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Container => "ContainerWaiting",
            Self::Trigger => "Trigger",
        }
    }

    /// The words.
    pub fn message(self) -> &'static str {
        match self {
            Self::Container => "Waiting for container to start",
            Self::Trigger => "Only updates on manual trigger",
        }
    }
}

/// What clients see of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerStatus {
    /// Which one.
    pub container: Container,
    /// The time of the newest change that is in it.
    pub last_file_time_synced: Option<Time>,
    /// What went wrong with a command of the last update.
    pub last_exec_error: Option<String>,
    /// Why it is not updated yet.
    pub waiting: Option<Waiting>,
}

/// The number of a change: those up to it have been seen before those after it, whatever clocks say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark(pub(super) u64);

/// What is known of one life of a container.
///
/// All changes up to `synced` are in it. Those up to the mark of `flight` are on their way. What came
/// later is pending, and never stored: it is whatever is newer than both, so it cannot be forgotten.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracked {
    pub(super) synced: Option<Mark>,
    pub(super) last_file_time: Option<Time>,
    pub(super) exec_error: Option<String>,
    pub(super) flight: Option<Flight>,
    pub(super) failed: Option<TrackedFailure>,
    /// Whether something was sent to it, so that it may differ from its image.
    pub(super) is_touched: bool,
}

/// An update that has begun.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub(super) id: SyncId,
    pub(super) mark: Mark,
    pub(super) oldest: Time,
    pub(super) newest: Time,
}

/// A failure that lasts until something newer than what caused it has been built.
#[derive(Clone, Debug)]
pub(super) struct TrackedFailure {
    pub(super) failure: Failure,
    pub(super) oldest: Time,
}

impl Tracked {
    /// The changes up to this are in the container or on their way.
    pub(super) fn mark(&self) -> Option<Mark> {
        self.flight.as_ref().map(|it| it.mark).or(self.synced)
    }

    /// Nothing is known of it any more but that it may differ from its image.
    pub(super) fn forget(&mut self) {
        *self = Self { is_touched: self.is_touched, ..Self::default() };
    }

    pub(super) fn begin(&mut self, flight: Flight) {
        self.is_touched = true;
        self.flight = Some(flight);
    }

    pub(super) fn arrive(&mut self, flight: &Flight) {
        self.synced = Some(flight.mark);
        self.last_file_time = Some(flight.newest);
    }
}
