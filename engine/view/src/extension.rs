//! Extensions and their repositories.

use engine_core::World;
use engine_formats::golang::label::sanitize_name;
use engine_model::{Kind, ObjectId, TargetId, annotation::RESOURCE};
use serde_json::{Value, json};

use crate::{draft::ObjectDraft, time};

/// The status of an `ExtensionRepo`, if it is known.
pub fn repo_status(world: &World, name: &str) -> Option<Value> {
    let status = match world.repo_status(name)? {
        Ok(it) => json!({"path": it.path, "lastFetchedAt": it.at.map(time::seconds)}),
        Err(error) => json!({"error": error.to_string(), "lastFetchedAt": null}),
    };
    Some(status)
}

/// The status of an `Extension`, if it is known.
pub fn status(world: &World, name: &str) -> Option<Value> {
    let status = match world.extension_status(name)? {
        Ok(path) => json!({"path": path}),
        Err(error) => json!({"error": error.to_string()}),
    };
    Some(status)
}

/// The `Tiltfile` object of an extension.
pub fn tiltfile(name: &str, path: &str, args: &[String]) -> ObjectDraft {
    let watch = sanitize_name(&TargetId::Config(name.into()).to_string());
    let label = format!("extension.{name}");
    let mut tiltfile = json!({
        "path": path,
        "labels": {label.clone(): label},
        "restartOn": {"fileWatches": [watch]},
    });
    if !args.is_empty() {
        tiltfile["args"] = json!(args);
    }
    let draft = ObjectDraft::new(Kind::Tiltfile, name, tiltfile).annotated(&[(RESOURCE, name)]);
    ObjectDraft { owner: Some(ObjectId::new(Kind::Extension, name)), ..draft }
}
