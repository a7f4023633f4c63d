//! Live updates: how their containers do, or why an image is built instead.

use engine_core::{World, live_update::Status};
use serde_json::{Value, json};

use crate::time;

/// The status of a `LiveUpdate`, if it is known.
pub fn status(world: &World, name: &str) -> Option<Value> {
    world.live_update(name).map(|it| render(it.status()))
}

fn render(status: &Status) -> Value {
    if let Some(failed) = &status.failed {
        return json!({"failed": {
            "reason": failed.failure.reason.as_str(),
            "message": failed.failure.message,
            "lastTransitionTime": time::micro(failed.since),
        }});
    }
    let containers = status.containers.iter().map(|it| {
        let mut shown = json!({
            "containerID": it.container.id,
            "containerName": it.container.name,
            "podName": it.container.pod,
            "namespace": it.container.namespace,
            "lastFileTimeSynced": time::or_null(it.last_file_time_synced),
        });
        if let Some(error) = &it.last_exec_error {
            shown["lastExecError"] = json!(error);
        }
        if let Some(waiting) = it.waiting {
            shown["waiting"] = json!({"reason": waiting.reason(), "message": waiting.message()});
        }
        shown
    });
    let containers: Vec<Value> = containers.collect();
    if containers.is_empty() { json!({}) } else { json!({"containers": containers}) }
}
