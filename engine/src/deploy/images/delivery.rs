//! Gets images into a cluster: by a push to a registry, straight into the nodes, or not at all where the nodes have
//! them anyway.

use std::time::SystemTime;

use engine_docker::{BuildEvent, DockerError, Imported, Listed, PushProgress, Step as Stage};
use engine_formats::{docker::reference::Reference, kube_config::Product};
use engine_model::{BuildDetails, CustomBuild, ImageTarget};

use super::{Built, ClusterImages, ImageError, Images, progress::BuildProgress};
use crate::deploy::{commands, pipeline::Step};

/// Commands that push on their own say so by where they leave the image.
const PUSHED_BY_COMMAND: [&str; 2] = ["local-docker-and-remote", "remote"];

/// How an image gets to a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Not at all, for this reason.
    Skip(&'static str),
    /// Straight into the nodes, which are containers of the Docker engine.
    Nodes(Flavor),
    /// By a registry.
    Push,
}

/// Who made nodes that are containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flavor {
    Kind,
    K3d,
}

impl Flavor {
    fn name(self) -> &'static str {
        match self {
            Self::Kind => "KIND",
            Self::K3d => "k3d",
        }
    }

    fn stage(self) -> &'static str {
        match self {
            Self::Kind => "kind load",
            Self::K3d => "k3d image import",
        }
    }

    /// The name that the maker knows a cluster of the kubeconfig by.
    fn cluster(self, name: &str) -> &str {
        let prefix = match self {
            Self::Kind => "kind-",
            Self::K3d => "k3d-",
        };
        name.strip_prefix(prefix).unwrap_or(name)
    }

    /// The labels of all its containers.
    fn labels(self, cluster: &str) -> Vec<String> {
        match self {
            Self::Kind => vec![format!("io.x-k8s.kind.cluster={cluster}")],
            Self::K3d => vec!["app=k3d".to_owned(), format!("k3d.cluster={cluster}")],
        }
    }

    /// Whether a container runs pods; load balancers and registries do not.
    fn is_node(self, container: &Listed) -> bool {
        let (label, roles) = match self {
            Self::Kind => ("io.x-k8s.kind.role", ["control-plane", "worker"]),
            Self::K3d => ("k3d.role", ["server", "agent"]),
        };
        let role = container.labels.get(label);
        container.state == "running" && role.is_some_and(|it| roles.contains(&it.as_str()))
    }
}

/// Which way an image takes; the reasons come in the order in which Tilt looks at them.
fn way(target: &ImageTarget, built: &Built, cluster: &ClusterImages) -> Way {
    let is_pushed_by_command = match &target.build_details {
        BuildDetails::Custom(build) => PUSHED_BY_COMMAND.contains(&build.output_mode),
        _ => false,
    };
    let has_one_name = built.local == built.deployed;
    if is_pushed_by_command {
        Way::Skip("custom_build() configured to handle push itself")
    } else if !cluster.deployed.contains(&target.image_map_name) {
        Way::Skip("base image does not need deploy")
    } else if cluster.is_built_into {
        Way::Skip("building on cluster's container runtime")
    } else if cluster.product == Product::Kind && has_one_name && !cluster.has_local_registry {
        Way::Nodes(Flavor::Kind)
    } else if cluster.product == Product::K3d && cluster.registry.is_none() {
        Way::Nodes(Flavor::K3d)
    } else {
        Way::Push
    }
}

/// Gets an image that was just built to the cluster; says which stage of the build that was, if any.
pub(super) async fn deliver(
    images: &Images,
    cluster: &ClusterImages,
    target: &ImageTarget,
    built: &Built,
    step: &Step,
) -> (Option<Stage>, Result<(), ImageError>) {
    let delivery = Delivery { images, cluster, target, built, step };
    match way(target, built, cluster) {
        Way::Skip(reason) => {
            step.say(&format!("Skipping push: {reason}"));
            (None, Ok(()))
        }
        way => delivery.run(way).await,
    }
}

/// Makes sure that the cluster has an image that was built before, and says something only if it did not.
pub(super) async fn ensure(
    images: &Images,
    cluster: &ClusterImages,
    target: &ImageTarget,
    built: &Built,
    step: &Step,
) -> Result<(), ImageError> {
    let way = way(target, built, cluster);
    if matches!(way, Way::Skip(_)) || cluster.delivered.has(&built.local) {
        return Ok(());
    }
    let delivery = Delivery { images, cluster, target, built, step };
    if way == Way::Push && delivery.is_in_registry().await? {
        cluster.delivered.add(&built.local);
        return Ok(());
    }
    delivery.run(way).await.1
}

struct Delivery<'a> {
    images: &'a Images,
    cluster: &'a ClusterImages,
    target: &'a ImageTarget,
    built: &'a Built,
    step: &'a Step,
}

impl Delivery<'_> {
    async fn run(&self, way: Way) -> (Option<Stage>, Result<(), ImageError>) {
        let started = SystemTime::now();
        let (name, result) = match way {
            Way::Nodes(flavor) => match self.nodes(flavor).await {
                Ok(nodes) if nodes.is_empty() && flavor == Flavor::K3d => {
                    ("docker push", self.push().await)
                }
                Ok(nodes) if nodes.is_empty() => (flavor.stage(), self.load_with_kind().await),
                Ok(nodes) => (flavor.stage(), self.import(flavor, &nodes).await),
                Err(error) => (flavor.stage(), Err(error)),
            },
            Way::Push | Way::Skip(_) => ("docker push", self.push().await),
        };
        if result.is_ok() {
            self.cluster.delivered.add(&self.built.local);
        }
        let stage = Stage {
            digest: name.to_owned(),
            name: name.to_owned(),
            is_cached: false,
            started: jiff::Timestamp::try_from(started).ok(),
            finished: Some(jiff::Timestamp::now()),
            error: result.as_ref().err().map(ToString::to_string),
        };
        (Some(stage), result)
    }

    fn reference(&self) -> Result<Reference, ImageError> {
        Ok(Reference::parse(&self.built.local)?)
    }

    /// Whether the tag says what is in the image, so that the same tag always means the same image.
    fn has_content_tag(&self) -> bool {
        !matches!(&self.target.build_details, BuildDetails::Custom(build) if is_named_by_command(build))
    }

    async fn is_in_registry(&self) -> Result<bool, ImageError> {
        if !self.has_content_tag() {
            return Ok(false);
        }
        let found = self.images.shared.docker.registry_digest(&self.reference()?).await;
        // Whatever is wrong, a push tells it better.
        Ok(found.is_ok_and(|it| it.is_some()))
    }

    async fn push(&self) -> Result<(), ImageError> {
        let (reference, step) = (self.reference()?, self.step);
        step.say("Pushing with Docker client");
        step.say(&format!("Authenticating to image repo: {}", reference.name()));
        if self.is_in_registry().await? {
            step.say("Skipping push: the registry has this image already");
            return Ok(());
        }
        step.say("Sending image data");
        let mut progress = BuildProgress::default();
        let mut on_progress = |it: PushProgress| {
            let PushProgress { id, status, current, total } = it;
            let event = BuildEvent::Layer { id, status, current, total };
            for line in progress.lines(&event) {
                step.write_with(line.fields, &line.text);
            }
        };
        let pushed = self.images.shared.docker.push(&reference, &mut on_progress).await;
        pushed.map_err(|error| match error {
            DockerError::Push(error) => {
                if let Some(hint) = error.hint() {
                    step.say(&hint);
                }
                ImageError::Refused(error)
            }
            DockerError::Credentials(error) => ImageError::Authenticate(error),
            error => ImageError::Push(error),
        })
    }

    /// The containers that are nodes of the cluster, if they are containers of this Docker engine at all.
    async fn nodes(&self, flavor: Flavor) -> Result<Vec<Listed>, ImageError> {
        let labels = flavor.labels(flavor.cluster(&self.cluster.name));
        let found = self.images.shared.docker.containers(&labels).await?;
        Ok(found.into_iter().filter(|it| flavor.is_node(it)).collect())
    }

    async fn import(&self, flavor: Flavor, nodes: &[Listed]) -> Result<(), ImageError> {
        self.step.say(&format!("Loading image to {}", flavor.name()));
        let docker = &self.images.shared.docker;
        let imported = docker.import(&self.reference()?, nodes, self.has_content_tag()).await;
        let imported =
            imported.map_err(|source| ImageError::Import { cluster: flavor.name(), source })?;
        self.step.say(&told(imported, nodes.len()));
        Ok(())
    }

    /// Leaves it to kind, which may keep its nodes somewhere else than in this Docker engine.
    async fn load_with_kind(&self) -> Result<(), ImageError> {
        self.step.say("Loading image to KIND");
        let cluster = Flavor::Kind.cluster(&self.cluster.name);
        let reference = self.reference()?.to_string();
        let argv = ["kind", "load", "docker-image", &reference, "--name", cluster];
        let argv = argv.into_iter().map(str::to_owned).collect();
        let dir = std::env::current_dir().unwrap_or_default();
        let run = self.images.shared.surroundings.run(argv, dir, &[]);
        let ended = commands::to_end(run, self.step.output()).await;
        if ended.exit_code == 0 {
            return Ok(());
        }
        Err(ImageError::Load(ended.reason))
    }
}

/// Whether the command chooses the name, and may give the same one to any image.
fn is_named_by_command(build: &CustomBuild) -> bool {
    !build.outputs_image_ref_to.is_empty()
}

fn told(imported: Imported, n_nodes: usize) -> String {
    let nodes = if n_nodes == 1 { "1 node".to_owned() } else { format!("{n_nodes} nodes") };
    let Imported { n_layers, n_sent, n_bytes } = imported;
    match n_layers {
        0 => format!("{nodes} already had it"),
        _ => format!(
            "Sent {n_sent} of {n_layers} layers to {nodes} ({})",
            super::progress::size(n_bytes)
        ),
    }
}

#[cfg(test)]
mod tests;
