//! Decides what is known about one Kubernetes object: its kind, name, namespace and labels, and the form in which it is
//! written.

use std::fmt;

use engine_model::pod::ObjectKey;
use serde_json::{Map, Value};

use super::schema::{Shape, TypeId, Wanted};
use super::walk::find;

/// The namespace of objects that name none.
pub const DEFAULT_NAMESPACE: &str = "default";

/// A Kubernetes object as it would be applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    value: Value,
    group_version: GroupVersion,
    kind: String,
    /// The Go type of a built-in kind; other kinds keep all their fields.
    pub(crate) ty: Option<TypeId>,
}

/// A group and a version of the Kubernetes API; the group is empty for core kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupVersion {
    /// The group, such as `apps`.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
}

impl GroupVersion {
    /// Reads an `apiVersion`; more than one slash is not allowed.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "/" {
            return Some(Self::default());
        }
        let (group, version) = text.split_once('/').unwrap_or(("", text));
        let parsed = Self { group: group.to_owned(), version: version.to_owned() };
        (!version.contains('/')).then_some(parsed)
    }

    fn is(&self, text: &str) -> bool {
        let (group, version) = text.split_once('/').unwrap_or(("", text));
        self.group == group && self.version == version
    }
}

impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.version)
        } else {
            write!(f, "{}/{}", self.group, self.version)
        }
    }
}

impl Object {
    /// Wraps a value that is already in its written form. The kind and version are those the value was looked up by,
    /// which a manifest with oddly cased keys does not contain itself.
    pub(crate) fn new(
        value: Value,
        group_version: GroupVersion,
        kind: String,
        ty: Option<TypeId>,
    ) -> Self {
        Self { value, group_version, kind, ty }
    }

    /// The object in its written form.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The object in its written form, without the rest.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// The object in its written form, to be changed; it has to stay in that form.
    pub(crate) fn value_mut(&mut self) -> &mut Value {
        &mut self.value
    }

    /// Whether the kind is built into Kubernetes.
    pub fn is_built_in(&self) -> bool {
        self.ty.is_some()
    }

    /// The API group, empty for core kinds.
    pub fn group(&self) -> &str {
        &self.group_version.group
    }

    /// The API version without the group.
    pub fn version(&self) -> &str {
        &self.group_version.version
    }

    /// Group and version as in `apiVersion`.
    pub fn api_version(&self) -> String {
        self.group_version.to_string()
    }

    /// The kind.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The name, or an empty string.
    pub fn name(&self) -> &str {
        self.metadata_text("name")
    }

    /// The namespace as written, or an empty string.
    pub fn written_namespace(&self) -> &str {
        self.metadata_text("namespace")
    }

    /// The namespace the object is taken to be in, also if its kind has none.
    pub fn namespace(&self) -> &str {
        match self.written_namespace() {
            "" => DEFAULT_NAMESPACE,
            namespace => namespace,
        }
    }

    /// Puts the object into a namespace unless it names one already.
    pub fn default_namespace(&mut self, namespace: &str) {
        if self.written_namespace().is_empty() {
            self.set_namespace(namespace);
        }
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        let labels = self.metadata("labels").and_then(Value::as_object)?;
        // One value of another type makes Kubernetes ignore the labels of a custom object altogether.
        if self.ty.is_none() && !labels.values().all(|value| value.is_string() || value.is_null()) {
            return None;
        }
        labels.get(key).map(|value| value.as_str().unwrap_or_default())
    }

    /// Whether the object has all these labels.
    pub fn has_labels<'a>(&self, labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> bool {
        labels.into_iter().all(|(key, value)| self.label(key) == Some(value))
    }

    /// What identifies the object to the cluster.
    pub fn address(&self) -> ObjectKey {
        ObjectKey {
            name: self.name().to_owned(),
            namespace: self.written_namespace().to_owned(),
            kind: self.kind.clone(),
            api_version: self.api_version(),
        }
    }

    /// Whether the object is of a built-in kind that makes pods from a template.
    pub fn has_pod_template(&self) -> bool {
        !find(self, Wanted::PodTemplate).is_empty()
    }

    /// The labels of each pod template.
    pub fn pod_template_labels(&self) -> Vec<Option<&Map<String, Value>>> {
        find(self, Wanted::PodTemplate).into_iter().map(template_labels).collect()
    }

    /// Whether this is a service whose selector matches the labels of pods in a namespace.
    ///
    /// A service in the default namespace matches pods of any namespace.
    pub(crate) fn selects(&self, labels: Option<&Map<String, Value>>, namespace: &str) -> bool {
        let own = self.namespace();
        let matches = |(key, value): (&String, &Value)| {
            labels.and_then(|labels| labels.get(key)) == Some(value)
        };
        (own == DEFAULT_NAMESPACE || own == namespace)
            && self.service_selector().is_some_and(|selector| selector.iter().all(matches))
    }

    /// The selector of a service, if it asks for anything.
    pub(crate) fn service_selector(&self) -> Option<&Map<String, Value>> {
        if !self.is_type("v1", "Service") {
            return None;
        }
        let selector = self.value.get("spec")?.get("selector")?.as_object()?;
        (!selector.is_empty()).then_some(selector)
    }

    pub(crate) fn is_type(&self, group_version: &str, kind: &str) -> bool {
        self.ty.is_some() && self.kind == kind && self.group_version.is(group_version)
    }

    fn metadata(&self, key: &str) -> Option<&Value> {
        self.value.get("metadata")?.get(key)
    }

    fn metadata_text(&self, key: &str) -> &str {
        self.metadata(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn set_namespace(&mut self, namespace: &str) {
        let has_metadata = self.ty.is_none_or(|ty| match &ty.get().shape {
            Shape::Struct(structure) => {
                structure.field("metadata").is_some_and(|field| is_object_meta(field.ty))
            }
            _ => false,
        });
        let Some(entries) = self.value.as_object_mut().filter(|_| has_metadata) else { return };
        let metadata = entries.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(metadata) = metadata {
            metadata.insert("namespace".to_owned(), Value::from(namespace));
        }
    }
}

fn template_labels(template: &Value) -> Option<&Map<String, Value>> {
    template.get("metadata")?.get("labels")?.as_object()
}

fn is_object_meta(ty: TypeId) -> bool {
    ty.get().name == "v1.ObjectMeta"
}
