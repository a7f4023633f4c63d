//! Every way in, with everything that is missing or wrong: nobody gets anything, whatever the way.

use crate::{
    Api, csrf,
    instance::{Instance, exchange},
    status,
};

/// Everything on the web port that tells or does something.
const WEB: [(&str, &str); 15] = [
    ("GET", "/api/view"),
    ("GET", "/api/snapshot/x"),
    ("GET", "/api/websocket_token"),
    ("GET", "/api/dump/engine"),
    ("POST", "/api/trigger"),
    ("POST", "/api/override/trigger_mode"),
    ("POST", "/api/set_tiltfile_args"),
    ("GET", "/api/explain/a"),
    ("GET", "/api/graph"),
    ("GET", "/api/logs"),
    ("GET", "/api/plan"),
    ("POST", "/api/analytics"),
    ("GET", "/proxy/apis/tilt.dev/v1alpha1/uibuttons"),
    ("PATCH", "/proxy/apis/tilt.dev/v1alpha1/uibuttons/toggle-a-disable/status"),
    ("GET", "/proxy/apis/tilt.dev/v1alpha1/cmds"),
];

/// The same for the API server.
const REST: [(&str, &str); 10] = [
    ("GET", "/apis"),
    ("GET", "/version"),
    ("GET", "/openapi/v2"),
    ("GET", "/openapi/v3/apis/tilt.dev/v1alpha1"),
    ("GET", "/metrics"),
    ("GET", "/apis/tilt.dev/v1alpha1/uiresources"),
    ("GET", "/apis/tilt.dev/v1alpha1/uiresources?watch=true"),
    ("POST", "/apis/tilt.dev/v1alpha1/cmds"),
    ("PATCH", "/apis/tilt.dev/v1alpha1/uibuttons/toggle-a-disable/status"),
    ("DELETE", "/apis/tilt.dev/v1alpha1/configmaps"),
];

/// Names under which somebody else could make a browser come here.
const FOREIGN_HOSTS: [&str; 7] = [
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil.example:80",
    "169.254.169.254",
    "user@evil.example",
    "a b",
];

const FOREIGN_ORIGINS: [&str; 5] = [
    "http://evil.example",
    "null",
    "http://localhost:1",
    "https://localhost.evil.example",
    "file://",
];

fn request(method: &str, path: &str, host: &str, headers: &str) -> Vec<u8> {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}Content-Length: 2\r\n\r\n{{}}"
    )
    .into_bytes()
}

/// Headers of requests that are refused, and the host that they are sent to.
fn wrong(own: &str, token: &str, without_token: &[&str]) -> Vec<(String, String)> {
    let mut wrong: Vec<_> =
        without_token.iter().map(|it| (own.to_owned(), (*it).to_owned())).collect();
    wrong.extend(FOREIGN_HOSTS.map(|host| (host.to_owned(), token.to_owned())));
    wrong.extend(
        FOREIGN_ORIGINS.map(|origin| (own.to_owned(), format!("{token}Origin: {origin}\r\n"))),
    );
    wrong
}

fn assert_refused(answer: &[u8], secret: &str, what: &str) {
    let text = String::from_utf8_lossy(answer);
    // Some hosts are no hosts at all, which is found out before anybody is asked.
    assert!(matches!(status(answer), Some(400 | 403)), "{what} gave {text}");
    assert!(!text.contains(secret), "{what} gave {text}");
}

#[test]
fn nobody_gets_in_without_token_or_from_elsewhere() {
    let instance = Instance::start("local_resource('a', 'echo ran')");
    let own = format!("localhost:{}", instance.port);
    let token = format!("X-Tilt-Token: {}\r\n", instance.token);
    let without = [
        "",
        "X-Tilt-Token: \r\n",
        "X-Tilt-Token: x\r\n",
        "Cookie: Tilt-Token=x\r\n",
        "Cookie: Tilt-Token=\r\n",
        "Authorization: Bearer x\r\n",
    ];
    for (method, path) in WEB {
        for (host, headers) in wrong(&own, &token, &without) {
            let answer = exchange(instance.port, &request(method, path, &host, &headers), false);
            assert_refused(&answer, &instance.token, &format!("{method} {path} {host} {headers}"));
        }
    }
    // Whoever belongs here gets in, so that it is not the way itself that is closed.
    let answer = exchange(instance.port, &request("GET", "/api/view", &own, &token), false);
    assert_eq!(status(&answer), Some(200));
}

#[test]
fn pages_that_came_under_a_foreign_name_get_no_token() {
    let instance = Instance::start("local_resource('a', 'echo ran')");
    for path in ["/", "/r/a/overview", "/static/page.js", "/nothing"] {
        for host in FOREIGN_HOSTS {
            let answer = exchange(instance.port, &request("GET", path, host, ""), false);
            assert_refused(&answer, &instance.token, &format!("{path} {host}"));
        }
    }
}

#[test]
fn nobody_listens_without_proof_or_from_elsewhere() {
    let instance = Instance::start("local_resource('a', 'echo ran')");
    let own = format!("localhost:{}", instance.port);
    let csrf = csrf(&instance);
    let upgrade = "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let good = format!("/ws/view?csrf={csrf}");
    let mut attempts = vec![];
    for path in ["/ws/view", "/ws/view?csrf=", "/ws/view?csrf=x"] {
        attempts.push((path.to_owned(), own.clone(), upgrade.to_owned()));
    }
    for (host, headers) in wrong(&own, upgrade, &[]) {
        attempts.push((good.clone(), host, headers));
    }
    for (path, host, headers) in attempts {
        let what = format!("{path} {host} {headers}");
        let answer = exchange(instance.port, &request("GET", &path, &host, &headers), false);
        assert_refused(&answer, &csrf, &what);
    }
}

#[test]
fn the_api_server_asks_everybody() {
    let mut instance = Instance::start("local_resource('a', 'echo ran')");
    let api = Api::of(&mut instance);
    let own = format!("127.0.0.1:{}", api.port);
    let token = format!("Authorization: Bearer {}\r\n", api.token);
    let basic = format!("Authorization: Basic {}\r\n", api.token);
    let cut = format!("Authorization: Bearer {}\r\n", &api.token[1..]);
    let page = format!("X-Tilt-Token: {}\r\n", instance.token);
    let without =
        ["", "Authorization: Bearer \r\n", "Authorization: Bearer x\r\n", &basic, &cut, &page];
    for (method, path) in REST {
        for (host, headers) in wrong(&own, &token, &without) {
            let answer = api.ask(&request(method, path, &host, &headers));
            assert_refused(&answer, &api.token, &format!("{method} {path} {host} {headers}"));
        }
    }
    let answer = api.ask(&request("GET", "/apis", &own, &token));
    assert_eq!(status(&answer), Some(200));
}
