//! Texts inside objects as JSON.

use serde_json::Value;

/// The UID that the server gave an object; empty if it has none.
pub fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

/// Whether an object is being deleted.
pub(crate) fn is_deleting(object: &Value) -> bool {
    !text(object, "/metadata/deletionTimestamp").is_empty()
}

/// A text inside an object; empty if it is not there.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
