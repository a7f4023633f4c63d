//! The guarantees of the store, for writes in any order.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{Lagged, ObjectId};

fn labeled(key: &str) -> Meta {
    Meta { labels: BTreeMap::from([(key.to_owned(), key.to_owned())]), ..Meta::default() }
}

#[test]
fn an_object_shows_what_was_written() {
    let store = Store::new();
    store.put(Kind::Tiltfile, "(Tiltfile)", &Meta::default(), &json!({}));
    let owner = ObjectId::new(Kind::Tiltfile, "(Tiltfile)");
    let meta = Meta { owner: Some(owner), ..labeled("x") };
    assert_eq!(
        store.put(Kind::Cmd, "a \"quoted\" name", &meta, &json!({"args": ["true"]})),
        Written::Created
    );
    let object = store.get(Kind::Cmd, "a \"quoted\" name").unwrap();
    let value = object.value();
    assert_eq!(value["metadata"]["name"], "a \"quoted\" name");
    assert_eq!(value["metadata"]["uid"], object.uid());
    assert_eq!(value["metadata"]["resourceVersion"], object.resource_version().to_string());
    assert_eq!(value["metadata"]["labels"], json!({"x": "x"}));
    assert_eq!(object.spec(), json!({"args": ["true"]}));
    assert_eq!(object.status(), json!({}));
    assert_eq!(object.labels(), meta.labels);
    assert_eq!(object.owner(), Some(("Tiltfile".to_owned(), "(Tiltfile)".to_owned())));
    assert_eq!(object.metadata(), value["metadata"]);
    let tiltfile = store.get(Kind::Tiltfile, "(Tiltfile)").unwrap();
    assert_eq!(value["metadata"]["ownerReferences"][0]["uid"], tiltfile.uid());
}

#[test]
fn an_edit_changes_the_spec_and_nothing_else() {
    let store = Store::new();
    store.put(Kind::ConfigMap, "cm", &labeled("x"), &json!({"a": "1"}));
    let edit = |it: &mut Map<String, Value>| drop(it.insert("b".to_owned(), json!("2")));
    assert!(store.edit(Kind::ConfigMap, "cm", edit));
    let object = store.get(Kind::ConfigMap, "cm").unwrap();
    assert_eq!(object.spec(), json!({"a": "1", "b": "2"}));
    assert_eq!(object.labels(), labeled("x").labels);
    assert!(!store.edit(Kind::ConfigMap, "nothing", edit));
}

#[test]
fn an_owner_that_is_not_there_is_left_out() {
    let store = Store::new();
    let meta = Meta { owner: Some(ObjectId::new(Kind::Tiltfile, "x")), ..Meta::default() };
    store.put(Kind::Cmd, "a", &meta, &json!({}));
    assert_eq!(store.get(Kind::Cmd, "a").unwrap().owner(), None);
    store.put_owned(Kind::Cmd, "b", &meta, &json!({}));
    assert!(store.get(Kind::Cmd, "b").is_none());
}

#[test]
fn an_object_that_is_there_is_not_made_again() {
    let store = Store::new();
    for value in ["1", "2"] {
        store.put_new(Kind::ConfigMap, "cm", &Meta::default(), &json!({ "a": value }));
    }
    assert_eq!(store.get(Kind::ConfigMap, "cm").unwrap().spec(), json!({"a": "1"}));
}

#[test]
fn a_config_map_has_data_and_no_status() {
    let store = Store::new();
    store.put(Kind::ConfigMap, "cm", &Meta::default(), &json!({"a": "1"}));
    let object = store.get(Kind::ConfigMap, "cm").unwrap();
    assert_eq!(object.spec(), json!({"a": "1"}));
    assert_eq!(object.status(), Value::Null);
    assert!(object.value().get("status").is_none());
}

#[test]
fn the_mark_of_a_button_changes_with_its_spec_only() {
    let store = Store::new();
    let mark = |text: &str, meta: &Meta| {
        store.put(Kind::UiButton, "b", meta, &json!({ "text": text }));
        store.get(Kind::UiButton, "b").unwrap().annotations()[BUTTON_HASH].clone()
    };
    let first = mark("x", &Meta::default());
    assert_eq!(first, mark("x", &labeled("y")));
    assert_ne!(first, mark("z", &Meta::default()));
}

#[tokio::test]
async fn a_reader_that_is_too_slow_is_told_so() {
    let store = Store::new();
    let mut changes = store.changes();
    for n in 0..=RING {
        store.put(Kind::Cmd, &n.to_string(), &Meta::default(), &json!({}));
    }
    assert_eq!(changes.next().await.map(|it| it.len()), Err(Lagged));
    store.remove(Kind::Cmd, "0");
    assert!(changes.next().await.is_ok());
}

#[tokio::test]
async fn readers_of_clients_do_not_hear_of_the_engine() {
    let store = Store::new();
    let mut changes = store.client_changes();
    store.put(Kind::Cmd, "a", &Meta::default(), &json!({}));
    store.write(true).remove(Kind::Cmd, "a");
    let seen = changes.next().await.unwrap();
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].event, seen[0].name(), seen[0].by_client), (Event::Deleted, "a", true));
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, u8, u8),
    Status(u8, u8),
    Remove(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..4u8, 0..3u8, 0..3u8).prop_map(|(name, label, spec)| Step::Put(name, label, spec)),
        (0..4u8, 0..3u8).prop_map(|(name, status)| Step::Status(name, status)),
        (0..4u8).prop_map(Step::Remove),
    ]
}

proptest! {
    /// A copy that only follows the changes is equal to the store, versions only grow, and a write without effect
    /// is not seen by anybody.
    #[test]
    fn whoever_follows_the_changes_knows_everything(steps in prop::collection::vec(step(), 0..60)) {
        let store = Store::new();
        let mut changes = store.changes();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut copy: BTreeMap<String, Arc<Object>> = BTreeMap::new();
        let mut newest = store.version();
        for step in steps {
            let before = store.version();
            match &step {
                Step::Put(name, label, spec) => {
                    let written = store.put(Kind::Cmd, &name.to_string(), &labeled(&label.to_string()), &json!({"n": spec}));
                    prop_assert_eq!(written == Written::Unchanged, store.version() == before);
                }
                Step::Status(name, status) => {
                    let known = store.set_status(Kind::Cmd, &name.to_string(), &json!({"n": status}));
                    prop_assert_eq!(known, copy.contains_key(&name.to_string()));
                }
                Step::Remove(name) => {
                    prop_assert_eq!(store.remove(Kind::Cmd, &name.to_string()), copy.contains_key(&name.to_string()));
                }
            }
            if store.version() == before {
                continue;
            }
            for change in runtime.block_on(changes.next()).unwrap() {
                let name = change.name().to_owned();
                match change.event {
                    Event::Deleted => { copy.remove(&name); }
                    Event::Added => {
                        prop_assert!(change.object.resource_version() > newest);
                        prop_assert!(copy.insert(name, change.object.clone()).is_none());
                    }
                    Event::Modified => {
                        prop_assert!(change.object.resource_version() > newest);
                        let old = copy.insert(name, change.object.clone()).unwrap();
                        prop_assert_eq!(old.uid(), change.object.uid());
                        prop_assert!(old.parts() != change.object.parts());
                    }
                }
                newest = newest.max(change.object.resource_version());
            }
        }
        let listed: Vec<String> = store.list(Kind::Cmd).iter().map(|it| it.json().to_owned()).collect();
        let followed: Vec<String> = copy.values().map(|it| it.json().to_owned()).collect();
        prop_assert_eq!(listed, followed);
    }
}
