//! Objects of a cluster as one resource deploys them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use crate::{GoDuration, IgnoreDef, Link};

/// The Kubernetes side of a resource.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KubernetesTarget {
    /// The objects, as a YAML stream; empty for custom deploys.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub yaml: String,
    /// Images to inject.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_maps: Vec<String>,
    /// Where images are, in objects of kinds that are not built in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_locators: Vec<ImageLocator>,
    /// How long an apply may take.
    pub timeout: GoDuration,
    /// More pods that belong to the resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_discovery_template_spec: Option<DiscoveryTemplate>,
    /// Ports to forward.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_forward_template_spec: Option<PortForwardTemplate>,
    /// Which logs to stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_log_stream_template_spec: Option<PodLogStreamTemplate>,
    /// How pods are found, if not by default.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub discovery_strategy: String,
    /// The command that applies, for custom deploys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apply_cmd: Option<ApplyCmd>,
    /// What causes a custom deploy again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_on: Option<RestartOn>,
    /// The command that deletes, for custom deploys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_cmd: Option<ApplyCmd>,
    /// The cluster object's name.
    pub cluster: &'static str,
    /// Whether objects are applied on the server's side.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub server_side_apply: bool,
    /// The resource's name.
    #[serde(rename = "Name")]
    pub name: String,
    /// What counts as ready.
    #[serde(rename = "PodReadinessMode")]
    pub pod_readiness: PodReadiness,
    /// Links shown in the UI.
    #[serde(rename = "Links")]
    pub links: Option<Vec<Link>>,
    /// Files whose changes do not matter.
    #[serde(rename = "FileWatchIgnores")]
    pub file_watch_ignores: Option<Vec<IgnoreDef>>,
    /// Files whose changes cause a custom deploy.
    #[serde(skip)]
    pub path_dependencies: Vec<String>,
}

/// What counts as ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PodReadiness {
    /// Not said.
    #[default]
    None,
    /// A ready pod.
    Wait,
    /// Pods do not matter.
    Ignore,
    /// A pod that has succeeded.
    Succeeded,
}

impl PodReadiness {
    /// Tilt's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Wait => "wait",
            Self::Ignore => "ignore",
            Self::Succeeded => "succeeded",
        }
    }
}

impl Serialize for PodReadiness {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Where an image is in objects that match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageLocator {
    /// Which objects.
    pub object_selector: ObjectSelectorSpec,
    /// A JSON path in Kubernetes' template syntax.
    pub path: String,
    /// Set when the path leads to an object and not to a string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ImageObject>,
}

/// The fields of an object that names an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageObject {
    /// The field with the repository.
    pub repo_field: String,
    /// The field with the tag.
    pub tag_field: String,
}

/// Regular expressions that an object's identity must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectSelectorSpec {
    /// For the API version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version_regexp: String,
    /// For the kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind_regexp: String,
    /// For the name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name_regexp: String,
    /// For the namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace_regexp: String,
}

/// More pods that belong to a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveryTemplate {
    /// One selector per set of labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extra_selectors: Vec<LabelSelector>,
}

/// Labels that must all be present.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Label to value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
}

/// Ports to forward.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PortForwardTemplate {
    /// Each forward.
    pub forwards: Vec<Forward>,
}

/// One forwarded port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Forward {
    /// The port on this machine.
    #[serde(skip_serializing_if = "is_zero")]
    pub local_port: i32,
    /// The port of the container; 0 means the first one that fits.
    pub container_port: i32,
    /// The address to listen on.
    pub host: String,
    /// Shown in the UI.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Path of the link.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(port: &i32) -> bool {
    *port == 0
}

/// Which pod logs to stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodLogStreamTemplate {
    /// Older lines are left out: RFC 3339.
    pub since_time: String,
    /// Containers that nobody wants to read.
    pub ignore_containers: Vec<&'static str>,
}

/// A command that applies or deletes objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApplyCmd {
    /// The command.
    pub args: Vec<String>,
    /// Where it runs.
    pub dir: String,
    /// `KEY=VALUE` pairs, sorted.
    pub env: Option<Vec<String>>,
}

/// What causes a command to run again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RestartOn {
    /// Names of file watches.
    pub file_watches: Vec<String>,
    /// Names of buttons; only objects of the API name some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ui_buttons: Vec<String>,
}
