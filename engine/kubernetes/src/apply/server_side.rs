//! Server-side apply: the server merges, and keeps book of whose fields are whose.

use hyper::Method;
use serde_json::{Map, Value, json};

use super::{
    merge::Step,
    one::Upsert,
    ownership::{self, MANAGER, Operation, entries, owns},
    wanted::LAST_APPLIED,
};
use crate::{KubernetesError, Verb, object::text, request::Call};

pub(super) const APPLY: &str = "application/apply-patch+yaml";
const JSON_PATCH: &str = "application/json-patch+json";

impl Upsert<'_> {
    /// Whether the server has applied just this for us already, and nobody changed it since.
    pub(super) fn is_applied_by_server(&self, live: &Value) -> bool {
        remembering_writers(live).is_empty()
            && ownership::is_as_written(live, &self.wanted.comparable_named(), Operation::Apply)
    }

    /// Applies on the server's side, and takes over what was applied in the other way before.
    pub(super) async fn apply_by_server(
        &self,
        live: Option<Value>,
    ) -> Result<Value, KubernetesError> {
        if let Some(live) = live.filter(|live| self.is_applied_by_server(live)) {
            return Ok(live);
        }
        let object = self.send_apply().await?;
        let Some(book) = taken_over(&object) else { return Ok(object) };
        let change = json!([
            {"op": "replace", "path": "/metadata/managedFields", "value": book},
            {"op": "replace", "path": "/metadata/resourceVersion",
             "value": text(&object, "/metadata/resourceVersion")},
        ]);
        let path = self.wanted.path();
        let call = Call::write(Method::PATCH, &path, JSON_PATCH, change.to_string().into());
        match self.write(Verb::Patch, call).await {
            // Fields that are not wanted any more go only now, as they are ours now.
            Ok(_) => self.send_apply().await,
            // The object is applied; the next apply tries again.
            Err(KubernetesError::Refused(_)) => Ok(object),
            Err(error) => Err(error),
        }
    }

    /// Has the server merge the object into what is there.
    pub(super) async fn send_apply(&self) -> Result<Value, KubernetesError> {
        let path = format!("{}?fieldManager={MANAGER}&force=true", self.wanted.path());
        let body = self.wanted.plain().to_string().into();
        self.write(Verb::Apply, Call::write(Method::PATCH, &path, APPLY, body)).await
    }
}

/// The places in the book of those who applied the object in the other way.
fn remembering_writers(object: &Value) -> Vec<usize> {
    let memory = ["metadata", "annotations", LAST_APPLIED].map(|it| Step::Field(it.to_owned()));
    let book = entries(object).iter().enumerate();
    let remembers = |entry: &Value| {
        entry["operation"] == "Update"
            && entry.get("subresource").is_none()
            && owns(&entry["fieldsV1"], &memory)
    };
    book.filter(|(_, entry)| remembers(entry)).map(|(place, _)| place).collect()
}

/// The book with the fields of those who applied in the other way as ours; nothing if there is none.
fn taken_over(object: &Value) -> Option<Value> {
    let old = remembering_writers(object);
    if old.is_empty() {
        return None;
    }
    let mut fields = Map::new();
    let mut book = Vec::new();
    let mut ours = None;
    for (place, entry) in entries(object).iter().enumerate() {
        let is_ours = entry["manager"] == MANAGER
            && entry["operation"] == "Apply"
            && entry.get("subresource").is_none();
        if is_ours || old.contains(&place) {
            unite(&mut fields, entry["fieldsV1"].as_object()?);
        }
        if is_ours {
            ours = Some(entry.clone());
        } else if !old.contains(&place) {
            book.push(entry.clone());
        }
    }
    let mut ours = ours?;
    ours["fieldsV1"] = Value::Object(fields);
    book.push(ours);
    Some(Value::Array(book))
}

/// Adds the fields of one set to another.
fn unite(fields: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, inner) in more {
        let there = fields.entry(name).or_insert_with(|| json!({}));
        if let (Some(there), Some(inner)) = (there.as_object_mut(), inner.as_object()) {
            unite(there, inner);
        }
    }
}
