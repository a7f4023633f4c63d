//! `logs` without a running engine: a server with a log, and one with Tilt's view only.

use std::{future::IntoFuture, time::SystemTime};

use axum::{
    Router,
    extract::ws::{Message, WebSocketUpgrade},
    http::header,
    routing::get,
};
use engine_api::log::query;
use serde_json::{Value, json};

use super::*;

#[test]
fn a_time_is_given_as_a_duration_until_now() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
    let cases = [
        ("", Ok(0)),
        ("0", Ok(0)),
        ("1m", Ok(940_000_000)),
        ("1000h", Ok(0)),
        ("-5s", Err("Error: --since duration must be positive, got -5s")),
        ("bogus", Err("Error: time: invalid duration \"bogus\"")),
    ];
    for (flag, expected) in cases {
        let found = since(flag, now).map_err(|it| it.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{flag}");
    }
}

/// The segments of a log, with the resources of their spans.
fn segments() -> Vec<Value> {
    let segment = |resource: &str, span: &str, text: &str, level: &str| {
        json!({
            "manifestName": resource,
            "spanId": span,
            "time": "2026-08-01T10:20:30.000000Z",
            "text": text,
            "level": level,
            "anchor": level == "WARN",
        })
    };
    let mut build = segment("a", "build:1", "Initial Build\n", "INFO");
    build["fields"] = json!({"buildEvent": "init"});
    vec![
        segment("", "", "started\n", "INFO"),
        build,
        segment("a", "cmd:a:update", "from ", "INFO"),
        segment("b", "build:2", "from b\n", "WARN"),
        segment("a", "cmd:a:update", "a\n", "INFO"),
    ]
}

/// An instance that has the log itself, and leaves the selection to the client.
fn engine() -> Router {
    let mut lines: Vec<String> = segments().iter().map(Value::to_string).collect();
    lines.push(format!("{}\n", query::END_OF_HISTORY));
    let log = lines.join("\n");
    let answer = async move || ([(header::CONTENT_TYPE, query::CONTENT_TYPE)], log);
    Router::new().route(query::PATH, get(answer))
}

/// An instance that only has the view, and a page for every address it does not know.
fn tilt() -> Router {
    let view = async |socket: WebSocketUpgrade| {
        socket.on_upgrade(async |mut socket| {
            let segments = segments();
            let spans = segments.iter().map(|it| {
                let span = json!({"manifestName": it["manifestName"]});
                (it["spanId"].as_str().unwrap_or_default().to_owned(), span)
            });
            let spans: Value = spans.collect();
            let list = json!({"segments": segments, "spans": spans, "toCheckpoint": 5});
            let again = json!({"logList": list, "isComplete": true}).to_string();
            // The second one has nothing new.
            for text in [again.clone(), again] {
                socket.send(Message::text(text)).await.unwrap();
            }
        })
    };
    Router::new()
        .route("/api/websocket_token", get(async || "csrf"))
        .route("/ws/view", get(view))
        .fallback(get(async || "<html>"))
}

async fn printed(router: Router, query: &Query, json: bool) -> Result<String, Failure> {
    let listener = tokio::net::TcpListener::bind("localhost:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(axum::serve(listener, router).into_future());
    let connect = ConnectFlags::new(Some(port.into()), "localhost".to_owned());
    let mut out = Vec::new();
    let mut output = Output::new(query, json, &mut out, Printer);
    let result = source::print(&connect, "token", query, &mut output).await;
    output.finish();
    drop(output);
    server.abort();
    result.map(|()| String::from_utf8(out).unwrap())
}

async fn check(query: &str, expected: &str) {
    for router in [engine(), tilt()] {
        let found = printed(router, &Query::parse(query), false).await.unwrap();
        assert_eq!(found, expected, "{query}");
    }
}

#[tokio::test]
async fn everything_is_printed_by_default() {
    let expected = [
        "started",
        "            a │ ",
        "            a │ Initial Build",
        "            a │ from a",
        "            b │ WARNING: from b",
        "",
    ];
    check("", &expected.join("\n")).await;
}

#[tokio::test]
async fn lines_are_selected() {
    check("resource=a", "\nInitial Build\nfrom a\n").await;
    check("resource=nope", "").await;
    check("resource=a&source=build", "\nInitial Build\n").await;
    check("resource=b&level=warn", "WARNING: from b\n").await;
    check("resource=b&level=error", "").await;
    check(&format!("since={}", u64::MAX / 2), "").await;
}

#[tokio::test]
async fn the_last_lines_are_the_last_ones_of_those_selected() {
    check("resource=a&tail=2", "Initial Build\nfrom a\n").await;
    check("tail=1", "            b │ WARNING: from b\n").await;
    check("tail=0", "").await;
}

#[tokio::test]
async fn lines_are_objects_if_asked_for() {
    let text = printed(engine(), &Query::parse("resource=b"), true).await.unwrap();
    let line: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&line["level"], &line["message"]), (&json!("warn"), &json!("from b")));
}

#[tokio::test]
async fn what_was_seen_is_not_printed_again() {
    // Tilt's view says everything twice, and then the connection ends.
    let text = printed(tilt(), &Query::parse("follow=1&resource=b"), false).await.unwrap();
    assert_eq!(text, "WARNING: from b\n");
}

#[tokio::test]
async fn an_instance_that_does_not_answer_is_named() {
    let forbidden = Router::new().fallback(async || axum::http::StatusCode::FORBIDDEN);
    let error = printed(forbidden, &Query::default(), false).await.unwrap_err().to_string();
    assert!(error.starts_with("Error: fetching websocket token: request to http://localhost:"));
    assert!(error.ends_with("/api/websocket_token failed with status \"403 Forbidden\""));
}
