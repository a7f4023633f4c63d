//! Interpolation of a whole Compose tree, and the numbers and flags its texts turn into.

use super::ComposeError;
use super::template::{self, Lookup, Missing, TemplateError};
use super::tree::{Pattern, TreePath, lookup as lookup_path};
use super::value::{Map, Value};
use crate::golang::quote::quote;

#[derive(Debug, Clone, Copy)]
enum Cast {
    Int,
    Int64,
    Float,
    Float32,
    Bool,
}

macro_rules! casts {
    ($($($part:literal).+ => $cast:ident,)*) => {
        &[$((Pattern(&[$($part),+]), Cast::$cast)),*]
    };
}

const CASTS: &[(Pattern, Cast)] = casts![
    "services"."*"."cpu_count" => Int64,
    "services"."*"."cpu_percent" => Float,
    "services"."*"."cpu_period" => Int64,
    "services"."*"."cpu_quota" => Int64,
    "services"."*"."cpu_rt_period" => Int64,
    "services"."*"."cpu_rt_runtime" => Int64,
    "services"."*"."cpus" => Float32,
    "services"."*"."cpu_shares" => Int64,
    "services"."*"."init" => Bool,
    "services"."*"."depends_on"."*"."required" => Bool,
    "services"."*"."depends_on"."*"."restart" => Bool,
    "services"."*"."deploy"."replicas" => Int,
    "services"."*"."deploy"."update_config"."parallelism" => Int,
    "services"."*"."deploy"."update_config"."max_failure_ratio" => Float,
    "services"."*"."deploy"."rollback_config"."parallelism" => Int,
    "services"."*"."deploy"."rollback_config"."max_failure_ratio" => Float,
    "services"."*"."deploy"."restart_policy"."max_attempts" => Int,
    "services"."*"."deploy"."placement"."max_replicas_per_node" => Int,
    "services"."*"."healthcheck"."retries" => Int,
    "services"."*"."healthcheck"."disable" => Bool,
    "services"."*"."oom_kill_disable" => Bool,
    "services"."*"."oom_score_adj" => Int64,
    "services"."*"."pids_limit" => Int64,
    "services"."*"."ports"."[]"."target" => Int,
    "services"."*"."privileged" => Bool,
    "services"."*"."read_only" => Bool,
    "services"."*"."scale" => Int,
    "services"."*"."stdin_open" => Bool,
    "services"."*"."tty" => Bool,
    "services"."*"."ulimits"."*" => Int,
    "services"."*"."ulimits"."*"."hard" => Int,
    "services"."*"."ulimits"."*"."soft" => Int,
    "services"."*"."volumes"."[]"."read_only" => Bool,
    "services"."*"."volumes"."[]"."volume"."nocopy" => Bool,
    "networks"."*"."external" => Bool,
    "networks"."*"."internal" => Bool,
    "networks"."*"."attachable" => Bool,
    "networks"."*"."enable_ipv4" => Bool,
    "networks"."*"."enable_ipv6" => Bool,
    "volumes"."*"."external" => Bool,
    "secrets"."*"."external" => Bool,
    "configs"."*"."external" => Bool,
];

/// Replaces the variables in every text of `tree`, keys aside.
pub(super) fn interpolate(
    tree: &mut Map,
    lookup: Lookup<'_>,
    missing: Missing<'_>,
) -> Result<(), ComposeError> {
    let mut path = TreePath::default();
    for (key, value) in tree.iter_mut() {
        path.within(key, |path| interpolate_value(value, path, lookup, missing))?;
    }
    Ok(())
}

fn interpolate_value(
    value: &mut Value,
    path: &mut TreePath,
    lookup: Lookup<'_>,
    missing: Missing<'_>,
) -> Result<(), ComposeError> {
    match value {
        Value::Str(text) => {
            let text = template::substitute_telling(text, lookup, missing)
                .map_err(|e| problem(path, &e))?;
            *value = match lookup_path(CASTS, path) {
                None => Value::Str(text),
                Some(to) => cast(&text, to).map_err(|reason| {
                    ComposeError::new(format!(
                        "error while interpolating {path}: failed to cast to expected type: {reason}"
                    ))
                })?,
            };
        }
        Value::Map(map) => {
            for (key, value) in map.iter_mut() {
                path.within(key, |path| interpolate_value(value, path, lookup, missing))?;
            }
        }
        Value::Seq(items) => {
            for item in items {
                path.within_item(|path| interpolate_value(item, path, lookup, missing))?;
            }
        }
        _ => {}
    }
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
