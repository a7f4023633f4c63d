//! All resources, what they wait for at first, and how they do: the answer to `graph`.

use engine_core::{Time, World, hold::Hold};
use serde_json::{Value, json};

/// The graph of all resources.
pub fn graph(world: &World, now: Time) -> Value {
    let seconds = |it: Time| now.micros_since(it) / 1_000_000;
    let nodes = world.resources().iter().map(|it| {
        json!({
            "name": it.name,
            "deps": it.dependencies().collect::<Vec<_>>(),
            "updateStatus": it.update_status().as_str(),
            "runtimeStatus": it.runtime_status().as_str(),
            "triggerMode": it.trigger_mode,
            "disabled": it.is_disabled(),
            "hold": it.hold.as_ref().map(Hold::reason),
            "lastUpdateSecondsAgo": it.last_success.map(seconds),
        })
    });
    json!({"resources": nodes.collect::<Vec<_>>()})
}
