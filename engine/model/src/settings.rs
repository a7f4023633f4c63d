//! What a Tiltfile says about the engine itself.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Cmd, GoDuration, Nanoseconds};

/// Patterns in dockerignore syntax, and where they come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct IgnorePatterns {
    /// What the patterns are relative to.
    pub local_path: String,
    /// The file or call they come from.
    pub source: String,
    /// The patterns.
    pub patterns: Option<Vec<String>>,
}

/// A command that receives traces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct TelemetrySettings {
    /// The command.
    pub cmd: Cmd,
    /// Where it was declared.
    pub workdir: String,
    /// How often it runs.
    pub period: Nanoseconds,
}

impl Default for TelemetrySettings {
    fn default() -> Self {
        Self { cmd: Cmd::default(), workdir: String::new(), period: Nanoseconds(60_000_000_000) }
    }
}

/// When images that nobody needs are deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct DockerPruneSettings {
    /// Whether it happens at all.
    pub enabled: bool,
    /// Younger images stay.
    pub max_age: Nanoseconds,
    /// Every so many builds; 0 means by time.
    pub num_builds: i64,
    /// The time between two prunes.
    pub interval: Nanoseconds,
    /// So many images per name stay.
    pub keep_recent: i64,
}

impl Default for DockerPruneSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            max_age: Nanoseconds(21_600_000_000_000),
            num_builds: 0,
            interval: Nanoseconds(3_600_000_000_000),
            keep_recent: 2,
        }
    }
}

/// Whether newer versions are announced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct VersionSettings {
    /// Whether newer versions are announced.
    pub check_updates: bool,
}

impl Default for VersionSettings {
    fn default() -> Self {
        Self { check_updates: true }
    }
}

/// How updates run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct UpdateSettings {
    /// Images that may be unused.
    pub suppress_unused_image_warnings: Option<Vec<String>>,
    /// How many updates run at once.
    #[serde(skip)]
    pub max_parallel_updates: i64,
    /// How long an apply may take.
    #[serde(skip)]
    pub k8s_upsert_timeout: GoDuration,
    /// `true`, `false` or `auto`.
    #[serde(skip)]
    pub k8s_server_side_apply: &'static str,
}

impl Default for UpdateSettings {
    fn default() -> Self {
        Self {
            suppress_unused_image_warnings: None,
            max_parallel_updates: 3,
            k8s_upsert_timeout: GoDuration::from_secs(30),
            k8s_server_side_apply: "auto",
        }
    }
}

/// Files whose changes do not matter to anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct WatchSettings {
    /// One set per call.
    pub ignores: Option<Vec<IgnorePatterns>>,
}

/// The registry that images are pushed to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistryHosting {
    /// As seen from this machine.
    pub host: String,
    /// As seen from the cluster, if different.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host_from_container_runtime: String,
    /// One repository for all images.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub single_name: String,
}

/// The registry of a cluster, as the cluster tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LocalRegistry {
    /// As seen from this machine.
    pub host: String,
    /// As seen from pods.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host_from_cluster_network: String,
    /// As seen from what runs containers.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host_from_container_runtime: String,
    /// Where people read more about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub help: String,
}

/// As Tilt prints it.
impl fmt::Display for LocalRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, host_from_cluster_network, host_from_container_runtime, help } = self;
        write!(f, "&{{{host} {host_from_cluster_network} {host_from_container_runtime} {help} }}")
    }
}

/// Digests of the evaluated files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Hashes {
    /// Of the main Tiltfile.
    #[serde(rename = "TiltfileSHA256")]
    pub tiltfile: String,
    /// Of all executed files, in the order of execution.
    #[serde(rename = "AllFilesSHA256")]
    pub all_files: String,
}

/// When `ci` gives up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CiSettings {
    /// How long a crashed pod may take to recover.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k8s_grace_period: Option<GoDuration>,
    /// For everything.
    pub timeout: GoDuration,
    /// For one resource to become ready.
    pub readiness_timeout: GoDuration,
}

impl Default for CiSettings {
    fn default() -> Self {
        Self {
            k8s_grace_period: None,
            timeout: GoDuration::from_secs(1800),
            readiness_timeout: GoDuration::from_secs(300),
        }
    }
}
