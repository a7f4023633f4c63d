//! Requests and answers of the web port, without a port where none is needed.

use std::{net::SocketAddr, time::Duration};

use axum::http::Request as HttpRequest;
use engine_api::{Kind, Meta};
use futures_util::StreamExt;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};
use tower::ServiceExt;

use super::*;
use crate::{
    runtime::{Request as Asked, TriggerRefused},
    server::{
        connections::{Connection, Connections, Limits},
        listening,
    },
};

mod reasons;

struct Port {
    store: Store,
    state: State,
    /// Who sends requests.
    peer: Arc<Connection>,
    _close: watch::Sender<bool>,
    /// The loop that answers what is asked.
    _tasks: JoinSet<()>,
}

impl Port {
    fn new() -> Self {
        let store = Store::new();
        let (close, closing) = watch::channel(false);
        let (handle, mut asked) = Handle::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Some(request) = asked.recv().await {
                match request {
                    Asked::Trigger { resource, reply, .. } => {
                        let answer = match resource.as_str() {
                            "off" => Err(TriggerRefused::Disabled(resource)),
                            "a" => Ok(vec![resource]),
                            _ => Err(TriggerRefused::Unknown(resource)),
                        };
                        reply.send(answer).unwrap();
                    }
                    Asked::OverrideTriggerMode { reply, .. } => reply.send(Ok(())).unwrap(),
                    Asked::Dump { reply } => {
                        reply.send(json!({"ManifestDefinitionOrder": ["a"]})).unwrap()
                    }
                    _ => {}
                }
            }
        });
        let options = ServerOptions {
            host: "localhost".to_owned(),
            port: Some(0),
            token: "good".to_owned(),
            start_time: jiff::Timestamp::UNIX_EPOCH,
            config_file: None,
        };
        let rest = Rest::new(store.clone(), closing.clone());
        let page = PageAddress::new("localhost", "127.0.0.1:10350".parse().unwrap());
        let logs = Logs::default();
        let state = State::new(&options, page, store.clone(), logs, handle, rest, closing);
        store.put(Kind::UiSession, "Tiltfile", &Meta::default(), &json!({}));
        for (name, order) in [("a", 3), ("b", 2), ("(Tiltfile)", 1)] {
            store.put(Kind::UiResource, name, &Meta::default(), &json!({}));
            store.set_status(Kind::UiResource, name, &json!({ "order": order }));
        }
        store.put(Kind::UiResource, "new", &Meta::default(), &json!({}));
        let peer = Arc::new(Connection::known_to_be_own(true));
        Self { store, state, peer, _close: close, _tasks: tasks }
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, String, HeaderMap) {
        let mut request =
            HttpRequest::builder().method(method).uri(path).header("Host", "localhost:10350");
        request = request.extension(Arc::clone(&self.peer));
        for (name, value) in headers {
            let builder = request.headers_mut().unwrap();
            builder.insert(
                header::HeaderName::from_bytes(name.as_bytes()).unwrap(),
                value.parse().unwrap(),
            );
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
        let response = app(self.state.clone()).oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        (parts.status.as_u16(), String::from_utf8(bytes.to_vec()).unwrap(), parts.headers)
    }
}

use axum::http::HeaderMap;

const GOOD: (&str, &str) = ("x-tilt-token", "good");

#[tokio::test]
async fn everything_that_tells_or_does_something_needs_the_token() {
    let port = Port::new();
    let cookie = |value| ("cookie", value);
    let evil = ("host", "evil.example");
    for (headers, expected) in [
        (vec![], "403 missing session token\n"),
        (vec![("x-tilt-token", "bad")], "403 invalid session token\n"),
        (vec![cookie("Tilt-Token=bad")], "403 invalid session token\n"),
        (vec![cookie("Other=good")], "403 missing session token\n"),
        (vec![GOOD], "200"),
        (vec![cookie("a=b; Tilt-Token=good")], "200"),
        (vec![GOOD, evil], "403 unknown host; add it to TILT_ALLOWED_HOSTS to allow it\n"),
        (
            vec![cookie("Tilt-Token=good"), evil],
            "403 unknown host; add it to TILT_ALLOWED_HOSTS to allow it\n",
        ),
        (vec![GOOD, ("origin", "http://localhost:10350")], "200"),
        (vec![GOOD, ("origin", "http://localhost:1")], "403 cross-origin request forbidden\n"),
        (vec![GOOD, ("origin", "null")], "403 cross-origin request forbidden\n"),
        (vec![("origin", "http://evil.example")], "403 cross-origin request forbidden\n"),
        (vec![GOOD, ("sec-fetch-site", "same-origin")], "200"),
        (vec![GOOD, ("sec-fetch-site", "none")], "200"),
        (vec![GOOD, ("sec-fetch-site", "cross-site")], "403 cross-origin request forbidden\n"),
        (vec![GOOD, ("sec-fetch-site", "same-site")], "403 cross-origin request forbidden\n"),
        (vec![GOOD, ("sec-fetch-site", "x")], "403 cross-origin request forbidden\n"),
        (
            vec![GOOD, ("sec-fetch-site", "same-origin"), ("origin", "http://localhost:1")],
            "403 cross-origin request forbidden\n",
        ),
    ] {
        for path in [
            "/api/view",
            "/api/snapshot/local",
            "/api/websocket_token",
            "/api/dump/engine",
            "/api/dump/tasks",
            "/proxy/apis/tilt.dev/v1alpha1/uibuttons",
        ] {
            let (status, text, answer) = port.send("GET", path, &headers, "").await;
            assert_eq!(answer["x-content-type-options"], "nosniff", "{path}");
            assert_eq!(answer["cache-control"], "no-store", "{path}");
            let shown = if status == 200 { status.to_string() } else { format!("{status} {text}") };
            assert_eq!(shown, expected, "{path} {headers:?}");
        }
    }
}

impl Port {
    /// Whether the page, with the token, is the answer; otherwise it is the one that says how to get in.
    async fn lets_in(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> bool {
        let (status, text, answer) = self.send(method, path, headers, "").await;
        assert_eq!(status, 200, "{path} {headers:?}: {text}");
        let cookie = answer.get("set-cookie").map(|it| it.to_str().unwrap());
        if method == "GET" {
            let is_locked = text.contains("<code>engine open</code>");
            assert_eq!(is_locked, cookie.is_none(), "{path} {headers:?}: {text}");
        }
        assert!(
            cookie.is_none_or(|it| it == "Tilt-Token=good; Path=/; SameSite=Strict; HttpOnly"),
            "{cookie:?}"
        );
        cookie.is_some()
    }
}

#[tokio::test]
async fn pages_give_the_token_to_browsers_of_this_user_under_names_that_are_known() {
    let port = Port::new();
    for path in ["/", "/r/a/overview"] {
        assert!(port.lets_in("GET", path, &[]).await, "{path}");
    }
    for name in ["Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP"] {
        assert!(!port.lets_in("GET", "/", &[(name, "192.0.2.1")]).await, "{name}");
    }
    for headers in [[("host", "evil.example")], [("origin", "http://evil.example")]] {
        let (status, _, answer) = port.send("GET", "/", &headers, "").await;
        assert_eq!(status, 403);
        assert!(!answer.contains_key("set-cookie"));
    }
    // Links of other sites may lead here.
    assert!(port.lets_in("GET", "/", &[("sec-fetch-site", "cross-site")]).await);
}

#[tokio::test]
async fn others_get_in_with_the_token_or_with_a_key_that_nobody_has_used() {
    let mut port = Port::new();
    port.peer = Arc::new(Connection::known_to_be_own(false));
    for (headers, expected) in [
        (vec![], false),
        (vec![("cookie", "Tilt-Token=bad")], false),
        (vec![("cookie", "Tilt-Token=good")], true),
        (vec![GOOD], true),
    ] {
        assert_eq!(port.lets_in("GET", "/", &headers).await, expected, "{headers:?}");
    }
    let (status, text, answer) = port.send("GET", "/static/page.js", &[], "").await;
    assert!(status == 200 && !answer.contains_key("set-cookie"), "{text}");

    let (status, text, _) = port.send("POST", "/api/key", &[GOOD], "").await;
    assert_eq!(status, 200, "{text}");
    let answer: Value = serde_json::from_str(&text).unwrap();
    let link = answer["link"].as_str().unwrap().strip_prefix("http://localhost:10350").unwrap();
    for (method, path, expected) in [
        ("GET", "/?key=x", false),
        ("HEAD", link, false),
        ("POST", link, false),
        ("GET", link, true),
        ("GET", link, false),
    ] {
        assert_eq!(port.lets_in(method, path, &[]).await, expected, "{method} {path}");
    }
}

#[tokio::test]
async fn triggers_are_handed_on_or_refused() {
    let port = Port::new();
    for (method, path, body, expected) in [
        ("POST", "/api/trigger", r#"{"manifest_names":["a"],"build_reason":16}"#, "200 "),
        (
            "POST",
            "/api/trigger",
            r#"{"manifest_names":["nope"]}"#,
            "404 resource \"nope\" does not exist\n",
        ),
        (
            "POST",
            "/api/trigger",
            r#"{"manifest_names":["off"]}"#,
            "200 resource \"off\" is currently disabled",
        ),
        (
            "POST",
            "/api/trigger",
            r#"{"manifest_names":["a","b"]}"#,
            "400 /api/trigger currently supports exactly one manifest name, got 2\n",
        ),
        (
            "POST",
            "/api/trigger",
            "{}",
            "400 /api/trigger currently supports exactly one manifest name, got 0\n",
        ),
        (
            "POST",
            "/api/trigger",
            "nonsense",
            "400 error parsing JSON payload: invalid character 'o' in literal null (expecting 'u')\n",
        ),
        ("GET", "/api/trigger", "", "400 must be POST request\n"),
        ("GET", "/api/plan", "", "400 must be POST request\n"),
        ("HEAD", "/api/plan", "", "400 "),
        ("GET", "/api/key", "", "400 must be POST request\n"),
        (
            "POST",
            "/api/override/trigger_mode",
            r#"{"manifest_names":["a"],"trigger_mode":1}"#,
            "200 ",
        ),
        (
            "POST",
            "/api/override/trigger_mode",
            r#"{"manifest_names":["a"],"trigger_mode":9}"#,
            "400 invalid trigger mode: 9\n",
        ),
        (
            "POST",
            "/api/override/trigger_mode",
            r#"{"manifest_names":["x"],"trigger_mode":9}"#,
            "400 no manifest found with name 'x'\n",
        ),
        ("POST", "/api/set_tiltfile_args", r#"["a"]"#, "200 "),
        (
            "POST",
            "/api/set_tiltfile_args",
            " {}",
            "400 error parsing JSON payload: []string: decode slice: expect [ or n, but found {, error found in \
             #2 byte of ...| {}|..., bigger context ...| {}|...\n",
        ),
        ("GET", "/proxy/apis/tilt.dev/v1alpha1/cmds", "", "403 Forbidden\n"),
        ("GET", "/proxy/apis/tilt.dev/v1alpha1/uibuttonsx", "", "403 Forbidden\n"),
        ("GET", "/proxy/version", "", "403 Forbidden\n"),
    ] {
        let (status, text, _) = port.send(method, path, &[GOOD], body).await;
        assert_eq!(format!("{status} {text}"), expected, "{path} {body}");
    }
}

#[tokio::test]
async fn the_view_has_resources_in_their_order() {
    let port = Port::new();
    let (_, text, headers) = port.send("GET", "/api/view", &[GOOD], "").await;
    assert_eq!(headers["content-type"], "application/json");
    let view: Value = serde_json::from_str(&text).unwrap();
    let names: Vec<&str> = view["uiResources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["(Tiltfile)", "b", "a", "new"]);
    assert_eq!(view["isComplete"], true);
    assert_eq!(view["uiSession"]["metadata"]["name"], "Tiltfile");
    assert_eq!(view["tiltStartTime"], "1970-01-01T00:00:00.000000Z");
    assert!(view.get("clusters").is_none());
    let (_, text, _) = port.send("GET", "/api/snapshot/x", &[GOOD], "").await;
    let snapshot: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(snapshot["view"], view);
}

#[tokio::test]
async fn a_button_is_clicked_in_json_and_in_yaml() {
    let port = Port::new();
    let spec = json!({"text": "b", "location": {"componentID": "a", "componentType": "Resource"}});
    port.store.put(Kind::UiButton, "b:1", &Meta::default(), &spec);
    let mut clicks = port.store.client_changes();
    for (media_type, time) in [
        ("application/json", "2020-01-01T00:00:00.000001Z"),
        ("application/yaml", "2020-01-01T00:00:00.000002Z"),
    ] {
        let mut button = port.store.get(Kind::UiButton, "b:1").unwrap().value();
        button["status"] = json!({ "lastClickedAt": time });
        let body = match media_type {
            "application/json" => button.to_string(),
            _ => engine_formats::yaml::emit::emit_v2(&button).unwrap(),
        };
        let path = "/proxy/apis/tilt.dev/v1alpha1/uibuttons/b%3A1/status";
        let (status, text, _) =
            port.send("PUT", path, &[GOOD, ("content-type", media_type)], &body).await;
        assert_eq!(status, 200, "{text}");
        let seen = clicks.next().await.unwrap();
        assert_eq!(seen[0].object.status()["lastClickedAt"], time);
    }
}

/// The next view of the stream.
async fn next_view(socket: &mut WebSocketStream<TcpStream>) -> Value {
    loop {
        if let Message::Text(text) = socket.next().await.unwrap().unwrap() {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

impl Port {
    /// Serves the port until the tasks are dropped.
    async fn serve(&self, connections: &Arc<Connections>) -> (SocketAddr, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let port = listening::Port {
            app: app(self.state.clone()),
            tls: None,
            connections: Arc::clone(connections),
            closing: self.state.closing.clone(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(port.serve(listener));
        (address, tasks)
    }
}

/// Opens the stream of views.
async fn open(address: SocketAddr, csrf: &str) -> Option<WebSocketStream<TcpStream>> {
    open_with(address, &format!("csrf={csrf}")).await
}

async fn open_with(address: SocketAddr, query: &str) -> Option<WebSocketStream<TcpStream>> {
    let stream = TcpStream::connect(address).await.unwrap();
    let url = format!("ws://{address}/ws/view?{query}");
    tokio_tungstenite::client_async(url, stream).await.ok().map(|it| it.0)
}

#[tokio::test]
async fn the_stream_shows_everything_and_then_changes() {
    let port = Port::new();
    let (address, _tasks) = port.serve(&Connections::new(Limits::of(1024))).await;
    assert!(open(address, "wrong").await.is_none());
    let mut socket = open(address, &port.state.access.csrf).await.unwrap();
    let view = next_view(&mut socket).await;
    assert_eq!(view["isComplete"], true);
    assert_eq!(view["uiResources"].as_array().unwrap().len(), 4);
    port.store.put(Kind::ConfigMap, "not shown", &Meta::default(), &json!({}));
    port.store.set_status(Kind::UiResource, "a", &json!({"order": 3, "queued": true}));
    port.store.remove(Kind::UiResource, "b");
    let mut resources = Vec::new();
    while resources.len() < 2 {
        let view = next_view(&mut socket).await;
        assert!(view.get("isComplete").is_none());
        assert!(view.get("uiSession").is_none());
        resources.extend(view["uiResources"].as_array().unwrap().clone());
    }
    assert_eq!(resources[0]["status"]["queued"], true);
    assert_eq!(resources[1]["metadata"]["name"], "b");
    assert!(resources[1]["metadata"]["deletionTimestamp"].is_string());
    drop(port);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_does_not_read_the_stream_is_dropped_and_whoever_reads_stays() {
    let port = Port::new();
    let limits = Limits { silence: Duration::from_millis(300), ..Limits::of(1024) };
    let connections = Connections::new(limits);
    let (address, _tasks) = port.serve(&connections).await;
    let mut reader = open(address, &port.state.access.csrf).await.unwrap();
    let left = connections.one_left();
    let sleeper = open(address, &port.state.access.csrf).await.unwrap();
    // Reading answers the pings, and nothing else is said.
    let reading = tokio::spawn(async move {
        while let Some(Ok(message)) = reader.next().await {
            if message.to_text().is_ok_and(|it| it.contains("queued")) {
                return true;
            }
        }
        false
    });
    left.await;
    port.store.set_status(Kind::UiResource, "a", &json!({"order": 3, "queued": true}));
    assert!(reading.await.unwrap());
    drop(sleeper);
}
