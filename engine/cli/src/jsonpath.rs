//! kubectl's `JSONPath`: templates such as `{range .items[*]}{.metadata.name}{"\n"}{end}`.
//!
//! It is a dialect of its own: text outside of braces is literal, filters compare one value with another, and keys of
//! objects are visited in alphabetical order.

mod eval;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use engine_formats::{
    golang::{float, json},
    kubernetes::jsonpath::{self, PathNode, PathSyntaxError, SliceError},
};
use serde_json::Value;

/// Why a template is invalid or does not fit a value, in kubectl's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JsonPathError {
    #[error(transparent)]
    Syntax(#[from] PathSyntaxError),
    #[error(
        "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{{name1.name2}}' or \
         '{{.name1.name2}}'"
    )]
    NotSimple,
    #[error("not in range, nothing to end")]
    EndWithoutRange,
    #[error("unrecognized identifier {0}")]
    UnknownIdentifier(String),
    #[error("{0} is not found")]
    FieldNotFound(String),
    #[error("{0} is not array or slice and cannot be filtered")]
    NotFilterable(String),
    #[error("can only compare one element at a time")]
    SeveralElements,
    #[error("unrecognized filter operator {0}")]
    UnknownOperator(String),
    #[error("incompatible types for comparison")]
    IncompatibleTypes,
    #[error("invalid type for comparison")]
    InvalidType,
    #[error("{0} is not array or slice")]
    NotAList(&'static str),
    #[error(transparent)]
    Slice(#[from] SliceError),
}

/// A parsed template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JsonPath {
    nodes: Vec<PathNode>,
}

impl JsonPath {
    /// Parses a template.
    pub(crate) fn parse(text: &str) -> Result<Self, JsonPathError> {
        Ok(Self { nodes: jsonpath::parse(text)? })
    }

    /// The results of each part of the template.
    pub(crate) fn find<'v>(
        &'v self,
        data: &'v Value,
        allow_missing_keys: bool,
    ) -> Result<Vec<Vec<Cow<'v, Value>>>, JsonPathError> {
        eval::run(&self.nodes, data, allow_missing_keys)
    }

    /// Renders the results as text.
    pub(crate) fn render(
        &self,
        data: &Value,
        allow_missing_keys: bool,
    ) -> Result<String, JsonPathError> {
        let found = self.find(data, allow_missing_keys)?;
        let lists = found
            .iter()
            .map(|results| results.iter().map(|it| printed(it)).collect::<Vec<_>>().join(" "));
        Ok(lists.collect())
    }

    /// Renders the results of each part as a JSON list.
    pub(crate) fn render_json(
        &self,
        data: &Value,
        allow_missing_keys: bool,
    ) -> Result<String, JsonPathError> {
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
pub(crate) fn printed(value: &Value) -> String {
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

/// Converts an expression, with or without braces and leading dot, to a template.
///
/// # Errors
/// If it is not a simple expression.
pub(crate) fn relaxed(expression: &str) -> Result<String, JsonPathError> {
    if expression.is_empty() {
        return Ok(String::new());
    }
    let inner = match (expression.strip_prefix('{'), expression.strip_suffix('}')) {
        (Some(_), Some(_)) => &expression[1..expression.len() - 1],
        (None, None) => expression,
        _ => return Err(JsonPathError::NotSimple),
    };
    let inner = inner.strip_prefix('.').unwrap_or(inner);
    // A lone `{` or `}` inside would end the template early.
    if inner.contains(['{', '}']) {
        return Err(JsonPathError::NotSimple);
    }
    Ok(format!("{{.{inner}}}"))
}
