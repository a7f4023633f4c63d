//! Connections that say nothing, too little or too much, without a port.

use axum::{Router, body::Body, extract::Request, http::StatusCode, routing::any};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    sync::watch,
    task::JoinSet,
};

use super::*;
use crate::server::listening::Port;

/// What is asked by those who belong here.
const KNOWN: &str = "GET /known HTTP/1.1\r\nHost: localhost\r\n\r\n";
const STRANGE: &str = "GET /strange HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A server that trusts whoever asks for the right path.
struct Server {
    port: Port,
    _close: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Server {
    fn new(limits: Limits) -> Self {
        let known = any(async |request: Request| {
            crate::server::web::trust(request.extensions());
            "known"
        });
        let body = any(async |body: Body| match axum::body::to_bytes(body, 100).await {
            Ok(_) => (StatusCode::OK, String::new()),
            Err(error) => (StatusCode::REQUEST_TIMEOUT, error.to_string()),
        });
        let app = Router::new()
            .route("/known", known)
            .route("/strange", any(async || "strange"))
            .route("/body", body);
        let (close, closing) = watch::channel(false);
        let port = Port { app, tls: None, connections: Connections::new(limits), closing };
        Self { port, _close: close, tasks: JoinSet::new() }
    }

    /// A connection on which something was said, and answered with these words.
    async fn connect(&mut self, said: &str, answer: &str) -> DuplexStream {
        let (mut client, server) = duplex(4096);
        let place = self.port.connections.admit(None).await.expect("there is room");
        self.tasks.spawn(self.port.clone().speak(server, place));
        say(&mut client, said, answer).await;
        client
    }
}

/// Says something, and reads until the answer ends with these words.
async fn say(client: &mut DuplexStream, said: &str, answer: &str) {
    client.write_all(said.as_bytes()).await.unwrap();
    let mut text = String::new();
    while !text.ends_with(answer) {
        text.push(client.read_u8().await.unwrap().into());
    }
}

/// What comes until the other side has closed.
async fn rest(mut client: DuplexStream) -> String {
    let mut text = String::new();
    // Who is cut off in the middle sees no orderly end.
    let _ = client.read_to_string(&mut text).await;
    text
}

fn limits(connections: usize) -> Limits {
    Limits { header: Duration::from_millis(50), connections, ..Limits::of(0) }
}

#[tokio::test]
async fn strangers_have_to_ask_in_time_and_those_who_belong_here_have_not() {
    let mut server = Server::new(limits(100));
    let mut known = server.connect(KNOWN, "known").await;
    let whole = "GET /strange HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n";
    for (said, answer) in [("", ""), ("G", ""), (whole, ""), (STRANGE, "strange")] {
        let client = server.connect(said, answer).await;
        assert_eq!(rest(client).await, "", "after {said}");
    }
    // The other one was silent for longer than all of them.
    say(&mut known, KNOWN, "known").await;
}

#[tokio::test]
async fn whoever_sends_a_header_byte_by_byte_has_no_more_time() {
    let mut server = Server::new(limits(100));
    let (mut reader, mut writer) = tokio::io::split(server.connect("GET / HTTP/1.1\r\n", "").await);
    let dripping = tokio::spawn(async move {
        while writer.write_all(b"X-A: b\r\n").await.is_ok() {
            time::sleep(Duration::from_millis(5)).await;
        }
    });
    let mut text = String::new();
    let _ = reader.read_to_string(&mut text).await;
    assert!(!text.contains("200 OK"), "{text}");
    dripping.abort();
}

#[tokio::test]
async fn the_stranger_that_was_silent_for_longest_makes_room() {
    let long = Limits { header: Duration::from_mins(10), ..limits(4) };
    let mut server = Server::new(long);
    let mut known = server.connect(KNOWN, "known").await;
    let mut first = server.connect(STRANGE, "strange").await;
    let second = server.connect(STRANGE, "strange").await;
    let mut third = server.connect("GET /str", "").await;
    // The first one says something again, so the second one is the most silent.
    say(&mut first, STRANGE, "strange").await;
    let mut fourth = server.connect(STRANGE, "strange").await;
    assert_eq!(rest(second).await, "");
    say(&mut third, "ange HTTP/1.1\r\nHost: localhost\r\n\r\n", "strange").await;
    for client in [&mut first, &mut fourth] {
        say(client, STRANGE, "strange").await;
    }
    say(&mut known, KNOWN, "known").await;
}

#[tokio::test]
async fn those_who_belong_here_stay_and_others_find_no_room() {
    let mut server = Server::new(limits(2));
    let mut known = [server.connect(KNOWN, "known").await, server.connect(KNOWN, "known").await];
    assert!(server.port.connections.admit(None).await.is_none());
    for client in &mut known {
        say(client, KNOWN, "known").await;
    }
    // A place that is left is free again.
    let [one, other] = known;
    let left = server.port.connections.one_left();
    drop(one);
    left.await;
    server.connect(KNOWN, "known").await;
    drop(other);
}

#[tokio::test]
async fn a_body_has_to_come_in_time() {
    let limits = Limits { body: Duration::from_millis(50), ..Limits::of(1024) };
    let mut server = Server::new(limits);
    let said = "POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx";
    server.connect(said, "the body of the request took too long").await;
    let said = "POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx";
    server.connect(said, "200 OK\r\n").await;
}

#[test]
fn most_descriptors_are_kept_for_other_things() {
    for (open_files, expected) in
        [(0, 16), (64, 16), (256, 64), (1024, 256), (4096, 1024), (u64::MAX, 1024)]
    {
        assert_eq!(Limits::of(open_files).connections, expected, "{open_files}");
    }
}
