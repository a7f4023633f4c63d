//! Where images go: they stay in the Docker engine that runs them, or a cluster gets them.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use engine_formats::{
    docker::{
        reference::Reference,
        registry::{Registry, RegistryError},
        selector::RefSelector,
    },
    kube_config::Product,
};
use engine_model::{DeployTarget, ImageTarget, Manifest};

use super::ImageError;

/// Where images go.
#[derive(Clone, Debug, Default)]
pub enum Destination {
    /// The engine that builds them runs them, too.
    #[default]
    Docker,
    /// A cluster runs them.
    Cluster(Arc<ClusterImages>),
}

/// What is to be known of a cluster to get images into it.
#[derive(Clone, Debug, Default)]
pub struct ClusterImages {
    /// Where its nodes find images; without one, images keep the names that the Tiltfile gives them.
    pub registry: Option<Registry>,
    /// Whether the cluster itself names that registry.
    pub has_local_registry: bool,
    /// What its nodes are, such as `amd64`; anything else if that is not known.
    pub arch: String,
    /// Who made it.
    pub product: Product,
    /// Its name in the kubeconfig.
    pub name: String,
    /// Whether the Docker engine that builds is the one that runs its containers.
    pub is_built_into: bool,
    /// What commands that build need to find that Docker engine.
    pub docker_env: Vec<String>,
    /// Image maps of images that some resource deploys, and not only other images use.
    pub deployed: HashSet<String>,
    /// Images that it has got, by name; one that takes its place has none.
    pub delivered: Delivered,
}

/// The images that a cluster has got, for everybody who knows the cluster.
#[derive(Clone, Debug, Default)]
pub struct Delivered(Arc<Mutex<HashSet<String>>>);

impl Delivered {
    pub(super) fn has(&self, image: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(image)
    }

    pub(super) fn add(&self, image: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(image.to_owned());
    }
}

impl Destination {
    /// Changes with the names that images get.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Docker => String::new(),
            Self::Cluster(cluster) => cluster.registry.as_ref().map_or("cluster".into(), |it| {
                format!("{} {} {}", it.host, it.host_from_container_runtime, it.single_name)
            }),
        }
    }
}

/// The images that resources of a Tiltfile deploy, by their image maps.
pub fn deployed<'a>(manifests: impl IntoIterator<Item = &'a Manifest>) -> HashSet<String> {
    let mut images = HashSet::new();
    for manifest in manifests {
        match &manifest.deploy_target {
            DeployTarget::Kubernetes(target) => images.extend(target.image_maps.iter().cloned()),
            DeployTarget::Compose(target) => images.extend(target.spec.image_maps.iter().cloned()),
            DeployTarget::Local(_) => {}
        }
    }
    images
}

/// The names of an image, without tags.
#[derive(Clone, Debug)]
pub(super) struct Refs {
    selector: RefSelector,
    registry: Registry,
    local: Reference,
    cluster: Reference,
}

/// An image with the same tag under both its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tagged {
    /// As this machine sees it.
    pub(super) local: Reference,
    /// As what it is deployed to sees it.
    pub(super) cluster: Reference,
}

impl Refs {
    pub(super) fn of(target: &ImageTarget, destination: &Destination) -> Result<Self, ImageError> {
        let given = || target.selector.clone();
        let selector = RefSelector::of_image(&target.selector, target.match_exact)
            .map_err(|source| ImageError::Selector { selector: given(), source })?;
        let registry = match destination {
            Destination::Docker => Registry::default(),
            Destination::Cluster(cluster) => cluster.registry.clone().unwrap_or_default(),
        };
        let host = registry.host.clone();
        Self::new(selector, registry).map_err(|source| ImageError::Registry {
            selector: given(),
            host,
            source: Box::new(source),
        })
    }

    fn new(selector: RefSelector, registry: Registry) -> Result<Self, RegistryError> {
        if !registry.host.is_empty() {
            registry.validate()?;
        }
        let (local, cluster) = (registry.local_ref(&selector)?, registry.cluster_ref(&selector)?);
        Ok(Self { selector, registry, local, cluster })
    }

    /// The names that the Tiltfile gives.
    pub(super) fn without_registry(&self) -> Self {
        let name = self.selector.reference().name_only();
        Self {
            selector: self.selector.clone(),
            registry: Registry::default(),
            local: name.clone(),
            cluster: name,
        }
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Both names with a tag.
    pub(super) fn tagged(&self, suffix: &str) -> Result<Tagged, ImageError> {
        let tag = self.registry.tag(&self.selector, suffix);
        let tagged = |what, name: &Reference| {
            name.with_tag(&tag).map_err(|source| ImageError::BadTag {
                what,
                name: name.to_string(),
                tag: tag.clone(),
                source,
            })
        };
        Ok(Tagged {
            local: tagged("localRef", &self.local)?,
            cluster: tagged("clusterRef", &self.cluster)?,
        })
    }

    /// Both names of an image that somebody else has tagged.
    pub(super) fn given(&self, local: Reference) -> Result<Tagged, ImageError> {
        let registry = &self.registry;
        if registry.host_from_container_runtime.is_empty() || registry.host.is_empty() {
            return Ok(Tagged { cluster: local.clone(), local });
        }
        let name = local.name().replacen(&registry.host, &registry.host_from_container_runtime, 1);
        let tag = local.tag.as_deref().unwrap_or_default();
        let cluster = Reference::parse(&name).and_then(|it| it.with_tag(tag));
        Ok(Tagged { cluster: cluster.map_err(ImageError::ClusterName)?, local })
    }
}

#[cfg(test)]
mod tests {
    use engine_model::{BuildDetails, ComposeBuild, LiveUpdateSpec};

    use super::*;

    fn target(selector: &str) -> ImageTarget {
        ImageTarget {
            selector: selector.to_owned(),
            match_exact: selector.contains(':'),
            match_in_env_vars: false,
            override_command: None,
            override_args: None,
            live_update_name: String::new(),
            live_update_spec: LiveUpdateSpec::default(),
            live_update_reconciler: false,
            docker_image_name: String::new(),
            cmd_image_name: String::new(),
            build_details: BuildDetails::Compose(ComposeBuild::default()),
            is_live_update_only: false,
            file_watch_ignores: None,
            image_map_name: selector.to_owned(),
        }
    }

    fn to(host: &str, from_cluster: &str, single_name: &str) -> Destination {
        let registry = Registry {
            host: host.to_owned(),
            host_from_container_runtime: from_cluster.to_owned(),
            single_name: single_name.to_owned(),
        };
        let registry = (!host.is_empty()).then_some(registry);
        Destination::Cluster(Arc::new(ClusterImages { registry, ..ClusterImages::default() }))
    }

    #[test]
    fn images_are_named_for_this_machine_and_for_the_cluster() {
        for (image, destination, local, cluster) in [
            ("web", Destination::Docker, "web:t", "web:t"),
            ("web:v1", to("", "", ""), "web:t", "web:t"),
            ("web", to("localhost:5000", "", ""), "localhost:5000/web:t", "localhost:5000/web:t"),
            (
                "gcr.io/foo/bar:v1",
                to("localhost:5000", "registry:5000", ""),
                "localhost:5000/gcr.io_foo_bar:t",
                "registry:5000/gcr.io_foo_bar:t",
            ),
            (
                "localhost:5000/web",
                to("localhost:5000", "", ""),
                "localhost:5000/web:t",
                "localhost:5000/web:t",
            ),
            ("gcr.io/a/b", to("ecr.io/x", "", "all"), "ecr.io/x/all:b-t", "ecr.io/x/all:b-t"),
        ] {
            let tagged = Refs::of(&target(image), &destination).unwrap().tagged("t").unwrap();
            assert_eq!(tagged.local.familiar(), local);
            assert_eq!(tagged.cluster.familiar(), cluster);
        }
    }

    #[test]
    fn a_name_that_a_command_chose_is_seen_otherwise_from_the_cluster() {
        let given = Reference::parse("localhost:5000/a/b:v1").unwrap();
        for (destination, cluster) in [
            (Destination::Docker, "localhost:5000/a/b:v1"),
            (to("localhost:5000", "", ""), "localhost:5000/a/b:v1"),
            (to("localhost:5000", "registry:5000", ""), "registry:5000/a/b:v1"),
            (to("localhost:6000", "registry:5000", ""), "localhost:5000/a/b:v1"),
        ] {
            let refs = Refs::of(&target("web"), &destination).unwrap();
            assert_eq!(refs.given(given.clone()).unwrap().cluster.familiar(), cluster);
        }
    }

    #[test]
    fn names_that_make_no_sense_are_told() {
        let refs = Refs::of(&target("web"), &to("localhost:5000", "", "")).unwrap();
        assert_eq!(
            refs.tagged("a b").unwrap_err().to_string(),
            "tagging localRef localhost:5000/web as a b: invalid tag format"
        );
        assert_eq!(
            Refs::of(&target("web"), &to("not a host", "", "")).unwrap_err().to_string(),
            "applying image web to registry not a host: validating new RefSet with configuration ref \"web\": host: \
             Invalid value: \"not a host\": invalid reference format"
        );
    }
}
