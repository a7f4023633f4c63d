//! The conditions of `wait --for`.

use engine_formats::golang::quote::quote;
use serde_json::Value;

use crate::jsonpath::{self, JsonPath, JsonPathError};

/// Why a condition is invalid or cannot be checked, in kubectl's words.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConditionError {
    #[error("unrecognized condition: []")]
    NoneGiven,
    #[error("unrecognized condition: {}", quote(.0))]
    Unknown(String),
    #[error(
        "jsonpath wait format must be --for=jsonpath='{{.status.readyReplicas}}'=3 or \
         --for=jsonpath='{{.status.readyReplicas}}'"
    )]
    Format,
    #[error(
        "jsonpath wait has to have a value after equal sign, like \
         --for=jsonpath='{{.status.readyReplicas}}'=3"
    )]
    MissingValue,
    #[error("jsonpath expression cannot be empty")]
    EmptyExpression,
    #[error("given jsonpath expression matches more than one list")]
    SeveralLists,
    #[error("given jsonpath expression matches more than one value")]
    SeveralValues,
    #[error("jsonpath leads to a nested object or list which is not supported")]
    Nested,
    #[error(transparent)]
    Path(#[from] JsonPathError),
}

/// A condition on an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    /// It exists.
    Create,
    /// It no longer exists.
    Delete,
    /// A condition in its status has a value.
    Status {
        /// The type of the condition.
        name: String,
        /// The status of the condition.
        value: String,
    },
    /// A field has a value, or just exists.
    Field {
        /// The field.
        path: JsonPath,
        /// Its value.
        value: Option<String>,
    },
}

impl Condition {
    /// Parses the conditions of the command line.
    pub(super) fn read_all(texts: &[String]) -> Result<Vec<Self>, ConditionError> {
        if texts.is_empty() {
            return Err(ConditionError::NoneGiven);
        }
        texts.iter().map(|it| Self::read(it)).collect()
    }

    fn read(text: &str) -> Result<Self, ConditionError> {
        match text.to_lowercase().as_str() {
            "delete" => return Ok(Self::Delete),
            "create" => return Ok(Self::Create),
            _ => {}
        }
        if let Some(text) = text.strip_prefix("condition=") {
            let (name, value) = text.split_once('=').unwrap_or((text, "true"));
            return Ok(Self::Status { name: name.to_owned(), value: value.to_owned() });
        }
        match text.strip_prefix("jsonpath=") {
            Some(text) => Self::field(text),
            None => Err(ConditionError::Unknown(text.to_owned())),
        }
    }

    fn field(text: &str) -> Result<Self, ConditionError> {
        let parts = split_at_single_signs(text);
        let (expression, value) = match parts.as_slice() {
            [expression] => (expression, None),
            [expression, value] => (expression, Some(value.trim_matches(['\'', '"']))),
            _ => return Err(ConditionError::Format),
        };
        let expression = jsonpath::relaxed(expression)?;
        if value == Some("") {
            return Err(ConditionError::MissingValue);
        }
        if expression.is_empty() {
            return Err(ConditionError::EmptyExpression);
        }
        Ok(Self::Field { path: JsonPath::parse(&expression)?, value: value.map(str::to_owned) })
    }

    /// Whether an object meets it.
    pub(super) fn is_met(&self, object: &Value) -> Result<bool, ConditionError> {
        match self {
            Self::Create => Ok(true),
            Self::Delete => Ok(false),
            Self::Status { name, value } => Ok(has_status(object, name, value)),
            Self::Field { path, value } => has_value(object, path, value.as_deref()),
        }
    }
}

fn has_status(object: &Value, name: &str, value: &str) -> bool {
    let same =
        |a: &Value, b: &str| a.as_str().is_some_and(|a| a.to_lowercase() == b.to_lowercase());
    let conditions = object["status"]["conditions"].as_array().map(Vec::as_slice);
    let condition = conditions.unwrap_or_default().iter().find(|it| same(&it["type"], name));
    let Some(condition) = condition else { return false };
    let observed = [&condition["observedGeneration"], &object["status"]["observedGeneration"]];
    let observed = observed.iter().find_map(|it| it.as_i64());
    let is_stale = observed
        .zip(object["metadata"]["generation"].as_i64())
        .is_some_and(|(seen, now)| seen < now);
    !is_stale && same(&condition["status"], value)
}

fn has_value(object: &Value, path: &JsonPath, value: Option<&str>) -> Result<bool, ConditionError> {
    let found = path.find(object, true)?;
    let Some(first) = found.first().filter(|it| !it.is_empty()) else { return Ok(false) };
    if found.len() > 1 {
        return Err(ConditionError::SeveralLists);
    }
    let [only] = first.as_slice() else {
        return Err(ConditionError::SeveralValues);
    };
    let Some(value) = value else { return Ok(true) };
    if only.is_object() || only.is_array() {
        return Err(ConditionError::Nested);
    }
    let text = if only.is_null() { "<nil>".to_owned() } else { jsonpath::printed(only) };
    Ok(text.trim() == value.trim())
}

/// Splits at `=`, but not at `==`.
fn split_at_single_signs(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let last = parts.last_mut().expect("there is always one part");
        if char != '=' {
            last.push(char);
        } else if chars.next_if_eq(&'=').is_some() {
            last.push_str("==");
        } else {
            parts.push(String::new());
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn conditions_are_checked_as_in_kubectl() {
        let object = json!({"status": {"order": 2, "list": [1, 2], "conditions": [
            {"type": "Ready", "status": "True"}, {"type": "UpToDate", "status": "False"}]}});
        let cases = [
            ("condition=Ready", Ok(true)),
            ("condition=ready=TRUE", Ok(true)),
            ("condition=UpToDate", Ok(false)),
            ("condition=UpToDate=false", Ok(true)),
            ("condition=Nope", Ok(false)),
            ("jsonpath={.status.order}=2", Ok(true)),
            ("jsonpath=.status.order='2'", Ok(true)),
            ("jsonpath={.status.order}", Ok(true)),
            ("jsonpath={.status.nope}=2", Ok(false)),
            ("jsonpath={.status.conditions[?(@.type==\"Ready\")].status}=True", Ok(true)),
            (
                "jsonpath={.status}=x",
                Err("jsonpath leads to a nested object or list which is not supported"),
            ),
            (
                "jsonpath={.status.list[*]}=1",
                Err("given jsonpath expression matches more than one value"),
            ),
            ("jsonpath=", Err("jsonpath expression cannot be empty")),
            ("bogus", Err("unrecognized condition: \"bogus\"")),
        ];
        for (text, want) in cases {
            let got = Condition::read(text).and_then(|it| it.is_met(&object));
            assert_eq!(got.map_err(|it| it.to_string()), want.map_err(str::to_owned), "{text}");
        }
    }
}
