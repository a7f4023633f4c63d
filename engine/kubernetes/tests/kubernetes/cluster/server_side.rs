//! Server-side apply keeps its meaning.

use engine_kubernetes::{ApplyOptions, Verb};
use serde_json::{Value, json};

use crate::cluster::support::{Ground, config_map, deployment, job, options, verbs};

fn by_server() -> ApplyOptions {
    ApplyOptions { server_side: true, ..options() }
}

fn managers(object: &Value) -> Vec<String> {
    let book = object["metadata"]["managedFields"].as_array().unwrap();
    let text = |it: &'static str| move |entry: &Value| entry[it].as_str().unwrap().to_owned();
    let (manager, operation) = (text("manager"), text("operation"));
    book.iter().map(|it| format!("{} by {}", manager(it), operation(it))).collect()
}

#[tokio::test]
async fn the_server_applies_and_is_not_asked_again_for_the_same() {
    let ground = Ground::new("ssa").await;
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"ports": [{"port": 53, "name": "tcp"}, {"port": 53, "protocol": "UDP", "name": "dns"}]}});
    let objects = [deployment("web", "busybox"), config_map("a", json!({"x": "1"})), service];
    let applied = ground.apply_with(&objects, &by_server()).await;
    assert_eq!(applied.error, None);
    assert_eq!(verbs(&ground.audit()), [Verb::Apply; 3]);
    assert_eq!(managers(&applied.objects[1]), ["tilt by Apply"]);
    let again = ground.apply_with(&objects, &by_server()).await;
    assert_eq!((again.error, again.n_writes), (None, 0), "{:?}", ground.audit());
    let wanted = [config_map("a", json!({"y": "1"}))];
    let changed = ground.apply_with(&wanted, &by_server()).await;
    assert_eq!(
        changed.objects[0]["data"],
        json!({"y": "1"}),
        "what is not wanted any more is gone"
    );
}

#[tokio::test]
async fn fields_of_others_are_taken_by_force() {
    let ground = Ground::new("force").await;
    let wanted = [config_map("a", json!({"x": "1"}))];
    ground.apply_with(&wanted, &by_server()).await;
    ground.kubectl(&["patch", "configmap", "a", "-p", r#"{"data":{"x":"theirs","z":"1"}}"#]);
    let applied = ground.apply_with(&wanted, &by_server()).await;
    assert_eq!((applied.error, applied.n_writes), (None, 1));
    assert_eq!(applied.objects[0]["data"], json!({"x": "1", "z": "1"}));
}

#[tokio::test]
async fn what_was_applied_in_the_other_way_is_taken_over() {
    let ground = Ground::new("migrate").await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), config_map("k", json!({"x": "1", "y": "1"})).to_string()).unwrap();
    ground.kubectl(&["apply", "-f", file.path().to_str().unwrap()]);
    ground.applied(&[config_map("a", json!({"x": "1", "y": "1"}))]).await;

    for name in ["a", "k"] {
        let wanted = [config_map(name, json!({"x": "1"}))];
        let applied = ground.apply_with(&wanted, &by_server()).await;
        assert_eq!(applied.error, None);
        assert_eq!(applied.objects[0]["data"], json!({"x": "1"}), "y was ours, and is not wanted");
        assert_eq!(managers(&applied.objects[0]), ["tilt by Apply"]);
        let again = ground.apply_with(&wanted, &by_server()).await;
        assert_eq!((again.error, again.n_writes), (None, 0), "{:?}", ground.audit());
    }
}

#[tokio::test]
async fn what_the_server_cannot_change_in_place_is_made_anew_and_stays_the_servers() {
    let ground = Ground::new("anew").await;
    let first = ground.apply_with(&[job("init", "one")], &by_server()).await;
    let second = ground.apply_with(&[job("init", "two")], &by_server()).await;
    assert_eq!(second.error, None);
    assert_ne!(first.objects[0]["metadata"]["uid"], second.objects[0]["metadata"]["uid"]);
    let again = ground.apply_with(&[job("init", "two")], &by_server()).await;
    assert_eq!((again.error, again.n_writes), (None, 0), "{:?}", ground.audit());
}
