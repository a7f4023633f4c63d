//! Who wrote a field, as the server keeps book of it (`metadata.managedFields`).

use serde_json::Value;

use super::{
    equal::{covers, is_zero},
    merge::{KeptField, Step},
};

/// The name under which we write.
pub(super) const MANAGER: &str = "tilt";

/// How a manager writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// By server-side apply.
    Apply,
    /// In any other way.
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// The entries of an object's book.
pub(super) fn entries(object: &Value) -> &[Value] {
    let book = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    book.map(Vec::as_slice).unwrap_or_default()
}

/// Who else wrote a field; nothing if it is ours as the server keeps it.
pub(super) fn other_writer(object: &Value, kept: &KeptField) -> Option<String> {
    if kept.theirs.is_none() {
        return Some(String::new());
    }
    // An entry that ends above the field means the field only if no other entry goes further.
    let depths = entries(object).iter().map(|entry| (depth(&entry["fieldsV1"], &kept.path), entry));
    let depths: Vec<(usize, &Value)> =
        depths.filter_map(|(depth, entry)| Some((depth?, entry))).collect();
    let deepest = depths.iter().map(|(depth, _)| *depth).max();
    let writers: Vec<&str> = depths
        .iter()
        .filter(|(depth, _)| Some(*depth) == deepest)
        .filter_map(|(_, entry)| entry["manager"].as_str())
        .collect();
    (!writers.contains(&MANAGER)).then(|| writers.join(", "))
}

/// Whether a set of fields holds a field, or all of a part that it is in.
pub(super) fn owns(fields: &Value, path: &[Step]) -> bool {
    depth(fields, path).is_some()
}

/// How far a set of fields leads to a field, if it holds it or all of a part that it is in.
fn depth(fields: &Value, path: &[Step]) -> Option<usize> {
    let fields = fields.as_object()?;
    let Some((step, rest)) = path.split_first() else { return Some(0) };
    let inner = match step {
        Step::Field(name) => fields.get(&format!("f:{name}")),
        Step::Item(keys) => fields.iter().find_map(|(name, inner)| {
            let key: Value = serde_json::from_str(name.strip_prefix("k:")?).ok()?;
            let matches =
                |(name, value): &(&'static str, Value)| key.get(*name).is_none_or(|it| it == value);
            keys.iter().all(matches).then_some(inner)
        }),
    };
    let inner = inner?;
    if inner.as_object().is_some_and(serde_json::Map::is_empty) {
        return Some(1);
    }
    Some(depth(inner, rest)? + 1)
}

/// Whether we have written just the wanted fields in a way, and they are still as wanted.
pub(super) fn is_as_written(live: &Value, wanted: &Value, operation: Operation) -> bool {
    let ours = entries(live).iter().find(|entry| {
        entry["manager"] == MANAGER
            && entry["operation"] == operation.name()
            && entry.get("subresource").is_none()
    });
    ours.is_some_and(|entry| matches(&entry["fieldsV1"], wanted, live, ""))
}

/// Whether a set of fields is that of a wanted value, which is what is live.
fn matches(fields: &Value, wanted: &Value, live: &Value, name: &str) -> bool {
    let Some(fields) = fields.as_object() else { return false };
    let inner: Vec<_> = fields.iter().filter(|(name, _)| *name != ".").collect();
    if inner.is_empty() {
        return covers(live, wanted, name);
    }
    match wanted {
        Value::Object(wanted) => {
            let is_covered = wanted.iter().all(|(key, wanted)| {
                let name = if super::equal::is_amounts(name) { name } else { key };
                match (fields.get(&format!("f:{key}")), live.get(key)) {
                    (Some(fields), Some(live)) => matches(fields, wanted, live, name),
                    // The server does not keep what is as good as nothing.
                    _ => is_zero(wanted),
                }
            });
            let is_wanted = |field: &str| {
                field
                    .strip_prefix("f:")
                    .is_some_and(|it| wanted.get(it).is_some_and(|it| !it.is_null()))
            };
            is_covered && inner.iter().all(|(field, _)| is_wanted(field))
        }
        Value::Array(wanted) => {
            let Some(live) = live.as_array() else { return false };
            wanted.len() == inner.len()
                && inner.iter().all(|(key, fields)| {
                    find(wanted, key)
                        .zip(find(live, key))
                        .is_some_and(|(wanted, live)| matches(fields, wanted, live, ""))
                })
        }
        _ => false,
    }
}

/// The item of a list that a key of the book means.
fn find<'a>(items: &'a [Value], key: &str) -> Option<&'a Value> {
    if let Some(value) = key.strip_prefix("v:") {
        let value: Value = serde_json::from_str(value).ok()?;
        return items.iter().find(|it| **it == value);
    }
    let keys: Value = serde_json::from_str(key.strip_prefix("k:")?).ok()?;
    let keys = keys.as_object()?;
    let has = |item: &Value| {
        keys.iter().all(|(name, value)| match item.get(name) {
            Some(it) => it == value,
            None => name == "protocol" && value == "TCP",
        })
    };
    items.iter().find(|it| has(it))
}
