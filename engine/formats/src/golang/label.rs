//! Decides which texts may be Kubernetes labels and object names, in the validators' words.

use std::sync::LazyLock;

use regex::Regex;

use super::fnv::fnv32a_hex;
use super::quote::quote;

const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const DNS_SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";

const KEY_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', \
    and must start and end with an alphanumeric character";
const VALUE_RULE: &str = "a valid label must be an empty string or consist of alphanumeric \
    characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const DNS_SUBDOMAIN_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case \
    alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";

const LABEL_MAX: usize = 63;
const NAME_MAX: usize = 253;

static KEY_REGEX: LazyLock<Regex> = LazyLock::new(|| anchored(KEY));
static VALUE_REGEX: LazyLock<Regex> = LazyLock::new(|| anchored(VALUE));
static DNS_SUBDOMAIN_REGEX: LazyLock<Regex> = LazyLock::new(|| anchored(DNS_SUBDOMAIN));

/// A text that may not be a label of a resource.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Invalid label {}: {reasons}", quote(label))]
pub struct LabelError {
    label: String,
    reasons: String,
}

/// A text that may not be the name of a resource or API object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid value {}: {reason}", quote(name))]
pub struct NameError {
    name: String,
    reason: String,
}

/// Checks a label of a resource, which has to be a label key and value without prefix.
pub fn check_label(label: &str) -> Result<(), LabelError> {
    let fail = |reasons: String| Err(LabelError { label: label.to_owned(), reasons });
    for errors in [qualified_name_errors(label), label_value_errors(label)] {
        if !errors.is_empty() {
            return fail(errors.join(", "));
        }
    }
    if label.contains('/') {
        return fail("cannot contain /".to_owned());
    }
    Ok(())
}

/// Checks a name of a resource or API object, which has to be a path segment.
pub fn check_name(name: &str) -> Result<(), NameError> {
    match path_segment_errors(name).into_iter().next() {
        Some(reason) => Err(NameError { name: name.to_owned(), reason }),
        None => Ok(()),
    }
}

/// What is wrong with a label key (a "qualified name").
pub fn qualified_name_errors(value: &str) -> Vec<String> {
    let rule = || regex_error(KEY_RULE, KEY, &["MyName", "my.name", "123-abc"]);
    let mut errors = Vec::new();
    let parts: Vec<&str> = value.split('/').collect();
    let name = match parts[..] {
        [name] => name,
        ["", name] => {
            errors.push("prefix part must be non-empty".to_owned());
            name
        }
        [prefix, name] => {
            let problems = subdomain_errors(prefix, "bytes");
            errors.extend(problems.into_iter().map(|problem| format!("prefix part {problem}")));
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' \
                 (e.g. 'example.com/MyName')",
                rule()
            )];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_MAX {
        errors.push(format!("name part {}", max_length_error(LABEL_MAX, "bytes")));
    }
    if !KEY_REGEX.is_match(name) {
        errors.push(format!("name part {}", rule()));
    }
    errors
}

/// What is wrong with a label value.
pub fn label_value_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > LABEL_MAX {
        errors.push(max_length_error(LABEL_MAX, "bytes"));
    }
    if !VALUE_REGEX.is_match(value) {
        errors.push(regex_error(VALUE_RULE, VALUE, &["MyValue", "my_value", "12345"]));
    }
    errors
}

fn subdomain_errors(value: &str, unit: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > NAME_MAX {
        errors.push(max_length_error(NAME_MAX, unit));
    }
    if !DNS_SUBDOMAIN_REGEX.is_match(value) {
        errors.push(regex_error(DNS_SUBDOMAIN_RULE, DNS_SUBDOMAIN, &["example.com"]));
    }
    errors
}

/// What is wrong with a path segment.
pub fn path_segment_errors(name: &str) -> Vec<String> {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"]
        .into_iter()
        .filter(|illegal| name.contains(illegal))
        .map(|illegal| format!("may not contain '{illegal}'"))
        .collect()
}

/// Makes a text usable as an object name: forbidden characters become `_`, a long name is cut and
/// ends with a hash.
pub fn sanitize_name(name: &str) -> String {
    if name == "." || name == ".." {
        return name.replace('.', "_");
    }
    shorten(name.replace(['/', '%'], "_"), name, NAME_MAX)
}

fn shorten(sanitized: String, name: &str, max: usize) -> String {
    if sanitized.len() <= max {
        return sanitized;
    }
    let end = sanitized.floor_char_boundary(max - 9);
    format!("{}-{}", &sanitized[..end], fnv32a_hex(name))
}

fn anchored(pattern: &str) -> Regex {
    Regex::new(&format!("^(?:{pattern})$")).expect("the pattern is a constant")
}

/// The validators do not agree on the unit, although all of them count bytes.
fn max_length_error(max: usize, unit: &str) -> String {
    format!("must be no more than {max} {unit}")
}

fn regex_error(rule: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{rule} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}

#[cfg(test)]
mod tests;
