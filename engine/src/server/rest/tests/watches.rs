//! What those see who watch.

use serde_json::json;

use super::*;

/// The next line of a watch.
async fn next(body: &mut Body) -> Vec<(String, String)> {
    let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
    let text = String::from_utf8(frame.to_vec()).unwrap();
    let event = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let name = value["object"]["metadata"]["name"].as_str().unwrap_or("-").to_owned();
        (value["type"].as_str().unwrap().to_owned(), name)
    };
    text.lines().map(event).collect()
}

fn event(kind: &str, name: &str) -> Vec<(String, String)> {
    vec![(kind.to_owned(), name.to_owned())]
}

#[tokio::test]
async fn a_watch_replays_and_follows() {
    let server = Server::new();
    let mut body =
        server.send("GET", "configmaps?watch=true&resourceVersion=1", &[], "").await.into_body();
    assert_eq!(next(&mut body).await, event("ADDED", "cm"));
    server.store.put(Kind::ConfigMap, "new", &Meta::default(), &json!({"a": "1"}));
    assert_eq!(next(&mut body).await, event("ADDED", "new"));
    server.store.put(Kind::Cmd, "other", &Meta::default(), &json!({}));
    server.store.put(Kind::ConfigMap, "new", &Meta::default(), &json!({"a": "1"}));
    server.store.put(Kind::ConfigMap, "new", &Meta::default(), &json!({"a": "2"}));
    assert_eq!(next(&mut body).await, event("MODIFIED", "new"));
    server.store.remove(Kind::ConfigMap, "new");
    assert_eq!(next(&mut body).await, event("DELETED", "new"));
}

#[tokio::test]
async fn a_watch_from_the_present_does_not_replay() {
    let server = Server::new();
    let version = server.store.version();
    let path =
        format!("configmaps?watch=1&resourceVersion={version}&fieldSelector=metadata.name%3Dcm");
    let mut body = server.send("GET", &path, &[], "").await.into_body();
    server.store.put(Kind::ConfigMap, "other", &Meta::default(), &json!({}));
    server.store.put(Kind::ConfigMap, "cm", &Meta::default(), &json!({"one": "2"}));
    assert_eq!(next(&mut body).await, event("MODIFIED", "cm"));
}

#[tokio::test]
async fn a_watch_tells_where_the_initial_events_end() {
    let server = Server::new();
    let path = "configmaps?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    let mut body = server.send("GET", path, &[], "").await.into_body();
    let events = next(&mut body).await;
    assert_eq!(events, [event("ADDED", "cm"), event("BOOKMARK", "-")].concat());
}

#[tokio::test]
async fn a_slow_watch_learns_of_everything_in_the_end() {
    let server = Server::new();
    let mut body = server.send("GET", "configmaps?watch=1", &[], "").await.into_body();
    assert_eq!(next(&mut body).await, event("ADDED", "cm"));
    for n in 0..5000 {
        server.store.put(Kind::ConfigMap, "new", &Meta::default(), &json!({"n": n.to_string()}));
    }
    server.store.remove(Kind::ConfigMap, "cm");
    assert_eq!(next(&mut body).await, [event("ADDED", "new"), event("DELETED", "cm")].concat());
}

#[tokio::test]
async fn a_watch_ends_with_its_time_or_with_the_server() {
    let server = Server::new();
    let mut body = server.send("GET", "cmds?watch=1&timeoutSeconds=1", &[], "").await.into_body();
    assert_eq!(next(&mut body).await.len(), 1);
    assert!(body.frame().await.is_none());
    let mut body = server.send("GET", "cmds?watch=1", &[], "").await.into_body();
    assert_eq!(next(&mut body).await.len(), 1);
    drop(server);
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn old_paths_of_watches_still_work() {
    let server = Server::new();
    for path in ["watch/configmaps?timeoutSeconds=0", "watch/configmaps/cm"] {
        let mut body = server.send("GET", path, &[], "").await.into_body();
        assert_eq!(next(&mut body).await, event("ADDED", "cm"), "{path}");
        server.store.put(Kind::ConfigMap, "cm", &Meta::default(), &json!({"path": path}));
        assert_eq!(next(&mut body).await, event("MODIFIED", "cm"), "{path}");
    }
}
