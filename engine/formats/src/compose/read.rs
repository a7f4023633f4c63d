//! YAML text to Compose trees: aliases and merge keys are expanded, `!reset` and `!override` are
//! noted for the merge with earlier files.

use std::collections::HashMap;

use super::ComposeError;
use super::value::{Map, Timestamp, Value};
use crate::golang::quote::quote;
use crate::yaml::node::{self, Kind, NodeId, Stream};

/// Deepest nesting a Compose file may have.
const MAX_DEPTH: usize = 200;
/// Most values a document may hold once its aliases are expanded.
const MAX_VALUES: usize = 1_000_000;
/// Most uses of one anchor; each is compared with all others.
const MAX_USES: usize = 5_000;

const EXCESSIVE_ALIASING: &str = "yaml: document contains excessive aliasing";

/// One document of a Compose file.
pub(super) struct Document {
    pub(super) root: Value,
    pub(super) resets: Resets,
}

/// The places whose earlier values are dropped.
#[derive(Debug, Clone, Default)]
pub(super) struct Resets(Vec<Vec<String>>);

impl Resets {
    /// Drops from `tree`, which sits at `prefix`, what was marked.
    pub(super) fn apply(&self, tree: &mut Map, prefix: &[&str]) {
        for path in &self.0 {
            let Some(path) = strip_prefix(path, prefix) else { continue };
            let [parents @ .., last] = path else { continue };
            let mut map = Some(&mut *tree);
            for key in parents {
                map = map.and_then(|map| map.get_mut(key)).and_then(Value::as_map_mut);
            }
            if let Some(map) = map {
                map.shift_remove(last);
            }
        }
    }
}

fn strip_prefix<'a>(path: &'a [String], prefix: &[&str]) -> Option<&'a [String]> {
    let matches = path.len() >= prefix.len() && path.iter().zip(prefix).all(|(a, b)| a == b);
    matches.then(|| &path[prefix.len()..])
}

/// Reads all documents of a file.
pub(super) fn read(text: &str) -> Result<Vec<Document>, String> {
    let stream = node::parse(text).map_err(|error| error.to_string())?;
    stream
        .documents
        .iter()
        .map(|&root| {
            let mut reader = Reader {
                stream: &stream,
                path: Vec::new(),
                resets: Vec::new(),
                visited: HashMap::new(),
                depth: 0,
                values: 0,
            };
            match reader.value(root, Tags::Heeded) {
                Ok(value) => Ok(Document {
                    root: value.unwrap_or(Value::Null),
                    resets: Resets(reader.resets),
                }),
                Err(error) if error.starts_with(NON_STRING_KEY) => Err(error),
                Err(error) => {
                    let line = stream[root].line;
                    Err(format!("yaml: unmarshal errors:\n  line {line}: {error}"))
                }
            }
        })
        .collect()
}

/// The `name` a file gives its project, empty when it gives none.
pub(super) fn project_name(text: &str) -> Result<String, ComposeError> {
    let stream = node::parse(text).map_err(|error| ComposeError::new(error.to_string()))?;
    let mut name = String::new();
    for &root in &stream.documents {
        if let Kind::Mapping { entries, .. } = &stream[root].kind {
            let found = entries.iter().find(|(key, _)| stream[*key].text() == "name");
            if let Some((_, value)) = found {
                let text = stream[stream.resolve_alias(*value)].text();
                if !text.is_empty() {
                    text.clone_into(&mut name);
                }
            }
        }
    }
    Ok(name)
}

/// Whether `!reset` and `!override` mean something; inside `!override` they do not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tags {
    Heeded,
    Ignored,
}

struct Reader<'s, 't> {
    stream: &'s Stream<'t>,
    path: Vec<String>,
    resets: Vec<Vec<String>>,
    /// The places at which an anchored node was used.
    visited: HashMap<NodeId, Vec<String>>,
    depth: usize,
    values: usize,
}

impl Reader<'_, '_> {
    /// The value of a node, none when it is reset.
    fn value(&mut self, id: NodeId, tags: Tags) -> Result<Option<Value>, String> {
        self.values += 1;
        if self.depth > MAX_DEPTH || self.values > MAX_VALUES {
            return Err(EXCESSIVE_ALIASING.to_owned());
        }
        self.depth += 1;
        let value = self.node(id, tags);
        self.depth -= 1;
        value
    }

    fn node(&mut self, id: NodeId, mut tags: Tags) -> Result<Option<Value>, String> {
        let node = &self.stream[id];
        if let Kind::Alias { target, .. } = node.kind {
            self.check_cycle(target)?;
            return self.value(target, tags);
        }
        if tags == Tags::Heeded {
            match node.explicit_tag.as_deref() {
                Some("!reset") => {
                    self.resets.push(self.path.clone());
                    return Ok(None);
                }
                Some("!override") => {
                    self.resets.push(self.path.clone());
                    tags = Tags::Ignored;
                }
                _ => {}
            }
        }
        match &node.kind {
            Kind::Sequence { items, .. } => self.sequence(items, tags).map(Some),
            Kind::Mapping { entries, .. } => self.mapping(entries, tags).map(Some),
            Kind::Scalar { .. } | Kind::Alias { .. } => self.scalar(id).map(Some),
        }
    }

    fn sequence(&mut self, items: &[NodeId], tags: Tags) -> Result<Value, String> {
        let mut values = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            self.path.push(at.to_string());
            let value = self.value(*item, tags);
            self.path.pop();
            values.extend(value?);
        }
        Ok(Value::Seq(values))
    }

    fn mapping(&mut self, entries: &[(NodeId, NodeId)], tags: Tags) -> Result<Value, String> {
        let mut lines = HashMap::new();
        let mut map = Map::new();
        let mut merged = Vec::new();
        for &(key, value) in entries {
            let node = &self.stream[key];
            if let Some(line) = lines.insert(node.text(), node.line) {
                return Err(format!(
                    "line {}: mapping key {} already defined at line {line}",
                    node.line,
                    quote(node.text())
                ));
            }
            if node.is_merge_key() {
                merged.extend(self.value(value, tags)?);
                continue;
            }
            let name = self.key(key)?;
            self.path.push(name.clone());
            let value = self.value(value, tags);
            self.path.pop();
            if let Some(value) = value? {
                map.insert(name, value);
            }
        }
        for value in merged {
            merge_into(&mut map, value)?;
        }
        Ok(Value::Map(map))
    }

    /// A key, which must be a text.
    fn key(&self, id: NodeId) -> Result<String, String> {
        let id = self.stream.resolve_alias(id);
        match self.scalar(id)? {
            Value::Str(text) => Ok(text),
            other => {
                let place = match self.place() {
                    place if place.is_empty() => "at top level".to_owned(),
                    place => format!("in {place}"),
                };
                Err(format!("{NON_STRING_KEY}{place}: {}", other.sprint()))
            }
        }
    }

    fn place(&self) -> String {
        let mut place = String::new();
        for part in &self.path {
            let index = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            match (index, place.is_empty()) {
                (true, _) => place.extend(["[", part, "]"]),
                (false, true) => place.push_str(part),
                (false, false) => place.extend([".", part]),
            }
        }
        place
    }

    fn scalar(&self, id: NodeId) -> Result<Value, String> {
        let value = self.stream.to_value(id).map_err(|error| error.to_string())?;
        Ok(match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(flag) => Value::Bool(flag),
            serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => Value::Int(number),
                (None, Some(number)) => Value::Uint(number),
                (None, None) => Value::Float(number.as_f64().unwrap_or_default()),
            },
            serde_json::Value::String(text) => match &*self.stream[id].tag() {
                "!!timestamp" => Value::Time(timestamp(text)),
                // JSON has no spelling for infinities and NaN.
                "!!float" => text.parse().map_or(Value::Str(text), Value::Float),
                _ => Value::Str(text),
            },
            other => Value::Str(other.to_string()),
        })
    }

    /// An anchored node must not be used inside itself.
    fn check_cycle(&mut self, target: NodeId) -> Result<(), String> {
        let place = self.path.join(".");
        let places = self.visited.entry(target).or_default();
        if places.len() >= MAX_USES {
            return Err(EXCESSIVE_ALIASING.to_owned());
        }
        for earlier in places.iter().filter(|earlier| **earlier != place) {
            let nested = |inner: &str, outer: &str| {
                inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
            };
            let contained = nested(&place, earlier) || nested(earlier, &place);
            if contained && !in_different_services(&place, earlier) {
                return Err(format!(
                    "cycle detected: node at path {place} references node at path {earlier}"
                ));
            }
        }
        places.push(place);
        Ok(())
    }
}

/// How the message about a key that is no text starts; it is told without the file's name.
pub(super) const NON_STRING_KEY: &str = "non-string key ";

fn in_different_services(first: &str, second: &str) -> bool {
    let (first, second): (Vec<_>, Vec<_>) =
        (first.split('.').collect(), second.split('.').collect());
    let pairs = first.windows(2).zip(second.windows(2));
    pairs
        .into_iter()
        .find(|(a, b)| a[0] == "services" && b[0] == "services")
        .is_some_and(|(a, b)| a[1] != b[1])
}

/// Adds what a merge key brings in, where the mapping itself does not say otherwise.
fn merge_into(map: &mut Map, value: Value) -> Result<(), String> {
    match value {
        Value::Map(other) => {
            for (key, value) in other {
                map.entry(key).or_insert(value);
            }
            Ok(())
        }
        Value::Seq(others) => others.into_iter().try_for_each(|other| match other {
            Value::Map(_) => merge_into(map, other),
            _ => Err(MERGE_NEEDS_MAP.to_owned()),
        }),
        _ => Err(MERGE_NEEDS_MAP.to_owned()),
    }
}

const MERGE_NEEDS_MAP: &str = "yaml: map merge requires map or sequence of maps as the value";

/// Both spellings of a time, from `2020-01-02 03:04:05 +0000 UTC`.
fn timestamp(text: String) -> Timestamp {
    let mut parts = text.split(' ');
    let (date, time) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let zone = match parts.next() {
        None | Some("+0000") => "Z".to_owned(),
        Some(offset) => {
            let (hours, minutes) = offset.split_at(offset.len().min(3));
            format!("{hours}:{minutes}")
        }
    };
    Timestamp { rfc3339: format!("{date}T{time}{zone}"), text }
}
