//! When probes are tried, and what is made of their answers.

use std::{
    net::Ipv4Addr,
    sync::{Arc as StdArc, Mutex},
};

use engine_model::{ExecAction, HttpGetAction, HttpHeader, TcpSocketAction};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::*;

/// Verdicts `s`, `w`, `f`, and which of them change the status.
fn tally(successes_needed: u32, failures_needed: u32, verdicts: &str) -> String {
    let mut tally =
        Tally { successes_needed, failures_needed, last: None, n_same: 0, status: None };
    let verdict = |it| match it {
        's' => Verdict::Success,
        'w' => Verdict::Warning,
        _ => Verdict::Failure,
    };
    let mark = |it| if tally.count(verdict(it)) { it.to_ascii_uppercase() } else { it };
    verdicts.chars().map(mark).collect()
}

#[test]
fn enough_of_the_same_change_the_status() {
    assert_eq!(tally(1, 3, "ssfffsf"), "SsffFSf");
    assert_eq!(tally(2, 1, "sssfsws"), "sSsFsws");
    assert_eq!(tally(1, 1, "swfws"), "SWFWS");
}

proptest! {
    #[test]
    fn counting_is_the_same_as_looking_back(
        (successes, failures, verdicts) in (1_u32..4, 1_u32..4, "[swf]{0,20}"),
    ) {
        prop_assert_eq!(tally(successes, failures, &verdicts), reference((successes, failures), &verdicts));
    }
}

/// The same, by looking back over the whole history each time.
fn reference((successes, failures): (u32, u32), verdicts: &str) -> String {
    let chars: Vec<char> = verdicts.chars().collect();
    let mut status = None;
    let mut marked = String::new();
    for (i, verdict) in chars.iter().enumerate() {
        let n_same = chars[..=i].iter().rev().take_while(|it| *it == verdict).count();
        let n_same = u32::try_from(n_same).expect("few");
        let needed = if *verdict == 'f' { failures } else { successes };
        let changes = n_same >= needed && status != Some(*verdict);
        status = if changes { Some(*verdict) } else { status };
        marked.push(if changes { verdict.to_ascii_uppercase() } else { *verdict });
    }
    marked
}

#[test]
fn impossible_probes_are_refused() {
    let http = |port, path: &str| Probe {
        http_get: Some(HttpGetAction { port, path: path.to_owned(), ..HttpGetAction::default() }),
        ..Probe::default()
    };
    let tcp = |port| Probe {
        tcp_socket: Some(TcpSocketAction { port, host: String::new() }),
        ..Probe::default()
    };
    let exec = Probe { exec: Some(ExecAction { command: Vec::new() }), ..Probe::default() };
    for (probe, expected) in [
        (http(70000, "/"), "port number out of range: 70000"),
        (http(0, "/"), "port number out of range: 0"),
        (http(80, "%zz"), "parse \"%zz\": invalid URL escape \"%zz\""),
        (tcp(-1), "port number out of range: -1"),
        (exec, "unsupported probe type"),
        (Probe::default(), "unsupported probe type"),
    ] {
        assert_eq!(ProbeWorker::new(&probe).unwrap_err().to_string(), expected);
    }
}

/// Answers each connection with the next of these texts, and keeps the requests.
async fn serve(answers: Vec<String>) -> (u16, StdArc<Mutex<String>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let requests = StdArc::new(Mutex::new(String::new()));
    let kept = StdArc::clone(&requests);
    tokio::spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut bytes = [0; 4096];
            let n_bytes = stream.read(&mut bytes).await.expect("a request");
            kept.lock()
                .expect("nobody panics")
                .push_str(&String::from_utf8_lossy(&bytes[..n_bytes]));
            stream.write_all(answer.as_bytes()).await.expect("it reads");
        }
    });
    (port, requests)
}

fn target(port: u16, path: &str) -> http::HttpTarget {
    let action = HttpGetAction {
        path: path.to_owned(),
        host: "127.0.0.1".to_owned(),
        ..HttpGetAction::default()
    };
    http::HttpTarget::new(&action, port).expect("it is a path")
}

async fn check(answers: &[&str], expected: Expect) {
    let answers = answers.iter().map(|it| (*it).to_owned()).collect();
    let (port, _) = serve(answers).await;
    let answer = http::attempt(&target(port, "/a")).await;
    let text = format!("{answer:?}").replace(&port.to_string(), "PORT");
    expected.assert_eq(&text);
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 2\r\n\r\nto")
}

#[tokio::test]
async fn answers_are_judged_by_their_status() {
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n";
    check(&[ok], expect![[r#"Some((Success, "hello\n"))"#]]).await;
    check(&["HTTP/1.0 204 No Content\r\n\r\n"], expect![[r#"Some((Success, ""))"#]]).await;
    check(&["HTTP/1.1 304 Not Modified\r\n\r\n"], expect![[r#"Some((Warning, ""))"#]]).await;
    check(
        &["HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno"],
        expect![[r#"Some((Failure, "HTTP probe failed with statuscode: 503"))"#]],
    )
    .await;
    check(&["HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhel"], expect!["None"]).await;
    check(&[""], expect![[r#"Some((Failure, "Get \"http://127.0.0.1:PORT/a\": EOF"))"#]]).await;
}

#[tokio::test]
async fn redirects_are_followed_on_the_same_host() {
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    check(&[&redirect("/b"), &redirect("c"), ok], expect![[r#"Some((Success, "ok"))"#]]).await;
    check(&[&redirect("http://elsewhere/")], expect![[r#"Some((Warning, "to"))"#]]).await;
    check(
        &["HTTP/1.1 302 Found\r\nContent-Length: 2\r\n\r\nto"],
        expect![[r#"Some((Warning, "to"))"#]],
    )
    .await;
    let again = redirect("/again");
    check(
        &[again.as_str(); 10],
        expect![[r#"Some((Failure, "Get \"/again\": stopped after 10 redirects"))"#]],
    )
    .await;
}

#[tokio::test]
async fn requests_say_who_asks_and_what_the_probe_says() {
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned();
    let (port, requests) = serve(vec![ok.clone(), ok]).await;
    let _ = http::attempt(&target(port, "a b?c=d#e")).await;
    let headers = [("Host", "h"), ("accept", ""), ("User-Agent", "me"), ("X", "1"), ("X", "2")];
    let action = HttpGetAction {
        host: "127.0.0.1".to_owned(),
        http_headers: headers.map(|(name, value)| header(name, value)).to_vec(),
        ..HttpGetAction::default()
    };
    let _ = http::attempt(&http::HttpTarget::new(&action, port).expect("a path")).await;
    let text = requests.lock().expect("nobody panics").replace(&port.to_string(), "PORT");
    expect![[r#"
        GET /a%20b?c=d HTTP/1.1
        user-agent: tilt-probe/0.1
        accept: */*
        connection: close
        host: 127.0.0.1:PORT

        GET / HTTP/1.1
        host: h
        x: 1
        x: 2
        user-agent: me
        connection: close

    "#]]
    .assert_eq(&text.replace('\r', ""));
}

#[tokio::test]
async fn any_certificate_will_do() {
    let key = rcgen::generate_simple_self_signed(vec!["elsewhere".to_owned()]).expect("a key");
    let provider = StdArc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(
            vec![key.cert.der().clone()],
            rustls::pki_types::PrivatePkcs8KeyDer::from(key.signing_key.serialize_der()).into(),
        )
        .expect("it is a key");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    tokio::spawn(async move {
        let acceptor = tokio_rustls::TlsAcceptor::from(StdArc::new(config));
        let (stream, _) = listener.accept().await.expect("a connection");
        let mut stream = acceptor.accept(stream).await.expect("a handshake");
        let _ = stream.read(&mut [0; 4096]).await.expect("a request");
        let ok = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        stream.write_all(ok).await.expect("it reads");
        stream.flush().await.expect("it reads");
    });
    let action = HttpGetAction {
        host: "127.0.0.1".to_owned(),
        scheme: "HTTPS".to_owned(),
        ..HttpGetAction::default()
    };
    let answer = http::attempt(&http::HttpTarget::new(&action, port).expect("a path")).await;
    assert_eq!(answer, Some((Verdict::Success, "ok".to_owned())));
}

#[tokio::test]
async fn refused_connections_read_as_in_go() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let probe = Probe {
        tcp_socket: Some(TcpSocketAction { port: port.into(), host: "127.0.0.1".to_owned() }),
        ..Probe::default()
    };
    let action = Action::new(&probe).expect("a probe");
    assert_eq!(action.attempt().await, Some((Verdict::Success, String::new())));
    drop(listener);
    let text = format!("dial tcp 127.0.0.1:{port}: connect: connection refused");
    assert_eq!(action.attempt().await, Some((Verdict::Failure, text.clone())));
    let text = format!("Get \"http://127.0.0.1:{port}/a\": {text}");
    assert_eq!(http::attempt(&target(port, "/a")).await, Some((Verdict::Failure, text)));
}

fn header(name: &str, value: &str) -> HttpHeader {
    HttpHeader { name: name.to_owned(), value: value.to_owned() }
}
