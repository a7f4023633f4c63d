//! Why a resource that wants to update does not: said in Tilt's words, with what it waits for.

use std::sync::Arc;

use engine_model::{FilePath, ImageName};

use crate::resource::ResourceName;

/// Why a resource does not update now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// A Tiltfile is about to say what the resources are, or which of these take part.
    TiltfileReload(Arc<[ResourceName]>),
    /// A resource that tolerates nothing beside it updates.
    WaitingForLocal(ResourceName),
    /// It tolerates nothing beside it, and others update.
    Unparallelizable,
    /// Objects that belong to no workload are being deployed.
    WaitingForUncategorized(ResourceName),
    /// An image of it is being built for another resource.
    BuildingComponent(Vec<ImageName>),
    /// Dependencies have never been ready.
    WaitingForDeps(Arc<[ResourceName]>),
    /// The cluster cannot be used.
    WaitingForCluster(&'static str),
    /// Containers that can take the change are about to run.
    WaitingForDeploy,
    /// Its updates keep changing its own inputs.
    RebuildLoop {
        /// A file that keeps changing.
        file: FilePath,
        /// The resource that was updating when it changed.
        during: ResourceName,
    },
}

/// Something that a resource waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitsOn {
    /// A resource.
    Resource(ResourceName),
    /// An image.
    Image(ImageName),
    /// A cluster.
    Cluster(&'static str),
}

impl Hold {
    /// Tilt's word for the reason.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::TiltfileReload(_) => "tiltfile-reload",
            Self::WaitingForLocal(_) => "waiting-for-local",
            Self::Unparallelizable => "is-unparallelizable-local",
            Self::WaitingForUncategorized(_) => "waiting-for-uncategorized",
            Self::BuildingComponent(_) => "building-component",
            Self::WaitingForDeps(_) => "waiting-for-dep",
            Self::WaitingForCluster(_) => "waiting-for-cluster",
            Self::WaitingForDeploy => "waiting-for-deploy",
            Self::RebuildLoop { .. } => "rebuild-loop",
        }
    }

    /// What it waits for.
    pub fn on(&self) -> Vec<WaitsOn> {
        let resource = |it: &ResourceName| WaitsOn::Resource(it.clone());
        match self {
            Self::WaitingForLocal(name)
            | Self::WaitingForUncategorized(name)
            | Self::RebuildLoop { during: name, .. } => vec![resource(name)],
            Self::Unparallelizable | Self::WaitingForDeploy => Vec::new(),
            Self::BuildingComponent(images) => {
                images.iter().map(|it| WaitsOn::Image(it.clone())).collect()
            }
            Self::TiltfileReload(names) | Self::WaitingForDeps(names) => {
                names.iter().map(resource).collect()
            }
            Self::WaitingForCluster(name) => vec![WaitsOn::Cluster(name)],
        }
    }
}
