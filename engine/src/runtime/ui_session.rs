//! The session as the web page sees it: which features it shows, and what it belongs to.

use std::collections::BTreeMap;

use builtins::Features;
use engine_model::Load;
use serde_json::json;

use super::{Runtime, clock};
use crate::api::{Meta, kind};

/// What the main Tiltfile says about the session.
#[derive(Debug)]
pub(super) struct UiSession {
    features: BTreeMap<&'static str, bool>,
    checks_updates: bool,
}

impl Default for UiSession {
    fn default() -> Self {
        Self { features: Features::default().values().clone(), checks_updates: false }
    }
}

impl UiSession {
    /// Takes in a load of the main Tiltfile; one that failed only switches further features on.
    fn take(&mut self, load: &Load, is_good: bool) {
        if is_good {
            self.features.clone_from(&load.feature_flags);
            self.checks_updates = load.version_settings.check_updates;
        } else {
            let on = load.feature_flags.iter().filter(|(_, is_on)| **is_on);
            self.features.extend(on.map(|(name, _)| (*name, true)));
        }
    }
}

impl Runtime {
    /// Makes the session before the first load.
    pub(super) fn declare_ui_session(&self) {
        self.store.put(kind::UI_SESSION, "Tiltfile", &Meta::default(), &json!({}));
        self.show_ui_session();
    }

    /// Shows what a load of the main Tiltfile says about the session.
    pub(super) fn load_ui_session(&mut self, load: &Load, is_good: bool) {
        self.ui_session.take(load, is_good);
        self.show_ui_session();
    }

    fn show_ui_session(&self) {
        let flag = |(name, is_on): (&&str, &bool)| match is_on {
            true => json!({"name": name, "value": true}),
            false => json!({"name": name}),
        };
        let status = json!({
            "featureFlags": self.ui_session.features.iter().map(flag).collect::<Vec<_>>(),
            "runningTiltBuild": {"version": builtins::COMPATIBLE_VERSION},
            "versionSettings": {"checkUpdates": self.ui_session.checks_updates},
            "tiltStartTime": clock::seconds(self.settings.started),
            "tiltfileKey": self.settings.tiltfile,
        });
        self.store.set_status(kind::UI_SESSION, "Tiltfile", &status);
    }
}
