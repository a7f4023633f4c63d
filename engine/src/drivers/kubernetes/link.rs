//! The way to the cluster that is pinned, and to whoever waits for it while it is away.

use std::{sync::Arc, time::Duration};

use builtins::api::KubeCluster;
use engine_core::{
    Event,
    cluster::{ClusterEvent, Connection},
    tiltfile::MAIN,
};
use engine_kubernetes::{Cluster, Tracker};
use engine_model::LocalRegistry;
use tokio::sync::{Notify, watch};

use super::{
    BuilderParts, KubernetesDriver, Report, Reporter, Seen,
    follower::Follower,
    images::{self, Builder},
};
use crate::{
    deploy::{
        cluster_docker::{ClusterDocker, ClusterDockerError},
        commands::Surroundings,
    },
    tasks::{TaskGuard, TaskKey, Tasks},
};

/// How long whoever got no answer leaves the cluster alone.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// The way to the cluster that is pinned.
pub(super) struct Link {
    /// Which one; what becomes known of an earlier one does not matter any more.
    pub(super) id: u64,
    pub(super) known: KubeCluster,
    pub(super) cluster: Option<Cluster>,
    pub(super) tracker: Option<Tracker>,
    /// Builds images for it, once it is connected.
    pub(super) builder: Option<Builder>,
    /// Makes the cluster be asked at once how it does.
    pub(super) check: Arc<Notify>,
    /// Tells who waits for it whether it can be used; closes when another one takes its place.
    pub(super) is_usable: watch::Sender<bool>,
    /// Looks after it; ends with it.
    _task: Option<TaskGuard>,
}

/// A cluster that answers.
pub(crate) struct Connected {
    pub(super) cluster: Cluster,
    pub(super) version: String,
    pub(super) arch: String,
    pub(super) registry: Option<LocalRegistry>,
    pub(super) docker: Result<ClusterDocker, ClusterDockerError>,
}

impl std::fmt::Debug for Connected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connected").field("version", &self.version).finish_non_exhaustive()
    }
}

/// What a connection is made with.
pub(crate) struct LinkParts {
    /// The cluster, with the kubeconfig that commands get.
    pub(crate) known: KubeCluster,
    /// The text of the kubeconfig.
    pub(crate) text: String,
    /// Overrides the namespace of the context.
    pub(crate) namespace: Option<String>,
    /// Notes what is written.
    pub(crate) audit: engine_kubernetes::Sink,
    /// The environment of the engine's commands.
    pub(crate) environment: Vec<(String, String)>,
    /// What commands find around them.
    pub(crate) surroundings: Surroundings,
}

/// Waits for a cluster that is away.
pub(super) struct Patience {
    check: Arc<Notify>,
    is_usable: watch::Receiver<bool>,
}

impl Patience {
    /// Returns when it makes sense to try again what got no answer; nothing if it never will.
    pub(super) async fn until_usable(&mut self) -> Option<()> {
        self.check.notify_one();
        tokio::time::sleep(TRY_AGAIN).await;
        self.is_usable.wait_for(|it| *it).await.ok().map(drop)
    }
}

impl Link {
    /// For those who have to do something with the cluster, also if it is away for a while.
    pub(super) fn patience(&self) -> Patience {
        Patience { check: Arc::clone(&self.check), is_usable: self.is_usable.subscribe() }
    }
}

impl<M: From<Report> + Send + 'static> KubernetesDriver<M> {
    /// Connects to a cluster, in place of the one before.
    pub(crate) fn connect(&mut self, parts: LinkParts, tasks: &mut Tasks<M>) {
        self.n_links += 1;
        let id = self.n_links;
        let check = Arc::new(Notify::new());
        let key = TaskKey::FollowCluster(parts.known.context.clone());
        let known = parts.known.clone();
        let follower = Follower {
            parts,
            has_default_registry: self.default_registry.is_some(),
            log: self.logs.writer(MAIN, "cluster"),
            check: Arc::clone(&check),
            report: self.reporter(),
        };
        let task = tasks.spawn(key, follower.run(), move |result| {
            let seen = result.err().map(|lost| Seen::Unreachable(lost.to_string()));
            Report { link: id, seen }.into()
        });
        self.link = Some(Link {
            id,
            known,
            cluster: None,
            tracker: None,
            builder: None,
            check,
            is_usable: watch::Sender::new(false),
            _task: tasks.guard(task),
        });
    }
}

impl<M> KubernetesDriver<M> {
    pub(super) fn on_connected(
        &mut self,
        connected: Connected,
        report: Reporter,
        builder: BuilderParts,
    ) -> Option<Event> {
        let link = self.link.as_mut()?;
        let Connected { cluster, version, arch, registry, docker } = connected;
        let report = Arc::new(move |seen| report(Seen::Tracked(seen)));
        let connection = connection(&link.known, &cluster, version, &arch, registry.clone());
        link.tracker = Some(Tracker::new(cluster.clone(), self.started, report));
        link.cluster = Some(cluster);
        link.is_usable.send_replace(true);
        link.builder = Some(images::builder(&link.known, registry.as_ref(), docker, arch, builder));
        Some(Event::Cluster(ClusterEvent::Connected(Box::new(connection))))
    }
}

fn connection(
    known: &KubeCluster,
    cluster: &Cluster,
    version: String,
    arch: &str,
    registry: Option<LocalRegistry>,
) -> Connection {
    Connection {
        context: known.context.clone(),
        namespace: known.namespace.clone(),
        default_namespace: cluster.namespace().to_owned(),
        cluster: known.cluster.clone(),
        product: known.product.to_string(),
        config_path: known.path.clone(),
        version,
        arch: arch.to_owned(),
        registry,
    }
}
