//! A resource: its images, how it is deployed, and when it updates.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::{ComposeTarget, ImageTarget, KubernetesTarget, LocalTarget};

/// One resource of the Tiltfile.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Manifest {
    /// The name people see and type.
    pub name: String,
    /// Images to build, dependencies first; `None` for resources that never have any.
    pub image_targets: Option<Vec<ImageTarget>>,
    /// What is deployed or run.
    pub deploy_target: DeployTarget,
    /// When the resource updates.
    pub trigger_mode: TriggerMode,
    /// Resources that must have been ready once before this one first updates.
    pub resource_dependencies: Option<Vec<String>>,
    /// The Tiltfile object that declared it; empty for the main Tiltfile.
    pub source_tiltfile: String,
    /// Groups in the UI.
    pub labels: BTreeMap<String, String>,
}

/// What a resource deploys or runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum DeployTarget {
    /// Objects in a cluster.
    Kubernetes(Box<KubernetesTarget>),
    /// A Docker Compose service.
    Compose(Box<ComposeTarget>),
    /// Processes on this machine.
    Local(Box<LocalTarget>),
}

impl Default for DeployTarget {
    fn default() -> Self {
        Self::Local(Box::default())
    }
}

/// When a resource updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TriggerMode {
    /// At start and on every change.
    #[default]
    Auto,
    /// At start, then only when triggered.
    ManualWithAutoInit,
    /// Only when triggered.
    Manual,
    /// On changes, once it was triggered.
    AutoWithManualInit,
}

impl TriggerMode {
    /// Whether the resource updates before anything changed.
    pub fn is_auto_init(self) -> bool {
        matches!(self, Self::Auto | Self::ManualWithAutoInit)
    }

    /// Whether changes make the resource update.
    pub fn is_auto_on_change(self) -> bool {
        matches!(self, Self::Auto | Self::AutoWithManualInit)
    }
}

impl Serialize for TriggerMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(match self {
            Self::Auto => 0,
            Self::ManualWithAutoInit => 1,
            Self::Manual => 2,
            Self::AutoWithManualInit => 3,
        })
    }
}
