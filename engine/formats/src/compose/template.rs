//! What `$NAME` and `${NAME…}` in a text become.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use thiserror::Error;

/// Deepest nesting of defaults inside defaults that is followed.
const MAX_DEPTH: usize = 100;

/// Why a text cannot be substituted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum TemplateError {
    #[error("Invalid template: {0:?}")]
    Invalid(String),
    #[error("required variable {variable} is missing a value{}", reason_suffix(.reason))]
    Missing { variable: String, reason: String },
}

fn reason_suffix(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

/// Finds the value of a variable.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"\$(?i:(?P<escaped>\$)|(?P<named>[_a-z][_a-z0-9]*)|\{(?:(?P<braced>[_a-z][_a-z0-9]*(?::?[-+?](?:.*))?)\}|(?P<invalid>)))",
    )
    .expect("the pattern is a constant")
});

/// Hears of a variable that is not set and becomes a blank.
pub(super) type Missing<'a> = &'a dyn Fn(&str);

/// `template` with every variable replaced.
pub(super) fn substitute(template: &str, lookup: Lookup<'_>) -> Result<String, TemplateError> {
    substitute_telling(template, lookup, &|_| {})
}

/// `template` with every variable replaced; `missing` hears of those that are not set.
pub(super) fn substitute_telling(
    template: &str,
    lookup: Lookup<'_>,
    missing: Missing<'_>,
) -> Result<String, TemplateError> {
    substitute_at(template, lookup, missing, 0)
}

fn substitute_at(
    template: &str,
    lookup: Lookup<'_>,
    missing: Missing<'_>,
    depth: usize,
) -> Result<String, TemplateError> {
    if depth > MAX_DEPTH {
        return Err(TemplateError::Invalid(template.to_owned()));
    }
    if !template.contains('$') {
        return Ok(template.to_owned());
    }
    let mut first_error = None;
    let result = VARIABLE.replace_all(template, |found: &Captures<'_>| {
        match replace(&found[0], template, lookup, missing, depth) {
            Ok(replacement) => replacement,
            Err(error) => {
                first_error.get_or_insert(error);
                String::new()
            }
        }
    });
    match first_error {
        Some(error) => Err(error),
        None => Ok(result.into_owned()),
    }
}

/// What one match becomes; it may run past the closing brace of its variable.
fn replace(
    found: &str,
    template: &str,
    lookup: Lookup<'_>,
    missing: Missing<'_>,
    depth: usize,
) -> Result<String, TemplateError> {
    let (variable, rest) = match first_closing_brace(found) {
        Some(end) => found.split_at(end + 1),
        None => (found, ""),
    };
    let invalid = || TemplateError::Invalid(template.to_owned());
    let groups = VARIABLE.captures(variable).ok_or_else(invalid)?;
    if groups.name("escaped").is_some() {
        return Ok("$".to_owned());
    }
    if let Some(named) = groups.name("named") {
        return Ok(value_or_blank(named.as_str(), lookup, missing));
    }
    let braced = groups.name("braced").ok_or_else(invalid)?.as_str();
    match expand_braced(braced, lookup, missing, depth)? {
        Some(value) => Ok(value + &substitute_at(rest, lookup, missing, depth + 1)?),
        None => Ok(value_or_blank(braced, lookup, missing)),
    }
}

fn value_or_blank(name: &str, lookup: Lookup<'_>, missing: Missing<'_>) -> String {
    lookup(name).unwrap_or_else(|| {
        missing(name);
        String::new()
    })
}

/// The value of `NAME<operator>word`, or none when there is no operator.
fn expand_braced(
    braced: &str,
    lookup: Lookup<'_>,
    missing: Missing<'_>,
    depth: usize,
) -> Result<Option<String>, TemplateError> {
    let Some(operator_at) = braced.find([':', '-', '+', '?']) else { return Ok(None) };
    let (name, rest) = braced.split_at(operator_at);
    let (colon, rest) = match rest.strip_prefix(':') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let (operator, word) = rest.split_at(rest.len().min(1));
    let value = lookup(name);
    let usable = value.as_ref().is_some_and(|value| !(colon && value.is_empty()));
    let word = || substitute_at(word, lookup, missing, depth + 1);
    match (operator, usable) {
        ("-" | "?", true) => Ok(value),
        ("-", false) | ("+", true) => word().map(Some),
        ("+", false) => Ok(Some(value.unwrap_or_default())),
        ("?", false) => Err(TemplateError::Missing { variable: name.to_owned(), reason: word()? }),
        _ => Ok(None),
    }
}

/// Where the brace closes that the variable opened. A character right after an opening brace is
/// never looked at; that is how Compose counts.
fn first_closing_brace(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut open = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'}' => {
                open -= 1;
                if open == 0 {
                    return Some(at);
                }
            }
            b'{' => {
                open += 1;
                at += 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, expected: Result<&str, &str>) {
        let lookup = |name: &str| match name {
            "SET" => Some("value".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let actual = substitute(template, &lookup).map_err(|error| error.to_string());
        assert_eq!(actual, expected.map(str::to_owned).map_err(str::to_owned), "{template}");
    }

    #[test]
    fn variables_are_replaced() {
        for (template, expected) in [
            ("plain", "plain"),
            ("$SET-$set", "value-"),
            ("${SET}${UNSET}", "value"),
            ("$$SET $${SET}", "$SET ${SET}"),
            ("${UNSET:-d}${EMPTY:-d}${EMPTY-d}${UNSET-d}", "ddd"),
            ("${SET:+a}${EMPTY:+a}${EMPTY+b}${UNSET+c}", "ab"),
            ("${SET:?e}${EMPTY?e}", "value"),
            ("${UNSET:-${SET}}", "value"),
            ("${UNSET:-${OTHER:-x}}y", "xy"),
            ("${UNSET:-{}}", "{}"),
            ("a $ b $1 100%", "a $ b $1 100%"),
            ("${UNSET-a:-b}", "a:-b"),
            ("${UNSET:-http://x:80}/p", "http://x:80/p"),
        ] {
            check(template, Ok(expected));
        }
    }

    #[test]
    fn broken_templates_are_refused() {
        check("${", Err(r#"Invalid template: "${""#));
        check("x ${1} y", Err(r#"Invalid template: "x ${1} y""#));
        check("${A B}", Err(r#"Invalid template: "${A B}""#));
        check("${UNSET:?}", Err("required variable UNSET is missing a value"));
        check("${UNSET?set $SET}", Err("required variable UNSET is missing a value: set value"));
    }
}
