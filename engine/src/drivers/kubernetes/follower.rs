//! Follows a cluster: connects to it, finds out what matters about it, and looks how it does.

use std::{sync::Arc, time::Duration};

use engine_kubernetes::{Cluster, KubernetesError};
use engine_model::{Backoff, LocalRegistry};
use serde_json::Value;
use tokio::sync::Notify;

use super::{
    Reporter, Seen,
    link::{Connected, LinkParts},
};
use crate::{
    deploy::{cluster_docker, registry},
    logs::LogWriter,
};

/// How long a cluster is left alone after it could not be reached: less at first, then more.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// How often a cluster is asked how it does, and one that is not well.
const CHECK_EVERY: Duration = Duration::from_secs(5);
const CHECK_SOON: Duration = Duration::from_secs(1);

/// So many bad answers in a row make a cluster unusable.
const BAD_ANSWERS: usize = 4;

/// Follows a cluster for as long as anybody listens.
pub(super) struct Follower {
    pub(super) parts: LinkParts,
    pub(super) has_default_registry: bool,
    pub(super) log: LogWriter,
    pub(super) check: Arc<Notify>,
    pub(super) report: Reporter,
}

impl Follower {
    /// One that cannot be reached is tried again and again.
    pub(super) async fn run(self) {
        let mut backoff = Backoff::new(FIRST_PAUSE, LAST_PAUSE);
        let cluster = loop {
            match self.connect().await {
                Ok(connected) => {
                    let cluster = connected.cluster.clone();
                    (self.report)(Seen::Connected(Box::new(connected)));
                    break cluster;
                }
                Err(error) => (self.report)(Seen::Unreachable(error.to_string())),
            }
            tokio::time::sleep(backoff.step()).await;
        };
        self.watch_health(&cluster).await;
    }

    async fn connect(&self) -> Result<Connected, KubernetesError> {
        let parts = &self.parts;
        let cluster = Cluster::new(&parts.text, parts.namespace.as_deref()).await?;
        let cluster = cluster.observed(Arc::clone(&parts.audit));
        let version = cluster.version().await?.git_version;
        cluster.pin(cluster.identity().await?);
        let nodes = cluster.nodes().await.unwrap_or_default();
        let registry = self.find_registry(&cluster).await;
        let target = cluster_docker::Target {
            context: &parts.known.context,
            cluster: &parts.known.cluster,
            product: parts.known.product,
            runtime: registry::runtime(&nodes),
        };
        let docker =
            cluster_docker::choose(target, &parts.environment, &parts.surroundings, &self.log)
                .await;
        Ok(Connected { cluster, version, arch: arch(&nodes), registry, docker })
    }

    async fn find_registry(&self, cluster: &Cluster) -> Option<LocalRegistry> {
        let found = registry::discover(cluster, self.parts.known.product, &self.log).await?;
        self.log.info(&format!("Auto-detected local registry from environment: {found}"));
        if self.has_default_registry {
            self.log.info(
                "Default registry specified, but will be ignored in favor of auto-detected registry.",
            );
        }
        Some(found)
    }

    /// Tells when the cluster is not well, and when it is again.
    async fn watch_health(&self, cluster: &Cluster) {
        let mut n_bad = 0;
        loop {
            let pause = if n_bad == 0 { CHECK_EVERY } else { CHECK_SOON };
            let is_doubted = tokio::select! {
                () = tokio::time::sleep(pause) => false,
                () = self.check.notified() => true,
            };
            match health(cluster).await {
                Ok(()) => {
                    n_bad = 0;
                    (self.report)(Seen::Health(Ok(())));
                }
                Err(error) => {
                    n_bad += 1;
                    let is_other = matches!(error, KubernetesError::OtherCluster { .. });
                    if is_doubted || is_other || n_bad >= BAD_ANSWERS {
                        n_bad = n_bad.max(BAD_ANSWERS);
                        (self.report)(Seen::Health(Err(error)));
                    }
                }
            }
        }
    }
}

/// Whether the pinned cluster is there and well.
pub(crate) async fn health(cluster: &Cluster) -> Result<(), KubernetesError> {
    cluster.verify().await?;
    cluster.check_health().await
}

pub(super) fn in_words(error: &KubernetesError) -> String {
    match error {
        KubernetesError::OtherCluster { .. } => format!(
            "{error}. Nothing is written there; if you have recreated the cluster, reload the Tiltfile to use it \
             (`{} trigger \"(Tiltfile)\"`)",
            engine_cli::program()
        ),
        error => error.to_string(),
    }
}

/// The architecture of the first node; who may not read nodes does not know it.
fn arch(nodes: &[Value]) -> String {
    let label = |name: &str| nodes.first()?["metadata"]["labels"][name].as_str();
    let arch = label("kubernetes.io/arch").or_else(|| label("beta.kubernetes.io/arch"));
    arch.filter(|it| !it.is_empty()).unwrap_or("unknown").to_owned()
}
