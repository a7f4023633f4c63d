//! kubectl's `JSONPath`: templates such as `{range .items[*]}{.metadata.name}{"\n"}{end}`.
//!
//! A dialect of its own: text outside of braces stands for itself, filters compare one value with
//! another, and keys of objects are visited in alphabetical order.

mod eval;
mod parser;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use builtins::golang::{float, json};
use serde_json::Value;

/// A template that makes sense.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JsonPath {
    parts: Vec<Part>,
}

/// A part of a template.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    /// Text outside of braces.
    Text(String),
    /// What is between braces: each step works on the results of the one before.
    Action(Vec<Node>),
}

/// A step.
#[derive(Debug, Clone, PartialEq)]
enum Node {
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    Identifier(String),
    Field(String),
    Wildcard,
    Recursive,
    Slice(Slice),
    Union(Vec<Vec<Node>>),
    Filter { left: Vec<Node>, operator: String, right: Vec<Node> },
}

/// `[from:to:step]`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Slice {
    from: Option<i64>,
    to: Option<i64>,
    /// Whether `to` follows from a single index.
    is_index: bool,
    step: Option<i64>,
}

impl JsonPath {
    /// Reads a template.
    ///
    /// # Errors
    /// What is wrong with it, in kubectl's words.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        Ok(Self { parts: parser::parse(text)? })
    }

    /// What the template finds, one list for each part of it.
    pub(super) fn find<'v>(
        &'v self,
        data: &'v Value,
        allow_missing_keys: bool,
    ) -> Result<Vec<Vec<Cow<'v, Value>>>, String> {
        eval::run(&self.parts, data, allow_missing_keys)
    }

    /// What the template finds, as text.
    pub(super) fn render(&self, data: &Value, allow_missing_keys: bool) -> Result<String, String> {
        let found = self.find(data, allow_missing_keys)?;
        let lists = found
            .iter()
            .map(|results| results.iter().map(|it| printed(it)).collect::<Vec<_>>().join(" "));
        Ok(lists.collect())
    }

    /// What the template finds, as a list of JSON for each part of it.
    pub(super) fn render_json(
        &self,
        data: &Value,
        allow_missing_keys: bool,
    ) -> Result<String, String> {
        let encoder = json::Encoder { indent: Some("    "), escape_html: true };
        let found = self.find(data, allow_missing_keys)?;
        let lists = found.into_iter().map(|results| {
            let values = results.into_iter().map(Cow::into_owned).collect();
            format!("{}\n", encoder.encode(&Value::Array(values)))
        });
        Ok(lists.collect())
    }
}

/// A value as the template prints it: text bare, collections as JSON.
pub(super) fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => float::shortest_g(float),
            None => number.to_string(),
        },
        Value::Array(_) | Value::Object(_) => json::encode(value),
        Value::Null | Value::Bool(_) => value.to_string(),
    }
}

/// An expression with or without braces and the first dot, as a template.
///
/// # Errors
/// If it is no simple expression.
pub(super) fn relaxed(expression: &str) -> Result<String, String> {
    if expression.is_empty() {
        return Ok(String::new());
    }
    let inner = match (expression.strip_prefix('{'), expression.strip_suffix('}')) {
        (Some(_), Some(_)) => &expression[1..expression.len() - 1],
        (None, None) => expression,
        _ => return Err(not_simple()),
    };
    let inner = inner.strip_prefix('.').unwrap_or(inner);
    // A lone `{` or `}` inside would end the template early.
    if inner.contains(['{', '}']) {
        return Err(not_simple());
    }
    Ok(format!("{{.{inner}}}"))
}

fn not_simple() -> String {
    "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or \
     '{.name1.name2}'"
        .to_owned()
}
