//! Interpolation of a whole Compose tree, and the numbers and flags its texts turn into.

use std::sync::LazyLock;

use serde::Deserialize;

use super::ComposeError;
use super::template::{self, Lookup, Missing, TemplateError};
use super::tree::{Places, TreePath};
use super::value::{Map, Value};
use crate::golang::quote::quote;

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Cast {
    Int,
    Int64,
    Float,
    Float32,
    Bool,
}

static CASTS: LazyLock<Places<Cast>> = LazyLock::new(|| Places::read("casts"));

/// Replaces the variables in every text of `tree`, keys aside.
pub(super) fn interpolate(
    tree: &mut Map,
    lookup: Lookup<'_>,
    missing: Missing<'_>,
) -> Result<(), ComposeError> {
    TreePath::default()
        .each_entry(tree, &mut |value, path| interpolate_value(value, path, lookup, missing))
}

fn interpolate_value(
    value: &mut Value,
    path: &mut TreePath,
    lookup: Lookup<'_>,
    missing: Missing<'_>,
) -> Result<(), ComposeError> {
    let Value::Str(text) = value else {
        return path
            .each_child(value, &mut |value, path| interpolate_value(value, path, lookup, missing));
    };
    let text =
        template::substitute_telling(text, lookup, missing).map_err(|e| problem(path, &e))?;
    *value = match CASTS.at(path) {
        None => Value::Str(text),
        Some(to) => cast(&text, to).map_err(|reason| {
            ComposeError::new(format!(
                "error while interpolating {path}: failed to cast to expected type: {reason}"
            ))
        })?,
    };
    Ok(())
}

/// What is said about a text at `path` that cannot be substituted.
pub(super) fn problem(path: &TreePath, error: &TemplateError) -> ComposeError {
    ComposeError::new(match error {
        TemplateError::Invalid(template) => format!(
            "invalid interpolation format for {path}.\n\
             You may need to escape any $ with another $.\n{template}"
        ),
        missing @ TemplateError::Missing { .. } => {
            format!("error while interpolating {path}: {missing}")
        }
    })
}

fn cast(text: &str, to: Cast) -> Result<Value, String> {
    match to {
        Cast::Int => parse_int(text, "Atoi").map(Value::Int),
        Cast::Int64 => parse_int(text, "ParseInt").map(Value::Int),
        Cast::Float => parse_float(text).map(Value::Float),
        #[expect(clippy::cast_possible_truncation, reason = "single precision is what is asked")]
        Cast::Float32 => parse_float(text).map(|number| Value::Float32(number as f32)),
        Cast::Bool => parse_bool(text).map(Value::Bool),
    }
}

/// A decimal integer; `function` is the name the message gives the attempt.
pub(super) fn parse_int(text: &str, function: &str) -> Result<i64, String> {
    let failed = |reason: &str| format!("strconv.{function}: parsing {}: {reason}", quote(text));
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(failed("invalid syntax"));
    }
    text.parse().map_err(|_| failed("value out of range"))
}

/// A decimal number.
pub(super) fn parse_float(text: &str) -> Result<f64, String> {
    let failed = |reason: &str| format!("strconv.ParseFloat: parsing {}: {reason}", quote(text));
    // Underscores may separate digits, nothing else.
    let bytes = text.as_bytes();
    let between_digits = |at: usize| {
        let digit =
            |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
        bytes[at] != b'_' || (digit(at.checked_sub(1)) && digit(Some(at + 1)))
    };
    if !(0..bytes.len()).all(between_digits) {
        return Err(failed("invalid syntax"));
    }
    let number: f64 = text.replace('_', "").parse().map_err(|_| failed("invalid syntax"))?;
    let spelled_out = text.to_ascii_lowercase().contains("inf");
    if number.is_infinite() && !spelled_out {
        return Err(failed("value out of range"));
    }
    Ok(number)
}

/// A flag in any spelling YAML ever had.
pub(super) fn parse_bool(text: &str) -> Result<bool, String> {
    match text.to_lowercase().as_str() {
        "true" | "y" | "yes" | "on" => Ok(true),
        "false" | "n" | "no" | "off" => Ok(false),
        _ => Err(format!("invalid boolean: {text}")),
    }
}
