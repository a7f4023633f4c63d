//! What is wanted of one object, and the memory of what was wanted last time.
//!
//! The memory is the annotation that `kubectl apply` keeps too, so objects can go from one tool to
//! the other.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Map, Value, json};

use super::{
    equal::same,
    merge::without_nulls,
    shape::{self, Shape},
};
use crate::{Cluster, ObjectKey, mapping::Resource};

/// The annotation that holds what was applied last.
pub(super) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// How long all annotations of an object together may be.
const MOST_ANNOTATIONS: usize = 256 * 1024;

/// What is wanted of one object.
pub(super) struct Wanted {
    pub(super) key: ObjectKey,
    pub(super) resource: Resource,
    /// As it was written, with its namespace.
    object: Value,
    /// In the form that the server keeps, for comparing.
    pub(super) comparable: Value,
}

impl Wanted {
    pub(super) fn new(cluster: &Cluster, resource: Resource, mut object: Value) -> Self {
        let mut key = ObjectKey::of(&object);
        if !resource.is_namespaced {
            key.namespace.clear();
        } else if key.namespace.is_empty() {
            cluster.namespace().clone_into(&mut key.namespace);
        }
        tidy(&mut object, is_built_in(key.group()));
        if let Some(metadata) = fields(&mut object, "metadata") {
            match key.namespace.as_str() {
                "" => metadata.shift_remove("namespace"),
                namespace => metadata.insert("namespace".to_owned(), namespace.into()),
            };
        }
        let comparable = comparable(&key, object.clone());
        Self { key, resource, object, comparable }
    }

    /// The path of the object.
    pub(super) fn path(&self) -> String {
        self.resource.path(&self.key.namespace, &self.key.name)
    }

    /// The path of all objects beside it.
    pub(super) fn collection(&self) -> String {
        self.resource.collection(&self.key.namespace)
    }

    pub(super) fn shape(&self) -> Shape {
        shape::of_kind(self.key.group(), &self.key.kind)
    }

    /// The object as it is sent, without a memory.
    pub(super) fn plain(&self) -> Value {
        without_nulls(&self.object)
    }

    /// The object as it is created, with the memory of it.
    pub(super) fn remembered(&self) -> Value {
        let mut object = self.plain();
        remember(&mut object, self.memory());
        object
    }

    /// The text of the memory: the object as JSON with sorted keys.
    pub(super) fn memory(&self) -> String {
        let mut text = sorted(&self.remembering()).to_string();
        text.push('\n');
        text
    }

    /// What the memory holds: `kubectl` always writes annotations there, even none.
    fn remembering(&self) -> Value {
        let mut object = self.object.clone();
        if let Some(metadata) = fields(&mut object, "metadata") {
            metadata.entry("annotations").or_insert_with(|| json!({}));
        }
        object
    }

    /// Whether the object with its memory has longer annotations than the server takes.
    pub(super) fn is_too_long_to_remember(&self) -> bool {
        let annotations = self.object.pointer("/metadata/annotations").and_then(Value::as_object);
        let others: usize = annotations
            .into_iter()
            .flatten()
            .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
            .sum();
        others + LAST_APPLIED.len() + self.memory().len() > MOST_ANNOTATIONS
    }

    /// What was wanted last time, as the live object remembers it: for comparing, and whether it is
    /// just what is wanted now.
    pub(super) fn remembered_in(&self, live: &Value) -> Option<(Value, bool)> {
        let annotations = live.pointer("/metadata/annotations")?;
        let mut memory: Value =
            serde_json::from_str(annotations.get(LAST_APPLIED)?.as_str()?).ok()?;
        let is_same = same(&memory, &self.remembering());
        tidy(&mut memory, is_built_in(self.key.group()));
        Some((comparable(&self.key, memory), is_same))
    }
}

/// Writes the memory into an object.
pub(super) fn remember(object: &mut Value, memory: String) {
    let Some(metadata) = fields(object, "metadata") else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if !annotations.is_object() {
        *annotations = json!({});
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(LAST_APPLIED.to_owned(), memory.into());
    }
}

/// The fields of a map inside an object, which is made if it is not there.
fn fields<'a>(object: &'a mut Value, name: &str) -> Option<&'a mut Map<String, Value>> {
    object.as_object_mut()?.entry(name).or_insert_with(|| json!({})).as_object_mut()
}

/// Whether a group is one of Kubernetes itself.
fn is_built_in(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}

/// Takes out what only the server writes.
fn tidy(object: &mut Value, is_built_in: bool) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("creationTimestamp");
        metadata.shift_remove("managedFields");
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.shift_remove(LAST_APPLIED);
        }
    }
    if let Some(fields) = object.as_object_mut().filter(|_| is_built_in) {
        fields.shift_remove("status");
    }
}

/// An object in the form that the server keeps.
fn comparable(key: &ObjectKey, mut object: Value) -> Value {
    let Some(fields) = object.as_object_mut() else { return object };
    // The names are what the object was found by.
    fields.shift_remove("apiVersion");
    fields.shift_remove("kind");
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        metadata.shift_remove("name");
        metadata.shift_remove("namespace");
    }
    if key.group().is_empty()
        && key.kind == "Secret"
        && let Some(Value::Object(texts)) = fields.shift_remove("stringData")
    {
        let data = fields.entry("data").or_insert_with(|| json!({}));
        if let Some(data) = data.as_object_mut() {
            let encoded =
                |it: Value| BASE64_STANDARD.encode(it.as_str().unwrap_or_default()).into();
            data.extend(texts.into_iter().map(|(name, text)| (name, encoded(text))));
        }
    }
    object
}

/// A value with the keys of all maps in order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut entries: Vec<_> = fields.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            Value::Object(entries.into_iter().map(|(key, it)| (key.clone(), sorted(it))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        plain => plain.clone(),
    }
}
