//! Creates and applies JSON merge patches.

use serde_json::{Map, Value};

/// Changes a value as a merge patch says; unlike `json_patch::merge`, what stays keeps its order.
pub(crate) fn apply(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(fields) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            fields.shift_remove(key);
        } else {
            apply(fields.entry(key.as_str()).or_insert(Value::Null), value);
        }
    }
}

/// The patch that turns one value into the other.
pub(crate) fn between(from: &Value, to: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (from, to) else { return to.clone() };
    let mut patch = Map::new();
    for (key, value) in new {
        match old.get(key) {
            Some(before) if before == value => {}
            Some(before) if before.is_object() && value.is_object() => {
                patch.insert(key.clone(), between(before, value));
            }
            _ => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    for key in old.keys().filter(|it| !new.contains_key(*it)) {
        patch.insert(key.clone(), Value::Null);
    }
    Value::Object(patch)
}

/// The patch that brings an object from what it is to what is wanted.
///
/// What was wanted before and no longer is, is removed; what others added stays.
pub(crate) fn three_way(original: &Value, wanted: &Value, current: &Value) -> Value {
    let additions = only(&between(current, wanted), |it| !it.is_null());
    let deletions = only(&between(original, wanted), Value::is_null);
    let mut patch = additions;
    overlay(&mut patch, &deletions);
    patch
}

/// The part of a patch whose leaves are wanted.
fn only(patch: &Value, is_wanted: fn(&Value) -> bool) -> Value {
    let Value::Object(fields) = patch else { return patch.clone() };
    let mut kept = Map::new();
    for (key, value) in fields {
        if value.is_object() {
            let inner = only(value, is_wanted);
            let is_empty = inner.as_object().is_some_and(Map::is_empty);
            let was_empty = value.as_object().is_some_and(Map::is_empty);
            if !is_empty || (was_empty && is_wanted(value)) {
                kept.insert(key.clone(), inner);
            }
        } else if is_wanted(value) {
            kept.insert(key.clone(), value.clone());
        }
    }
    Value::Object(kept)
}

/// Adds the fields of one patch to another; removals are kept as such.
fn overlay(patch: &mut Value, other: &Value) {
    let Value::Object(more) = other else { return };
    if !patch.is_object() {
        *patch = Value::Object(Map::new());
    }
    let Value::Object(fields) = patch else { return };
    for (key, value) in more {
        if value.is_object() {
            overlay(fields.entry(key.as_str()).or_insert_with(|| Value::Object(Map::new())), value);
        } else {
            fields.insert(key.clone(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn three_values_decide_what_changes() {
        let cases = [
            (json!({"a": 1}), json!({"a": 1}), json!({"a": 1, "theirs": 2}), json!({})),
            (
                json!({"a": 1, "b": 1}),
                json!({"a": 1}),
                json!({"a": 1, "b": 1, "theirs": 2}),
                json!({"b": null}),
            ),
            (json!({}), json!({"a": {"b": 1}}), json!({"a": {"c": 2}}), json!({"a": {"b": 1}})),
            (
                json!({"a": {"x": 1}}),
                json!({"a": {"y": [1]}}),
                json!({"a": {"x": 1}}),
                json!({"a": {"y": [1], "x": null}}),
            ),
        ];
        for (original, wanted, current, want) in cases {
            assert_eq!(three_way(&original, &wanted, &current), want);
        }
    }

    #[test]
    fn fields_keep_their_order() {
        let mut object = json!({"a": 1, "b": {"x": 1, "y": 2, "z": 3}, "c": 3, "d": 4});
        apply(&mut object, &json!({"a": null, "b": {"x": null}, "e": 5}));
        assert_eq!(object.to_string(), r#"{"b":{"y":2,"z":3},"c":3,"d":4,"e":5}"#);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<bool>().prop_map(Value::from), (0..3).prop_map(Value::from)];
        let nested = leaf.prop_recursive(3, 16, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..3)
                    .prop_map(|it| Value::Object(it.into_iter().collect())),
            ]
        });
        prop::collection::btree_map("[abc]", nested, 0..3)
            .prop_map(|it| Value::Object(it.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn a_patch_between_two_objects_leads_from_one_to_the_other(from in value(), to in value()) {
            let mut object = from.clone();
            apply(&mut object, &between(&from, &to));
            prop_assert_eq!(object, to);
        }

        #[test]
        fn applying_what_was_applied_changes_nothing(wanted in value()) {
            prop_assert_eq!(three_way(&wanted, &wanted, &wanted), json!({}));
        }
    }
}
