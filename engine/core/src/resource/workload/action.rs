//! Everything that the world asks for in a cluster.

use std::{collections::BTreeSet, time::Duration};

use engine_model::{
    ApplyCmd, Forward,
    pod::{DeployedObject, Interest, ObjectKey},
};

use super::LogSource;
use crate::{
    resource::{ResourceName, UpdateId},
    retry::Obstacle,
};

/// Something to do in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KubernetesAction {
    /// Connect to the cluster that was found, and follow how it does.
    Connect {
        /// Whether it takes the place of another one.
        is_again: bool,
    },
    /// Look for pods.
    Follow {
        /// Whose.
        resource: ResourceName,
        /// Which ones.
        interest: Interest,
    },
    /// Look for pods no more.
    Unfollow {
        /// Whose.
        resource: ResourceName,
        /// Whether the resource is gone, too.
        is_gone: bool,
    },
    /// Look which containers take changes of files.
    FindContainers {
        /// The resource.
        resource: ResourceName,
    },
    /// Read the log of a container.
    ReadLog {
        /// Whose log it becomes.
        resource: ResourceName,
        /// Which run of which container.
        source: LogSource,
        /// Whether lines begin with the container's name.
        is_marked: bool,
    },
    /// Stop reading a log, after what is on its way.
    StopLog {
        /// Whose.
        resource: ResourceName,
        /// Which run of a container.
        container_id: String,
    },
    /// Forward ports to a pod.
    Forward {
        /// The resource.
        resource: ResourceName,
        /// The object to report with.
        object: String,
        /// Where the pod is.
        namespace: String,
        /// The pod.
        pod: String,
        /// The ports.
        forwards: Vec<Forward>,
    },
    /// Close the ports of a resource.
    StopForward {
        /// The resource.
        resource: ResourceName,
    },
    /// Delete; what is deployed next for the resource waits for that.
    Delete {
        /// Whose.
        resource: ResourceName,
        /// What.
        deletion: Deletion,
        /// What the log calls it.
        reason: &'static str,
    },
    /// See whether an obstacle is gone.
    TryObstacle {
        /// The resource.
        resource: ResourceName,
        /// The update that waits for it.
        id: UpdateId,
        /// The obstacle.
        obstacle: Obstacle,
        /// How long to wait before.
        after: Duration,
    },
    /// See no more whether an obstacle is gone.
    StopTrying {
        /// The resource.
        resource: ResourceName,
    },
}

/// What to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Objects, those that were deployed first at last.
    Objects {
        /// Objects that were deployed.
        objects: Vec<DeployedObject>,
        /// YAML of an update that may have deployed more, and the objects of that which stay.
        begun: Option<(String, BTreeSet<ObjectKey>)>,
    },
    /// What a command deletes.
    Command(ApplyCmd),
}
