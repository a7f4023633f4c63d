//! The whole result of one evaluation.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    CiSettings, DockerPruneSettings, Hashes, IgnorePatterns, Manifest, RegistryHosting,
    TelemetrySettings, UpdateSettings, VersionSettings, WatchSettings,
};

/// API objects by type, then by name.
pub type ObjectSet = BTreeMap<String, BTreeMap<String, serde_json::Value>>;

/// The result of one evaluation; after a failure, what is known in spite of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Load {
    /// The resources, in Tilt's order.
    pub manifests: Vec<Manifest>,
    /// Names of the resources that run.
    pub enabled_manifests: Option<Vec<String>>,
    /// The patterns of `.tiltignore`.
    pub tiltignore: IgnorePatterns,
    /// Files whose changes cause another evaluation.
    pub config_files: Vec<String>,
    /// Feature flags.
    pub feature_flags: BTreeMap<&'static str, bool>,
    /// The team's id.
    #[serde(rename = "TeamID")]
    pub team_id: String,
    /// Where traces go.
    pub telemetry_settings: TelemetrySettings,
    /// Values that are kept out of logs, by value.
    pub secrets: BTreeMap<String, Secret>,
    /// Always `null`: a failed evaluation prints no result.
    pub error: Option<()>,
    /// When unneeded images are deleted.
    pub docker_prune_settings: DockerPruneSettings,
    /// 0 by default, 1 for no, 2 for yes.
    pub analytics_opt: u8,
    /// Whether newer versions are announced.
    pub version_settings: VersionSettings,
    /// How updates run.
    pub update_settings: UpdateSettings,
    /// Files whose changes do not matter to anything.
    pub watch_settings: WatchSettings,
    /// Where images are pushed.
    pub default_registry: Option<RegistryHosting>,
    /// API objects.
    pub object_set: ObjectSet,
    /// Digests of the evaluated files.
    pub hashes: Hashes,
    /// When `ci` gives up.
    #[serde(rename = "CISettings")]
    pub ci_settings: CiSettings,
}

/// A value that is kept out of logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Secret {
    /// The Secret object.
    pub name: String,
    /// The key in it.
    pub key: String,
    /// The value, in base64.
    pub value: String,
    /// The base64 form of the value, in base64 again.
    pub value_encoded: String,
    /// What logs show instead, in base64.
    pub replacement: String,
}

/// A repository that a run of a Tiltfile has loaded from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedRepo {
    /// Where it comes from, as the Tiltfile writes it.
    pub url: String,
    /// The branch, tag or commit that the Tiltfile names, or nothing.
    pub reference: String,
    /// Where its files are.
    pub path: String,
}
