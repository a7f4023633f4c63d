//! Every way in, with everything that is missing or wrong: nobody gets anything, whatever the way.

use std::{os::unix::process::CommandExt, process::Command};

use crate::{
    hostile::{Api, csrf, status},
    support::{self, Instance, exchange},
};

/// A user who owns nothing.
const NOBODY: u32 = 65_534;

/// Everything on the web port that tells or does something.
const WEB: [(&str, &str); 16] = [
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
    ("POST", "/api/key"),
    ("POST", "/api/plan"),
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

/// What browsers say of requests that a page of somebody else has sent.
const FOREIGN_SITES: [&str; 3] = ["cross-site", "same-site", "x"];

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
        FOREIGN_SITES.map(|site| (own.to_owned(), format!("{token}Sec-Fetch-Site: {site}\r\n"))),
    );
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
fn looking_does_not_run_the_tiltfile() {
    let mut instance = Instance::start("local('echo x >> runs')");
    let own = format!("localhost:{}", instance.port);
    let token = format!("X-Tilt-Token: {}\r\n", instance.token);
    let runs = instance.dir.path().join("runs");
    let n_runs = || std::fs::read_to_string(&runs).unwrap_or_default().lines().count();
    instance.until("the Tiltfile has run", |_| n_runs() == 1);
    for method in ["GET", "HEAD", "PUT"] {
        let answer = exchange(instance.port, &request(method, "/api/plan", &own, &token), false);
        assert_eq!(status(&answer), Some(400), "{method}");
        assert_eq!(n_runs(), 1, "{method}");
    }
    // Whoever is asked to plan runs it, so it would have been noticed.
    assert!(instance.client(&["plan"]).contains("Nothing would change"));
    assert_eq!(n_runs(), 2);
}

#[test]
fn a_plan_that_is_refused_is_no_plan_of_a_first_run() {
    let instance = Instance::start("local_resource('a', 'echo ran')");
    let port = instance.port.to_string();
    let home = instance.dir.path().join("stranger");
    let mut plan = support::engine(instance.dir.path());
    let output = plan.env("HOME", &home).args(["plan", "--port", &port]).output();
    let output = output.expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("invalid session token; use `--file` to plan the first run"), "{text}");
    assert!(output.stdout.is_empty(), "{output:?}");
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

/// Whether the page came with the token; if not, it says how to get in.
fn is_let_in(answer: &[u8], token: &str) -> bool {
    let text = String::from_utf8_lossy(answer);
    assert_eq!(status(answer), Some(200), "{text}");
    let is_let_in = text.contains(token);
    assert_eq!(text.contains("<code>engine open</code>"), !is_let_in, "{text}");
    is_let_in
}

/// What another user of this machine gets for a request; nothing if nobody can become another user.
#[expect(clippy::print_stderr, reason = "who runs the tests is told which did not run")]
fn as_somebody_else(port: u16, request: &[u8]) -> Option<Vec<u8>> {
    if !nix::unistd::Uid::effective().is_root() {
        eprintln!("skipped: only root can ask as another user");
        return None;
    }
    let script = "exec 3<>/dev/tcp/127.0.0.1/$0 && printf %s \"$1\" >&3 && cat <&3";
    let output = Command::new("bash")
        .args(["-c", script, &port.to_string(), std::str::from_utf8(request).expect("text")])
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{output:?}");
    Some(output.stdout)
}

#[test]
fn other_users_get_the_token_with_a_link_and_only_once() {
    let instance = Instance::start("local_resource('a', 'echo ran')");
    let own = format!("localhost:{}", instance.port);
    let get = |path: &str| request("GET", path, &own, "");
    assert!(is_let_in(&exchange(instance.port, &get("/"), false), &instance.token));
    let link = instance.client(&["open", "--no-open"]);
    let path = link.trim_end().strip_prefix(&instance.url("")).expect("an address of the page");
    for (path, expected) in [("/", false), ("/?key=x", false), (path, true), (path, false)] {
        let Some(answer) = as_somebody_else(instance.port, &get(path)) else { return };
        assert_eq!(is_let_in(&answer, &instance.token), expected, "{path}");
    }
    assert!(!instance.log().contains("key="), "{}", instance.log());
}

#[test]
fn those_behind_a_proxy_get_no_token() {
    let instance = Instance::start("local_resource('a', 'echo ran')");
    let own = format!("localhost:{}", instance.port);
    for header in ["X-Forwarded-For: 192.0.2.1", "Forwarded: for=192.0.2.1", "Via: 1.1 proxy"] {
        let request = request("GET", "/", &own, &format!("{header}\r\n"));
        let answer = exchange(instance.port, &request, false);
        assert!(!is_let_in(&answer, &instance.token), "{header}");
    }
}

#[test]
fn without_a_token_names_that_others_control_are_still_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("Tiltfile"), "").expect("it can be written");
    let disabled = ("TILT_DISABLE_HUD_AUTH".to_owned(), "1".to_owned());
    let instance = Instance::start_in(dir, vec![disabled]);
    let own = format!("localhost:{}", instance.port);
    for path in ["/", "/api/view"] {
        let answer = exchange(instance.port, &request("GET", path, &own, ""), false);
        assert_eq!(status(&answer), Some(200), "{path}");
        // Who needs no token gets none, which would be good for other instances, too.
        assert!(!String::from_utf8_lossy(&answer).contains(&instance.token), "{path}");
        for host in FOREIGN_HOSTS {
            let answer = exchange(instance.port, &request("GET", path, host, ""), false);
            assert_refused(&answer, &instance.token, &format!("{path} {host}"));
        }
    }
}

#[test]
fn whoever_listens_for_other_machines_is_told_what_that_means() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("Tiltfile"), "").expect("it can be written");
    let everywhere = ("TILT_HOST".to_owned(), "0.0.0.0".to_owned());
    for (mut instance, expected) in
        [(Instance::start_in(dir, vec![everywhere]), true), (Instance::start(""), false)]
    {
        instance.until("the Tiltfile is loaded", |it| it.log().contains("Successfully loaded"));
        let log = instance.log();
        let words = "Other machines can reach this page, because it listens on 0.0.0.0.";
        assert_eq!(log.contains(words), expected, "{log}");
        assert!(!log.contains("key="), "{log}");
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
    let instance = Instance::start("local_resource('a', 'echo ran')");
    let api = Api::of(&instance);
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
