//! Everything that can happen to what a resource has deployed.

use engine_model::{
    Time,
    pod::{DeployedObject, Pod},
};

use super::ForwardStatus;
use crate::{
    resource::UpdateId,
    retry::{Obstacle, Trial},
};

/// Something that happened to what a resource has deployed.
#[derive(Clone, Debug)]
pub enum WorkloadEvent {
    /// An update begins to build and apply.
    UpdateStarted,
    /// What is about to be applied was deleted before.
    ForceDeleted,
    /// Objects were applied, or not.
    Applied {
        /// When that began.
        started: Time,
        /// What was applied, or what is wrong.
        result: Result<Box<Deployed>, String>,
    },
    /// An update that builds and deploys has ended.
    UpdateEnded {
        /// Which one.
        id: UpdateId,
        /// What stands in its way, if that may go by itself.
        obstacle: Option<Obstacle>,
    },
    /// The answer to [`KubernetesAction::TryObstacle`](super::KubernetesAction::TryObstacle).
    ObstacleTried {
        /// The update that waits.
        id: UpdateId,
        /// What the cluster answered.
        trial: Trial,
    },
    /// All pods that were found, the oldest first.
    PodsObserved(Vec<Pod>),
    /// Something happened to an object.
    Noticed {
        /// What, as a line of the log.
        text: String,
        /// Whether it is not good.
        is_warning: bool,
    },
    /// The addresses of its services, sorted.
    ServicesObserved(Vec<String>),
    /// A log was read to its end, or cannot be read.
    LogRead {
        /// The run of the container.
        container_id: String,
        /// What keeps it from being read; nothing if it was read to its end.
        error: Option<String>,
    },
    /// A forward works, or not.
    ForwardObserved {
        /// The object that it belongs to.
        object: String,
        /// Which forward of that.
        index: usize,
        /// How it does.
        status: ForwardStatus,
    },
}

/// What was applied.
#[derive(Clone, Debug, Default)]
pub struct Deployed {
    /// The objects as the cluster has them.
    pub objects: Vec<DeployedObject>,
    /// Fields that others changed and that stay as they are, in words.
    pub kept: Vec<String>,
    /// Changes with what was applied.
    pub input_hash: String,
    /// Whether a command did it.
    pub by_command: bool,
}
