//! Reasons beside the view: for those who ask, and only those that change.

use engine_view::reason::{Reason, State};

use super::*;

/// The reasons in the next view that has some: names and headlines.
async fn next_reasons(socket: &mut WebSocketStream<TcpStream>) -> Vec<(String, Value)> {
    loop {
        let view = next_view(socket).await;
        let text = |it: &Value| it.as_str().unwrap().to_owned();
        if let Some(reasons) = view["reasons"].as_array() {
            let shown = reasons.iter().map(|it| (text(&it["resource"]), it["headline"].clone()));
            return shown.collect();
        }
    }
}

#[tokio::test]
async fn whoever_asks_for_reasons_gets_those_that_change_and_not_those_that_follow() {
    let port = Port::new();
    let reasons = port.state.handle.reasons().clone();
    let publish = |name: &str, headline: Option<&str>, waits_for: &[&str]| {
        let reason = headline.map(|it| Reason {
            waits_for: waits_for.iter().map(|it| (*it).to_owned()).collect(),
            ..Reason::new(name, State::Failed, it)
        });
        reasons.publish([(name.to_owned(), reason)]);
    };
    publish("root", Some("exit status 1"), &[]);
    publish("a", Some("waiting for root"), &["root"]);
    let (address, _tasks) = port.serve(&Connections::new(Limits::of(1024))).await;
    let query = format!("csrf={}&reasons", port.state.access.csrf);
    let mut socket = open_with(address, &query).await.unwrap();
    let named = |name: &str, headline: Value| (name.to_owned(), headline);
    let all = [named("a", json!("waiting for root")), named("root", json!("exit status 1"))];
    assert_eq!(next_reasons(&mut socket).await, all);
    publish("root", Some("exit status 2"), &[]);
    assert_eq!(next_reasons(&mut socket).await, [named("root", json!("exit status 2"))]);
    // What is as it was before is not sent.
    publish("root", Some("exit status 3"), &[]);
    publish("root", Some("exit status 2"), &[]);
    publish("a", None, &[]);
    assert_eq!(next_reasons(&mut socket).await, [named("a", Value::Null)]);

    // Clients of Tilt do not ask, and get what Tilt sends.
    let mut socket = open(address, &port.state.access.csrf).await.unwrap();
    assert!(next_view(&mut socket).await.get("reasons").is_none());
    assert!(!port.send("GET", "/api/view", &[GOOD], "").await.1.contains("reasons"));
    let (_, file, _) = port.send("GET", "/api/snapshot/local", &[GOOD], "").await;
    let file: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(file["reasons"][0]["headline"], "exit status 2");
}
