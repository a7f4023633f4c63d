//! Follows what becomes of deployed objects: their pods, their events and the addresses of their services.
//!
//! One task owns all that is known. Watches, one for each namespace and kind, and reads of owners send it what they
//! see; it reports to the caller what changed for a resource. How pods belong to resources is decided in `model`.

mod claims;
mod lineage;
mod model;
mod owners;
mod task;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;

use engine_model::{
    Time,
    pod::{Interest, Pod},
};
use tokio::sync::watch as state;
use tokio::task::AbortHandle;

use crate::Cluster;

/// Something about a resource, or about the watching itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The pods of a resource, all that were found.
    Pods {
        /// The resource.
        resource: String,
        /// Its pods, the oldest first.
        pods: Vec<Pod>,
    },
    /// Something happened to an object of a resource.
    Event {
        /// The resource.
        resource: String,
        /// What, as a line of its log.
        message: String,
        /// It is not good.
        is_warning: bool,
    },
    /// The addresses of the services of a resource.
    Services {
        /// The resource.
        resource: String,
        /// The addresses, sorted.
        links: Vec<String>,
    },
    /// Something that concerns all resources, such as a watch that is not permitted.
    Warning(String),
}

/// Who is told what is seen.
pub type Report = Arc<dyn Fn(Seen) + Send + Sync>;

/// The interests of all resources.
type Interests = BTreeMap<String, Arc<Interest>>;

/// Follows the objects of all resources. Dropping it ends all watches.
pub struct Tracker {
    interests: state::Sender<Interests>,
    task: AbortHandle,
}

impl Tracker {
    /// A tracker that follows nothing yet; events before `since` are not told.
    ///
    /// `node_ip` of a cluster whose node ports can be reached is set with [`Tracker::with_node_ip`].
    pub fn new(cluster: Cluster, since: Time, report: Report) -> Self {
        Self::with_node_ip(cluster, since, None, report)
    }

    /// A tracker that also tells the node ports of services, for a cluster whose node can be reached at an address.
    pub fn with_node_ip(
        cluster: Cluster,
        since: Time,
        node_ip: Option<String>,
        report: Report,
    ) -> Self {
        let (interests, followed) = state::channel(Interests::new());
        let task = task::Task::new(cluster, since, node_ip, report, followed);
        let task = tokio::spawn(task.run()).abort_handle();
        Self { interests, task }
    }

    /// What a resource has deployed, or wants to find. Replaces what was said of it before.
    pub fn follow(&self, resource: &str, interest: Interest) {
        self.interests.send_if_modified(|it| {
            if it.get(resource).is_some_and(|known| **known == interest) {
                return false;
            }
            it.insert(resource.to_owned(), Arc::new(interest));
            true
        });
    }

    /// The resource is gone.
    pub fn forget(&self, resource: &str) {
        self.interests.send_if_modified(|it| it.remove(resource).is_some());
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        self.task.abort();
    }
}
