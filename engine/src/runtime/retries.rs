//! Updates that the cluster refused or did not answer: each runs again when what stood in its way is gone.

use std::{collections::HashMap, sync::Arc};

use engine_core::{
    Event,
    resource::{ResourceName, UpdateId},
};
use engine_kubernetes::ObjectKey;
use tokio::task::{AbortHandle, JoinSet};

use super::{Message, Mode, Runtime, deploy::Progress};
use crate::deploy::kubernetes::obstacle::{Obstacle, missing_namespace};

/// Who waits for obstacles to go. Dropping it ends the waiting.
#[derive(Debug, Default)]
pub(super) struct Retries {
    tasks: JoinSet<()>,
    waiting: HashMap<ResourceName, AbortHandle>,
    /// How often in a row an update of a resource had an obstacle.
    n_times: HashMap<ResourceName, u32>,
}

impl Retries {
    /// The resource is updated anyway, or gone.
    pub(super) fn stop_waiting(&mut self, resource: &str) {
        if let Some(task) = self.waiting.remove(resource) {
            task.abort();
        }
        while self.tasks.try_join_next().is_some() {}
    }
}

impl Runtime {
    /// An update has ended; if something stands in its way, it runs again when that is gone.
    pub(super) fn retry_without(
        &mut self,
        id: UpdateId,
        resource: &ResourceName,
        obstacle: Option<Obstacle>,
    ) {
        let obstacle = obstacle.filter(|_| self.settings.mode == Mode::Up);
        let (Some(obstacle), Some(cluster)) = (obstacle, self.cluster().cloned()) else {
            self.deploys.retries.n_times.remove(resource);
            return;
        };
        // If the cluster is lost, all that it cut off runs again when it is back.
        if matches!(obstacle, Obstacle::Silence) && self.cluster_error().is_some() {
            return;
        }
        self.make_namespace_again(&obstacle);
        let retries = &mut self.deploys.retries;
        let n_times = retries.n_times.entry(Arc::clone(resource)).or_default();
        *n_times += 1;
        let (n_times, name, messages) = (*n_times, Arc::clone(resource), self.messages.clone());
        let task = retries.tasks.spawn(async move {
            obstacle.gone(&cluster, n_times).await;
            // Nobody listens when the engine ends.
            let _ = messages.send(Message::Deploy(id, name, Box::new(Progress::MayGoOn)));
        });
        retries.waiting.insert(Arc::clone(resource), task);
    }

    /// A namespace of the Tiltfile that somebody has deleted is made again by the resource that has it.
    fn make_namespace_again(&mut self, obstacle: &Obstacle) {
        let Obstacle::Refusal { error, .. } = obstacle else { return };
        let Some(namespace) = missing_namespace(error) else { return };
        let is_it = |key: ObjectKey| key.kind == "Namespace" && key.name == namespace;
        let known = self.kubernetes.workloads.known.iter();
        let mut owners =
            known.filter(|(_, it)| it.objects.iter().map(ObjectKey::of).any(is_it)).map(|it| it.0);
        let Some(owner) = owners.next().cloned() else { return };
        let last = self.scheduler.resource(&owner).and_then(|it| it.history.front());
        if let Some(id) = last.map(|it| it.id) {
            self.step(Event::RetryDue { resource: owner, id });
        }
    }
}
