//! What another run of the main Tiltfile would change: the answer to `plan`.

use engine_core::{World, plan, tiltfile::MAIN};
use engine_model::Manifest;
use serde_json::{Value, json};

/// What a load with these resources would do.
pub fn reload(world: &World, manifests: &[Manifest]) -> Value {
    let plan = plan::reload(world, MAIN, manifests);
    json!({
        "start": plan.added,
        "update": plan.updated,
        "pending": plan.pending,
        "remove": plan.removed,
        "keep": plan.unchanged,
    })
}
