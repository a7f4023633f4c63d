//! The Kubernetes cluster: which one is pinned, whether it can be used, and what the log says about it.
//!
//! The cluster of the first load that needs one is pinned. Whatever becomes of kubeconfig files and contexts later,
//! nothing is written anywhere else; a cluster that was made again under the same context is taken by the next load.

pub use engine_model::names::KUBERNETES;
use engine_model::{DeployTarget, Kind, LocalRegistry, ObjectId};

use crate::{
    effect::{LineKind, LogLine},
    resource::{Resource, workload::KubernetesAction},
    tiltfile::MAIN,
    time::Time,
    world::{Action, World},
};

/// What to do without a kubeconfig.
const KUBECONFIG_WAY_OUT: &str = "Start a cluster (for example with `kind create cluster`); its kubeconfig is picked up automatically.";

/// What is known of the cluster.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// The cluster that is pinned.
    pin: Option<Pin>,
    /// Whether the pinned cluster has answered.
    is_connected: bool,
    /// Whether another cluster answers where it was.
    is_replaced: bool,
    /// The last answer to an attempt to connect, and when that was.
    connection: Option<(Connection, Time)>,
    error: Option<String>,
    /// The error for people, if there are better words.
    help: Option<String>,
}

/// A cluster that is pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pin {
    context: String,
    kubeconfig: String,
}

/// A cluster that answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// The context.
    pub context: String,
    /// The namespace of the context, if it names one.
    pub namespace: String,
    /// The namespace of objects that name none.
    pub default_namespace: String,
    /// The cluster's name in the kubeconfig.
    pub cluster: String,
    /// Who made it.
    pub product: String,
    /// The kubeconfig that commands get.
    pub config_path: Option<String>,
    /// The version of its server.
    pub version: String,
    /// The architecture of its nodes.
    pub arch: String,
    /// The registry that it brings along.
    pub registry: Option<LocalRegistry>,
}

/// Something that happened to the cluster.
#[derive(Clone, Debug)]
pub enum ClusterEvent {
    /// A load found a kubeconfig.
    Found {
        /// The context in use.
        context: String,
        /// The text of the kubeconfig.
        kubeconfig: String,
    },
    /// A load found none that can be used.
    NotFound {
        /// Why.
        problem: String,
        /// The same for people, with where it was looked for.
        help: Option<String>,
    },
    /// It answers.
    Connected(Box<Connection>),
    /// It could not be reached yet.
    Unreachable {
        /// Why.
        error: String,
    },
    /// It is well.
    Healthy,
    /// It is not well.
    Unhealthy {
        /// What is wrong.
        error: String,
        /// Whether another cluster answers in its place.
        is_replaced: bool,
    },
    /// Something that concerns all resources, such as a watch that is not permitted.
    Warned(String),
}

impl Cluster {
    /// Why the cluster cannot be used, if that is so.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Why the cluster cannot be used, in the words that say most.
    pub fn problem(&self) -> Option<&str> {
        let error = self.error.as_deref()?;
        Some(self.help.as_deref().unwrap_or(error))
    }

    /// What is known of the cluster that answered last, and when that was.
    pub fn connection(&self) -> Option<(&Connection, Time)> {
        self.connection.as_ref().map(|(it, at)| (it, *at))
    }

    /// What the nodes of the cluster are; who may not read nodes does not know it, and most are this.
    pub fn arch(&self) -> &str {
        let arch = self.connection.as_ref().map(|(it, _)| it.arch.as_str());
        arch.filter(|it| *it != "unknown").unwrap_or("amd64")
    }

    /// The namespace of objects that name none, once the cluster is connected.
    pub fn namespace(&self) -> Option<&str> {
        let connection = self.connection.as_ref().filter(|_| self.is_connected)?;
        Some(&connection.0.default_namespace)
    }

    /// Whether the pinned cluster has answered, even if it does not now.
    pub(crate) fn is_connected(&self) -> bool {
        self.is_connected
    }
}

impl World {
    /// The Kubernetes cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Whether a kubeconfig of this context matters: for the first cluster, or instead of one that is of no use any more.
    pub fn wants_cluster(&self, context: &str) -> bool {
        let is_deployed =
            |it: &Resource| matches!(it.manifest.deploy_target, DeployTarget::Kubernetes(_));
        self.resources().iter().any(is_deployed)
            && self.cluster.pin.as_ref().is_none_or(|pin| {
                // Only a cluster that is of no use any more is replaced, and only by one of the same name.
                self.cluster.error.is_some() && pin.context == context
            })
    }

    pub(crate) fn cluster_event(&mut self, now: Time, event: ClusterEvent) {
        match event {
            ClusterEvent::Found { context, kubeconfig } => {
                self.cluster_found(Pin { context, kubeconfig });
            }
            ClusterEvent::NotFound { problem, help } => {
                let is_news = self.cluster.help != help;
                self.cluster_lost(not_connected(&problem));
                if let Some(help) = help.as_ref().filter(|_| is_news) {
                    let text = format!("There is {help}. {KUBECONFIG_WAY_OUT}");
                    self.log_cluster(LineKind::Info, text);
                }
                self.cluster.help = help;
            }
            ClusterEvent::Unreachable { error } => self.cluster_lost(not_connected(&error)),
            ClusterEvent::Connected(connection) => {
                self.cluster.connection = Some((*connection, now));
                self.cluster.is_connected = true;
                self.follow_all();
                self.cluster_usable();
            }
            ClusterEvent::Healthy if self.cluster.error.is_none() => {}
            ClusterEvent::Healthy => {
                self.log_cluster(LineKind::Info, "The Kubernetes cluster answers again".to_owned());
                self.cluster_usable();
            }
            ClusterEvent::Unhealthy { error, is_replaced } => {
                self.cluster.is_replaced = is_replaced;
                self.cluster_lost(error);
            }
            ClusterEvent::Warned(text) => self.effects.lines.push(LogLine {
                resource: "".into(),
                span: String::new(),
                kind: LineKind::Warn,
                text,
            }),
        }
    }

    fn cluster_found(&mut self, pin: Pin) {
        if !self.wants_cluster(&pin.context) {
            return;
        }
        let cluster = &mut self.cluster;
        let is_again = cluster.pin.is_some();
        // One that is away is waited for; what is to be deleted there is not forgotten.
        if cluster.pin.as_ref() == Some(&pin) && !cluster.is_replaced {
            return;
        }
        cluster.pin = Some(pin);
        cluster.help = None;
        (cluster.is_connected, cluster.is_replaced) = (false, false);
        self.effects.actions.push(Action::Kubernetes(KubernetesAction::Connect { is_again }));
    }

    fn cluster_usable(&mut self) {
        self.cluster.error = None;
        self.clusters.insert(KUBERNETES);
        self.publish_cluster();
    }

    /// The cluster cannot be used, and why.
    fn cluster_lost(&mut self, error: String) {
        if self.cluster.error.as_ref() == Some(&error) {
            return;
        }
        self.log_cluster(LineKind::Error, format!("Cluster status error: {error}"));
        self.cluster.error = Some(error);
        self.clusters.remove(KUBERNETES);
        self.publish_cluster();
    }

    fn publish_cluster(&mut self) {
        self.effects.changed.insert(ObjectId::new(Kind::Cluster, KUBERNETES));
    }

    fn log_cluster(&mut self, kind: LineKind, text: String) {
        let (resource, span) = (MAIN.into(), "cluster".to_owned());
        self.effects.lines.push(LogLine { resource, span, kind, text });
    }
}

/// Tilt's words; unlike there, it is tried again.
fn not_connected(error: &str) -> String {
    format!("Tilt encountered an error connecting to your Kubernetes cluster:\n\t{error}")
}
