//! Strategic merge patches, with the directives for what merging cannot express.

use serde_json::{Map, Value};

use crate::error::ApiError;

/// Whoever names items that are gone writes their list so.
const DELETE_ITEMS: &str = "$deleteFromPrimitiveList/";

/// Merges objects by what their types say about lists; null removes.
pub(super) fn merge(target: &mut Value, patch: &Value) -> Result<(), ApiError> {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return Ok(());
    };
    match patch.get("$patch").map(|it| it.as_str().unwrap_or_default()) {
        None | Some("merge") => {}
        Some("replace") => {
            let kept = patch.iter().filter(|(key, _)| !key.starts_with('$'));
            *target = Value::Object(kept.map(|(key, it)| (key.clone(), it.clone())).collect());
            return Ok(());
        }
        Some("delete") => {
            *target = Value::Object(Map::new());
            return Ok(());
        }
        Some(other) => {
            return Err(ApiError::unknown_directive(other, &super::go_map(&patch.clone().into())));
        }
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(map) = target else { return Ok(()) };
    if let Some(Value::Array(kept)) = patch.get("$retainKeys") {
        map.retain(|key, _| kept.iter().any(|it| it == key));
    }
    for (key, value) in patch {
        if let Some(list) = key.strip_prefix(DELETE_ITEMS) {
            let gone = value.as_array().map_or(&[][..], Vec::as_slice);
            if let Some(Value::Array(items)) = map.get_mut(list) {
                items.retain(|it| !gone.contains(it));
            }
        } else if value.is_null() || value.get("$patch").is_some_and(|it| it == "delete") {
            map.shift_remove(key);
        } else if !key.starts_with('$') {
            merge_field(key, map.entry(key.clone()).or_insert(Value::Null), value)?;
        }
    }
    Ok(())
}

/// Of all lists, only these two of metadata are merged.
fn merge_field(key: &str, target: &mut Value, value: &Value) -> Result<(), ApiError> {
    match (key, &mut *target, value) {
        ("finalizers", Value::Array(items), Value::Array(new)) => {
            for item in new {
                if !items.contains(item) {
                    items.push(item.clone());
                }
            }
            Ok(())
        }
        ("ownerReferences", Value::Array(items), Value::Array(new)) => {
            if new.iter().any(|it| it["$patch"] == "replace") {
                items.clear();
            }
            for item in new.iter().filter(|it| it["$patch"] != "replace") {
                let at = items.iter().position(|it| it["uid"] == item["uid"]);
                match at {
                    Some(at) if item["$patch"] == "delete" => drop(items.remove(at)),
                    Some(at) => merge(&mut items[at], item)?,
                    None if item["$patch"] == "delete" => {}
                    None => items.push(item.clone()),
                }
            }
            Ok(())
        }
        _ => merge(target, value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(patch: &Value, expected: &Value) {
        let mut object = json!({
            "metadata": {"finalizers": ["x"], "ownerReferences": [{"uid": "1", "name": "a"}]},
            "data": {"a": "1", "b": "2"},
        });
        let result = merge(&mut object, patch);
        let shown = result.map_or_else(|error| error.message.into(), |()| object);
        assert_eq!(shown, *expected, "{patch}");
    }

    #[test]
    fn directives_replace_delete_and_retain() {
        let metadata = json!({"finalizers": ["x"], "ownerReferences": [{"uid": "1", "name": "a"}]});
        for (patch, data) in [
            (json!({"data": {"$patch": "replace", "q": "1"}}), json!({"q": "1"})),
            (json!({"data": {"$retainKeys": ["b", "c"], "c": "3"}}), json!({"b": "2", "c": "3"})),
            (json!({"data": {"a": null}}), json!({"b": "2"})),
        ] {
            check(&patch, &json!({"metadata": metadata, "data": data}));
        }
        check(&json!({"data": {"$patch": "delete"}}), &json!({ "metadata": metadata }));
        check(
            &json!({"data": {"$patch": "bogus"}}),
            &json!("unknown patch type: bogus in map: map[$patch:bogus]"),
        );
    }

    #[test]
    fn lists_of_metadata_are_merged() {
        let data = json!({"a": "1", "b": "2"});
        check(
            &json!({"metadata": {
                "finalizers": ["y", "x"],
                "ownerReferences": [{"uid": "1", "name": "b"}, {"uid": "2"}],
            }}),
            &json!({"metadata": {
                "finalizers": ["x", "y"],
                "ownerReferences": [{"uid": "1", "name": "b"}, {"uid": "2"}],
            }, "data": data}),
        );
        check(
            &json!({"metadata": {
                "$deleteFromPrimitiveList/finalizers": ["x"],
                "ownerReferences": [{"$patch": "delete", "uid": "1"}],
            }}),
            &json!({"metadata": {"finalizers": [], "ownerReferences": []}, "data": data}),
        );
    }
}
