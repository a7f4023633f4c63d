//! Declared settings of the engine.

use std::collections::BTreeMap;

use engine_model::{
    CiSettings, DockerPruneSettings, TelemetrySettings, UpdateSettings, VersionSettings,
    WatchSettings,
};

use crate::{api::trigger_mode::TriggerModeArg, diagnostic::Place, session::Request};

/// What a Tiltfile says about the engine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How updates run.
    pub update: UpdateSettings,
    /// When `ci` gives up.
    pub ci: CiSettings,
    /// When unneeded images are deleted.
    pub docker_prune: DockerPruneSettings,
    /// Whether newer versions are announced.
    pub version: VersionSettings,
    /// Files whose changes do not matter to anything.
    pub watch: WatchSettings,
    /// Where traces go.
    pub telemetry: TelemetrySettings,
    /// Whether values of secrets are kept out of logs.
    pub scrub_secrets: bool,
    /// Whether analytics may be collected; 0 by default, 1 for no, 2 for yes.
    pub analytics: u8,
    /// The team's id, or empty.
    pub team_id: String,
    /// Feature flags.
    pub features: Features,
    /// The trigger mode for all resources, and where it was set.
    pub trigger_mode: Option<(TriggerModeArg, Place)>,
}

impl Settings {
    /// The default settings.
    pub fn new(request: &Request) -> Self {
        let mut settings = Self::default();
        if let Some(timeout) = request.ci_timeout {
            settings.ci.timeout = timeout;
        }
        settings
    }

    /// The trigger mode for all resources, if one was set.
    pub fn global_trigger_mode(&self) -> Option<TriggerModeArg> {
        self.trigger_mode.as_ref().map(|it| it.0)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            update: UpdateSettings::default(),
            ci: CiSettings::default(),
            docker_prune: DockerPruneSettings::default(),
            version: VersionSettings::default(),
            watch: WatchSettings::default(),
            telemetry: TelemetrySettings::default(),
            scrub_secrets: true,
            analytics: 0,
            team_id: String::new(),
            features: Features::default(),
            trigger_mode: None,
        }
    }
}

/// Flags that still do something.
const ACTIVE: &[(&str, bool)] = &[("cluster_refresh", false), ("snapshots", true)];

/// Flags that a Tiltfile cannot change.
const OBSOLETE: &[(&str, bool)] = &[
    ("bulk_disable_resources", false),
    ("disable_resources", true),
    ("events", true),
    ("facets", true),
    ("labels", true),
    ("live_update_v2", true),
    ("multiple_containers_per_pod", true),
    ("offline_snapshot_creation", true),
    ("update_history", false),
];

/// The flag that shows the button for snapshots.
pub(crate) const SNAPSHOTS: &str = "snapshots";

/// Feature flags and their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Features(BTreeMap<&'static str, bool>);

impl Default for Features {
    fn default() -> Self {
        Self(ACTIVE.iter().chain(OBSOLETE).copied().collect())
    }
}

/// Why a flag was not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeatureError {
    /// There is no such flag.
    #[error("Unknown feature flag: {0}")]
    Unknown(String),
    /// The flag does nothing any more.
    #[error("Obsolete feature flag: {0}")]
    Obsolete(String),
}

impl Features {
    /// Sets a flag.
    ///
    /// # Errors
    /// If it does not exist, or no longer does anything.
    pub fn set(&mut self, name: &str, enabled: bool) -> Result<(), FeatureError> {
        if OBSOLETE.iter().any(|(it, _)| *it == name) {
            return Err(FeatureError::Obsolete(name.to_owned()));
        }
        match self.0.get_mut(name) {
            Some(value) => {
                *value = enabled;
                Ok(())
            }
            None => Err(FeatureError::Unknown(name.to_owned())),
        }
    }

    /// All flags, by name.
    pub fn values(&self) -> &BTreeMap<&'static str, bool> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_active_flags_change() {
        let mut features = Features::default();
        assert_eq!(features.set("snapshots", false), Ok(()));
        assert!(!features.values()["snapshots"]);
        let obsolete = features.set("labels", false).unwrap_err();
        assert_eq!(obsolete.to_string(), "Obsolete feature flag: labels");
        assert!(features.values()["labels"]);
        let unknown = features.set("warp", true).unwrap_err();
        assert_eq!(unknown.to_string(), "Unknown feature flag: warp");
    }
}
