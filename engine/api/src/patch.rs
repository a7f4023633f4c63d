//! Applies patches to objects.

use serde_json::{Map, Value};

use super::error::ApiError;

mod operations;
mod strategic;

pub use operations::is_deeper;

/// Go's name of the type that a patch must have.
const OBJECT: &str = "map[string]interface {}";
const OPERATIONS: &str = "[]handlers.jsonPatchOp";
/// How many operations a patch may have.
const MAX_OPERATIONS: usize = 10_000;

/// A patch of one of the formats that Kubernetes knows.
#[derive(Clone, Debug)]
pub enum Patch {
    /// A list of operations.
    Json(json_patch::Patch),
    /// Fields to merge; null removes.
    Merge(Value),
    /// The same with directives; only a few lists of metadata are merged, all others are replaced.
    Strategic(Value),
    /// Fields that should be so; the object may be missing. The module `managed` does that.
    Apply(Value),
}

impl Patch {
    /// Reads a patch in JSON by its media type.
    ///
    /// # Errors
    /// If the format is unknown, or the text is not of that format.
    pub fn parse(media_type: &str, body: &[u8]) -> Result<Self, ApiError> {
        let is_strategic = media_type == "application/strategic-merge-patch+json";
        let prefix = if is_strategic { "" } else { "error decoding patch: " };
        let decoding = |why: String| ApiError::bad_request(format!("{prefix}{why}"));
        let json = |wanted: &str| {
            let value: Value =
                serde_json::from_slice(body).map_err(|error| decoding(go_syntax(body, &error)))?;
            match (&value, wanted) {
                (Value::Object(_), OBJECT) | (Value::Array(_), OPERATIONS) => Ok(value),
                _ => Err(decoding(super::decode::Misfit::new(&value, "Go value", wanted).json)),
            }
        };
        match media_type {
            "application/json-patch+json" => {
                let value = json(OPERATIONS)?;
                let count = value.as_array().map_or(0, Vec::len);
                if count > MAX_OPERATIONS {
                    return Err(ApiError::patch_too_large(&format!(
                        "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}"
                    )));
                }
                serde_json::from_value(value)
                    .map(Self::Json)
                    .map_err(|_| ApiError::rejected_patch())
            }
            "application/merge-patch+json" => json(OBJECT).map(Self::Merge),
            "application/strategic-merge-patch+json" => json(OBJECT).map(Self::Strategic),
            _ => Err(ApiError::unsupported_media_type()),
        }
    }

    /// The object with the patch applied.
    ///
    /// # Errors
    /// If the patch does not fit.
    pub(super) fn apply(&self, mut object: Value) -> Result<Value, ApiError> {
        match self {
            Self::Json(patch) => operations::apply(&mut object, patch)?,
            Self::Merge(patch) | Self::Apply(patch) => merge(&mut object, patch),
            Self::Strategic(patch) => strategic::merge(&mut object, patch)?,
        }
        Ok(object)
    }

    /// The patch or its result as error messages show them.
    pub(super) fn shown(&self, result: &Value) -> String {
        match self {
            Self::Strategic(patch) => go_map(patch),
            _ => {
                // Only the keys of the object itself have been through a map.
                let mut result = result.clone();
                if let Value::Object(map) = &mut result {
                    map.sort_keys();
                }
                result.to_string()
            }
        }
    }
}

/// Merges objects; null removes.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(map) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            map.shift_remove(key);
        } else {
            merge(map.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

/// A value as Go prints maps.
fn go_map(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries: Vec<String> =
                entries.iter().map(|(key, value)| format!("{key}:{}", go_map(value))).collect();
            format!("map[{}]", entries.join(" "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(go_map).collect::<Vec<_>>().join(" "))
        }
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

/// What is wrong with JSON, roughly in Go's words.
pub fn go_syntax(body: &[u8], error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let line_start: usize = body
        .split_inclusive(|byte| *byte == b'\n')
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    let at = line_start + error.column().saturating_sub(1);
    let found = body
        .get(at)
        .map_or_else(String::new, |byte| char::from(*byte).escape_default().to_string());
    let first = body.iter().copied().find(|it| !it.is_ascii_whitespace()).unwrap_or_default();
    match first {
        b'n' | b't' | b'f' if error.line() == 1 => {
            let literal = match first {
                b'n' => "null",
                b't' => "true",
                _ => "false",
            };
            let wanted = literal.chars().nth(at).unwrap_or_default();
            format!("invalid character '{found}' in literal {literal} (expecting '{wanted}')")
        }
        b'{' | b'[' | b'"' => format!("invalid character '{found}' after object key:value pair"),
        _ => format!(
            "invalid character '{}' looking for beginning of value",
            char::from(first).escape_default()
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(media_type: &str, patch: &str, expected: &str) {
        let object = json!({"data": {"a": "1", "b": "2"}, "list": [{"name": "x"}]});
        let result = Patch::parse(media_type, patch.as_bytes()).and_then(|it| it.apply(object));
        let shown = match result {
            Ok(value) => value.to_string(),
            Err(error) => error.message,
        };
        assert_eq!(shown, expected, "{patch}");
    }

    #[test]
    fn fields_are_merged_and_null_removes() {
        for media_type in ["application/merge-patch+json", "application/strategic-merge-patch+json"]
        {
            check(
                media_type,
                r#"{"data": {"a": null, "c": "3"}, "list": [], "new": {"x": {"y": null}}}"#,
                r#"{"data":{"b":"2","c":"3"},"list":[],"new":{"x":{}}}"#,
            );
        }
    }

    #[test]
    fn operations_are_done_in_order_or_not_at_all() {
        let media_type = "application/json-patch+json";
        check(
            media_type,
            r#"[{"op": "remove", "path": "/data/a"}, {"op": "add", "path": "/list/-", "value": 1}]"#,
            r#"{"data":{"b":"2"},"list":[{"name":"x"},1]}"#,
        );
        check(
            media_type,
            r#"[{"op": "test", "path": "/data/a", "value": "2"}]"#,
            "the server rejected our request due to an error in our request",
        );
    }

    #[test]
    fn what_is_no_patch_is_refused_in_the_words_of_kubernetes() {
        check(
            "application/merge-patch+json",
            "[]",
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        );
        check(
            "application/json-patch+json",
            "{}",
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        );
        check(
            "application/merge-patch+json",
            "nonsense",
            "error decoding patch: invalid character 'o' in literal null (expecting 'u')",
        );
        check("text/plain", "", "415: Unsupported Media Type");
    }
}
