//! Requests and answers of the web port, without a port where none is needed.

use axum::http::Request as HttpRequest;
use futures_util::StreamExt;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};
use tower::ServiceExt;

use super::*;
use crate::{
    api::{Meta, kind},
    runtime::{Request as Asked, TriggerRefused},
};

struct Port {
    store: Store,
    state: State,
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
        let options = Options {
            host: "localhost".to_owned(),
            port: 0,
            token: "good".to_owned(),
            start_time: jiff::Timestamp::UNIX_EPOCH,
            config_file: None,
        };
        let rest = Rest::new(store.clone(), closing.clone());
        let state = State::new(&options, store.clone(), Logs::default(), handle, rest, closing);
        store.put(kind::UI_SESSION, "Tiltfile", &Meta::default(), &json!({}));
        for (name, order) in [("a", 3), ("b", 2), ("(Tiltfile)", 1)] {
            store.put(kind::UI_RESOURCE, name, &Meta::default(), &json!({}));
            store.set_status(kind::UI_RESOURCE, name, &json!({ "order": order }));
        }
        store.put(kind::UI_RESOURCE, "new", &Meta::default(), &json!({}));
        Self { store, state, _close: close, _tasks: tasks }
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
    ] {
        for path in [
            "/api/view",
            "/api/snapshot/local",
            "/api/websocket_token",
            "/api/dump/engine",
            "/proxy/apis/tilt.dev/v1alpha1/uibuttons",
        ] {
            let (status, text, _) = port.send("GET", path, &headers, "").await;
            let shown = if status == 200 { status.to_string() } else { format!("{status} {text}") };
            assert_eq!(shown, expected, "{path} {headers:?}");
        }
    }
}

#[tokio::test]
async fn pages_give_the_token_to_browsers_under_names_that_are_known() {
    let port = Port::new();
    for path in ["/", "/r/a/overview"] {
        let (status, text, headers) = port.send("GET", path, &[], "").await;
        assert_eq!(status, 200, "{path}: {text}");
        assert_eq!(headers["set-cookie"], "Tilt-Token=good; Path=/; SameSite=Strict");
    }
    for headers in [[("host", "evil.example")], [("origin", "http://evil.example")]] {
        let (status, _, answer) = port.send("GET", "/", &headers, "").await;
        assert_eq!(status, 403);
        assert!(!answer.contains_key("set-cookie"));
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
    port.store.put(kind::UI_BUTTON, "b:1", &Meta::default(), &spec);
    let mut clicks = port.store.client_changes();
    for (media_type, time) in [
        ("application/json", "2020-01-01T00:00:00.000001Z"),
        ("application/yaml", "2020-01-01T00:00:00.000002Z"),
    ] {
        let mut button = port.store.get(kind::UI_BUTTON, "b:1").unwrap().value();
        button["status"] = json!({ "lastClickedAt": time });
        let body = match media_type {
            "application/json" => button.to_string(),
            _ => builtins::yaml::emit::emit_v2(&button).unwrap(),
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
async fn next_view(
    socket: &mut tokio_tungstenite::WebSocketStream<tokio::net::TcpStream>,
) -> Value {
    loop {
        let message = socket.next().await.unwrap().unwrap();
        if let Ok(text) = message.to_text()
            && !text.is_empty()
        {
            return serde_json::from_str(text).unwrap();
        }
    }
}

#[tokio::test]
async fn the_stream_shows_everything_and_then_changes() {
    let port = Port::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    let app = app(port.state.clone());
    tasks.spawn(async move { axum::serve(listener, app).await.unwrap() });
    let connect = async |csrf: &str| {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        tokio_tungstenite::client_async(format!("ws://{address}/ws/view?csrf={csrf}"), stream).await
    };
    assert!(connect("wrong").await.is_err());
    let (mut socket, _) = connect(&port.state.access.csrf).await.unwrap();
    let view = next_view(&mut socket).await;
    assert_eq!(view["isComplete"], true);
    assert_eq!(view["uiResources"].as_array().unwrap().len(), 4);
    port.store.put(kind::CONFIG_MAP, "not shown", &Meta::default(), &json!({}));
    port.store.set_status(kind::UI_RESOURCE, "a", &json!({"order": 3, "queued": true}));
    port.store.remove(kind::UI_RESOURCE, "b");
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
