//! Who manages which fields after writes of several clients, through the store.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::{ApiError, Kind, Meta, Patch, Saved, Store, Subresource, WriteOptions};

struct Client<'a> {
    store: &'a Store,
    manager: &'a str,
}

impl Client<'_> {
    fn options(&self, force: bool) -> WriteOptions {
        WriteOptions { manager: self.manager.to_owned(), force, ..WriteOptions::default() }
    }

    fn apply(&self, wanted: &Value, force: bool) -> Result<Saved, ApiError> {
        let patch = Patch::Apply(object(wanted));
        self.store.patch(Kind::ConfigMap, "cm", &patch, Subresource::Main, &self.options(force))
    }

    fn merge(&self, patch: Value) {
        let patch = Patch::Merge(patch);
        self.store
            .patch(Kind::ConfigMap, "cm", &patch, Subresource::Main, &self.options(false))
            .unwrap();
    }
}

fn object(data: &Value) -> Value {
    json!({
        "apiVersion": "tilt.dev/v1alpha1",
        "kind": "ConfigMap",
        "metadata": {"name": "cm"},
        "data": data,
    })
}

/// The data, and after it a line for each manager.
fn check(store: &Store, expected: &Expect) {
    let object = store.get(Kind::ConfigMap, "cm").unwrap().value();
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let mut lines: Vec<String> = entries
        .map(|entry| {
            let text = |key: &str| entry[key].as_str().unwrap().to_owned();
            format!("{} {} {}\n", text("manager"), text("operation"), entry["fieldsV1"])
        })
        .collect();
    // They are ordered by time, which has only seconds.
    lines.sort();
    expected.assert_eq(&format!("{}\n{}", object["data"], lines.concat()));
}

#[test]
fn those_who_apply_own_their_fields_and_remove_what_they_no_longer_want() {
    let store = Store::new();
    let (one, two) =
        (Client { store: &store, manager: "one" }, Client { store: &store, manager: "two" });
    assert!(one.apply(&json!({"a": "1", "b": "2"}), false).unwrap().created);
    two.apply(&json!({"a": "1", "c": "3"}), false).unwrap();
    check(
        &store,
        &expect![[r#"
            {"a":"1","b":"2","c":"3"}
            one Apply {"f:data":{"f:a":{},"f:b":{}}}
            two Apply {"f:data":{"f:a":{},"f:c":{}}}
        "#]],
    );
    // The other one still wants `a`.
    one.apply(&json!({}), false).unwrap();
    check(
        &store,
        &expect![[r#"
            {"a":"1","c":"3"}
            one Apply {"f:data":{}}
            two Apply {"f:data":{"f:a":{},"f:c":{}}}
        "#]],
    );
    two.apply(&json!({"c": "4"}), false).unwrap();
    check(
        &store,
        &expect![[r#"
            {"c":"4"}
            one Apply {"f:data":{}}
            two Apply {"f:data":{"f:c":{}}}
        "#]],
    );
}

#[test]
fn fields_of_others_are_refused_unless_forced() {
    let store = Store::new();
    let (one, two) =
        (Client { store: &store, manager: "one" }, Client { store: &store, manager: "two" });
    one.apply(&json!({"a": "1", "b": "2"}), false).unwrap();
    let conflict = two.apply(&json!({"a": "9"}), false).unwrap_err();
    assert_eq!(conflict.code, 409);
    assert_eq!(conflict.message, "Apply failed with 1 conflict: conflict with \"one\": .data.a");
    let conflict = two.apply(&json!({"a": "9", "b": "9"}), false).unwrap_err();
    expect![[r#"
        Apply failed with 2 conflicts: conflicts with "one":
        - .data.a
        - .data.b"#]]
    .assert_eq(&conflict.message);
    assert_eq!(
        conflict.status()["details"]["causes"][0],
        json!({"reason": "FieldManagerConflict", "message": "conflict with \"one\"", "field": ".data.a"})
    );
    two.apply(&json!({"a": "9"}), true).unwrap();
    check(
        &store,
        &expect![[r#"
            {"a":"9","b":"2"}
            one Apply {"f:data":{"f:b":{}}}
            two Apply {"f:data":{"f:a":{}}}
        "#]],
    );
}

#[test]
fn updates_take_the_fields_that_they_change() {
    let store = Store::new();
    let (one, two) =
        (Client { store: &store, manager: "one" }, Client { store: &store, manager: "two" });
    store
        .create(Kind::ConfigMap, &object(&json!({"a": "1", "b": "2"})), &one.options(false))
        .unwrap();
    two.merge(json!({"data": {"a": "5", "b": null}, "metadata": {"finalizers": ["x.io/y"]}}));
    check(
        &store,
        &expect![[r#"
            {"a":"5"}
            one Update {"f:data":{}}
            two Update {"f:data":{"f:a":{}},"f:metadata":{"f:finalizers":{".":{},"v:\"x.io/y\"":{}}}}
        "#]],
    );
    let conflict = one.apply(&json!({"a": "1"}), false).unwrap_err();
    assert_eq!(
        conflict.message,
        "Apply failed with 1 conflict: conflict with \"two\" using tilt.dev/v1alpha1: .data.a"
    );
    // Whoever wants it can forget it all, and from then on nothing is recorded until somebody applies.
    two.merge(json!({"metadata": {"managedFields": [{}]}}));
    two.merge(json!({"data": {"z": "1"}}));
    check(
        &store,
        &expect![[r#"
            {"a":"5","z":"1"}
        "#]],
    );
}

#[test]
fn what_the_engine_wrote_is_its_own() {
    let store = Store::new();
    store.put(Kind::ConfigMap, "cm", &Meta::default(), &json!({"a": "1"}));
    let one = Client { store: &store, manager: "one" };
    let conflict = one.apply(&json!({"a": "2"}), false).unwrap_err();
    assert_eq!(
        conflict.message,
        "Apply failed with 1 conflict: conflict with \"tilt\" using tilt.dev/v1alpha1: .data.a"
    );
}

#[test]
fn a_write_that_changes_nothing_leaves_the_version_alone() {
    let store = Store::new();
    let one = Client { store: &store, manager: "one" };
    let first = one.apply(&json!({"a": "1"}), false).unwrap();
    let again = one.apply(&json!({"a": "1"}), false).unwrap();
    assert_eq!(first.object.json(), again.object.json());
    let other = Client { store: &store, manager: "other" };
    other.merge(json!({"data": {"a": "1"}}));
    assert_eq!(store.get(Kind::ConfigMap, "cm").unwrap().json(), again.object.json());
}

#[test]
fn the_status_has_managers_of_its_own() {
    let store = Store::new();
    let button = json!({
        "metadata": {"name": "b"},
        "spec": {"text": "x", "location": {"componentID": "a", "componentType": "Resource"}},
    });
    let one = Client { store: &store, manager: "one" };
    store.create(Kind::UiButton, &button, &one.options(false)).unwrap();
    let patch = Patch::Merge(json!({"status": {"lastClickedAt": "2020-01-01T00:00:00.000000Z"}}));
    let saved =
        store.patch(Kind::UiButton, "b", &patch, Subresource::Status, &one.options(false)).unwrap();
    let managed = saved.object.metadata()["managedFields"].clone();
    let of_status = managed.as_array().unwrap().iter().find(|it| it["subresource"] == "status");
    assert_eq!(of_status.unwrap()["fieldsV1"], json!({"f:status": {"f:lastClickedAt": {}}}));
}

#[test]
fn only_so_many_managers_are_told_apart() {
    let store = Store::new();
    for number in 0..30 {
        let manager = format!("m{number:02}");
        let client = Client { store: &store, manager: &manager };
        if number == 0 {
            store
                .create(Kind::ConfigMap, &object(&json!({"k0": "x"})), &client.options(false))
                .unwrap();
        } else {
            client.merge(json!({"data": {format!("k{number}"): "x"}}));
        }
    }
    let metadata = store.get(Kind::ConfigMap, "cm").unwrap().metadata();
    let entries = metadata["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 10);
    assert!(entries.iter().any(|it| it["manager"] == "ancient-changes"));
    assert!(entries.iter().any(|it| it["manager"] == "m29"));
}
