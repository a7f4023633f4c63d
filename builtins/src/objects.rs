//! API objects that a Tiltfile declares: registered by type and name, stored as the API prints them.

use std::collections::BTreeSet;

use engine_model::ObjectSet;
use serde_json::Value;

/// A type of API object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectType {
    /// The plural, as in URLs.
    pub plural: &'static str,
}

/// Commands.
pub(crate) const CMD: ObjectType = ObjectType { plural: "cmds" };
/// Maps of texts.
pub(crate) const CONFIG_MAP: ObjectType = ObjectType { plural: "configmaps" };
/// Extensions.
pub(crate) const EXTENSION: ObjectType = ObjectType { plural: "extensions" };
/// Repositories of extensions.
pub(crate) const EXTENSION_REPO: ObjectType = ObjectType { plural: "extensionrepos" };
/// Watched files.
pub(crate) const FILE_WATCH: ObjectType = ObjectType { plural: "filewatches" };
/// Objects to apply to a cluster.
pub(crate) const KUBERNETES_APPLY: ObjectType = ObjectType { plural: "kubernetesapplys" };
/// Objects to find in a cluster.
pub(crate) const KUBERNETES_DISCOVERY: ObjectType = ObjectType { plural: "kubernetesdiscoveries" };
/// Buttons of the UI.
pub(crate) const UI_BUTTON: ObjectType = ObjectType { plural: "uibuttons" };

impl ObjectType {
    fn key(self) -> String {
        format!("tilt.dev/v1alpha1, Resource={}", self.plural)
    }
}

/// All objects of one evaluation.
#[derive(Clone, Debug, Default)]
pub struct ApiObjects {
    set: ObjectSet,
    /// Repositories that are not declared.
    implicit_repos: BTreeSet<String>,
}

/// Another object of the same type and name is there already.
#[derive(Debug, thiserror::Error)]
#[error("{plural} {} already registered", engine_formats::golang::quote::quote(.name))]
pub struct AlreadyRegistered {
    plural: &'static str,
    name: String,
}

/// Marks objects that the engine made for the Tiltfile; it does not count in comparisons.
const MANAGED_BY: &str = "tilt.dev/managed-by";

/// The object as the Tiltfile itself would declare it.
fn unmanaged(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        && let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut)
    {
        annotations.shift_remove(MANAGED_BY);
        if annotations.is_empty() {
            metadata.shift_remove("annotations");
        }
    }
    object
}

impl ApiObjects {
    /// The object of this type and name.
    pub fn get(&self, kind: ObjectType, name: &str) -> Option<&Value> {
        self.set.get(&kind.key())?.get(name)
    }

    /// All objects of a type, by name.
    pub fn of_type(&self, kind: ObjectType) -> impl Iterator<Item = (&String, &Value)> {
        self.set.get(&kind.key()).into_iter().flatten()
    }

    /// Adds an object; an identical one may be there already, and is replaced.
    ///
    /// # Errors
    /// If a different one has the name.
    pub fn register(
        &mut self,
        kind: ObjectType,
        name: &str,
        object: Value,
    ) -> Result<(), AlreadyRegistered> {
        if self.get(kind, name).is_some_and(|existing| unmanaged(existing) != object) {
            return Err(AlreadyRegistered { plural: kind.plural, name: name.to_owned() });
        }
        self.put(kind, name, object);
        Ok(())
    }

    /// Adds or replaces an object.
    pub fn put(&mut self, kind: ObjectType, name: &str, object: Value) {
        self.set.entry(kind.key()).or_default().insert(name.to_owned(), object);
    }

    /// Adds a repository that the Tiltfile uses without declaring it.
    pub fn put_implicit_repo(&mut self, name: &str, object: Value) {
        self.put(EXTENSION_REPO, name, object);
        self.implicit_repos.insert(name.to_owned());
    }

    /// Whether the Tiltfile itself declares a repository of this name.
    pub fn declares_repo(&self, name: &str) -> bool {
        self.get(EXTENSION_REPO, name).is_some() && !self.implicit_repos.contains(name)
    }

    /// The objects as the result prints them.
    pub fn into_set(self) -> ObjectSet {
        self.set
    }
}
