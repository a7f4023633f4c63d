//! Tells cluster products apart, and which of them are meant for development.

use std::fmt;

use super::types::{Cluster, Context};
use crate::golang::path;

/// What kind of cluster a context leads to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the products")]
pub enum Product {
    /// There is no cluster.
    #[default]
    None,
    /// There is a cluster, which could be anything.
    Unknown,
    Gke,
    Minikube,
    DockerDesktop,
    MicroK8s,
    Crc,
    Krucible,
    Kind,
    K3d,
    RancherDesktop,
    Colima,
    Eks,
    Orbstack,
}

/// The products that a cluster's name gives away by its start, in the order they are tried.
const PREFIXES: [(&str, Product); 12] = [
    ("minikube", Product::Minikube),
    ("docker-for-desktop-cluster", Product::DockerDesktop),
    ("docker-desktop", Product::DockerDesktop),
    ("gke", Product::Gke),
    ("arn:aws:eks:", Product::Eks),
    ("kind-", Product::Kind),
    ("microk8s", Product::MicroK8s),
    ("api-crc-testing", Product::Crc),
    ("krucible-", Product::Krucible),
    ("k3d-", Product::K3d),
    ("rancher-desktop", Product::RancherDesktop),
    ("colima", Product::Colima),
];

/// The suffix of EKS clusters is tried together with the prefix of their other form.
const EKS_INDEX: usize = 4;

impl Product {
    /// Tells the product from the names and places of a context and its cluster.
    pub(super) fn of(context: &Context, cluster: Option<&Cluster>, home: &str) -> Self {
        let name = context.cluster.as_str();
        let by_prefix = PREFIXES.iter().position(|(prefix, _)| name.starts_with(prefix));
        if by_prefix.is_none_or(|index| index >= EKS_INDEX) && name.ends_with(".eksctl.io") {
            return Self::Eks;
        }
        if let Some(index) = by_prefix {
            return PREFIXES[index].1;
        }
        match name {
            "kind" => Self::Kind,
            "orbstack" => Self::Orbstack,
            _ => Self::by_place(&context.origin, cluster, home),
        }
    }

    fn by_place(origin: &str, cluster: Option<&Cluster>, home: &str) -> Self {
        if home.is_empty() {
            return Self::Unknown;
        }
        let inside = |file: &str, dir: &[&str]| {
            file.strip_prefix(&path::join(dir)).is_some_and(|rest| rest.starts_with('/'))
        };
        if inside(origin, &[home, ".config", "k3d"]) {
            return Self::K3d;
        }
        if cluster.is_some_and(|it| inside(&it.certificate_authority, &[home, ".minikube"])) {
            return Self::Minikube;
        }
        if path::base(origin).starts_with("kind-config-") {
            return Self::Kind;
        }
        Self::Unknown
    }

    /// Whether images and objects may go there without asking.
    pub fn is_dev_cluster(self) -> bool {
        !matches!(self, Self::None | Self::Unknown | Self::Gke | Self::Eks)
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "",
            Self::Unknown => "unknown",
            Self::Gke => "gke",
            Self::Minikube => "minikube",
            Self::DockerDesktop => "docker-desktop",
            Self::MicroK8s => "microk8s",
            Self::Crc => "crc",
            Self::Krucible => "krucible",
            Self::Kind => "kind",
            Self::K3d => "k3d",
            Self::RancherDesktop => "rancher-desktop",
            Self::Colima => "colima",
            Self::Eks => "eks",
            Self::Orbstack => "orbstack",
        })
    }
}
