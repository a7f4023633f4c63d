//! Who builds images for the cluster, and where they go.

use std::{collections::HashSet, path::PathBuf, sync::Arc};

use builtins::api::KubeCluster;
use engine_formats::docker::registry::Registry;
use engine_model::{DeployTarget, Load, LocalRegistry, Manifest};

use super::KubernetesDriver;
use crate::deploy::{
    cluster_docker::{ClusterDocker, ClusterDockerError},
    commands::Surroundings,
    images::{ClusterImages, Delivered, Destination, Images},
};

/// What builds of images need beside the cluster.
pub(crate) struct BuilderParts {
    /// What commands find around them.
    pub(crate) surroundings: Surroundings,
    /// Where to remember which images were built from what.
    pub(crate) memory: Option<PathBuf>,
    /// Builds images for Compose services; those that both use are built once.
    pub(crate) shared: Option<Images>,
}

/// Builds images for a cluster.
pub(super) struct Builder {
    /// How they get into it.
    images: ClusterImages,
    /// Builds them, or why nobody does.
    builder: Result<Images, Arc<ClusterDockerError>>,
}

/// Decides who builds images for a cluster, and where they go.
pub(super) fn builder(
    known: &KubeCluster,
    registry: Option<&LocalRegistry>,
    docker: Result<ClusterDocker, ClusterDockerError>,
    arch: String,
    parts: BuilderParts,
) -> Builder {
    let (is_built_into, docker_env) = match &docker {
        Ok(it) => (it.is_built_into, it.env.clone()),
        Err(_) => (false, Vec::new()),
    };
    let images = ClusterImages {
        has_local_registry: registry.is_some(),
        registry: registry.map(Registry::from),
        arch,
        product: known.product,
        name: known.cluster.clone(),
        is_built_into,
        docker_env,
        deployed: HashSet::new(),
        delivered: Delivered::default(),
    };
    let builder = docker.map_err(Arc::new).map(|it| match parts.shared {
        Some(images) if it.env.is_empty() => images,
        _ => Images::new(it.docker, parts.surroundings, parts.memory),
    });
    Builder { images, builder }
}

impl<M> KubernetesDriver<M> {
    /// Who builds images for the cluster, of which these are deployed.
    pub(crate) fn images(
        &self,
        deployed: HashSet<String>,
    ) -> Option<Result<Images, Arc<ClusterDockerError>>> {
        let Builder { images, builder } = self.link.as_ref()?.builder.as_ref()?;
        let mut images = images.clone();
        images.registry = self.registry();
        images.deployed = deployed;
        let destination = Destination::Cluster(Arc::new(images));
        Some(builder.as_ref().map(|it| it.going_to(destination)).map_err(Clone::clone))
    }

    /// Takes over the registry that the main Tiltfile names for what it deploys; a load that failed before it deployed
    /// anything says nothing about it.
    pub(crate) fn set_default_registry(&mut self, load: &Load, is_good: bool) {
        let is_deployed = |it: &Manifest| matches!(it.deploy_target, DeployTarget::Kubernetes(_));
        let is_deployed = load.manifests.iter().any(is_deployed);
        if !is_deployed && !is_good {
            return;
        }
        let registry = load.default_registry.as_ref().filter(|_| is_deployed).map(Registry::from);
        self.default_registry = registry.filter(|it| !it.host.is_empty());
    }

    /// The registry that images for the cluster go to.
    pub(crate) fn registry(&self) -> Option<Registry> {
        let found = self.link.as_ref()?.builder.as_ref()?.images.registry.clone();
        found.or_else(|| self.default_registry.clone())
    }
}
