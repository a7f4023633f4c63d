//! The comparison rules: which differences from the recorded result count.

use std::{borrow::Cow, collections::BTreeSet, sync::LazyLock};

use regex::Regex;
use serde_json::{Number, Value};

use crate::{
    case::Expected,
    outcome::{FRAME, Outcome},
};

/// How a result differs from the recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The result is another one.
    Result(String),
    /// The exit code is right, but the error is worded or placed differently.
    ErrorText(String),
}

/// Whether `null`, `[]`, `{}` and a missing key are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emptiness {
    /// They all differ.
    Exact,
    /// They are all the same.
    Lenient,
}

impl Difference {
    /// What is different, in one line.
    pub fn text(&self) -> &str {
        match self {
            Self::Result(text) | Self::ErrorText(text) => text,
        }
    }
}

/// The first difference between what was recorded and what an engine answered.
pub fn check(expected: &Expected, got: &Outcome, emptiness: Emptiness) -> Option<Difference> {
    match expected {
        Expected::Failure { error, log } => check_error(error, got)
            .or_else(|| check_log_before_error(log, &got.stderr).map(Difference::Result)),
        _ if !got.succeeded() => Some(Difference::Result(format!(
            "exit code {}, want 0 ({})",
            got.exit_code,
            got.last_words()
        ))),
        Expected::Missing => Some(Difference::Result("not recorded yet".to_owned())),
        Expected::Success { value, log } => {
            first_difference(value, got.value.as_ref().unwrap_or(&Value::Null), "", emptiness)
                .or_else(|| check_log(log, got.log()))
                .map(Difference::Result)
        }
    }
}

fn check_error(expected: &[String], got: &Outcome) -> Option<Difference> {
    let want = ExpectedError::parse(expected);
    if got.exit_code != want.exit_code {
        return Some(Difference::Result(format!(
            "exit code {}, want {} ({})",
            got.exit_code,
            want.exit_code,
            got.last_words()
        )));
    }
    let text = got.stderr.join("\n");
    if !want.places.is_empty() && !want.places.iter().any(|place| mentions(&text, place)) {
        let places = want.places.join(", ");
        let text = format!("error position: none of {places} in ({})", got.last_words());
        return Some(Difference::ErrorText(text));
    }
    let text = essential(&text);
    let missing = want.message.iter().find(|line| !text.contains(line.as_str()))?;
    Some(Difference::ErrorText(format!(
        "error message: {} not in ({})",
        brief(&Value::from(missing.as_str())),
        got.last_words()
    )))
}

/// The parts of a recorded error that are compared.
struct ExpectedError {
    exit_code: i32,
    /// `file:line` of the kept frames, or of the message if there is none.
    places: Vec<String>,
    message: Vec<String>,
}

impl ExpectedError {
    fn parse(lines: &[String]) -> Self {
        static FILE_LINE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(.+?:\d+):\d+$"));
        static POSITION: LazyLock<Regex> =
            LazyLock::new(|| pattern(r"^(?P<place>\S.*?:\d+)(?::\d+)?: (?P<text>.*)$"));
        static PREFIX: LazyLock<Regex> = LazyLock::new(|| pattern(r"^Error(?: in [\w.]+)?: ?"));

        let (first, mut body) = lines.split_first().map_or(("", lines), |(it, rest)| (it, rest));
        let exit_code = first.rsplit(' ').next().and_then(|it| it.parse().ok()).unwrap_or(5);
        let mut places = Vec::new();
        while let Some(frame) = body.first().and_then(|line| FRAME.captures(line)) {
            places.extend(FILE_LINE.captures(&frame["position"]).map(|it| it[1].to_owned()));
            body = &body[1..];
        }
        let mut message: Vec<Cow<str>> = body.iter().map(Cow::from).collect();
        if let Some(line) = message.first_mut() {
            if places.is_empty()
                && let Some(found) = POSITION.captures(&line.clone())
            {
                places.push(found["place"].to_owned());
                *line = found["text"].to_owned().into();
            }
            *line = PREFIX.replace(line, "").into_owned().into();
        }
        let message =
            message.iter().filter(|it| !it.trim().is_empty()).map(|it| essential(it)).collect();
        Self { exit_code, places, message }
    }
}

/// The text of an error without what may differ: suggestions, Go package names, case and white space.
fn essential(text: &str) -> String {
    static SUGGESTION: LazyLock<Regex> = LazyLock::new(|| pattern(r" \(did you mean [^)]*\)"));
    static GO_TYPE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\*?\b[a-z][a-z0-9]*\.([A-Z]\w+)"));
    let text = SUGGESTION.replace_all(text, "");
    let text = GO_TYPE.replace_all(&text, "$1");
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Whether a text names a `file:line`, as an absolute path or relative to the case.
fn mentions(text: &str, place: &str) -> bool {
    let relative = place.strip_prefix("$DIR/").unwrap_or(place);
    text.match_indices(relative).any(|(start, _)| {
        let (before, after) = (&text[..start], &text[start + relative.len()..]);
        let part_of_path = |c: char| c.is_alphanumeric() || "_./-".contains(c);
        (before.ends_with("$DIR/") || !before.ends_with(part_of_path))
            && !after.starts_with(|c: char| c.is_ascii_digit())
    })
}

fn check_log(want: &[String], got: &[String]) -> Option<String> {
    let end = "<end>".to_owned();
    (0..want.len().max(got.len())).find_map(|i| {
        let (w, g) = (want.get(i).unwrap_or(&end), got.get(i).unwrap_or(&end));
        (w != g).then(|| {
            let (w, g) = (brief(&w.as_str().into()), brief(&g.as_str().into()));
            format!("log line {}: {g}, want {w}", i + 1)
        })
    })
}

/// The recorded lines must appear in order; an engine may say more when it fails.
fn check_log_before_error(want: &[String], got: &[String]) -> Option<String> {
    let mut rest = got.iter();
    let missing = want.iter().position(|line| !rest.any(|it| it == line))?;
    let line = brief(&want[missing].as_str().into());
    Some(format!("log line {}: {line} not printed before the error", missing + 1))
}

/// The first place where two values differ.
fn first_difference(want: &Value, got: &Value, path: &str, emptiness: Emptiness) -> Option<String> {
    let lenient = emptiness == Emptiness::Lenient;
    if lenient && is_empty(want) && is_empty(got) {
        return None;
    }
    match (want, got) {
        (Value::Object(want), Value::Object(got)) => {
            let keys: BTreeSet<&String> = want.keys().chain(got.keys()).collect();
            keys.into_iter().find_map(|key| {
                let here = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match (want.get(key), got.get(key)) {
                    (Some(w), Some(g)) => first_difference(w, g, &here, emptiness),
                    (Some(w), None) if !(lenient && is_empty(w)) => {
                        Some(format!("{here}: missing, want {}", brief(w)))
                    }
                    (None, Some(g)) if !(lenient && is_empty(g)) => {
                        Some(format!("{here}: unexpected {}", brief(g)))
                    }
                    _ => None,
                }
            })
        }
        (Value::Array(want), Value::Array(got)) => {
            let mut pairs = want.iter().zip(got).enumerate();
            pairs
                .find_map(|(i, (w, g))| first_difference(w, g, &format!("{path}[{i}]"), emptiness))
                .or_else(|| {
                    (want.len() != got.len())
                        .then(|| format!("{path}: {} items, want {}", got.len(), want.len()))
                })
        }
        (Value::Number(w), Value::Number(g)) if same_number(w, g) => None,
        _ if want == got => None,
        _ => Some(format!("{path}: {}, want {}", brief(got), brief(want))),
    }
}

/// Whole numbers are compared exactly, `1` and `1.0` are the same.
fn same_number(a: &Number, b: &Number) -> bool {
    if a == b {
        return true;
    }
    (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

fn brief(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 120 {
        return text;
    }
    text.chars().take(117).chain("...".chars()).collect()
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is valid")
}

#[cfg(test)]
#[path = "compare/tests.rs"]
mod tests;
