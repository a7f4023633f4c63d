//! The connection to the Kubernetes cluster: carries out what the world asks for there, and reports what is seen.

mod delete;
mod follower;
mod images;
mod kubeconfig;
mod link;
mod logs;

use std::{collections::HashMap, sync::Arc, time::Duration};

use builtins::api::KubeCluster;
use engine_core::{
    Event, Time, World,
    cluster::ClusterEvent,
    resource::{
        ResourceName, UpdateId,
        workload::{ForwardStatus, KubernetesAction, WorkloadEvent},
    },
    retry::{Obstacle, Trial},
};
use engine_formats::docker::registry::Registry;
use engine_kubernetes::{Cluster, ForwardReport, Forwarder, KubernetesError, PodPorts};
use engine_model::Forward;
use jiff::Timestamp;
use tokio::sync::{mpsc, watch};

use crate::{
    deploy::kubernetes::obstacle,
    logs::LogStore,
    tasks::{TaskKey, Tasks},
};

pub(crate) use delete::deleted;
pub(crate) use follower::health;
pub(crate) use images::BuilderParts;
pub(crate) use kubeconfig::{KubeconfigPlaces, PERIOD};
pub(crate) use link::LinkParts;
use link::{Connected, Link};

/// The connection to the cluster, and everything that is done through it.
pub(crate) struct KubernetesDriver<M> {
    messages: mpsc::UnboundedSender<M>,
    logs: LogStore,
    /// Older lines of logs and older events do not matter.
    started: Time,
    /// Whether ports of pods are forwarded.
    forwards_ports: bool,
    /// The cluster that the last load found, with the text of its kubeconfig.
    pub(crate) found: Option<(KubeCluster, String)>,
    /// The registry that the Tiltfile names.
    default_registry: Option<Registry>,
    link: Option<Link>,
    n_links: u64,
    /// Dropping one ends the reading of a log, after a while.
    readers: HashMap<(ResourceName, String), watch::Sender<()>>,
    /// Dropping one closes its ports.
    forwarders: HashMap<ResourceName, Forwarder>,
    /// Closes when everything that was to be deleted is.
    deletions: HashMap<ResourceName, watch::Receiver<()>>,
}

/// What became known through a connection, which is numbered; nothing when work has ended that tells nothing.
#[derive(Debug)]
pub(crate) struct Report {
    link: u64,
    seen: Option<Seen>,
}

impl Report {
    /// Whether somebody has to build images from now on.
    pub(crate) fn needs_builder(&self) -> bool {
        matches!(self.seen, Some(Seen::Connected(_)))
    }
}

/// What became known of a cluster.
#[derive(Debug)]
pub(crate) enum Seen {
    /// It answers.
    Connected(Box<Connected>),
    /// It could not be reached yet.
    Unreachable(String),
    /// It is well, or not.
    Health(Result<(), KubernetesError>),
    /// Something about what was deployed.
    Tracked(engine_kubernetes::Seen),
    /// Something about a log, a port or an obstacle of a resource.
    Workload(ResourceName, WorkloadEvent),
}

/// Reports through one connection.
type Reporter = Arc<dyn Fn(Seen) + Send + Sync>;

impl<M: From<Report> + Send + 'static> KubernetesDriver<M> {
    /// A driver without a cluster.
    pub(crate) fn new(
        messages: mpsc::UnboundedSender<M>,
        logs: LogStore,
        started: Time,
        forwards_ports: bool,
    ) -> Self {
        Self {
            messages,
            logs,
            started,
            forwards_ports,
            found: None,
            default_registry: None,
            link: None,
            n_links: 0,
            readers: HashMap::new(),
            forwarders: HashMap::new(),
            deletions: HashMap::new(),
        }
    }

    /// Does what the world asks for; what needs more than the cluster is not for this.
    pub(crate) fn act(&mut self, action: KubernetesAction, tasks: &mut Tasks<M>) {
        match action {
            KubernetesAction::Follow { resource, interest } => {
                if let Some(tracker) = self.link.as_ref().and_then(|it| it.tracker.as_ref()) {
                    tracker.follow(&resource, interest);
                }
            }
            KubernetesAction::Unfollow { resource, is_gone } => {
                if let Some(tracker) = self.link.as_ref().and_then(|it| it.tracker.as_ref()) {
                    tracker.forget(&resource);
                }
                if is_gone {
                    self.deletions.remove(&resource);
                }
            }
            KubernetesAction::ReadLog { resource, source, is_marked } => {
                self.read_log(resource, source, is_marked, tasks);
            }
            KubernetesAction::StopLog { resource, container_id } => {
                self.readers.remove(&(resource, container_id));
            }
            KubernetesAction::Forward { resource, object, namespace, pod, forwards } => {
                let forwards = forwards.iter().map(to_forward).collect();
                self.forward(resource, object, PodPorts { namespace, pod, forwards });
            }
            KubernetesAction::StopForward { resource } => {
                self.forwarders.remove(&resource);
            }
            KubernetesAction::TryObstacle { resource, id, obstacle, after } => {
                self.try_obstacle(resource, id, obstacle, after, tasks);
            }
            KubernetesAction::StopTrying { resource } => {
                tasks.abort_all(|it| matches!(it, TaskKey::Retry(name) if *name == resource));
            }
            KubernetesAction::Connect { .. }
            | KubernetesAction::FindContainers { .. }
            | KubernetesAction::Delete { .. } => {}
        }
    }

    /// Takes in what became known, and says what that means; what is known of an earlier cluster does not matter.
    pub(crate) fn on_report(
        &mut self,
        report: Report,
        builder: Option<BuilderParts>,
    ) -> Option<Event> {
        let Report { link: id, seen } = report;
        let link = self.link.as_mut().filter(|it| it.id == id);
        let seen = match seen? {
            // Whatever refused an object, the update has to run again.
            Seen::Workload(resource, event @ WorkloadEvent::ObstacleTried { .. }) => {
                return Some(Event::Workload { resource, event });
            }
            seen => seen,
        };
        let link = link?;
        Some(Event::Cluster(match seen {
            Seen::Connected(connected) => {
                let report = self.reporter();
                return self.on_connected(*connected, report, builder?);
            }
            Seen::Unreachable(error) => {
                link.is_usable.send_replace(false);
                ClusterEvent::Unreachable { error }
            }
            Seen::Health(Ok(())) => {
                link.is_usable.send_replace(true);
                ClusterEvent::Healthy
            }
            Seen::Health(Err(error)) => {
                link.is_usable.send_replace(false);
                let is_replaced = matches!(error, KubernetesError::OtherCluster { .. });
                ClusterEvent::Unhealthy { error: follower::in_words(&error), is_replaced }
            }
            Seen::Tracked(seen) => return Some(tracked(seen)),
            Seen::Workload(resource, event) => return Some(Event::Workload { resource, event }),
        }))
    }

    /// Whom work that uses the cluster tells what it sees.
    pub(crate) fn reporter(&self) -> Reporter {
        let (messages, link) = (self.messages.clone(), self.n_links);
        Arc::new(move |seen| {
            // Nobody listens when the engine ends.
            let _ = messages.send(Report { link, seen: Some(seen) }.into());
        })
    }

    /// The last message of a task that tells nothing.
    fn end(&self) -> M {
        Report { link: self.n_links, seen: None }.into()
    }

    fn forward(&mut self, resource: ResourceName, object: String, ports: PodPorts) {
        if !self.forwards_ports {
            return;
        }
        let Some(cluster) = self.cluster().cloned() else { return };
        let (report, name) = (self.reporter(), resource.clone());
        let forwards = ports.forwards.clone();
        let report: ForwardReport = Arc::new(move |status| {
            let index = forwards.iter().position(|it| *it == status.forward);
            let Some(index) = index else { return };
            let status = ForwardStatus {
                local_port: status.local_port,
                addresses: status.addresses,
                started: status.started.map(|it| Time(it.as_microsecond())),
                error: status.error,
            };
            let object = object.clone();
            let event = WorkloadEvent::ForwardObserved { object, index, status };
            report(Seen::Workload(name.clone(), event));
        });
        self.forwarders.insert(resource, Forwarder::start(&cluster, ports, &report));
    }

    fn try_obstacle(
        &self,
        resource: ResourceName,
        id: UpdateId,
        obstacle: Obstacle,
        after: Duration,
        tasks: &mut Tasks<M>,
    ) {
        let (cluster, link) = (self.cluster().cloned(), self.n_links);
        let work = async move {
            tokio::time::sleep(after).await;
            match cluster {
                Some(cluster) => obstacle::trial(&obstacle, &cluster).await,
                None => Trial::Failed,
            }
        };
        tasks.spawn(TaskKey::Retry(resource.clone()), work, move |result| {
            let event = |trial| WorkloadEvent::ObstacleTried { id, trial };
            let seen = result.ok().map(|it| Seen::Workload(resource, event(it)));
            Report { link, seen }.into()
        });
    }
}

impl<M> KubernetesDriver<M> {
    /// The cluster, if one is connected.
    pub(crate) fn cluster(&self) -> Option<&Cluster> {
        self.link.as_ref()?.cluster.as_ref()
    }

    /// The cluster that is pinned.
    pub(crate) fn pinned(&self) -> Option<&KubeCluster> {
        self.link.as_ref().map(|it| &it.known)
    }

    /// The cluster that Tiltfiles are about: the pinned one as long as it can be used.
    pub(crate) fn usable(&self, world: &World) -> Option<KubeCluster> {
        self.pinned().filter(|_| world.cluster().error().is_none()).cloned()
    }

    /// The context of the cluster; empty before one is pinned.
    pub(crate) fn context(&self) -> &str {
        self.pinned().map_or("", |it| &it.context)
    }

    /// Which connection it is.
    pub(crate) fn link_id(&self) -> u64 {
        self.n_links
    }

    /// Something could not be done; if that is because of the cluster, it is known before the end is told.
    pub(crate) fn check(&self) {
        if let Some(link) = &self.link {
            link.check.notify_one();
        }
    }

    /// Since when lines and events matter.
    fn since(&self) -> Option<Timestamp> {
        Timestamp::from_microsecond(self.started.0.max(0)).ok()
    }
}

fn tracked(seen: engine_kubernetes::Seen) -> Event {
    use engine_kubernetes::Seen;
    let (resource, event) = match seen {
        Seen::Pods { resource, pods } => (resource, WorkloadEvent::PodsObserved(pods)),
        Seen::Event { resource, message: text, is_warning } => {
            (resource, WorkloadEvent::Noticed { text, is_warning })
        }
        Seen::Services { resource, links } => (resource, WorkloadEvent::ServicesObserved(links)),
        Seen::Warning(text) => return Event::Cluster(ClusterEvent::Warned(text)),
    };
    Event::Workload { resource: resource.into(), event }
}

fn to_forward(forward: &Forward) -> engine_kubernetes::Forward {
    engine_kubernetes::Forward {
        local_port: u16::try_from(forward.local_port).unwrap_or(0),
        container_port: u16::try_from(forward.container_port).unwrap_or(0),
        host: forward.host.clone(),
    }
}
