//! Objects as JSON, and what names one of them.

use std::fmt;

use serde_json::Value;

/// What names one object in a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty if the kind has none.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectKey {
    /// What names an object, as it is written.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        Self {
            api_version: text(object, "/apiVersion").to_owned(),
            kind: text(object, "/kind").to_owned(),
            namespace: text(object, "/metadata/namespace").to_owned(),
            name: text(object, "/metadata/name").to_owned(),
        }
    }

    /// The API group; empty for the core one.
    #[must_use]
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(f, "{}/{}", self.kind, self.name),
            namespace => write!(f, "{}/{} in {namespace}", self.kind, self.name),
        }
    }
}

/// The UID that the server gave an object; empty if it has none.
#[must_use]
pub fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

/// Whether an object is being deleted.
pub(crate) fn is_deleting(object: &Value) -> bool {
    !text(object, "/metadata/deletionTimestamp").is_empty()
}

/// A text inside an object; empty if it is not there.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
