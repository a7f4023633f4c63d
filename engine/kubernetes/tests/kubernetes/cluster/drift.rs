//! What others changed is kept, and told.

use serde_json::{Value, json};

use crate::cluster::support::{Ground, config_map, deployment, overwriting};

fn told(kept: &[engine_kubernetes::Kept]) -> Vec<String> {
    let text =
        |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
    let tell = |it: &engine_kubernetes::Kept| {
        let by = it.by.as_deref().unwrap_or("nobody");
        format!("{}: {} by {by}, not {}", it.path, text(&it.theirs), it.ours)
    };
    kept.iter().map(tell).collect()
}

#[tokio::test]
async fn a_secret_that_was_patched_by_hand_survives_and_a_trigger_overwrites_it() {
    let ground = Ground::new("secret").await;
    let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"},
        "stringData": {"password": "from-file", "user": "me"}});
    ground.applied(std::slice::from_ref(&secret)).await;
    ground.kubectl(&["patch", "secret", "keys", "-p", r#"{"stringData":{"password":"by-hand"}}"#]);
    ground.writes();

    let applied = ground.apply(std::slice::from_ref(&secret)).await;
    assert_eq!((applied.error, applied.n_writes), (None, 0));
    let kept = [r#"data.password: "YnktaGFuZA==" by kubectl-patch, not "ZnJvbS1maWxl""#];
    assert_eq!(told(&applied.kept), kept);
    assert_eq!(applied.objects[0]["data"]["password"], "YnktaGFuZA==");

    // Another field changes; the kept one stays.
    secret["stringData"]["user"] = "you".into();
    let applied = ground.apply(std::slice::from_ref(&secret)).await;
    assert_eq!((applied.error, applied.n_writes), (None, 1));
    assert_eq!(told(&applied.kept), kept);
    assert_eq!(applied.objects[0]["data"], json!({"password": "YnktaGFuZA==", "user": "eW91"}));

    let applied = ground.apply_with(std::slice::from_ref(&secret), &overwriting()).await;
    assert_eq!((applied.error, told(&applied.kept)), (None, vec![]));
    assert_eq!(applied.objects[0]["data"]["password"], "ZnJvbS1maWxl");

    // What is wanted changes at last.
    ground.kubectl(&["patch", "secret", "keys", "-p", r#"{"stringData":{"password":"by-hand"}}"#]);
    secret["stringData"]["password"] = "new".into();
    let object = ground.applied(&[secret]).await;
    assert_eq!(object["data"]["password"], "bmV3");
}

#[tokio::test]
async fn replicas_that_were_scaled_by_hand_stay_when_the_image_changes() {
    let ground = Ground::new("scaled").await;
    let mut wanted = deployment("web", "busybox");
    wanted["spec"]["paused"] = true.into();
    ground.applied(std::slice::from_ref(&wanted)).await;
    ground.kubectl(&["scale", "deployment", "web", "--replicas=3"]);
    wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "alpine".into();
    let applied = ground.apply(std::slice::from_ref(&wanted)).await;
    assert_eq!(applied.error, None);
    assert_eq!(applied.objects[0]["spec"]["replicas"], 3);
    assert_eq!(applied.objects[0]["spec"]["template"]["spec"]["containers"][0]["image"], "alpine");
    assert_eq!(applied.kept.len(), 1, "{:?}", applied.kept);
    assert_eq!(
        (applied.kept[0].path.as_str(), &applied.kept[0].ours),
        ("spec.replicas", &json!(0))
    );
    let applied = ground.apply_with(&[wanted], &overwriting()).await;
    assert_eq!(applied.objects[0]["spec"]["replicas"], 0);
}

#[tokio::test]
async fn what_others_added_stays_and_what_they_removed_is_told() {
    let ground = Ground::new("added").await;
    let wanted = [config_map("a", json!({"x": "1", "y": "1"}))];
    ground.applied(&wanted).await;
    ground.kubectl(&["patch", "configmap", "a", "-p", r#"{"data":{"y":null,"z":"theirs"}}"#]);
    ground.kubectl(&["label", "configmap", "a", "mine=yes"]);
    let applied = ground.apply(&wanted).await;
    assert_eq!((applied.error, applied.n_writes), (None, 0));
    assert_eq!(told(&applied.kept), [r#"data.y: nothing by nobody, not "1""#]);
    let applied = ground.apply(&[config_map("a", json!({"x": "2", "y": "1"}))]).await;
    assert_eq!(applied.objects[0]["data"], json!({"x": "2", "z": "theirs"}));
    assert_eq!(applied.objects[0]["metadata"]["labels"]["mine"], "yes");
}

#[tokio::test]
async fn a_first_apply_over_what_somebody_created_writes_what_is_wanted() {
    let ground = Ground::new("adopted").await;
    ground.kubectl(&["create", "configmap", "a", "--from-literal=x=theirs", "--from-literal=z=1"]);
    let wanted = [config_map("a", json!({"x": "1"}))];
    let object = ground.applied(&wanted).await;
    assert_eq!(object["data"], json!({"x": "1", "z": "1"}));
    let applied = ground.apply(&wanted).await;
    assert_eq!((applied.n_writes, applied.kept), (0, vec![]));
}

#[tokio::test]
async fn a_container_that_was_injected_by_others_stays() {
    let ground = Ground::new("sidecar").await;
    let mut wanted = deployment("web", "busybox");
    ground.applied(std::slice::from_ref(&wanted)).await;
    let sidecar = r#"{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s"}]}}}}"#;
    ground.kubectl(&["patch", "deployment", "web", "-p", sidecar]);
    wanted["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] = "1".into();
    let object = ground.applied(&[wanted]).await;
    let containers = object["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    let names: Vec<&str> = containers.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["side", "app"]);
    assert_eq!(containers[1]["env"], json!([{"name": "A", "value": "1"}]));
}
