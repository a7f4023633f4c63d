//! The untyped tree a Compose file is until it is bound: what a YAML document holds once its
//! aliases, merge keys and tags are gone, and how such values print.

use indexmap::IndexMap;

use crate::golang::float;

/// A mapping, in the order its keys were first written.
pub(super) type Map = IndexMap<String, Value>;

/// One value of a Compose tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer above `i64::MAX`.
    Uint(u64),
    Float(f64),
    /// A number that Compose keeps in single precision, which shows when it is printed.
    Float32(f32),
    Str(String),
    /// A date or time; see [`Timestamp`].
    Time(Timestamp),
    Seq(Vec<Value>),
    Map(Map),
}

/// A point in time in the two spellings Compose gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Timestamp {
    /// `2020-01-02T03:04:05Z`, as YAML and JSON documents spell it.
    pub(super) rfc3339: String,
    /// `2020-01-02 03:04:05 +0000 UTC`, as it is spelled inside a string.
    pub(super) text: String,
}

impl Value {
    pub(super) fn str(text: impl Into<String>) -> Self {
        Self::Str(text.into())
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    pub(super) fn as_map_mut(&mut self) -> Option<&mut Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    pub(super) fn as_seq(&self) -> Option<&[Value]> {
        match self {
            Self::Seq(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The value of `key` when this is a mapping that has it.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.as_map()?.get(key)
    }

    /// The text of `key`, empty when it is missing or no text.
    pub(super) fn text(&self, key: &str) -> &str {
        self.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// The items of `key`, none when it is missing or no list.
    pub(super) fn items(&self, key: &str) -> &[Value] {
        self.get(key).and_then(Value::as_seq).unwrap_or_default()
    }

    /// The entries of `key`, none when it is missing or no mapping.
    pub(super) fn entries<'a>(
        &'a self,
        key: &str,
    ) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
        self.get(key).and_then(Value::as_map).into_iter().flatten()
    }

    /// The name Compose's messages give this kind of value.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint64",
            Self::Float(_) => "float64",
            Self::Float32(_) => "float32",
            Self::Str(_) => "string",
            Self::Time(_) => "time.Time",
            Self::Seq(_) => "[]interface {}",
            Self::Map(_) => "map[string]interface {}",
        }
    }

    /// The value as text inside another text, such as an environment variable.
    pub(super) fn sprint(&self) -> String {
        match self {
            Self::Null => "<nil>".to_owned(),
            Self::Bool(flag) => flag.to_string(),
            Self::Int(number) => number.to_string(),
            Self::Uint(number) => number.to_string(),
            Self::Float(number) => float::shortest_g(*number),
            Self::Float32(number) => float::shortest_g32(*number),
            Self::Str(text) => text.clone(),
            Self::Time(time) => time.text.clone(),
            Self::Seq(_) | Self::Map(_) => self.sprint_collection(Value::sprint),
        }
    }

    /// The value where a message expects a text, and says so when it is none.
    pub(super) fn as_message(&self) -> String {
        match self {
            Self::Str(text) => text.clone(),
            Self::Null => "%!s(<nil>)".to_owned(),
            Self::Seq(_) | Self::Map(_) => self.sprint_collection(Value::as_message),
            other => format!("%!s({}={})", other.type_name(), other.sprint()),
        }
    }

    /// `[a b]` or, sorted by key, `map[a:1 b:2]`, each value as `show` prints it.
    fn sprint_collection(&self, show: fn(&Value) -> String) -> String {
        match self {
            Self::Map(map) => {
                let mut keys: Vec<_> = map.keys().collect();
                keys.sort();
                let entries: Vec<_> =
                    keys.iter().map(|key| format!("{key}:{}", show(&map[*key]))).collect();
                format!("map[{}]", entries.join(" "))
            }
            _ => {
                let items = self.as_seq().unwrap_or_default();
                format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(" "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_as_compose_prints_them() {
        let entry = |key: &str, value| (key.to_owned(), value);
        for (value, text) in [
            (Value::Float(1.5), "1.5"),
            (Value::Float(1_000_000.0), "1e+06"),
            (Value::Float32(0.1), "0.1"),
            (Value::Float32(1_000_000.0), "1e+06"),
            (Value::Seq(vec![Value::Int(1), Value::Null]), "[1 <nil>]"),
            (
                Value::Map(Map::from([entry("b", Value::Bool(true)), entry("a", Value::str("x"))])),
                "map[a:x b:true]",
            ),
        ] {
            assert_eq!(value.sprint(), text);
        }
    }
}
