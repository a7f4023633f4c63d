//! Whether a Compose tree has the shape a Compose file must have.
//!
//! The shape itself is a table in `schema/rules.txt`. A tree can be wrong in many ways at once,
//! and where alternatives exist, wrong once per alternative: the problem that lies deepest in
//! the tree is told, because it names the user's mistake best.

mod rules;

use std::borrow::Cow;
use std::fmt::Write as _;

use regex::Regex;
use serde::Deserialize;

use super::ComposeError;
use super::value::{Map, Value};
use crate::golang::quote::quote;

/// A kind of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Null,
    Boolean,
    Number,
    Integer,
    String,
    Array,
    Mapping,
}

/// What a value must be.
#[derive(Debug)]
enum Rule {
    Any,
    /// One of these kinds.
    Kinds(Vec<Kind>),
    /// One of these texts.
    Enum(Vec<&'static str>),
    /// A text in which this pattern is found.
    Pattern(&'static str),
    /// An integer between bounds.
    Range(i64, i64),
    /// Exactly one of these.
    OneOf(Vec<Rule>),
    /// A list of these.
    List(Box<Rule>),
    /// A list of these, none twice.
    Set(Box<Rule>),
    Dict(Dict),
}

/// What a mapping must be.
#[derive(Debug)]
struct Dict {
    /// The kinds the value may have: a mapping, and perhaps others.
    kinds: Vec<Kind>,
    /// The keys it knows, by what their values must be.
    fields: Vec<(Rule, Vec<&'static str>)>,
    /// What other keys may look like, and their values.
    keys: Vec<(Keys, Rule)>,
    required: Vec<&'static str>,
    /// Whether keys that fit neither are accepted.
    open: bool,
}

/// What a key may look like.
#[derive(Debug, Clone, Copy)]
enum Keys {
    /// `x-…`
    Extension,
    /// Letters, digits, dot, dash and underscore.
    Name,
    /// Lower-case letters.
    Lower,
    NotEmpty,
}

impl Keys {
    fn accepts(self, key: &str) -> bool {
        let all = |accepts: fn(u8) -> bool| !key.is_empty() && key.bytes().all(accepts);
        match self {
            Self::Extension => key.starts_with("x-"),
            Self::Name => all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)),
            Self::Lower => all(|byte| byte.is_ascii_lowercase()),
            Self::NotEmpty => key.contains(|c| c != '\n'),
        }
    }
}

/// Checks a whole tree.
pub(super) fn validate(tree: &Map) -> Result<(), ComposeError> {
    if let Some(number) = tree.values().find_map(not_finite) {
        let number = Value::Float(number).sprint();
        return Err(ComposeError::new(format!("json: unsupported value: {number}")));
    }
    let mut path = Vec::new();
    match check_dict(&rules::FILE, tree, &mut path) {
        Some(problem) => Err(ComposeError::new(problem.message)),
        None => Ok(()),
    }
}

/// A number that JSON, in which schemas are written, has no spelling for.
fn not_finite(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number).filter(|number| !number.is_finite()),
        Value::Float32(number) => Some(f64::from(*number)).filter(|number| !number.is_finite()),
        Value::Map(map) => map.values().find_map(not_finite),
        Value::Seq(items) => items.iter().find_map(not_finite),
        _ => None,
    }
}

/// The keys and indexes that lead to a value.
type Path<'a> = Vec<Cow<'a, str>>;

/// A violated rule, and how deep in the tree it was violated.
struct Problem {
    depth: usize,
    message: String,
}

fn problem(path: &[Cow<'_, str>], text: &str) -> Option<Problem> {
    Some(Problem { depth: path.len(), message: format!("{} {text}", path.join(".")) })
}

/// The deeper problem; the earlier one when both are equally deep.
fn deeper(first: Option<Problem>, second: Option<Problem>) -> Option<Problem> {
    match (first, second) {
        (Some(first), Some(second)) if second.depth > first.depth => Some(second),
        (Some(first), _) => Some(first),
        (None, second) => second,
    }
}

fn check<'a>(rule: &Rule, value: &'a Value, path: &mut Path<'a>) -> Option<Problem> {
    match rule {
        Rule::Any => None,
        Rule::Kinds(kinds) => check_kind(kinds, value, path),
        Rule::Enum(allowed) => {
            check_kind(&[Kind::String], value, path).or_else(|| check_enum(allowed, value, path))
        }
        Rule::Pattern(pattern) => {
            check_kind(&[Kind::String], value, path).or_else(|| check_pattern(pattern, value, path))
        }
        Rule::Range(least, most) => check_kind(&[Kind::Integer], value, path)
            .or_else(|| check_range(*least, *most, value, path)),
        Rule::OneOf(rules) => check_one_of(rules, value, path),
        Rule::List(item) => check_list(item, value, path),
        Rule::Set(item) => {
            let repeated = value.as_seq().and_then(|items| check_unique(items, path));
            deeper(repeated, check_list(item, value, path))
        }
        Rule::Dict(dict) => match value {
            Value::Map(map) => {
                check_kind(&dict.kinds, value, path).or_else(|| check_dict(dict, map, path))
            }
            _ => check_kind(&dict.kinds, value, path),
        },
    }
}

fn check_kind(kinds: &[Kind], value: &Value, path: &[Cow<'_, str>]) -> Option<Problem> {
    let is = |kind: &Kind| match kind {
        Kind::Null => matches!(value, Value::Null),
        Kind::Boolean => matches!(value, Value::Bool(_)),
        Kind::Number => {
            matches!(value, Value::Int(_) | Value::Uint(_) | Value::Float(_) | Value::Float32(_))
        }
        Kind::Integer => match value {
            Value::Int(_) | Value::Uint(_) => true,
            Value::Float(number) => number.fract() == 0.0,
            Value::Float32(number) => number.fract() == 0.0,
            _ => false,
        },
        Kind::String => matches!(value, Value::Str(_) | Value::Time(_)),
        Kind::Array => matches!(value, Value::Seq(_)),
        Kind::Mapping => matches!(value, Value::Map(_)),
    };
    if kinds.iter().any(is) {
        return None;
    }
    let mut names: Vec<_> = kinds.iter().map(|kind| kind_name(*kind)).collect();
    names.sort_unstable();
    let expected = match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    };
    problem(path, &format!("must be a {expected}"))
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Boolean => "boolean",
        Kind::Number => "number",
        Kind::Integer => "integer",
        Kind::String => "string",
        Kind::Array => "array",
        Kind::Mapping => "mapping",
    }
}

fn check_enum(allowed: &[&str], value: &Value, path: &[Cow<'_, str>]) -> Option<Problem> {
    if value.as_str().is_some_and(|text| allowed.contains(&text)) {
        return None;
    }
    match allowed {
        [only] => problem(path, &format!("value must be {}", single_quote(only))),
        _ => problem(path, &format!("value must be one of {}", join_quoted(allowed))),
    }
}

fn check_pattern(pattern: &str, value: &Value, path: &[Cow<'_, str>]) -> Option<Problem> {
    let text = value.as_str()?;
    let found = Regex::new(pattern).is_ok_and(|regex| regex.is_match(text));
    if found {
        return None;
    }
    problem(
        path,
        &format!("{} does not match pattern {}", single_quote(text), single_quote(pattern)),
    )
}

fn check_range(least: i64, most: i64, value: &Value, path: &[Cow<'_, str>]) -> Option<Problem> {
    let number = match value {
        Value::Int(number) => i128::from(*number),
        Value::Uint(number) => i128::from(*number),
        #[expect(clippy::cast_possible_truncation, reason = "integers only get here")]
        Value::Float(number) => *number as i128,
        _ => return None,
    };
    if number < i128::from(least) {
        problem(path, &format!("must be greater than or equal to {least}"))
    } else if number > i128::from(most) {
        problem(path, &format!("must be less than or equal to {most}"))
    } else {
        None
    }
}

fn check_one_of<'a>(rules: &[Rule], value: &'a Value, path: &mut Path<'a>) -> Option<Problem> {
    let mut matched = None;
    let mut deepest = None;
    for (at, rule) in rules.iter().enumerate() {
        match (check(rule, value, path), matched) {
            (None, None) => matched = Some(at),
            (None, Some(first)) => {
                let text = format!("'oneOf' failed, subschemas {first}, {at} matched");
                return problem(path, &text);
            }
            (found, _) => deepest = deeper(deepest, found),
        }
    }
    if matched.is_some() { None } else { deepest }
}

fn check_list<'a>(item: &Rule, value: &'a Value, path: &mut Path<'a>) -> Option<Problem> {
    if let Some(found) = check_kind(&[Kind::Array], value, path) {
        return Some(found);
    }
    let mut deepest = None;
    for (at, value) in value.as_seq().unwrap_or_default().iter().enumerate() {
        path.push(Cow::Owned(at.to_string()));
        deepest = deeper(deepest, check(item, value, path));
        path.pop();
    }
    deepest
}

fn check_unique(items: &[Value], path: &[Cow<'_, str>]) -> Option<Problem> {
    let mut seen = std::collections::HashMap::new();
    for (at, item) in items.iter().enumerate() {
        if let Some(first) = seen.insert(identity(item), at) {
            return problem(path, &format!("items at {first} and {at} are equal"));
        }
    }
    None
}

/// A text that two values share exactly when they are equal; `1` equals `1.0`.
fn identity(value: &Value) -> String {
    match value {
        Value::Str(text) => format!("s{}:{text}", text.len()),
        Value::Time(time) => format!("s{}:{}", time.rfc3339.len(), time.rfc3339),
        Value::Seq(items) => {
            items.iter().fold("[".to_owned(), |text, item| text + &identity(item) + ",") + "]"
        }
        Value::Map(map) => {
            let mut keys: Vec<_> = map.keys().collect();
            keys.sort();
            let mut text = String::from("{");
            for key in keys {
                let _ = write!(text, "{}:{key}={},", key.len(), identity(&map[key]));
            }
            text + "}"
        }
        other => other.sprint(),
    }
}

fn check_dict<'a>(dict: &Dict, map: &'a Map, path: &mut Path<'a>) -> Option<Problem> {
    let missing: Vec<&str> =
        dict.required.iter().copied().filter(|key| !map.contains_key(*key)).collect();
    let mut deepest = match missing.as_slice() {
        [] => None,
        [one] => problem(path, &format!("missing property {}", single_quote(one))),
        many => problem(path, &format!("missing properties {}", join_quoted(many))),
    };
    let mut additional = Vec::new();
    for (key, value) in map {
        let field = dict.fields.iter().find(|(_, names)| names.contains(&key.as_str()));
        let field = field.map(|(rule, _)| rule);
        let others = dict.keys.iter().filter(|(keys, _)| keys.accepts(key)).map(|(_, rule)| rule);
        let mut known = false;
        path.push(Cow::Borrowed(key));
        for rule in field.into_iter().chain(others) {
            known = true;
            deepest = deeper(deepest, check(rule, value, path));
        }
        path.pop();
        if !known && !dict.open {
            additional.push(key.as_str());
        }
    }
    if additional.is_empty() {
        return deepest;
    }
    let text = format!("additional properties {} not allowed", join_quoted(&additional));
    let mut unknown = problem(path, &text);
    // A misspelled key is worth more than another problem of the same mapping.
    if let Some(unknown) = &mut unknown {
        unknown.depth += 1;
    }
    deeper(deepest, unknown)
}

/// Quotes as the library for JSON schemas does: `%q` between single quotes.
fn single_quote(text: &str) -> String {
    let quoted = quote(text).replace("\\\"", "\"").replace('\'', "\\'");
    format!("'{}'", &quoted[1..quoted.len() - 1])
}

fn join_quoted(texts: &[&str]) -> String {
    texts.iter().map(|text| single_quote(text)).collect::<Vec<_>>().join(", ")
}
