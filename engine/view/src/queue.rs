//! The config map that mirrors the trigger queue.

use engine_core::World;
use engine_model::Kind;
use serde_json::{Map, Value, json};

use crate::draft::ObjectDraft;

/// The config map of the trigger queue as it is now.
pub fn config_map(world: &World) -> ObjectDraft {
    let mut data = Map::new();
    for (i, (name, reason)) in world.queue().enumerate() {
        data.insert(format!("{i}-name"), json!(name));
        data.insert(format!("{i}-reason-code"), json!(reason.0.to_string()));
    }
    draft(if data.is_empty() { Value::Null } else { Value::Object(data) })
}

pub(crate) fn draft(data: Value) -> ObjectDraft {
    ObjectDraft::new(Kind::ConfigMap, "tilt-trigger-queue", data)
}
