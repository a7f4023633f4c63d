//! The Kubernetes cluster: whether it can be reached, that it is still the same one, and what is told about it.
//!
//! The cluster of the first load that needs one is pinned. Whatever becomes of kubeconfig files and contexts later,
//! nothing is written anywhere else; a cluster that was made again under the same context is taken by the next load.

mod follower;

use std::{collections::HashSet, sync::Arc, time::Duration};

use builtins::api::KubeCluster;
use engine_core::{Event, resource::Resource, tiltfile::MAIN};
use engine_formats::docker::registry::Registry;
use engine_kubernetes::{Cluster, KubernetesError, Tracker};
use engine_model::DeployTarget;
use serde_json::json;
use tokio::{
    sync::{Notify, watch},
    task::JoinSet,
};

use super::{
    Message, Mode, Runtime, clock, forwards::ForwardSeen, names, pod_logs::LogSeen,
    workloads::Workloads,
};
use crate::{
    api::kind,
    deploy::{
        self,
        cluster_docker::ClusterDocker,
        images::{ClusterImages, Destination, Images},
        registry::LocalRegistry,
    },
};

pub(super) use follower::health;
use follower::in_words;
use follower::{Follower, Report};

/// How long whoever got no answer leaves the cluster alone.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// What is known of clusters.
#[derive(Default)]
pub(super) struct Kubernetes {
    link: Option<Link>,
    pub(super) workloads: Workloads,
    n_links: u64,
}

/// The way to the cluster that is pinned.
struct Link {
    /// Which one; what becomes known of an earlier one does not matter any more.
    id: u64,
    known: KubeCluster,
    /// The kubeconfig itself.
    text: String,
    cluster: Option<Cluster>,
    tracker: Option<Tracker>,
    /// How images get into it, once it is connected.
    images: Option<ClusterImages>,
    /// Builds them, or why nobody does.
    builder: Option<Result<Images, String>>,
    /// Makes the cluster be asked at once how it does.
    check: Arc<Notify>,
    /// Whether another cluster answers where it was.
    is_replaced: bool,
    /// Tells who waits for it whether it can be used; closes when another one takes its place.
    is_usable: watch::Sender<bool>,
    /// Looks after it; ends with it.
    _tasks: JoinSet<()>,
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

/// What became known of a cluster.
pub(super) enum Seen {
    /// It answers.
    Connected(Box<Connected>),
    /// It could not be reached yet.
    Unreachable(String),
    /// It is well, or not.
    Health(Result<(), KubernetesError>),
    /// Something about what was deployed.
    Tracked(engine_kubernetes::Seen),
    /// Something about the log of a container.
    Log(LogSeen),
    /// Something about a port.
    Forward(ForwardSeen),
}

/// A cluster that answers.
pub(super) struct Connected {
    cluster: Cluster,
    version: String,
    arch: String,
    registry: Option<LocalRegistry>,
    docker: Result<ClusterDocker, String>,
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Connected(_) => "Connected",
            Self::Unreachable(_) => "Unreachable",
            Self::Health(_) => "Health",
            Self::Tracked(_) => "Tracked",
            Self::Log(_) => "Log",
            Self::Forward(_) => "Forward",
        })
    }
}

impl Runtime {
    /// The cluster that Tiltfiles are about, once one is pinned and as long as it can be used.
    pub(super) fn pinned_cluster(&self) -> Option<KubeCluster> {
        let link = self.kubernetes.link.as_ref()?;
        self.cluster_error().is_none().then(|| link.known.clone())
    }

    /// The context of the cluster; empty before one is pinned.
    pub(super) fn context(&self) -> &str {
        self.kubernetes.link.as_ref().map_or("", |it| &it.known.context)
    }

    /// Whether commands keep the kubeconfig that they have.
    pub(super) fn has_pinned_cluster(&self) -> bool {
        self.kubernetes.link.is_some()
    }

    /// Connects to the cluster as soon as some resource is deployed there.
    pub(super) fn watch_kubernetes(&mut self, found: Option<&KubeCluster>) {
        let is_deployed =
            |it: &Resource| matches!(it.manifest.deploy_target, DeployTarget::Kubernetes(_));
        if !self.scheduler.resources().iter().any(is_deployed) {
            return;
        }
        let Some(found) = found else { return };
        let is_again = match &self.kubernetes.link {
            None => false,
            // Only a cluster that is of no use any more is replaced, and only by one of the same name.
            Some(link) => {
                if self.cluster_error().is_none() || link.known.context != found.context {
                    return;
                }
                true
            }
        };
        let Some(path) =
            self.kubeconfig.clone().filter(|_| !is_again).or_else(|| found.path.clone())
        else {
            let problem = found.problem.clone().unwrap_or_else(|| {
                "invalid configuration: no configuration has been provided, try setting \
                 KUBERNETES_MASTER environment variable"
                    .to_owned()
            });
            return self.cluster_is_lost(&not_connected(&problem));
        };
        let Ok(text) = std::fs::read_to_string(&path) else { return };
        if is_again {
            // One that is away is waited for; what is to be deleted there is not forgotten.
            let is_same = |it: &Link| it.text == text && !it.is_replaced;
            if self.kubernetes.link.as_ref().is_some_and(is_same) {
                return;
            }
            let log = self.logs.writer(MAIN, "cluster");
            self.pin_kubeconfig(&path, &log);
        }
        let path = self.kubeconfig.clone().or(Some(path));
        self.link(KubeCluster { path, ..found.clone() }, text);
    }

    fn link(&mut self, known: KubeCluster, text: String) {
        self.kubernetes.n_links += 1;
        let id = self.kubernetes.n_links;
        let messages = self.messages.clone();
        let report: Report = Arc::new(move |seen| {
            // Nobody listens when the engine ends.
            let _ = messages.send(Message::Kubernetes(id, seen));
        });
        let check = Arc::new(Notify::new());
        let mut tasks = JoinSet::new();
        let follower = Follower {
            text: text.clone(),
            namespace: self.settings.namespace.clone(),
            audit: self.audit.about(&known.context).sink(),
            known: known.clone(),
            has_default_registry: self.default_registry().is_some(),
            environment: self.environment.get(),
            surroundings: self.surroundings(),
            log: self.logs.writer(MAIN, "cluster"),
            check: Arc::clone(&check),
            report,
        };
        tasks.spawn(follower.run());
        let link = Link {
            id,
            known,
            text,
            cluster: None,
            tracker: None,
            images: None,
            builder: None,
            check,
            is_replaced: false,
            is_usable: watch::Sender::new(false),
            _tasks: tasks,
        };
        self.kubernetes.link = Some(link);
    }

    pub(super) fn take_kubernetes(&mut self, id: u64, seen: Seen) {
        if self.kubernetes.link.as_ref().is_none_or(|it| it.id != id) {
            return;
        }
        match seen {
            Seen::Connected(connected) => self.cluster_connected(*connected),
            Seen::Unreachable(error) => self.cluster_is_lost(&not_connected(&error)),
            Seen::Health(Ok(())) => self.cluster_is_well(),
            Seen::Health(Err(error)) => {
                if let Some(link) = &mut self.kubernetes.link {
                    link.is_replaced = matches!(error, KubernetesError::OtherCluster { .. });
                }
                self.cluster_is_lost(&in_words(&error));
            }
            Seen::Tracked(seen) => self.take_tracked(seen),
            Seen::Log(seen) => self.log_seen(seen),
            Seen::Forward(seen) => self.forward_seen(seen),
        }
    }

    fn cluster_connected(&mut self, connected: Connected) {
        let since = jiff::Timestamp::try_from(clock::to_system(self.settings.started));
        let messages = self.messages.clone();
        let Some(link) = &mut self.kubernetes.link else { return };
        let id = link.id;
        let report = Arc::new(move |seen| {
            let _ = messages.send(Message::Kubernetes(id, Seen::Tracked(seen)));
        });
        let cluster = connected.cluster;
        link.tracker = Some(Tracker::new(cluster.clone(), since.unwrap_or_default(), report));
        link.cluster = Some(cluster);
        link.is_usable.send_replace(true);
        let known = &link.known;
        let mut status = json!({
            "arch": connected.arch,
            "version": connected.version,
            "connectedAt": clock::micro(clock::now()),
            "connection": {"kubernetes": {
                "context": known.context,
                "namespace": known.namespace,
                "cluster": known.cluster,
                "product": known.product.to_string(),
                "configPath": known.path,
            }},
        });
        if let Some(registry) = &connected.registry {
            status["registry"] = json!(registry);
        }
        self.store.set_status(kind::CLUSTER, names::KUBERNETES, &status);
        self.use_builder(connected.registry, connected.docker, connected.arch);
        self.follow_all_workloads();
        self.step(Event::ClusterChanged { cluster: names::KUBERNETES, is_usable: true });
    }

    /// Decides who builds images for the cluster, and where they go.
    fn use_builder(
        &mut self,
        registry: Option<LocalRegistry>,
        docker: Result<ClusterDocker, String>,
        arch: String,
    ) {
        let surroundings = self.surroundings_for("build of an image");
        let file = self.settings.image_memory.clone();
        // Images that Compose services use too are built once.
        let shared = self.docker.as_ref().and_then(|it| it.images.clone());
        let Some(link) = &mut self.kubernetes.link else { return };
        let (is_built_into, docker_env) = match &docker {
            Ok(it) => (it.is_built_into, it.env.clone()),
            Err(_) => (false, Vec::new()),
        };
        link.images = Some(ClusterImages {
            has_local_registry: registry.is_some(),
            registry: registry.map(|it| it.registry()),
            arch,
            product: link.known.product,
            name: link.known.cluster.clone(),
            is_built_into,
            docker_env,
            deployed: HashSet::new(),
        });
        link.builder = Some(docker.map(|it| match shared {
            Some(images) if it.env.is_empty() => images,
            _ => Images::new(it.docker, surroundings, file),
        }));
    }

    /// Who builds images for the cluster as the Tiltfile has them now.
    pub(super) fn cluster_images(&self) -> Option<Result<Images, String>> {
        let link = self.kubernetes.link.as_ref()?;
        let mut images = link.images.clone()?;
        images.registry = self.cluster_registry();
        let manifests = self.scheduler.resources().iter().map(|it| &*it.manifest);
        images.deployed = deploy::images::deployed(manifests);
        let destination = Destination::Cluster(Arc::new(images));
        let builder = link.builder.as_ref()?.as_ref();
        Some(builder.map(|it| it.going_to(destination)).map_err(Clone::clone))
    }

    /// The registry that images for the cluster go to.
    pub(super) fn cluster_registry(&self) -> Option<Registry> {
        let found = self.kubernetes.link.as_ref()?.images.as_ref()?.registry.clone();
        found.or_else(|| self.default_registry())
    }

    /// The registry that the Tiltfile names.
    fn default_registry(&self) -> Option<Registry> {
        let spec = self.store.get(kind::CLUSTER, names::KUBERNETES)?.spec();
        let text =
            |name: &str| spec["defaultRegistry"][name].as_str().unwrap_or_default().to_owned();
        let registry = Registry {
            host: text("host"),
            host_from_container_runtime: text("hostFromContainerRuntime"),
            single_name: text("singleName"),
        };
        (!registry.host.is_empty()).then_some(registry)
    }

    fn cluster_is_well(&mut self) {
        if self.cluster_error().is_none() {
            return;
        }
        let log = self.logs.writer(MAIN, "cluster");
        log.info("The Kubernetes cluster answers again");
        self.set_cluster_error(None);
        self.tell_usable(true);
        self.step(Event::ClusterChanged { cluster: names::KUBERNETES, is_usable: true });
    }

    /// Why the cluster cannot be used, if that is so.
    pub(super) fn cluster_error(&self) -> Option<String> {
        let status = self.store.get(kind::CLUSTER, names::KUBERNETES)?.status();
        status["error"].as_str().map(ToOwned::to_owned)
    }

    fn set_cluster_error(&self, error: Option<&str>) {
        let mut status = match self.store.get(kind::CLUSTER, names::KUBERNETES) {
            Some(object) => object.status(),
            None => return,
        };
        if !status.is_object() {
            status = json!({"connectedAt": null});
        }
        match (error, status.as_object_mut()) {
            (Some(error), Some(fields)) => drop(fields.insert("error".to_owned(), json!(error))),
            (None, Some(fields)) => drop(fields.remove("error")),
            (_, None) => {}
        }
        self.store.set_status(kind::CLUSTER, names::KUBERNETES, &status);
    }

    /// The cluster cannot be used, and why.
    pub(super) fn cluster_is_lost(&mut self, error: &str) {
        if self.cluster_error().is_some_and(|it| it == error) {
            return;
        }
        let log = self.logs.writer(MAIN, "cluster");
        log.error(&format!("Cluster status error: {error}"));
        self.set_cluster_error(Some(error));
        self.tell_usable(false);
        // Even if nothing could be done with it before: `ci` gives up now.
        self.has_changed = true;
        self.step(Event::ClusterChanged { cluster: names::KUBERNETES, is_usable: false });
    }

    /// Something could not be done; if that is because of the cluster, it is known before the end is told.
    pub(super) fn doubt_cluster(&self) {
        if let Some(link) = self.kubernetes.link.as_ref().filter(|_| self.settings.mode == Mode::Up)
        {
            link.check.notify_one();
        }
    }

    fn tell_usable(&self, is_usable: bool) {
        if let Some(link) = &self.kubernetes.link {
            link.is_usable.send_replace(is_usable);
        }
    }

    /// For those who have to do something with the cluster, also if it is away for a while.
    pub(super) fn patience(&self) -> Option<Patience> {
        let link = self.kubernetes.link.as_ref()?;
        Some(Patience { check: Arc::clone(&link.check), is_usable: link.is_usable.subscribe() })
    }

    /// Which connection it is, for those who report of it.
    pub(super) fn link_id(&self) -> u64 {
        self.kubernetes.n_links
    }

    /// The cluster, if one is connected.
    pub(super) fn cluster(&self) -> Option<&Cluster> {
        self.kubernetes.link.as_ref()?.cluster.as_ref()
    }

    pub(super) fn tracker(&self) -> Option<&Tracker> {
        self.kubernetes.link.as_ref()?.tracker.as_ref()
    }
}

/// Tilt's words; unlike there, it is tried again.
fn not_connected(error: &str) -> String {
    format!("Tilt encountered an error connecting to your Kubernetes cluster:\n\t{error}")
}

impl std::fmt::Debug for Kubernetes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kubernetes").finish_non_exhaustive()
    }
}
