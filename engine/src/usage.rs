//! Usage events, for those who name a server of their own that takes them.
//!
//! Tilt tells its makers how it is used. There is nobody to be told here, so nothing is sent unless
//! `TILT_ANALYTICS_URL` says where; then it is what Tilt sends too, without who and where the user is.

use std::{env, fs, time::Duration};

use bytes::Bytes;
use engine_files::dev_dir;
use http_body_util::Full;
use hyper::{Request, Uri, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{
    net::TcpStream,
    sync::{mpsc, oneshot},
    task::JoinSet,
};

/// More events than these are not kept for a server that takes its time.
const WAITING: usize = 64;

/// How long a server may take for one event, and for all that are left at the end.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the choice of the user, or of the Tiltfile, says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Default,
    Out,
    In,
}

/// Sends usage events, if anybody wants them.
#[derive(Debug)]
pub struct Usage {
    choice: Choice,
    sender: Option<mpsc::Sender<Message>>,
    /// Sends; ends with its owner.
    _task: JoinSet<()>,
}

#[derive(Debug)]
enum Message {
    Event(Value),
    Flush(oneshot::Sender<()>),
}

impl Usage {
    /// Events go where the environment says, unless the user wants none to be sent.
    pub fn of_environment() -> Self {
        let set = |name: &str| env::var(name).ok().filter(|it| !it.is_empty());
        let choice = choice();
        let is_off =
            ["TILT_DISABLE_ANALYTICS", "DO_NOT_TRACK", "CI"].iter().any(|it| set(it).is_some());
        let url = set("TILT_ANALYTICS_URL").filter(|_| !is_off && choice != Choice::Out);
        Self::to(url.and_then(|it| it.parse().ok()), choice)
    }

    fn to(server: Option<Uri>, choice: Choice) -> Self {
        let mut task = JoinSet::new();
        let sender = server.map(|server| {
            let (sender, inbox) = mpsc::channel(WAITING);
            task.spawn(send_all(server, inbox));
            sender
        });
        Self { choice, sender, _task: task }
    }

    /// Something happened.
    pub fn count(&self, name: &str) {
        self.send(json!({"name": format!("tilt.{name}")}));
    }

    /// Something took a while.
    pub fn timed(&self, name: &str, duration: Duration) {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.send(json!({"name": format!("tilt.{name}"), "duration": nanos}));
    }

    /// A Tiltfile says that nothing may be sent, which holds unless the user chose otherwise.
    pub fn opt_out(&mut self) {
        if self.choice == Choice::Default {
            self.sender = None;
        }
    }

    fn send(&self, event: Value) {
        if let Some(sender) = &self.sender {
            // Nobody waits for a server that does not keep up.
            let _ = sender.try_send(Message::Event(event));
        }
    }

    /// Waits a moment for what was not sent yet.
    pub async fn flush(&self) {
        let Some(sender) = &self.sender else { return };
        let (done, flushed) = oneshot::channel();
        if sender.try_send(Message::Flush(done)).is_ok() {
            let _ = tokio::time::timeout(PATIENCE, flushed).await;
        }
    }
}

/// What the user has chosen with `analytics opt`.
fn choice() -> Choice {
    let file = dev_dir::path().map(|it| it.join("analytics/user/choice.txt"));
    match file.and_then(fs::read_to_string).unwrap_or_default().trim() {
        "opt-in" => Choice::In,
        "opt-out" => Choice::Out,
        _ => Choice::Default,
    }
}

async fn send_all(server: Uri, mut inbox: mpsc::Receiver<Message>) {
    while let Some(message) = inbox.recv().await {
        match message {
            // Whether it arrives is not worth a word.
            Message::Event(event) => {
                let _ = tokio::time::timeout(PATIENCE, post(&server, &event)).await;
            }
            Message::Flush(done) => drop(done.send(())),
        }
    }
}

/// Posts an event, over plain HTTP only.
async fn post(server: &Uri, event: &Value) -> Option<()> {
    let (host, port) = match server.scheme_str() {
        Some("http") => (server.host()?, server.port_u16().unwrap_or(80)),
        _ => return None,
    };
    let request = Request::post(server.path_and_query().map_or("/", |it| it.as_str()))
        .header(header::HOST, server.authority()?.as_str())
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(event.to_string())))
        .ok()?;
    let address = (host.trim_start_matches('[').trim_end_matches(']'), port);
    let stream = TcpStream::connect(address).await.ok()?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
    tokio::select! {
        answer = sender.send_request(request) => answer.ok().map(drop),
        _ = connection => None,
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    /// Takes one request, and says what it was.
    async fn take(listener: &TcpListener) -> String {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut text = String::new();
        let mut bytes = [0; 4096];
        while !text.ends_with('}') {
            let n = stream.read(&mut bytes).await.unwrap();
            text.push_str(std::str::from_utf8(&bytes[..n]).unwrap());
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        text
    }

    #[tokio::test]
    async fn events_go_to_the_server_that_was_named_until_a_tiltfile_opts_out() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/report", listener.local_addr().unwrap());
        let mut usage = Usage::to(Some(url.parse().unwrap()), Choice::Default);
        usage.count("cmd.up");
        usage.timed("tiltfile.load", Duration::from_nanos(7));
        let (first, second, ()) = tokio::join!(take(&listener), take(&listener), usage.flush());
        // One after the other, but accepted in any order.
        let both = [first, second].concat();
        assert!(both.contains("POST /report HTTP/1.1"), "{both}");
        assert!(both.contains(r#"{"name":"tilt.cmd.up"}"#), "{both}");
        assert!(both.contains(r#""duration":7"#), "{both}");
        usage.opt_out();
        assert!(usage.sender.is_none());
        let mut chosen = Usage::to(Some(url.parse().unwrap()), Choice::In);
        chosen.opt_out();
        assert!(chosen.sender.is_some());
    }

    #[tokio::test]
    async fn without_a_server_nothing_is_kept() {
        let usage = Usage::to(None, Choice::In);
        usage.count("cmd.up");
        usage.flush().await;
        assert!(usage.sender.is_none());
    }
}
