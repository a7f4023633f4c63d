//! A set of fields of an object, in the format of Kubernetes (`fieldsV1`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// How deep sets may nest; no kind has fields that deep.
const MAX_DEPTH: usize = 32;

/// Some fields: whether this one is meant, and which of those below it.
///
/// Fields are named as in `FieldsV1`: `f:name` for a field, `k:{…}` for the item of a list with this key, and `v:…` for
/// the item with this value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSet {
    pub(super) is_member: bool,
    children: BTreeMap<String, FieldSet>,
}

impl FieldSet {
    /// Only this field, and nothing below it.
    pub(super) fn leaf() -> Self {
        Self { is_member: true, children: BTreeMap::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.is_member && self.children.is_empty()
    }

    pub(super) fn child(&self, name: &str) -> Option<&Self> {
        self.children.get(name)
    }

    pub(super) fn child_mut(&mut self, name: &str) -> Option<&mut Self> {
        self.children.get_mut(name)
    }

    pub(super) fn children(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.children.iter().map(|(name, it)| (name.as_str(), it))
    }

    /// Adds a child, unless it is empty.
    pub(super) fn insert(&mut self, name: String, child: Self) {
        if !child.is_empty() {
            self.children.insert(name, child);
        }
    }

    /// Removes a child that has become empty.
    pub(super) fn tidy(&mut self, name: &str) {
        if self.children.get(name).is_some_and(Self::is_empty) {
            self.children.remove(name);
        }
    }

    /// Adds all fields of another set.
    pub(super) fn unite(&mut self, other: &Self) {
        self.is_member |= other.is_member;
        for (name, child) in &other.children {
            self.children.entry(name.clone()).or_default().unite(child);
        }
    }

    /// Removes all fields of another set.
    pub(super) fn subtract(&mut self, other: &Self) {
        self.is_member &= !other.is_member;
        for (name, child) in &other.children {
            if let Some(own) = self.children.get_mut(name) {
                own.subtract(child);
                self.tidy(name);
            }
        }
    }

    /// The fields that are in both sets.
    pub(super) fn common(&self, other: &Self) -> Self {
        let mut common = Self { is_member: self.is_member && other.is_member, ..Self::default() };
        for (name, child) in &self.children {
            if let Some(other) = other.children.get(name) {
                common.insert(name.clone(), child.common(other));
            }
        }
        common
    }

    /// The paths of all fields, as error messages show them.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect_paths("", &mut paths);
        paths
    }

    fn collect_paths(&self, path: &str, out: &mut Vec<String>) {
        if self.is_member {
            out.push(path.to_owned());
        }
        for (name, child) in &self.children {
            child.collect_paths(&format!("{path}{}", shown(name)), out);
        }
    }

    /// The set as `FieldsV1`.
    pub(super) fn to_json(&self) -> Value {
        let mut map = Map::new();
        if self.is_member && !self.children.is_empty() {
            map.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for (name, child) in &self.children {
            map.insert(name.clone(), child.to_json());
        }
        Value::Object(map)
    }

    /// Parses a `FieldsV1`; `None` if it is invalid.
    pub(super) fn of_json(value: &Value) -> Option<Self> {
        let mut set = Self::read(value, 0)?;
        // What stands at the root is an object, and not a field.
        set.is_member = false;
        Some(set)
    }

    fn read(value: &Value, depth: usize) -> Option<Self> {
        let map = value.as_object().filter(|_| depth < MAX_DEPTH)?;
        let mut set = Self { is_member: map.is_empty(), ..Self::default() };
        for (name, child) in map {
            match name.get(..2) {
                _ if name == "." => set.is_member = true,
                Some("f:" | "k:" | "v:" | "i:") => {
                    set.children.insert(name.clone(), Self::read(child, depth + 1)?);
                }
                _ => return None,
            }
        }
        Some(set)
    }
}

/// A step of a path, as error messages show it.
fn shown(name: &str) -> String {
    let (class, rest) = name.split_at(name.len().min(2));
    match class {
        "k:" => {
            let keys = serde_json::from_str::<Map<String, Value>>(rest).unwrap_or_default();
            let keys: Vec<String> = keys.iter().map(|(key, it)| format!("{key}={it}")).collect();
            format!("[{}]", keys.join(","))
        }
        "v:" => format!("[={rest}]"),
        "i:" => format!("[{rest}]"),
        _ => format!(".{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(value: &Value) -> FieldSet {
        FieldSet::of_json(value).unwrap()
    }

    #[test]
    fn sets_are_read_and_written_in_the_same_form() {
        let json = json!({
            "f:data": {".": {}, "f:a": {}},
            "f:metadata": {"f:finalizers": {"v:\"x\"": {}}, "f:ownerReferences": {"k:{\"uid\":\"1\"}": {}}},
        });
        let set = set(&json);
        assert_eq!(set.to_json(), json);
        assert_eq!(
            set.paths(),
            [
                ".data",
                ".data.a",
                ".metadata.finalizers[=\"x\"]",
                ".metadata.ownerReferences[uid=\"1\"]"
            ]
        );
    }

    #[test]
    fn what_is_no_set_is_not_read() {
        let mut deep = json!({});
        for _ in 0..100 {
            deep = json!({ "f:x": deep });
        }
        for value in [json!(1), json!({"x": {}}), json!({"f:a": 1}), json!({"é": {}}), deep] {
            assert_eq!(FieldSet::of_json(&value), None, "{value}");
        }
    }

    #[test]
    fn sets_are_added_subtracted_and_intersected() {
        let mut left = set(&json!({"f:a": {"f:x": {}, "f:y": {}}, "f:b": {}}));
        let right = set(&json!({"f:a": {"f:y": {}}, "f:c": {}}));
        assert_eq!(left.common(&right).to_json(), json!({"f:a": {"f:y": {}}}));
        left.subtract(&right);
        assert_eq!(left.to_json(), json!({"f:a": {"f:x": {}}, "f:b": {}}));
        left.unite(&right);
        assert_eq!(left.to_json(), json!({"f:a": {"f:x": {}, "f:y": {}}, "f:b": {}, "f:c": {}}));
    }
}
