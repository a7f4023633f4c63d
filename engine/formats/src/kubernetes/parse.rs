//! Decides which objects a manifest contains: lists are opened, empty documents skipped, built-in kinds checked against
//! their Go type, everything else kept as it is.

use serde_json::Value;

use super::numbers::normalize;
use super::object::{GroupVersion, Object};
use super::schema;
use super::typed::{DecodeError, FieldOrder, round_trip};
use crate::golang::json;
use crate::golang::quote::quote;

/// Lists inside lists are opened this deep.
const MAX_LIST_DEPTH: usize = 1_000;

/// A document that is not a Kubernetes object, in the words of the client library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ParseError {
    message: String,
}

/// How a document was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation<'a> {
    /// YAML, which is turned into JSON with sorted keys.
    Yaml,
    /// JSON, which is read and quoted as it is, if the text is at hand.
    Json(Option<&'a str>),
}

/// Adds the objects of one document.
pub fn parse_document(
    document: Value,
    notation: Notation<'_>,
    objects: &mut Vec<Object>,
) -> Result<(), ParseError> {
    open(document, notation, 0, objects)
}

fn open(
    mut document: Value,
    notation: Notation<'_>,
    depth: usize,
    objects: &mut Vec<Object>,
) -> Result<(), ParseError> {
    if document.is_null() {
        return Ok(());
    }
    let meta = Meta::read(&document, notation).map_err(|error| explain(&document, &error))?;
    let group_version = GroupVersion::parse(&meta.api_version).ok_or_else(|| {
        ParseError::new(format!("unexpected GroupVersion string: {}", meta.api_version))
    })?;
    if meta.kind.is_empty() {
        return Err(missing("Kind", &document, notation));
    }
    if group_version.version.is_empty() {
        let error = missing("apiVersion", &document, notation);
        return Err(explain(&document, &error));
    }
    let Some(ty) = schema::lookup(&group_version.to_string(), &meta.kind) else {
        return unstructured(document, &meta.kind, &group_version, objects);
    };
    let name = (exact_text(&document, "kind").to_owned(), name_of(&document).to_owned());
    round_trip(ty, &mut document, notation.order()).map_err(|error| decoding(name, &error))?;
    if group_version.group.is_empty() && group_version.version == "v1" && meta.kind == "List" {
        return open_list(document, notation, depth, objects);
    }
    objects.push(Object::new(document, group_version, meta.kind, Some(ty)));
    Ok(())
}

fn open_list(
    mut list: Value,
    notation: Notation<'_>,
    depth: usize,
    objects: &mut Vec<Object>,
) -> Result<(), ParseError> {
    if depth >= MAX_LIST_DEPTH {
        return Err(ParseError::new("exceeded max depth".to_owned()));
    }
    let items = list.get_mut("items").map(Value::take);
    let Some(Value::Array(items)) = items else { return Ok(()) };
    let notation = if notation == Notation::Yaml { notation } else { Notation::Json(None) };
    items.into_iter().try_for_each(|item| open(item, notation, depth + 1, objects))
}

/// A kind that is not built in. It must spell `kind` exactly, since its own fields are all there is to find it by.
fn unstructured(
    mut document: Value,
    looked_up: &str,
    group_version: &GroupVersion,
    objects: &mut Vec<Object>,
) -> Result<(), ParseError> {
    let kind = exact_text(&document, "kind").to_owned();
    if kind.is_empty() {
        return Err(ParseError::new(format!(
            "no kind {} is registered for version {} in scheme \"k8s.io/client-go/kubernetes/scheme/register.go:82\"",
            quote(looked_up),
            quote(&group_version.to_string()),
        )));
    }
    normalize(&mut document);
    let group_version =
        GroupVersion::parse(exact_text(&document, "apiVersion")).unwrap_or_default();
    objects.push(Object::new(document, group_version, kind, None));
    Ok(())
}

/// The kind and version of a document, found as Go's JSON package does: without regard to case.
struct Meta {
    kind: String,
    api_version: String,
}

impl Meta {
    fn read(document: &Value, notation: Notation<'_>) -> Result<Self, ParseError> {
        let Value::Object(entries) = document else { return Err(not_a_struct(document)) };
        let mut meta = Self { kind: String::new(), api_version: String::new() };
        let mut mistake = None;
        let mut read = |key: &str, value: &Value| {
            let (name, target) = if key.eq_ignore_ascii_case("kind") {
                ("kind", &mut meta.kind)
            } else if key.eq_ignore_ascii_case("apiVersion") {
                ("apiVersion", &mut meta.api_version)
            } else {
                return;
            };
            match value {
                Value::String(text) => target.clone_from(text),
                Value::Null => {}
                other => {
                    mistake.get_or_insert_with(|| {
                        format!("{} into Go struct field .{name}", json::kind(other))
                    });
                }
            }
        };
        let mut keys: Vec<_> =
            entries.iter().filter(|(key, _)| matches!(key.len(), 4 | 10)).collect();
        if notation == Notation::Yaml {
            keys.sort_unstable_by_key(|(key, _)| key.as_str());
        }
        for (key, value) in keys {
            read(key, value);
        }
        mistake.map_or(Ok(meta), |mistake| Err(unreadable(&format!("{mistake} of type string"))))
    }
}

impl Notation<'_> {
    fn order(self) -> FieldOrder {
        match self {
            Self::Yaml => FieldOrder::Sorted,
            Self::Json(_) => FieldOrder::Written,
        }
    }
}

impl ParseError {
    pub(crate) fn new(message: String) -> Self {
        Self { message }
    }
}

fn not_a_struct(document: &Value) -> ParseError {
    let target = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    unreadable(&format!("{} into Go value of type {target}", json::kind(document)))
}

fn unreadable(problem: &str) -> ParseError {
    ParseError::new(format!(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {problem}"
    ))
}

fn missing(what: &str, document: &Value, notation: Notation<'_>) -> ParseError {
    let text = match notation {
        Notation::Json(Some(text)) => text.to_owned(),
        Notation::Json(None) | Notation::Yaml => json::encode(document),
    };
    ParseError::new(format!("Object '{what}' is missing in '{text}'"))
}

fn decoding((kind, name): (String, String), error: &DecodeError) -> ParseError {
    let prefix = prefix(&kind, &name);
    ParseError::new(format!("{prefix}{error}"))
}

fn explain(document: &Value, error: &ParseError) -> ParseError {
    let prefix = prefix(exact_text(document, "kind"), name_of(document));
    ParseError::new(format!("{prefix}{error}"))
}

/// Without a kind of its own, an object is not worth naming in errors.
fn prefix(kind: &str, name: &str) -> String {
    if kind.is_empty() { String::new() } else { format!("decoding {kind} {}: ", quote(name)) }
}

fn exact_text<'a>(document: &'a Value, key: &str) -> &'a str {
    document.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn name_of(document: &Value) -> &str {
    document
        .get("metadata")
        .and_then(|metadata| metadata.get("name"))
        .and_then(Value::as_str)
        .unwrap_or_default()
}
