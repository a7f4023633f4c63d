//! JSON Patch, with limits: a few copy operations could otherwise fill all memory or nest too deeply for later
//! readers.

use json_patch::{AddOperation, PatchOperation, jsonptr::Pointer};
use serde_json::Value;

use crate::error::ApiError;

/// How much the operations of a patch may copy together, in bytes.
const MAX_COPIED: usize = 3 << 20;
/// How deep values may nest afterwards.
const MAX_DEPTH: usize = 256;

/// Does the operations in order.
pub(super) fn apply(object: &mut Value, patch: &json_patch::Patch) -> Result<(), ApiError> {
    let mut copied = 0;
    for operation in &patch.0 {
        let operation = lenient(object, operation);
        check(object, &operation, &mut copied)?;
        let single = std::slice::from_ref(&operation);
        json_patch::patch_unsafe(object, single).map_err(|_| ApiError::rejected_patch())?;
    }
    Ok(())
}

/// Replacing what is missing from an object adds it, as in the library that Kubernetes uses.
fn lenient(object: &Value, operation: &PatchOperation) -> PatchOperation {
    match operation {
        PatchOperation::Replace(it)
            if value_at(object, &it.path).is_none() && is_in_object(object, &it.path) =>
        {
            PatchOperation::Add(AddOperation { path: it.path.clone(), value: it.value.clone() })
        }
        other => other.clone(),
    }
}

fn value_at<'a>(object: &'a Value, path: &Pointer) -> Option<&'a Value> {
    object.pointer(path.as_str())
}

fn is_in_object(object: &Value, path: &Pointer) -> bool {
    path.parent().and_then(|it| value_at(object, it)).is_some_and(Value::is_object)
}

fn check(object: &Value, operation: &PatchOperation, copied: &mut usize) -> Result<(), ApiError> {
    let source = |path: &Pointer| value_at(object, path).unwrap_or(&Value::Null);
    let (value, path) = match operation {
        PatchOperation::Add(it) => (&it.value, &it.path),
        PatchOperation::Replace(it) => (&it.value, &it.path),
        PatchOperation::Move(it) => (source(&it.from), &it.path),
        PatchOperation::Copy(it) => {
            let value = source(&it.from);
            *copied += value.to_string().len();
            (value, &it.path)
        }
        PatchOperation::Remove(_) | PatchOperation::Test(_) => return Ok(()),
    };
    if *copied > MAX_COPIED {
        return Err(ApiError::patch_too_large(&format!(
            "the values that a JSON patch copies may not be larger than {MAX_COPIED} bytes together"
        )));
    }
    match MAX_DEPTH.checked_sub(path.count()) {
        Some(depth) if !is_deeper(value, depth) => Ok(()),
        _ => Err(ApiError::rejected_patch()),
    }
}

/// Whether collections are nested deeper than that.
pub fn is_deeper(value: &Value, depth: usize) -> bool {
    match value {
        _ if depth == 0 => true,
        Value::Array(items) => items.iter().any(|it| is_deeper(it, depth - 1)),
        Value::Object(map) => map.values().any(|it| is_deeper(it, depth - 1)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(operations: &Value) -> Result<Value, ApiError> {
        let mut object = json!({"data": {"a": "1"}, "list": [1]});
        let patch = serde_json::from_value(operations.clone()).unwrap();
        apply(&mut object, &patch).map(|()| object)
    }

    #[test]
    fn what_is_missing_from_an_object_can_be_replaced_but_not_from_a_list() {
        let replace = |path: &str| patched(&json!([{"op": "replace", "path": path, "value": 5}]));
        assert_eq!(replace("/data/new").unwrap()["data"], json!({"a": "1", "new": 5}));
        for path in ["/list/7", "/nope/new", "/data/a/b"] {
            assert_eq!(replace(path).unwrap_err().code, 422, "{path}");
        }
    }

    #[test]
    fn what_is_copied_has_a_limit() {
        let text = "x".repeat(1000);
        let mut operations = vec![json!({"op": "add", "path": "/data/a", "value": [text]})];
        for _ in 0..40 {
            operations.push(json!({"op": "copy", "from": "/data/a", "path": "/data/a/-"}));
        }
        assert_eq!(patched(&json!(operations)).unwrap_err().code, 413);
    }

    #[test]
    fn values_nest_only_so_deep() {
        let mut operations = vec![json!({"op": "add", "path": "/x", "value": {"y": {}}})];
        for _ in 0..2000 {
            operations.push(json!({"op": "move", "from": "/x", "path": "/z"}));
            operations.push(json!({"op": "add", "path": "/x", "value": {}}));
            operations.push(json!({"op": "move", "from": "/z", "path": "/x/y"}));
        }
        assert_eq!(patched(&json!(operations)).unwrap_err().code, 422);
        let long = "/a".repeat(100_000);
        let operation = json!([{"op": "add", "path": long, "value": 1}]);
        assert_eq!(patched(&operation).unwrap_err().code, 422);
    }
}
