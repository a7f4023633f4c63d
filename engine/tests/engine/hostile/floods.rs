//! Too much, too deep, too slow: none of it ends the engine, stops it from answering others, or stays in memory.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use crate::{
    hostile::{Api, Dice, csrf, memory, status},
    support::{Instance, exchange},
};

/// How much more memory may be in use after the same things were done again and again, in kilobytes.
const MAX_GROWTH: u64 = 48 * 1024;

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("it can be set");
    stream
}

/// An open websocket that nobody reads.
fn listener(instance: &Instance, csrf: &str) -> TcpStream {
    let mut stream = connect(instance.port);
    let request = format!(
        "GET /ws/view?csrf={csrf} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        instance.port
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut start = [0; 12];
    stream.read_exact(&mut start).expect("it answers");
    assert_eq!(&start, b"HTTP/1.1 101");
    stream
}

/// A frame with this first byte and content, masked with zeros.
fn frame(first: u8, content: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match content.len() {
        short @ 0..126 => frame.push(0x80 | u8::try_from(short).expect("it is short")),
        long => {
            frame.push(0x80 | 0x7e);
            frame.extend(u16::try_from(long).expect("it is not that long").to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(content);
    frame
}

/// What a client of the websocket may come up with.
fn nonsense(dice: &mut Dice) -> Vec<Vec<u8>> {
    let fragments: Vec<u8> = (0..2000).flat_map(|_| frame(0x00, b"x")).collect();
    vec![
        // A text that is said to be longer than any memory, and one of more than is taken.
        b"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00abc".to_vec(),
        b"\x81\xff\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00abc".to_vec(),
        [frame(0x01, b"begin"), fragments.clone()].concat(),
        fragments,
        frame(0x81, b"\xff\xfe\xfd"),
        frame(0x82, &dice.bytes(60_000)),
        (0..5000).flat_map(|_| frame(0x89, b"ping")).collect(),
        (0..5000).flat_map(|_| frame(0x8a, b"pong")).collect(),
        // Control frames may be neither long nor in pieces, and masks are needed.
        frame(0x89, &[0; 200]),
        frame(0x09, b"x"),
        b"\x81\x05hello".to_vec(),
        frame(0xf1, b"reserved"),
        frame(0x83, b"unknown"),
        frame(0x88, b"\x00\x00"),
        frame(0x88, b"\x03\xe8\xff"),
        dice.bytes(4000),
    ]
}

#[test]
fn nonsense_on_a_websocket_hurts_nobody_else() {
    let mut instance = Instance::start("local_resource('a', 'echo ran')");
    let csrf = csrf(&instance);
    let mut dice = Dice(0x1234_5678_9abc_def1);
    let mut round = |instance: &Instance| {
        for bytes in nonsense(&mut dice) {
            let mut stream = listener(instance, &csrf);
            // It may be cut off before everything was sent.
            let _ = stream.write_all(&bytes);
        }
    };
    round(&instance);
    let before = memory(&instance);
    (0..10).for_each(|_| round(&instance));
    check(&mut instance, before);
}

#[test]
fn those_who_are_slow_keep_nobody_waiting() {
    let mut instance = Instance::start("local_resource('a', 'echo ran')");
    let api = Api::of(&instance);
    let token = &instance.token;
    let beginnings = [
        "G".to_owned(),
        "GET /api/view HTTP/1.1\r\nHost: loc".to_owned(),
        format!("GET /api/view HTTP/1.1\r\nHost: localhost\r\n{}", "X-A: b\r\n".repeat(50)),
        format!(
            "POST /api/trigger HTTP/1.1\r\nHost: localhost\r\nX-Tilt-Token: {token}\r\nContent-Length: 900000\r\n\r\n{{"
        ),
        format!(
            "POST /api/trigger HTTP/1.1\r\nHost: localhost\r\nX-Tilt-Token: {token}\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n"
        ),
        // Whoever wants TLS and does not go on, and whoever speaks it where nobody does.
        "\x16\x03\x01\x02\x00\x01\x00".to_owned(),
    ];
    let mut slow = Vec::new();
    for _ in 0..20 {
        for beginning in &beginnings {
            for port in [instance.port, api.port] {
                let mut stream = connect(port);
                stream.write_all(beginning.as_bytes()).expect("it listens");
                slow.push(stream);
            }
        }
    }
    let own = format!("Host: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n", api.port, api.token);
    let request = format!("GET /version HTTP/1.1\r\n{own}Connection: close\r\n\r\n");
    assert_eq!(status(&api.ask(request.as_bytes())), Some(200));
    let before = memory(&instance);
    check(&mut instance, before);
    drop(slow);
    let many = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X-A: b\r\n".repeat(100_000));
    assert!(status(&exchange(instance.port, many.as_bytes(), true)).is_none_or(|it| it >= 400));
    check(&mut instance, before);
}

#[test]
fn idle_connections_do_not_take_the_descriptors_that_the_engine_needs() {
    let tiltfile = "local_resource('a', 'echo \"run $(cat dep)\" >> runs', deps=['dep'])";
    let mut instance = Instance::start_with_open_files(tiltfile, 256);
    let api = Api::of(&instance);
    let csrf = csrf(&instance);
    let watched = listener(&instance, &csrf);
    let idle: Vec<TcpStream> =
        (0..500).map(|i| connect(if i % 2 == 0 { instance.port } else { api.port })).collect();
    let started = Instant::now();
    assert!(instance.client(&["get", "uiresources"]).contains("(Tiltfile)"));
    let elapsed = started.elapsed();
    assert!(elapsed < Duration::from_secs(3), "it took {elapsed:?}");
    instance.write("dep", "again");
    instance.until("a build runs", |it| {
        fs::read_to_string(it.dir.path().join("runs")).is_ok_and(|it| it.contains("run again"))
    });
    let n_open = fs::read_dir(format!("/proc/{}/fd", instance.pid()));
    let n_open = n_open.expect("it runs").count();
    assert!(n_open < 160, "{n_open} descriptors are open");
    let answered = status(&exchange(
        instance.port,
        b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        false,
    ));
    assert_eq!(answered, Some(200));
    drop((idle, watched));
}

#[test]
fn watches_that_are_dropped_are_gone() {
    let mut instance = Instance::start("local_resource('a', 'echo ran')");
    let request = format!(
        "GET /proxy/apis/tilt.dev/v1alpha1/uibuttons?watch=true HTTP/1.1\r\nHost: localhost:{}\r\nX-Tilt-Token: {}\r\n\r\n",
        instance.port, instance.token
    );
    let watch = |instance: &Instance| {
        let mut stream = connect(instance.port);
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut start = [0; 12];
        stream.read_exact(&mut start).expect("it answers");
        assert_eq!(&start, b"HTTP/1.1 200");
    };
    (0..1000).for_each(|_| watch(&instance));
    let before = memory(&instance);
    (0..9000).for_each(|_| watch(&instance));
    check(&mut instance, before);
}

/// Objects and patches that are larger, deeper or longer than they look.
fn bombs() -> Vec<(&'static str, &'static str, &'static str, String)> {
    let maps = "/apis/tilt.dev/v1alpha1/configmaps";
    let map = "/apis/tilt.dev/v1alpha1/configmaps/tilt-trigger-queue";
    let (json, yaml) = ("application/json", "application/yaml");
    let operations = "application/json-patch+json";
    let (merge, strategic) =
        ("application/merge-patch+json", "application/strategic-merge-patch+json");
    let apply = "application/apply-patch+yaml";
    let deep = |open: &str, close: &str, count: usize| open.repeat(count) + &close.repeat(count);
    let copies = r#"{"op":"copy","from":"/data","path":"/data/x"},"#.repeat(60);
    let moves = r#"{"op":"move","from":"/data","path":"/x"},{"op":"add","path":"/data","value":{}},{"op":"move","from":"/x","path":"/data/x"},"#.repeat(3000);
    let long = "/a".repeat(200_000);
    vec![
        ("POST", maps, json, deep("[", "]", 200_000)),
        ("POST", maps, json, deep("{\"a\":", "}", 100_000)),
        ("POST", maps, yaml, deep("[", "]", 50_000)),
        ("POST", maps, yaml, "- ".repeat(50_000)),
        ("POST", maps, json, format!("{{\"data\":{{\"a\":{}}}}}", "9".repeat(100_000))),
        ("POST", maps, json, "{\"metadata\":{\"generation\":1e999999}}".to_owned()),
        ("POST", maps, json, format!("{{{}}}", "\"a\":1,".repeat(50_000) + "\"a\":1")),
        ("PATCH", map, operations, format!("[{copies}{{\"op\":\"test\",\"path\":\"/x\"}}]")),
        (
            "PATCH",
            map,
            operations,
            format!("[{moves}{{\"op\":\"test\",\"path\":\"/x\",\"value\":1}}]"),
        ),
        ("PATCH", map, operations, format!("[{{\"op\":\"add\",\"path\":\"{long}\",\"value\":1}}]")),
        (
            "PATCH",
            map,
            operations,
            format!("[{{\"op\":\"move\",\"from\":\"{long}\",\"path\":\"/a\"}}]"),
        ),
        (
            "PATCH",
            map,
            operations,
            "[{\"op\":\"move\",\"from\":\"/data\",\"path\":\"/data/a/b\"}]".to_owned(),
        ),
        ("PATCH", map, operations, "[{\"op\":\"remove\",\"path\":\"\"}]".to_owned()),
        ("PATCH", map, merge, deep("{\"data\":", "}", 120)),
        ("PATCH", map, strategic, deep("{\"$patch\":\"merge\",\"data\":", "}", 60)),
        (
            "PATCH",
            map,
            strategic,
            "{\"$patch\":[],\"metadata\":{\"$retainKeys\":{},\"$setElementOrder/x\":1}}".to_owned(),
        ),
        (
            "PATCH",
            map,
            strategic,
            "{\"metadata\":{\"ownerReferences\":[1,{\"$patch\":\"delete\"}]}}".to_owned(),
        ),
        ("PATCH", map, apply, deep("{a: ", "}", 20_000)),
        (
            "PATCH",
            map,
            merge,
            format!(
                "{{\"metadata\":{{\"managedFields\":[{{\"operation\":\"Apply\",\"fieldsV1\":{}}}]}}}}",
                deep("{\"f:a\":", "{}}", 100)
            ),
        ),
    ]
}

#[test]
fn bombs_do_not_go_off() {
    let mut instance = Instance::start("local_resource('a', 'echo ran')");
    let api = Api::of(&instance);
    let round = || {
        for (method, path, media_type, body) in bombs() {
            let request = format!(
                "{method} {path}?fieldManager=x&dryRun=All HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\
                 Connection: close\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n{body}",
                api.port,
                api.token,
                body.len()
            );
            let answer = api.ask(request.as_bytes());
            let start =
                String::from_utf8_lossy(&body.as_bytes()[..body.len().min(80)]).into_owned();
            assert!(
                status(&answer).is_none_or(|it| it != 500 || start.contains("$patch")),
                "{start}"
            );
        }
    };
    round();
    let before = memory(&instance);
    (0..5).for_each(|_| round());
    check(&mut instance, before);
}

#[test]
fn selectors_and_paths_of_junk_are_answered() {
    let mut instance = Instance::start("local_resource('a', 'echo ran')");
    let api = Api::of(&instance);
    let mut dice = Dice(0xfeed_beef_dead_cafe);
    let words =
        ["a", "in", "notin", "(", ")", ",", "!", "=", "==", "!=", "<", ">", " ", "x/y", "é"];
    let paths = [
        "../",
        "..%2f",
        "%2e%2e/",
        "%00",
        "%",
        "%zz",
        "//",
        "\\",
        "%c0%af",
        "configmaps",
        "status",
    ];
    for _ in 0..150 {
        let hex = |text: String| {
            let encoded: Vec<String> = text.bytes().map(|it| format!("%{it:02x}")).collect();
            encoded.concat()
        };
        let selector: String = (0..dice.below(12)).map(|_| dice.pick(&words)).collect();
        let path: String = (0..dice.below(6)).map(|_| dice.pick(&paths)).collect();
        let request = format!(
            "GET /apis/tilt.dev/v1alpha1/configmaps/{path}?labelSelector={}&fieldSelector={} HTTP/1.1\r\n\
             Host: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            hex(selector.clone()),
            hex(selector),
            api.port,
            api.token
        );
        let answer = api.ask(request.as_bytes());
        assert!(matches!(status(&answer), Some(200..500)), "{request}");
    }
    let before = memory(&instance);
    check(&mut instance, before);
}

/// Everything is as if nothing had happened.
fn check(instance: &mut Instance, before: u64) {
    assert!(instance.is_alive(), "{}", instance.log());
    assert!(!instance.log().contains("panicked"), "{}", instance.log());
    instance.until("it shows its resource", |it| it.get("/api/view").contains("\"name\":\"a\""));
    let after = memory(instance);
    assert!(after < before + MAX_GROWTH, "from {before} kB to {after} kB");
}
