//! Decides which parts of an object say that it is managed by this program, and which selectors follow.
//!
//! The label and its value are Tilt's: other tools look for them, and objects deployed by Tilt are taken over.

use serde_json::{Map, Value};

use super::super::object::Object;
use super::super::walk::{Part, change_each};

const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
const MANAGED_BY: &str = "tilt";

/// Claims inside other objects cannot be changed once they are made, so they keep their labels.
const CLAIM: Option<&str> = Some("v1.PersistentVolumeClaim");
const METADATA: Part = Part { name: "v1.ObjectMeta", except_in: CLAIM };
const SELECTOR: Part = Part { name: "v1.LabelSelector", except_in: CLAIM };
const SERVICE: Part = Part::every("v1.ServiceSpec");

/// Kinds that take over the labels of their pods as selector if they have none.
const WITH_OPTIONAL_SELECTOR: [(&str, &str); 9] = [
    ("apps/v1beta1", "Deployment"),
    ("apps/v1beta2", "Deployment"),
    ("extensions/v1beta1", "Deployment"),
    ("apps/v1beta2", "ReplicaSet"),
    ("extensions/v1beta1", "ReplicaSet"),
    ("apps/v1beta2", "DaemonSet"),
    ("extensions/v1beta1", "DaemonSet"),
    ("apps/v1beta1", "StatefulSet"),
    ("apps/v1beta2", "StatefulSet"),
];

/// Labels the object and everything in it that has metadata.
pub(super) fn add(object: &mut Object) {
    let labeled = change_each(object, METADATA, &mut |_, metadata| label(metadata));
    if labeled == 0 {
        label_outermost(object);
    }
    if WITH_OPTIONAL_SELECTOR.iter().any(|(version, kind)| object.is_type(version, kind)) {
        spell_out_selector(object);
    }
    change_each(object, SELECTOR, &mut |_, selector| relabel(selector, "matchLabels"));
    change_each(object, SERVICE, &mut |_, service| relabel(service, "selector"));
}

fn label(metadata: &mut Map<String, Value>) {
    let labels = metadata.entry("labels").or_insert(Value::Null);
    if !labels.is_object() {
        *labels = Value::Object(Map::new());
    }
    if let Value::Object(labels) = labels {
        labels.insert(MANAGED_BY_LABEL.to_owned(), Value::from(MANAGED_BY));
    }
}

/// Labels a claim that stands for itself, or an object of a kind that is not built in.
fn label_outermost(object: &mut Object) {
    let is_custom = object.ty.is_none();
    if !is_custom && !object.is_type("v1", "PersistentVolumeClaim") {
        return;
    }
    let Value::Object(entries) = object.value_mut() else { return };
    let metadata = entries.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(metadata) = metadata else { return };
    if is_custom && let Some(labels) = metadata.get_mut("labels") {
        only_text(labels);
    }
    label(metadata);
}

/// One label that is no text makes the client library see none of them.
fn only_text(labels: &mut Value) {
    let Value::Object(entries) = labels else { return };
    if entries.values().all(|value| value.is_string() || value.is_null()) {
        for value in entries.values_mut().filter(|value| value.is_null()) {
            *value = Value::from("");
        }
    } else {
        *labels = Value::Null;
    }
}

/// A selector that asks for the label asks for its new value.
fn relabel(holder: &mut Map<String, Value>, field: &str) {
    if let Some(value) = holder.get_mut(field).and_then(|labels| labels.get_mut(MANAGED_BY_LABEL)) {
        *value = Value::from(MANAGED_BY);
    }
}

/// Writes down the selector that the cluster would infer, so that labels of pods may change later.
fn spell_out_selector(object: &mut Object) {
    let labels = object.pod_template_labels().into_iter().flatten().next().cloned();
    let Some(Value::Object(spec)) = object.value_mut().get_mut("spec") else { return };
    let asks = |selector: &Value| {
        let is_filled = |field: &str| match selector.get(field) {
            Some(Value::Object(entries)) => !entries.is_empty(),
            Some(Value::Array(items)) => !items.is_empty(),
            _ => false,
        };
        is_filled("matchLabels") || is_filled("matchExpressions")
    };
    if spec.get("selector").is_some_and(asks) {
        return;
    }
    let selector = spec.entry("selector").or_insert(Value::Null);
    let mut entries = selector.as_object().cloned().unwrap_or_default();
    if let Some(labels) = labels.filter(|labels| !labels.is_empty()) {
        entries.insert("matchLabels".to_owned(), Value::Object(labels));
    }
    *selector = Value::Object(entries);
}
