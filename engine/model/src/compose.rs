//! A Docker Compose service as a resource.

use serde::Serialize;

use crate::Link;

/// The Compose side of a resource.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ComposeTarget {
    /// Which service of which project.
    pub spec: ComposeSpec,
    /// The resource's name.
    pub name: String,
    /// The service after normalization, to see what changed.
    #[serde(rename = "ServiceYAML")]
    pub service_yaml: String,
    /// Links shown in the UI.
    pub links: Option<Vec<Link>>,
    /// Ports of this machine that lead to the service.
    #[serde(skip)]
    pub published_ports: Vec<u16>,
    /// Whether published ports become links; unset means yes.
    #[serde(skip)]
    pub infer_links: Option<bool>,
}

/// Which service of which project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComposeSpec {
    /// The service's name in the project.
    pub service: String,
    /// The project.
    pub project: ComposeProject,
    /// Images to inject.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_maps: Vec<String>,
}

/// A Compose project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComposeProject {
    /// Absolute paths of the Compose files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub config_paths: Vec<String>,
    /// What relative paths are relative to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub project_path: String,
    /// The project's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// A file with variables.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub env_file: String,
    /// Enabled profiles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<String>,
    /// Whether `up` waits for healthy services.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wait: bool,
}
