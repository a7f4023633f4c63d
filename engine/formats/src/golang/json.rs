//! Reads and writes JSON exactly as Go's `encoding/json` does.
//!
//! The decoder keeps the text of numbers, because Tilt tells integers from floats by it, and its
//! messages are Go's. The encoder sorts keys and escapes HTML characters by default.

mod decode;
mod encode;

use std::borrow::Cow;

use indexmap::IndexMap;
use serde_json::{Number, Value};
use thiserror::Error;

pub use decode::{decode, decode_single};
pub use encode::{Encoder, encode, escape_into};

/// A decoded JSON value whose numbers are still text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it was written.
    Number(String),
    /// A string, unescaped.
    String(String),
    /// A list.
    Array(Vec<Json>),
    /// An object; of equal keys the last one won.
    Object(IndexMap<String, Json>),
}

/// What Go's messages call the type of a value.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Why a text is not the JSON that was expected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JsonError {
    /// The text is empty.
    #[error("EOF")]
    Empty,
    /// The text ends inside a value that was read from a stream.
    #[error("unexpected EOF")]
    UnexpectedEof,
    /// The text ends inside a value.
    #[error("unexpected end of JSON input")]
    UnexpectedEnd,
    /// A character that must not stand where it stands.
    #[error("invalid character {character} {context}")]
    Syntax {
        /// The character in quotes.
        character: String,
        /// Where it stands, in Go's words.
        context: Cow<'static, str>,
        /// How many bytes were read up to and including it.
        offset: usize,
    },
    /// The text is too large to be made into values.
    #[error("more than {0} values")]
    TooLarge(usize),
    /// More text follows the value.
    #[error("found multiple JSON values")]
    MultipleValues,
    /// A number is not an integer or a float that Go can hold.
    #[error("strconv.{function}: parsing {number}: {problem}")]
    Number {
        /// The Go function that refused it.
        function: &'static str,
        /// The number in quotes.
        number: String,
        /// `invalid syntax` or `value out of range`.
        problem: &'static str,
    },
}

impl Json {
    /// Converts numbers as Tilt does for Starlark: with a `.` to a float, otherwise to an int64.
    ///
    /// So `1e3` is an error, as is an integer beyond 64 bits.
    pub fn into_tilt_value(self) -> Result<Value, JsonError> {
        self.convert(&|text| if text.contains('.') { parse_float(text) } else { parse_int(text) })
    }

    /// Converts numbers as Kubernetes libraries do: to an int64 if possible, otherwise to a float.
    pub fn into_kubernetes_value(self) -> Result<Value, JsonError> {
        self.convert(&|text| parse_int(text).or_else(|_| parse_float(text)))
    }

    fn convert(
        self,
        number: &dyn Fn(&str) -> Result<Number, JsonError>,
    ) -> Result<Value, JsonError> {
        // The decoder allows at most 10,000 levels, so this recursion is bounded.
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(bool) => Value::Bool(bool),
            Self::Number(text) => Value::Number(number(&text)?),
            Self::String(text) => Value::String(text),
            Self::Array(items) => {
                let items = items.into_iter().map(|item| item.convert(number));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Self::Object(entries) => {
                let entries = entries.into_iter().map(|(k, v)| Ok((k, v.convert(number)?)));
                Value::Object(entries.collect::<Result<_, JsonError>>()?)
            }
        })
    }
}

fn number_error(function: &'static str, text: &str, problem: &'static str) -> JsonError {
    JsonError::Number { function, number: format!("\"{text}\""), problem }
}

fn parse_int(text: &str) -> Result<Number, JsonError> {
    text.parse::<i64>().map(Number::from).map_err(|error| {
        use std::num::IntErrorKind::{NegOverflow, PosOverflow};
        let overflow = matches!(error.kind(), PosOverflow | NegOverflow);
        let problem = if overflow { "value out of range" } else { "invalid syntax" };
        number_error("ParseInt", text, problem)
    })
}

fn parse_float(text: &str) -> Result<Number, JsonError> {
    text.parse::<f64>()
        .ok()
        .and_then(Number::from_f64)
        .ok_or_else(|| number_error("ParseFloat", text, "value out of range"))
}

/// Replaces every byte that is no UTF-8 by U+FFFD, one for each byte as Go does.
pub fn valid_utf8(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests;
