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

fn inside(path: &str, key: &str) -> String {
    format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"))
}
