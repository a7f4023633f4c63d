//! Tiltfiles: the status of the `Tiltfile` object, and of the `UIResource` that stands for it.

use engine_core::{
    World,
    tiltfile::{Run, Tiltfile},
};
use engine_model::names;
use serde_json::{Value, json};

use crate::{
    resource::{Warnings, record},
    time,
};

/// The status of a `Tiltfile`, if there is one.
pub fn status(world: &World, name: &str) -> Option<Value> {
    let tiltfile = world.tiltfile(name)?;
    let status = match (&tiltfile.current, &tiltfile.last) {
        (Some(run), _) => json!({"running": {"startedAt": time::micro(run.started)}}),
        (None, Some(run)) => {
            let (started, finished) = (time::micro(run.started), time::or_null(run.ended));
            let mut ended = json!({"startedAt": started, "finishedAt": finished});
            if let Some(error) = &run.error {
                ended["error"] = json!(error);
            }
            json!({"terminated": ended})
        }
        (None, None) => json!({}),
    };
    Some(status)
}

/// The status of the `UIResource` that stands for a Tiltfile.
pub(crate) fn resource_status(
    tiltfile: &Tiltfile,
    order: usize,
    conditions: &Value,
    warnings: Warnings<'_>,
) -> Value {
    let span = |run: &Run| names::tiltfile_span(&tiltfile.name, run.id.0);
    let mut status = json!({
        "lastDeployTime": time::or_null(tiltfile.last.as_ref().and_then(|it| it.ended)),
        "pendingBuildSince": time::or_null(tiltfile.pending_since),
        "runtimeStatus": "not_applicable",
        "updateStatus": tiltfile.update_status().as_str(),
        "order": order,
        "disableStatus": {
            "enabledCount": 0, "disabledCount": 0, "state": "Enabled", "sources": null,
        },
        "conditions": conditions,
    });
    if let Some(run) = &tiltfile.last {
        let (span, error) = (span(run), run.error.as_deref());
        let record = record(run.started, run.ended, error, &warnings(&span), &span);
        status["buildHistory"] = json!([record]);
    }
    if let Some(run) = &tiltfile.current {
        let start = time::micro(run.started);
        status["currentBuild"] = json!({"startTime": start, "spanID": span(run)});
    }
    if tiltfile.pending_since.is_some() {
        status["hasPendingChanges"] = json!(true);
    }
    if !tiltfile.triggered.is_empty() {
        status["queued"] = json!(true);
    }
    status
}
