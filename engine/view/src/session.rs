//! One run of the engine: the `Session`, as scripts see it, and the `UISession`, as the web page does.

use std::collections::BTreeMap;

use engine_core::{
    Time, World,
    session::{Grace, Target, TargetKind, TargetState},
};
use engine_model::{Kind, Load};
use serde_json::{Value, json};

use crate::{declare::DeclareSettings, draft::ObjectDraft, dump::EngineInfo, time};

/// The name of both objects.
pub const NAME: &str = "Tiltfile";

/// The `Session` that a load of the main Tiltfile declares.
pub(crate) fn draft(load: &Load, settings: &DeclareSettings<'_>) -> ObjectDraft {
    let exit = if settings.is_ci { "ci" } else { "manual" };
    let spec = json!({
        "tiltfilePath": settings.tiltfile,
        "exitCondition": exit,
        "ci": load.ci_settings,
    });
    ObjectDraft::new(Kind::Session, NAME, spec)
}

/// The status of the `Session`, with everything that `ci` waits for. `verdict` is the error of a session that is done.
pub fn status(
    world: &World,
    (pid, started): (u32, Time),
    verdict: Option<&str>,
    now: Time,
) -> Value {
    let targets = world.ci_targets(now);
    let mut status = json!({
        "pid": pid,
        "startTime": time::micro(started),
        "targets": targets.iter().map(target).collect::<Vec<_>>(),
        "done": verdict.is_some(),
    });
    if let Some(error) = verdict.filter(|it| !it.is_empty()) {
        status["error"] = json!(error);
    }
    status
}

fn target(target: &Target) -> Value {
    let state = match &target.state {
        TargetState::Inactive => json!({}),
        TargetState::Disabled => json!({"disabled": {}}),
        TargetState::Waiting { reason } => json!({"waiting": {"waitReason": reason}}),
        TargetState::Active { since, is_ready, last_ready } => json!({"active": {
            "startTime": time::or_null(*since),
            "ready": is_ready,
            "lastReadyTime": time::or_null(*last_ready),
        }}),
        TargetState::Terminated { since, at, error, grace } => {
            let (start, finish) = (time::or_null(*since), time::or_null(*at));
            let mut it = json!({"startTime": start, "finishTime": finish});
            if let Some(error) = error {
                it["error"] = json!(error);
            }
            if *grace != Grace::NotApplicable {
                it["graceStatus"] = json!(grace.as_str());
            }
            json!({"terminated": it})
        }
    };
    json!({
        "name": target.name,
        "type": if target.kind == TargetKind::Job { "job" } else { "server" },
        "resources": [target.resource],
        "state": state,
    })
}

/// What the main Tiltfile says about the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UiSession {
    features: BTreeMap<&'static str, bool>,
    checks_updates: bool,
}

impl UiSession {
    /// A session before the first load, with these features.
    pub fn new(features: BTreeMap<&'static str, bool>) -> Self {
        Self { features, checks_updates: false }
    }

    /// Takes over what a load of the main Tiltfile says; one that failed only switches further features on.
    pub fn on_load(&mut self, load: &Load, is_good: bool) {
        if is_good {
            self.features.clone_from(&load.feature_flags);
            self.checks_updates = load.version_settings.check_updates;
        } else {
            let on = load.feature_flags.iter().filter(|(_, is_on)| **is_on);
            self.features.extend(on.map(|(name, _)| (*name, true)));
        }
    }

    /// The status of the `UISession`.
    pub fn status(&self, info: &EngineInfo<'_>) -> Value {
        let flag = |(name, is_on): (&&str, &bool)| match is_on {
            true => json!({"name": name, "value": true}),
            false => json!({"name": name}),
        };
        json!({
            "featureFlags": self.features.iter().map(flag).collect::<Vec<_>>(),
            "runningTiltBuild": {"version": info.version},
            "versionSettings": {"checkUpdates": self.checks_updates},
            "tiltStartTime": time::seconds(info.started),
            "tiltfileKey": info.tiltfile,
        })
    }
}

/// The `UISession`, which the engine makes before the first load.
pub(crate) fn ui_draft() -> ObjectDraft {
    ObjectDraft::new(Kind::UiSession, NAME, json!({}))
}
