//! Where `logs` gets its segments: from `/api/logs`, or from the view of the web page if the instance has no such
//! path.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use bytes::Bytes;
use engine_api::log::query::{self, Query};
use engine_formats::golang::{os_error::errno_text, quote::quote};
use futures_util::StreamExt;
use http_body_util::{BodyExt, Empty};
use hyper::{Request, Response, StatusCode, body::Incoming, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::{net::TcpStream, sync::oneshot};
use tokio_tungstenite::tungstenite::{Message, protocol::WebSocketConfig};

use super::output::{Output, SentSegment, SentSpan};
use crate::{
    connect::{ConnectFlags, dial},
    display_name,
    failure::Failure,
    instances::not_running,
};

/// The address of the token for web sockets; messages name it.
const TOKEN_PATH: &str = "/api/websocket_token";

/// Prints what the instance has logged, and goes on if that is asked for.
pub(super) async fn print(
    flags: &ConnectFlags,
    token: &str,
    query: &Query,
    output: &mut Output<impl Write>,
) -> Result<(), Failure> {
    let instance = Instance { flags, token };
    let path = format!("{}?{}", query::PATH, query.to_text());
    let response = instance.get(&path).await.map_err(|it| instance.unreachable(&it))?;
    let content_type = response.headers().get(header::CONTENT_TYPE);
    let printed = if content_type.is_some_and(|it| it.as_bytes() == query::CONTENT_TYPE.as_bytes())
    {
        print_log(response, output).await
    } else {
        print_views(&instance, query.follow, output).await?
    };
    // Who does not read anymore, such as `head`, has seen enough.
    printed.or_else(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(failed(&error)),
    })
}

fn failed(error: &dyn std::fmt::Display) -> Failure {
    Failure::Command(error.to_string())
}

/// The instance that is asked.
struct Instance<'i> {
    flags: &'i ConnectFlags,
    token: &'i str,
}

impl Instance<'_> {
    async fn connect(&self) -> io::Result<TcpStream> {
        dial(self.flags.host(), self.flags.port()).await
    }

    async fn get(&self, path: &str) -> io::Result<Response<Incoming>> {
        let stream = self.connect().await?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        // The connection lives as long as the runtime of this command.
        tokio::spawn(connection);
        let request = Request::get(path)
            .header(header::HOST, self.flags.address())
            .header("x-tilt-token", self.token)
            .body(Empty::<Bytes>::new())
            .map_err(io::Error::other)?;
        sender.send_request(request).await.map_err(io::Error::other)
    }

    /// The log, if the instance has an address for it.
    async fn log(&self, query: &Query) -> Option<SentLog> {
        let response = self.get(&format!("{}?{}", query::PATH, query.to_text())).await.ok()?;
        (response.status() == StatusCode::OK)
            .then(|| SentLog { body: response.into_body(), rest: Vec::new() })
    }

    fn token_url(&self) -> String {
        format!("http://{}{TOKEN_PATH}", self.flags.address())
    }

    /// In the words of Go's dialer.
    fn unreachable(&self, error: &io::Error) -> Failure {
        let url = self.token_url();
        let cause = match error.raw_os_error() {
            Some(_) => {
                let address = self.flags.address();
                let dialed = match address.strip_prefix("localhost:") {
                    Some(port) => format!("127.0.0.1:{port}"),
                    None => address,
                };
                format!("dial tcp {dialed}: connect: {}", errno_text(error))
            }
            None => error.to_string(),
        };
        let get = quote(&url);
        let context = format!("fetching websocket token: connecting to {} at", display_name());
        let failure = Failure::Command(format!("{context} {url}: Get {get}: {cause}"));
        not_running(self.flags, failure)
    }

    async fn websocket_token(&self) -> Result<String, Failure> {
        let response = self.get(TOKEN_PATH).await.map_err(|it| self.unreachable(&it))?;
        let status = response.status();
        if status != StatusCode::OK {
            let (url, status) = (self.token_url(), quote(&status.to_string()));
            return Err(Failure::Command(format!(
                "fetching websocket token: request to {url} failed with status {status}"
            )));
        }
        let body = response.into_body().collect().await;
        let body =
            body.map_err(|it| Failure::Command(format!("fetching websocket token: {it}")))?;
        Ok(String::from_utf8_lossy(&body.to_bytes()).into_owned())
    }
}

/// A line of the instance's log.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum SentLine {
    History {
        #[serde(rename = "history")]
        _history: String,
    },
    Gap {
        gap: SentGap,
    },
    Segment(Box<SentSegment>),
}

#[derive(Debug, Deserialize)]
struct SentGap {
    segments: u64,
}

async fn print_log(
    response: Response<Incoming>,
    output: &mut Output<impl Write>,
) -> io::Result<()> {
    let mut log = SentLog { body: response.into_body(), rest: Vec::new() };
    while let Some(lines) = log.next().await {
        print_lines(&lines, output)?;
    }
    output.end_history()
}

/// The log as it arrives.
struct SentLog {
    body: Incoming,
    rest: Vec<u8>,
}

impl SentLog {
    /// The next lines, all of them whole; an instance that ends, ends the log.
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let Ok(data) = self.body.frame().await?.ok()?.into_data() else { continue };
            self.rest.extend_from_slice(&data);
            let Some(end) = memchr::memrchr(b'\n', &self.rest) else { continue };
            let mut lines: Vec<u8> = self.rest.drain(..=end).collect();
            lines.pop();
            return Some(lines);
        }
    }

    /// How many more segments there are until the log ends.
    async fn count(mut self) -> usize {
        let mut count = 0;
        while let Some(lines) = self.next().await {
            count += segments(&lines);
        }
        count
    }
}

fn segments(lines: &[u8]) -> usize {
    let parsed = lines.split(|&it| it == b'\n').map(serde_json::from_slice);
    parsed.filter(|it| matches!(it, Ok(SentLine::Segment(_)))).count()
}

fn print_lines(lines: &[u8], output: &mut Output<impl Write>) -> io::Result<()> {
    let mut in_history = true;
    for line in lines.split(|&it| it == b'\n') {
        in_history = print_line(line, output)?;
    }
    if in_history { Ok(()) } else { output.flush() }
}

/// Prints what is logged until `end` comes, and all that was logged before that; gives what came,
/// or nothing if the log has ended before.
pub(super) async fn print_until<T>(
    flags: &ConnectFlags,
    token: &str,
    query: &Query,
    end: &mut oneshot::Receiver<T>,
    output: &mut Output<impl Write>,
) -> Option<Option<T>> {
    let instance = Instance { flags, token };
    let mut log = instance.log(query).await?;
    let mut seen = 0;
    let ended = loop {
        tokio::select! {
            lines = log.next() => {
                let lines = lines?;
                seen += segments(&lines);
                print_lines(&lines, output).ok()?;
            }
            ended = &mut *end => break ended.ok(),
        }
    };
    // What was logged before the end may still be on its way: as much as there is now.
    let now = instance.log(&Query { follow: false, ..query.clone() }).await;
    let all = match now {
        Some(log) => log.count().await,
        None => 0,
    };
    while seen < all
        && let Some(lines) = log.next().await
    {
        seen += segments(&lines);
        // Who does not read anymore has seen enough.
        if print_lines(&lines, output).is_err() {
            break;
        }
    }
    Some(ended)
}

/// Takes a line; says whether it may be followed by more at once.
fn print_line(line: &[u8], output: &mut Output<impl Write>) -> io::Result<bool> {
    match serde_json::from_slice(line).map_err(io::Error::other)? {
        SentLine::History { .. } => output.end_history().map(|()| false),
        SentLine::Gap { gap } => {
            output.missing(gap.segments);
            Ok(true)
        }
        SentLine::Segment(segment) => output.add(*segment).map(|()| false),
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct View {
    log_list: Option<LogList>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LogList {
    spans: HashMap<String, SentSpan>,
    segments: Vec<SentSegment>,
    from_checkpoint: i64,
    to_checkpoint: i64,
}

async fn print_views(
    instance: &Instance<'_>,
    follow: bool,
    output: &mut Output<impl Write>,
) -> Result<io::Result<()>, Failure> {
    let csrf = instance.websocket_token().await?;
    let url = format!("ws://{}/ws/view?csrf={csrf}", instance.flags.address());
    let dialing = |error: &dyn std::fmt::Display| {
        Failure::Command(format!("dialing websocket {url}: {error}"))
    };
    let stream = instance.connect().await.map_err(|it| dialing(&it))?;
    // The log of a whole day is one message.
    let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
    let (mut socket, _) =
        tokio_tungstenite::client_async_with_config(url.as_str(), stream, Some(config))
            .await
            .map_err(|it| dialing(&it))?;
    let mut seen = 0;
    // An instance that ends, ends the log.
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(text) = message else { continue };
        let printed = match serde_json::from_str::<View>(&text) {
            Ok(view) => print_view(view, &mut seen, output),
            Err(error) => Err(io::Error::other(format!("Error streaming logs: parsing: {error}"))),
        };
        if printed.is_err() || !follow {
            return Ok(printed);
        }
    }
    Ok(Ok(()))
}

fn print_view(view: View, seen: &mut i64, output: &mut Output<impl Write>) -> io::Result<()> {
    let list = view.log_list.filter(|it| it.from_checkpoint >= 0).unwrap_or_default();
    let known = usize::try_from(*seen - list.from_checkpoint).unwrap_or_default();
    for segment in list.segments.into_iter().skip(known) {
        if let Some(segment) = segment.of_span(&list.spans) {
            output.add(segment)?;
        }
    }
    *seen = (*seen).max(list.to_checkpoint);
    // Whatever comes later is not history.
    output.end_history()
}
