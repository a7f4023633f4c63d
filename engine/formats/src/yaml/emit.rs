//! Decides how values are laid out as YAML: go-yaml v2's style for Kubernetes, v3's for Compose.

mod analysis;
mod key_order;
mod writer;

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::error::Error;
use super::node::Style;
use super::{Dialect, MAX_DEPTH, decode_v2, node};
use crate::golang::{float, json};
use key_order::sort_keys;
use writer::Writer;

/// A value to be written, with the order of its fields.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree<'a> {
    /// Text that is written without quotes, such as `null`, `true` or a number.
    Plain(Cow<'a, str>),
    /// A string, which is quoted if it would be read as something else.
    Text(Cow<'a, str>),
    /// A string in the given style, as far as that style can express it.
    Styled(Cow<'a, str>, Style),
    /// A list.
    Sequence(Vec<Tree<'a>>),
    /// Fields in the order in which they are written.
    Mapping(Vec<(Cow<'a, str>, Tree<'a>)>),
}

impl<'a> Tree<'a> {
    /// Makes the tree of a value as go-yaml v3 prints it: keys sorted, floats kept as floats.
    pub fn from_value(value: &'a Value) -> Self {
        Self::build(value, Dialect::V4)
    }

    fn build(value: &'a Value, dialect: Dialect) -> Self {
        match value {
            Value::Null => Self::Plain(Cow::Borrowed("null")),
            Value::Bool(bool) => Self::Plain(Cow::Borrowed(if *bool { "true" } else { "false" })),
            Value::Number(number) => Self::Plain(Cow::Owned(number_text(number, dialect))),
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            Value::Array(items) => {
                Self::Sequence(items.iter().map(|item| Self::build(item, dialect)).collect())
            }
            Value::Object(entries) => {
                let mut keys: Vec<_> = entries.iter().collect();
                sort_keys(&mut keys, dialect);
                let field = |(key, value): (&'a String, &'a Value)| {
                    (Cow::Borrowed(key.as_str()), Self::build(value, dialect))
                };
                Self::Mapping(keys.into_iter().map(field).collect())
            }
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Sequence(items) => items.is_empty(),
            Self::Mapping(fields) => fields.is_empty(),
            Self::Plain(_) | Self::Text(_) | Self::Styled(..) => false,
        }
    }
}

fn number_text(number: &Number, dialect: Dialect) -> String {
    let Some(f) = number.as_f64().filter(|_| number.is_f64()) else { return number.to_string() };
    if dialect == Dialect::V2 && f.fract() == 0.0 && f.abs() < 1e21 {
        // The value goes through JSON, where an integral float has no fraction.
        let text = float::shortest_f(f);
        if let Ok(int) = text.parse::<i64>() {
            return int.to_string();
        }
        if text.parse::<u64>().is_ok() {
            return text;
        }
    }
    float::shortest_g(f)
}

/// Writes a value as `sigs.k8s.io/yaml`'s `Marshal` does: two spaces, dashes not indented, long
/// lines folded, keys in natural order.
///
/// The value takes a detour through JSON, which fails for strings with control characters that
/// JSON does not escape and for keys of more than 1,024 characters.
pub fn emit_v2(value: &Value) -> Result<String, Error> {
    if is_plain_json(value) {
        return Ok(write(&Tree::build(value, Dialect::V2), Dialect::V2));
    }
    let text = json::encode(value);
    let (text, defect) = super::text::checked(text.as_bytes());
    let stream = node::parse_first_v2(text, defect)?;
    let read_back = match stream.documents.first() {
        Some(root) => decode_v2::decode(&stream, *root)?,
        None => Value::Null,
    };
    Ok(write(&Tree::build(&read_back, Dialect::V2), Dialect::V2))
}

/// Writes a tree as go-yaml v3's `Marshal` does: four spaces, dashes indented, lines not folded.
pub fn emit_v3(tree: &Tree<'_>) -> String {
    write(tree, Dialect::V4)
}

fn write(tree: &Tree<'_>, dialect: Dialect) -> String {
    let mut writer = Writer::new(dialect);
    writer.document(tree);
    writer.out
}

/// Says whether the JSON of a value means the same to a YAML reader.
fn is_plain_json(value: &Value) -> bool {
    let clean = |text: &str| {
        // DEL and the C1 controls are not escaped in JSON, and YAML does not allow them; NEL is a
        // line break to YAML.
        !text.contains(|c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}'))
    };
    let mut todo = vec![(value, 0)];
    while let Some((value, depth)) = todo.pop() {
        if depth >= MAX_DEPTH {
            return false;
        }
        match value {
            Value::String(text) if !clean(text) => return false,
            Value::Array(items) => todo.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(entries) => {
                // An escaped character takes up to six, so this is well below the limit.
                if entries.keys().any(|key| key.len() > 160 || !clean(key)) {
                    return false;
                }
                todo.extend(entries.values().map(|value| (value, depth + 1)));
            }
            _ => {}
        }
    }
    true
}
