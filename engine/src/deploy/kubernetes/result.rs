//! What came of an apply, as API objects show it.

use std::collections::HashMap;

use base64::{Engine as _, engine::general_purpose::URL_SAFE as BASE64};
use builtins::yaml;
use engine_kubernetes::Kept;
use engine_model::KubernetesTarget;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::deploy::images::Built;

/// What `kubectl` notes about its own applies.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The objects as YAML, without what only the cluster cares for.
#[must_use]
pub fn to_yaml(objects: &[Value]) -> String {
    let documents = objects.iter().map(|it| yaml::emit_v2(&cleaned(it)).unwrap_or_default());
    documents.collect::<Vec<_>>().join("\n---\n")
}

fn cleaned(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|name, _| name != LAST_APPLIED);
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    object
}

/// Whether one of the objects is a job that had completed before.
#[must_use]
pub fn has_complete_job(objects: &[Value]) -> bool {
    let is_complete = |job: &Value| {
        let conditions = job.pointer("/status/conditions").and_then(Value::as_array);
        conditions
            .into_iter()
            .flatten()
            .any(|it| it["type"] == "Complete" && it["status"] == "True")
    };
    objects.iter().any(|it| it["kind"] == "Job" && is_complete(it))
}

/// Changes with everything that is applied: the spec, and the images in it.
#[must_use]
pub(super) fn input_hash(target: &KubernetesTarget, built: &HashMap<String, Built>) -> String {
    let mut digest = Sha256::new();
    digest.update(serde_json::to_vec(target).unwrap_or_default());
    for name in &target.image_maps {
        digest.update(name.as_bytes());
        digest.update(built.get(name).map_or("", |it| it.deployed.as_str()).as_bytes());
    }
    BASE64.encode(&digest.finalize()[..20])
}

/// A field that somebody else changed, in words.
#[must_use]
pub fn kept_text(kept: &Kept) -> String {
    let Kept { object, path, theirs, ours, by } = kept;
    // What is in a secret is nobody's business.
    let is_secret = object.kind == "Secret";
    let shown = |it: &Value| if is_secret { "…".to_owned() } else { short(it) };
    let theirs = theirs.as_ref().map_or("removed".to_owned(), |it| format!("is {}", shown(it)));
    let by = by.as_ref().map_or(String::new(), |it| format!(" by {it}"));
    format!("{object} {path}: {theirs}{by}, the Tiltfile says {}", shown(ours))
}

/// A value, unless it is long.
fn short(value: &Value) -> String {
    const MAX: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_only_the_cluster_cares_for_is_left_out() {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "a", "uid": "u", "managedFields": [{}],
                "annotations": {LAST_APPLIED: "{}"},
            },
            "status": {"x": 1},
        });
        assert_eq!(
            to_yaml(&[object.clone(), object]),
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  uid: u\n\n---\n\
             apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  uid: u\n"
        );
    }

    #[test]
    fn only_a_job_that_is_complete_counts_as_done() {
        let job = |status: &str| {
            let conditions = json!([{"type": "Complete", "status": status}]);
            json!({"kind": "Job", "status": {"conditions": conditions}})
        };
        assert!(has_complete_job(&[json!({"kind": "Pod"}), job("True")]));
        assert!(!has_complete_job(&[job("False"), json!({"kind": "Job"})]));
    }
}
