//! The smallest JSON patch (RFC 6902) that turns one object into another.
//!
//! A list that is written as a whole is tested first, and so is that a map or list is still missing:
//! if somebody else was faster, the server refuses, and the object is looked at again. Everything
//! else goes field by field.

use serde_json::{Value, json};

use super::equal::same;

/// The operations from one object to another; none if they are the same.
pub(super) fn patch(from: &Value, to: &Value) -> Vec<Value> {
    let mut operations = Vec::new();
    between(from, to, "", &mut operations);
    operations
}

fn between(from: &Value, to: &Value, path: &str, operations: &mut Vec<Value>) {
    let (Value::Object(old), Value::Object(new)) = (from, to) else {
        if same(from, to) {
            return;
        }
        if from.is_array() {
            operations.push(json!({"op": "test", "path": path, "value": from}));
        }
        operations.push(json!({"op": "add", "path": path, "value": to}));
        return;
    };
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        operations.push(json!({"op": "remove", "path": inside(path, key)}));
    }
    for (key, to) in new {
        let path = inside(path, key);
        match old.get(key) {
            Some(from) => between(from, to, &path, operations),
            None => {
                if to.is_object() || to.is_array() {
                    operations.push(json!({"op": "test", "path": path, "value": null}));
                }
                operations.push(json!({"op": "add", "path": path, "value": to}));
            }
        }
    }
}

/// The same changes, to be made only if nobody has written the object meanwhile.
pub(super) fn of_this_version(mut patch: Vec<Value>, live: &Value) -> Vec<Value> {
    patch.retain(|it| it["op"] != "test");
    let (path, version) = ("/metadata/resourceVersion", &live["metadata"]["resourceVersion"]);
    patch.insert(0, json!({"op": "test", "path": path, "value": version}));
    patch
}

/// A patch as it is sent. The server compares texts to the letter as it has written them, and it writes the characters that
/// mean something in HTML by their numbers: `2>&1` would not be what it is.
pub(super) fn written(patch: &Value) -> String {
    let text = patch.to_string();
    let mut written = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                written.push_str(&format!("\\u{:04x}", u32::from(char)));
            }
            char => written.push(char),
        }
    }
    written
}

fn inside(path: &str, key: &str) -> String {
    format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"))
}
