//! What nobody who can reach the ports may do: crash the engine, make it grow, or get anything without the token.

use std::{
    fmt::Write as _,
    fs,
    io::{Read, Write},
    net::TcpStream,
    sync::Arc,
    thread,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};

mod floods;
mod refusals;

use crate::support::{Instance, TIMEOUT, exchange};

/// How many requests are made, of all sorts together.
const REQUESTS: u64 = 10_000;
const THREADS: u64 = 4;

/// How much memory may stay in use, in kilobytes; most of it is what the allocator keeps for the next time.
const MAX_GROWTH: u64 = 96 * 1024;

const METHODS: [&str; 9] =
    ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "BREW"];

const WEB_PATHS: [&str; 18] = [
    "/",
    "/r/x/overview",
    "/static/page.js",
    "/static/../token",
    "/api/view",
    "/api/snapshot/x",
    "/api/websocket_token",
    "/api/dump/engine",
    "/api/trigger",
    "/api/override/trigger_mode",
    "/api/set_tiltfile_args",
    "/api/explain/a",
    "/api/graph",
    "/api/logs?tail=x&level=zz&since=-1",
    "/proxy/apis/tilt.dev/v1alpha1/uibuttons/toggle-a-disable/status",
    "/proxy/apis/tilt.dev/v1alpha1/uibuttons/../cmds",
    "/proxy/%2e%2e/apis",
    "/ws/view?csrf=x",
];

const REST_PATHS: [&str; 12] = [
    "/",
    "/apis",
    "/openapi/v2",
    "/openapi/v3/apis/tilt.dev/v1alpha1",
    "/apis/tilt.dev/v1alpha1/cmds",
    "/apis/tilt.dev/v1alpha1/cmds/a%3Aupdate",
    "/apis/tilt.dev/v1alpha1/filewatches?fieldSelector=a%3Db&labelSelector=((",
    "/apis/tilt.dev/v1alpha1/uibuttons/x/status",
    "/apis/tilt.dev/v1alpha1/configmaps/x?dryRun=All",
    "/apis/tilt.dev/v1alpha1/configmaps",
    "/apis/tilt.dev/v1alpha1/uiresources/(Tiltfile)?pretty=true",
    "/apis/tilt.dev/v1alpha1/%00/%ff/..",
];

const BODIES: [&str; 14] = [
    "",
    "{",
    "null",
    "[]",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    r#"{"manifest_names":["nope"],"build_reason":4294967296}"#,
    r#"{"manifest_names":[1e999],"trigger_mode":-1}"#,
    r#"{"apiVersion":"tilt.dev/v1alpha1","kind":"Cmd","metadata":{"name":"../x"},"spec":{"args":[]}}"#,
    r#"{"apiVersion":"tilt.dev/v1alpha1","kind":"FileWatch","metadata":{"name":"w"},"spec":{"watchedPaths":[""]}}"#,
    r#"[{"op":"test","path":"/metadata/~2","value":1},{"op":"move","from":"/a/b","path":"/-"}]"#,
    r#"{"metadata":{"labels":{"a":{"b":[1]}},"creationTimestamp":"99999-99-99"},"status":{"lastClickedAt":5}}"#,
    "a: &a [*a]\nb: !!binary x\n? {c: d}\n: - -",
    "a: &x [1,1,1,1,1,1,1,1]\nb: &y [*x,*x,*x,*x,*x,*x,*x,*x]\nc: [*y,*y,*y,*y,*y,*y,*y,*y]\n",
    "\u{feff}\u{0}\u{202e}\"\\ud800\"",
];

const TYPES: [&str; 7] = [
    "application/json",
    "application/yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "x/\u{7f}",
];

/// Numbers that look random, and are the same every time.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 16).unwrap_or(usize::MAX) % end.max(1)
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most)).map(|_| self.next().to_le_bytes()[3]).collect()
    }

    /// A text that is sometimes cut, and sometimes has a byte changed.
    fn spoiled(&mut self, text: &str) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        if self.one_in(3) {
            bytes.truncate(self.below(bytes.len() + 1));
        }
        if self.one_in(3) && !bytes.is_empty() {
            let at = self.below(bytes.len());
            bytes[at] = self.next().to_le_bytes()[3];
        }
        bytes
    }

    /// A path with something added that does not belong there.
    fn path(&mut self, paths: &[&str]) -> String {
        let mut path = self.pick(paths).to_owned();
        if self.one_in(6) {
            path.push('/');
            for byte in self.bytes(24) {
                write!(path, "%{byte:02x}").expect("texts grow");
            }
        }
        if self.one_in(12) {
            path.push_str(&"/a".repeat(self.below(2000)));
        }
        path
    }

    /// A request with these headers; whole, but for what is wrong in it.
    fn request(&mut self, paths: &[&str], host: &str, headers: &str) -> (String, Vec<u8>) {
        let (method, path) = (self.pick(&METHODS), self.path(paths));
        let text = self.pick(&BODIES);
        let body = self.spoiled(text);
        let media_type = self.pick(&TYPES);
        let length = if self.one_in(20) { self.below(99) } else { body.len() };
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\
             Content-Type: {media_type}\r\nContent-Length: {length}\r\n"
        );
        if self.one_in(10) {
            request.push_str(&format!("X-Long: {}\r\n", "x".repeat(self.below(20_000))));
        }
        let mut bytes = format!("{request}\r\n").into_bytes();
        bytes.extend(body);
        (path, bytes)
    }
}

fn status(answer: &[u8]) -> Option<u16> {
    String::from_utf8_lossy(answer.get(..12)?).strip_prefix("HTTP/1.1 ")?.trim().parse().ok()
}

/// One request to the web port.
fn to_web(dice: &mut Dice, port: u16, token: &str, csrf: &str) {
    let host = format!("localhost:{port}");
    match dice.below(10) {
        0 => drop(exchange(port, &dice.bytes(400), true)),
        1 => {
            let (_, request) = dice.request(&WEB_PATHS, &host, "");
            let cut = dice.below(request.len());
            drop(exchange(port, &request[..cut], true));
        }
        2 => websocket(dice, port, csrf),
        3..=5 => {
            let headers = format!("X-Tilt-Token: {token}\r\n");
            let (_, request) = dice.request(&WEB_PATHS, &host, &headers);
            drop(exchange(port, &request, true));
        }
        _ => {
            let headers = dice.pick(&[
                "",
                "X-Tilt-Token: \r\n",
                "X-Tilt-Token: x\r\n",
                "Cookie: Tilt-Token=; Tilt-Token=x\r\n",
                "Origin: http://evil.example\r\n",
                "Authorization: Bearer x\r\n",
            ]);
            let (path, request) = dice.request(&WEB_PATHS, &host, headers);
            let answer = exchange(port, &request, true);
            let text = String::from_utf8_lossy(&answer);
            // Paths below that mean nothing lead to the page, for everybody.
            let is_guarded = WEB_PATHS.contains(&path.as_str()) && path.starts_with("/api/");
            if is_guarded || path.starts_with("/proxy/") {
                assert!(status(&answer).is_none_or(|it| it >= 400), "{path} gave {text}");
                assert!(!text.contains(token), "{path} gave {text}");
            }
        }
    }
}

/// A stream that is opened as it should be, and then told nonsense.
fn websocket(dice: &mut Dice, port: u16, csrf: &str) {
    let csrf = if dice.one_in(2) { csrf } else { "x" };
    let mut bytes = format!(
        "GET /ws/view?csrf={csrf} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\n\r\n",
        if dice.one_in(4) { "x" } else { "dGhlIHNhbXBsZSBub25jZQ==" }
    )
    .into_bytes();
    bytes.extend(dice.bytes(200));
    drop(exchange(port, &bytes, true));
}

/// How to reach the API server.
struct Api {
    port: u16,
    token: String,
    tls: Arc<ClientConfig>,
}

impl Api {
    fn of(instance: &Instance) -> Self {
        let file = instance.dir.path().join("home/.tilt-dev/config");
        let config =
            engine_formats::yaml::decode_v2(fs::read(file).expect("it is there")).expect("YAML");
        let cluster = &config["clusters"][0]["cluster"];
        let server = cluster["server"].as_str().expect("an address");
        let pem = cluster["certificate-authority-data"].as_str().expect("a certificate");
        let pem = STANDARD.decode(pem).expect("base64");
        let mut roots = RootCertStore::empty();
        for it in CertificateDer::pem_slice_iter(&pem) {
            roots.add(it.expect("a certificate")).expect("it can be trusted");
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("they exist")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            port: server.rsplit_once(':').expect("a port").1.parse().expect("a number"),
            token: config["users"][0]["user"]["token"].as_str().expect("a token").to_owned(),
            tls: Arc::new(tls),
        }
    }

    /// Sends a request that is whole, and reads the answer.
    fn ask(&self, request: &[u8]) -> Vec<u8> {
        self.exchange(request, TIMEOUT)
    }

    /// Sends bytes, encrypted, and reads what comes back until nothing comes for a while.
    fn exchange(&self, bytes: &[u8], patience: Duration) -> Vec<u8> {
        let name = ServerName::try_from("127.0.0.1").expect("it is a name");
        let client = ClientConnection::new(Arc::clone(&self.tls), name).expect("it is possible");
        let mut answer = Vec::new();
        let Ok(stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return answer };
        let _ = stream.set_read_timeout(Some(patience));
        let mut stream = StreamOwned::new(client, stream);
        if stream.write_all(bytes).is_ok() {
            let _ = stream.read_to_end(&mut answer);
        }
        answer
    }

    /// One request to the API server.
    fn attack(&self, dice: &mut Dice) {
        let host = format!("127.0.0.1:{}", self.port);
        if dice.one_in(4) {
            drop(exchange(self.port, &dice.bytes(300), true));
            return;
        }
        let is_known = dice.one_in(2);
        let headers = if is_known {
            format!("Authorization: Bearer {}\r\n", self.token)
        } else {
            dice.pick(&["", "Authorization: Bearer x\r\n", "Authorization: \r\n"]).to_owned()
        };
        let (path, request) = dice.request(&REST_PATHS, &host, &headers);
        // Requests that say they are longer than they are get no answer.
        let answer = self.exchange(&request, Duration::from_millis(300));
        if !is_known {
            let text = String::from_utf8_lossy(&answer);
            assert!(status(&answer).is_none_or(|it| it >= 400), "{path} gave {text}");
        }
    }
}

/// The memory that an engine uses, in kilobytes.
fn memory(instance: &Instance) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", instance.pid()));
    let status = status.unwrap_or_default();
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

/// What the websocket asks for.
fn csrf(instance: &Instance) -> String {
    let answer = instance.get("/api/websocket_token");
    answer.split_once("\r\n\r\n").expect("it has a body").1.to_owned()
}

fn attack(instance: &Instance, api: &Api, csrf: &str, seed: u64, count: u64) {
    thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let mut dice = Dice((seed + thread).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
                for _ in 0..count / THREADS {
                    // Every handshake takes both sides a while, so the web port gets most of it.
                    if dice.one_in(6) {
                        api.attack(&mut dice);
                    } else {
                        to_web(&mut dice, instance.port, &instance.token, csrf);
                    }
                }
            });
        }
    });
}

#[test]
fn nonsense_on_all_ports_changes_nothing_for_those_who_have_the_token() {
    let mut instance = Instance::start("local_resource('a', 'echo ran')");
    let csrf = csrf(&instance);
    let api = Api::of(&instance);
    // Buffers and caches are filled first, which is no growth.
    attack(&instance, &api, &csrf, 1, REQUESTS / 5);
    let before = memory(&instance);
    attack(&instance, &api, &csrf, 100, REQUESTS - REQUESTS / 5);
    let after = memory(&instance);

    assert!(instance.is_alive(), "{}", instance.log());
    assert!(!instance.log().contains("panicked"), "{}", instance.log());
    assert!(instance.get("/api/view").starts_with("HTTP/1.1 200"));
    assert!(instance.get("/api/view").contains("\"name\":\"a\""));
    assert!(after < before + MAX_GROWTH, "from {before} kB to {after} kB");
}
