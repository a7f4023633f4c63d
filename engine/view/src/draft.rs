//! An object as it is to be written; the store adds what identifies it.

use std::collections::BTreeMap;

use engine_model::{Kind, ObjectId};
use serde_json::Value;

/// An object to write.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectDraft {
    /// Which one.
    pub id: ObjectId,
    /// Labels, for selectors.
    pub labels: BTreeMap<String, String>,
    /// Annotations, for programs.
    pub annotations: BTreeMap<String, String>,
    /// Who it belongs to.
    pub owner: Option<ObjectId>,
    /// What it asks for; the data of a config map.
    pub spec: Value,
}

impl ObjectDraft {
    pub(crate) fn new(kind: Kind, name: impl Into<String>, spec: Value) -> Self {
        let (labels, annotations) = (BTreeMap::new(), BTreeMap::new());
        Self { id: ObjectId::new(kind, name), labels, annotations, owner: None, spec }
    }

    pub(crate) fn annotated(mut self, annotations: &[(&str, &str)]) -> Self {
        let pairs = annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        self.annotations.extend(pairs);
        self
    }
}
