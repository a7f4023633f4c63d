//! The web port: triggers, dumps and the view, behind the token that all instances of a user share.

use std::io;

use bytes::Bytes;
use engine_files::dev_dir;
use engine_formats::golang::{os_error::errno_text, quote::quote};
use http_body_util::Full;
use hyper::{Method, Request, header};
use serde_json::Value;

use super::transport::{Answer, Transport, TransportError};
use crate::{connect::ConnectFlags, display_name, failure::Failure};

/// The header that carries the token.
const TOKEN_HEADER: &str = "x-tilt-token";

/// A client of one instance.
#[derive(Debug)]
pub struct WebClient {
    transport: Transport,
    address: String,
    token: String,
}

impl WebClient {
    /// A client of the instance that the flags name; nothing is sent yet.
    pub fn new(flags: &ConnectFlags) -> Result<Self, Failure> {
        let token = dev_dir::token().map_err(|it| Failure::Plain(it.to_string()))?;
        let transport = Transport::new(&flags.host, flags.port, None)
            .map_err(|it| Failure::Plain(it.to_string()))?;
        Ok(Self { transport, address: flags.address(), token })
    }

    /// Reads something as JSON.
    pub fn get(&mut self, path: &str) -> Result<Vec<u8>, Failure> {
        let answer = self.send(&Method::GET, path, None)?;
        self.body(path, answer)
    }

    fn body(&self, path: &str, answer: Answer) -> Result<Vec<u8>, Failure> {
        if answer.status == 200 {
            return Ok(answer.body);
        }
        let body = match String::from_utf8_lossy(&answer.body) {
            text if text.is_empty() => "<no response body>".to_owned(),
            text => text.into_owned(),
        };
        let url = self.url(path);
        let status = quote(&answer.status_text);
        Err(Failure::Plain(format!("Request to {url} failed with status {status}: {body}")))
    }

    /// Reads what is known of something, as JSON; nothing if nobody knows it.
    pub(crate) fn find(&mut self, path: &str) -> Result<Option<Vec<u8>>, Failure> {
        let answer = self.send(&Method::GET, path, None)?;
        if answer.status == 404 { Ok(None) } else { self.body(path, answer).map(Some) }
    }

    /// Sends JSON; gives the status code and the trimmed answer.
    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Result<(u16, String), Failure> {
        let answer = self.send(&Method::POST, path, Some(body))?;
        Ok((answer.status, String::from_utf8_lossy(&answer.body).trim().to_owned()))
    }

    /// Has something worked out, as JSON; nothing if no instance is running. That it refuses is a failure.
    pub fn work_out(&mut self, path: &str) -> Result<Option<Value>, Failure> {
        self.ask(&Method::POST, path)
    }

    /// Reads something as JSON; nothing if no instance is running.
    pub(crate) fn read(&mut self, path: &str) -> Result<Option<Value>, Failure> {
        self.ask(&Method::GET, path)
    }

    fn ask(&mut self, method: &Method, path: &str) -> Result<Option<Value>, Failure> {
        let answer = match self.try_send(method, path, None) {
            Err(TransportError::Connect(_)) => return Ok(None),
            Err(error) => return Err(self.unreachable(method, path, &error)),
            Ok(answer) => self.body(path, answer)?,
        };
        let no_json = |_| {
            let url = self.url(path);
            Failure::Plain(format!("what answers at {url} is no engine that knows this request"))
        };
        serde_json::from_slice(&answer).map(Some).map_err(no_json)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/api/{path}", self.address)
    }

    fn send(
        &mut self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, Failure> {
        let answer = self.try_send(method, path, body);
        answer.map_err(|error| self.unreachable(method, path, &error))
    }

    fn unreachable(&self, method: &Method, path: &str, error: &TransportError) -> Failure {
        let url = self.url(path);
        let verb = if method == Method::POST { "Post" } else { "Get" };
        let cause = cause(error, &self.address);
        let quoted = quote(&url);
        let name = display_name();
        Failure::Plain(format!("Could not connect to {name} at {url}: {verb} {quoted}: {cause}"))
    }

    fn try_send(
        &mut self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, TransportError> {
        let payload = Bytes::from(body.map(Value::to_string).unwrap_or_default());
        let (address, token) = (&self.address, &self.token);
        self.transport.send(|| {
            let mut request = Request::builder()
                .method(method)
                .uri(format!("/api/{path}"))
                .header(header::HOST, address)
                .header(TOKEN_HEADER, token);
            if body.is_some() {
                request = request.header(header::CONTENT_TYPE, "application/json");
            }
            request.body(Full::new(payload.clone()))
        })
    }
}

/// Why there is no connection, in the words of Go's dialer.
pub(super) fn cause(error: &TransportError, address: &str) -> String {
    match error {
        TransportError::Connect(error) if error.raw_os_error().is_some() => {
            format!("dial tcp {}: connect: {}", dialed(address), errno_text(error))
        }
        TransportError::Connect(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            "EOF".to_owned()
        }
        other => other.to_string(),
    }
}

/// The address as the dialer names it.
fn dialed(address: &str) -> String {
    match address.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => address.to_owned(),
    }
}
