//! One object, stored as the text that clients get.
//!
//! Thousands of objects exist at a time and most are never inspected, so an object is one string and a few offsets
//! into it; callers parse the fields they need.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{GROUP_VERSION, Kind, ObjectId};

/// One version of an object.
#[derive(Debug)]
pub struct Object {
    kind: Kind,
    version: u64,
    json: Box<str>,
    name: Box<str>,
    /// Where what follows the resource version begins.
    tail_at: u32,
    /// Where spec or data begin, with their comma.
    body_at: u32,
    /// Where the status begins, with its comma; the end if there is none.
    status_at: u32,
}

/// The metadata that the engine sets on its own objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Labels, for selectors.
    pub labels: BTreeMap<String, String>,
    /// Annotations, for programs.
    pub annotations: BTreeMap<String, String>,
    /// Who it belongs to; nobody if there is no such object when it is written.
    pub owner: Option<ObjectId>,
}

/// The parts of an object that decide whether two versions differ, as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// The metadata from the creation time on, with the closing brace.
    pub(super) tail: String,
    /// Spec or data, with key and comma; empty if there is none.
    pub(super) body: String,
    /// The status, with key and comma; empty if there is none.
    pub(super) status: String,
}

impl Parts {
    /// The object that has these parts, but for its name and versions.
    pub(super) fn value(&self, kind: Kind) -> Value {
        Object::new(kind, "", "", 0, self).value()
    }
}

impl Object {
    pub(super) fn new(kind: Kind, name: &str, uid: &str, version: u64, parts: &Parts) -> Self {
        let mut json = format!(
            r#"{{"kind":"{}","apiVersion":"{GROUP_VERSION}","metadata":{{"name":{},"uid":"{uid}","resourceVersion":"{version}""#,
            kind.name(),
            quote(name),
        );
        let tail_at = offset(&json);
        json.push_str(&parts.tail);
        let body_at = offset(&json);
        json.push_str(&parts.body);
        let status_at = offset(&json);
        json.push_str(&parts.status);
        json.push('}');
        Self { kind, version, json: json.into(), name: name.into(), tail_at, body_at, status_at }
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version of this content.
    pub fn resource_version(&self) -> u64 {
        self.version
    }

    /// The whole object as JSON.
    pub fn json(&self) -> &str {
        reads::count();
        &self.json
    }

    /// The whole object.
    pub fn value(&self) -> Value {
        parse(&self.json)
    }

    /// The spec, or the data of a config map; null if there is none.
    pub fn spec(&self) -> Value {
        part(self.body(), self.kind.body_key())
    }

    /// The status; null for kinds without one.
    pub fn status(&self) -> Value {
        part(self.status_text(), "status")
    }

    /// The metadata.
    pub fn metadata(&self) -> Value {
        parse(self.metadata_json())
    }

    /// The metadata as JSON, for answers that have nothing else.
    pub fn metadata_json(&self) -> &str {
        let at = self.json.find(r#""metadata":"#).unwrap_or(0) + r#""metadata":"#.len();
        self.json.get(at..self.body_at as usize).unwrap_or_default()
    }

    /// Its labels.
    pub fn labels(&self) -> BTreeMap<String, String> {
        self.tail_fields().labels
    }

    /// Its annotations.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        self.tail_fields().annotations
    }

    /// Its identity, which stays the same as long as it exists.
    pub fn uid(&self) -> &str {
        // The head is written by `new`: kind, version and name contain no such key unescaped.
        let head = &self.json[..self.tail_at as usize];
        let at = head.rfind(r#","uid":""#).map_or(0, |at| at + r#","uid":""#.len());
        head[at..].split('"').next().unwrap_or_default()
    }

    /// When it was created.
    pub fn created(&self) -> String {
        self.tail_fields().creation_timestamp
    }

    /// The kind and name of the object that controls it.
    pub fn owner(&self) -> Option<(String, String)> {
        let owners = self.tail_fields().owner_references;
        owners.into_iter().next().map(|it| (it.kind, it.name))
    }

    pub(super) fn parts(&self) -> Parts {
        Parts {
            tail: self.tail().to_owned(),
            body: self.body().to_owned(),
            status: self.status_text().to_owned(),
        }
    }

    pub(super) fn has_parts(&self, parts: &Parts) -> bool {
        self.tail() == parts.tail && self.body() == parts.body && self.status_text() == parts.status
    }

    pub(super) fn tail(&self) -> &str {
        &self.json[self.tail_at as usize..self.body_at as usize]
    }

    pub(super) fn body(&self) -> &str {
        &self.json[self.body_at as usize..self.status_at as usize]
    }

    pub(super) fn status_text(&self) -> &str {
        &self.json[self.status_at as usize..self.json.len() - 1]
    }

    /// The tail with another annotation, or without it.
    pub(super) fn annotated(&self, key: &str, note: Option<&str>) -> String {
        let mut annotations = self.annotations();
        match note {
            Some(note) => annotations.insert(key.to_owned(), note.to_owned()),
            None => annotations.remove(key),
        };
        let mut fields: Map<String, Value> =
            serde_json::from_str(&self.tail_json()).unwrap_or_default();
        if annotations.is_empty() {
            fields.shift_remove("annotations");
        } else {
            fields.insert("annotations".to_owned(), json!(annotations));
        }
        format!(",{}", to_json(&fields).trim_start_matches('{'))
    }

    fn tail_fields(&self) -> TailFields {
        reads::count();
        serde_json::from_str(&self.tail_json()).unwrap_or_default()
    }

    /// The tail starts with a comma and has the brace that ends the metadata.
    fn tail_json(&self) -> String {
        format!("{{{}", self.tail().trim_start_matches(','))
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TailFields {
    creation_timestamp: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    owner_references: Vec<OwnerFields>,
}

#[derive(Deserialize)]
struct OwnerFields {
    kind: String,
    name: String,
}

impl Meta {
    /// The metadata from the creation time on, with the closing brace; the owner is there, or left out.
    pub(super) fn tail(&self, created: &str, owner: Option<&Object>) -> String {
        let mut out = format!(r#","creationTimestamp":"{created}""#);
        for (key, map) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !map.is_empty() {
                out.push_str(&format!(r#","{key}":{}"#, to_json(map)));
            }
        }
        if let Some(owner) = owner {
            out.push_str(&format!(
                r#","ownerReferences":[{{"apiVersion":"{GROUP_VERSION}","kind":"{}","name":{},"uid":{},"controller":true,"blockOwnerDeletion":true}}]"#,
                owner.kind().name(),
                quote(owner.name()),
                quote(owner.uid()),
            ));
        }
        out.push('}');
        out
    }
}

/// A part of an object under its key; nothing for null.
pub(super) fn keyed(key: &str, value: &impl serde::Serialize) -> String {
    let json = to_json(value);
    if json == "null" { String::new() } else { format!(r#","{key}":{json}"#) }
}

/// The JSON of a value.
pub(super) fn to_json(value: &impl serde::Serialize) -> String {
    // Maps with keys that are no texts are the only values without JSON, and nobody has them here.
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// The value of a part that was made by [`keyed`].
fn part(text: &str, key: &str) -> Value {
    // `,"key":` stands before the value.
    text.get(key.len() + 4..).map_or(Value::Null, parse)
}

fn quote(text: &str) -> String {
    to_json(&text)
}

fn parse(text: &str) -> Value {
    reads::count();
    serde_json::from_str(text).unwrap_or_default()
}

/// How often this thread parsed an object, for tests: unlike durations, this is the same on all machines.
pub mod reads {
    std::thread_local! {
        static READS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    #[inline]
    pub(super) fn count() {
        READS.set(READS.get() + 1);
    }

    /// How often since the last call.
    #[expect(clippy::must_use_candidate, reason = "whoever starts to count wants no answer")]
    pub fn take() -> usize {
        READS.take()
    }
}

fn offset(json: &str) -> u32 {
    u32::try_from(json.len()).expect("bodies are limited to 20 MB")
}
