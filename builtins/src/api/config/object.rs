//! Converts JSON to the value of a setting: all numbers are floats, keys are sorted.

use builtins_language::{AllocDict, AllocList, Heap, Value};
use serde_json::Value as Json;

/// The name of a JSON value's type in the reference implementation, which leaks into its messages.
pub(super) fn go_type(json: &Json) -> &'static str {
    match json {
        Json::Null => "<nil>",
        Json::Bool(_) => "bool",
        Json::Number(_) => "float64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    }
}

/// The value in the Tiltfile. The parser has limited the nesting.
pub(super) fn alloc<'v>(json: &Json, heap: Heap<'v>) -> Value<'v> {
    match json {
        Json::Null => Value::new_none(),
        Json::Bool(it) => Value::new_bool(*it),
        Json::Number(it) => heap.alloc(it.as_f64().unwrap_or(f64::INFINITY)),
        Json::String(it) => heap.alloc(it.as_str()),
        Json::Array(items) => {
            heap.alloc(AllocList(items.iter().map(|it| alloc(it, heap)).collect::<Vec<_>>()))
        }
        Json::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries = entries
                .into_iter()
                .map(|(key, value)| (heap.alloc(key.as_str()), alloc(value, heap)));
            heap.alloc(AllocDict(entries.collect::<Vec<_>>()))
        }
    }
}

/// How the value in the Tiltfile is printed.
pub(super) fn repr(json: &Json) -> String {
    Heap::temp(|heap| builtins_language::repr(alloc(json, heap)))
}
