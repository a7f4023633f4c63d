//! The web port: triggers, dumps and the view, behind the token that all instances of a user share.

use std::io;

use bytes::Bytes;
use engine_files::dev_dir;
use engine_formats::golang::{os_error::errno_text, quote::quote};
use http_body_util::Full;
use hyper::{Method, Request, header};
use serde_json::Value;

use super::transport::{Answer, Transport, TransportError};
use crate::{
    connect::ConnectFlags,
    display_name,
    failure::Failure,
    instances::{Instance, not_running},
};

/// The header that carries the token.
const TOKEN_HEADER: &str = "x-tilt-token";

/// A client of one instance.
#[derive(Debug)]
pub struct WebClient {
    transport: Transport,
    connect: ConnectFlags,
    token: String,
}

impl WebClient {
    /// A client of the instance that the flags name; nothing is sent yet.
    pub fn new(flags: &ConnectFlags) -> Result<Self, Failure> {
        let token = dev_dir::token().map_err(|it| Failure::Plain(it.to_string()))?;
        let transport = Transport::new(flags.host(), flags.port(), None)
            .map_err(|it| Failure::Plain(it.to_string()))?;
        Ok(Self { transport, connect: flags.clone(), token })
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

    /// Reads what an engine knows of something, for a command that Tilt lacks; nothing if it does not know it.
    pub(crate) fn find(&mut self, path: &str, command: &str) -> Result<Option<Value>, Failure> {
        let answer = self.send(&Method::GET, path, None)?;
        if answer.status == 404 && self.tilt().is_none() {
            return Ok(None);
        }
        self.of_engine(path, command, answer).map(Some)
    }

    /// Sends JSON; gives the status code and the trimmed answer.
    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Result<(u16, String), Failure> {
        let answer = self.send(&Method::POST, path, Some(body))?;
        Ok((answer.status, String::from_utf8_lossy(&answer.body).trim().to_owned()))
    }

    /// Has an engine work something out, for a command that Tilt lacks; nothing if no instance is running.
    pub fn work_out(&mut self, path: &str, command: &str) -> Result<Option<Value>, Failure> {
        self.ask(&Method::POST, path, command)
    }

    /// Reads what only an engine knows, for a command that Tilt lacks; nothing if no instance is running.
    pub fn read(&mut self, path: &str, command: &str) -> Result<Option<Value>, Failure> {
        self.ask(&Method::GET, path, command)
    }

    fn ask(
        &mut self,
        method: &Method,
        path: &str,
        command: &str,
    ) -> Result<Option<Value>, Failure> {
        match self.try_send(method, path, None) {
            Err(TransportError::Connect(_)) => Ok(None),
            Err(error) => Err(self.unreachable(method, path, &error)),
            Ok(answer) => self.of_engine(path, command, answer).map(Some),
        }
    }

    /// The answer of an engine; other programs are told to their face.
    fn of_engine(&self, path: &str, command: &str, answer: Answer) -> Result<Value, Failure> {
        let value = self.body(path, answer).and_then(|body| {
            let address = self.connect.address();
            serde_json::from_slice(&body).map_err(|error| {
                let text = format!("unexpected answer from {address} (is it Tilt?): {error}");
                Failure::Command(text)
            })
        });
        value.map_err(|failure| match self.tilt() {
            Some(tilt) => {
                let address = self.connect.address();
                Failure::Command(format!("{address} is {tilt}, which has no `{command}`"))
            }
            None => failure,
        })
    }

    /// What a Tilt calls itself, if it is one.
    fn tilt(&self) -> Option<String> {
        let instance = Instance::find(&self.connect.api_server_name()).ok()??;
        instance.tilt().map(str::to_owned)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/api/{path}", self.connect.address())
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
        let cause = cause(error, &self.connect.address());
        let quoted = quote(&url);
        let name = display_name();
        let text = format!("Could not connect to {name} at {url}: {verb} {quoted}: {cause}");
        let failure = Failure::Plain(text);
        match error {
            TransportError::Connect(_) => not_running(&self.connect, failure),
            _ => failure,
        }
    }

    fn try_send(
        &mut self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, TransportError> {
        let payload = Bytes::from(body.map(Value::to_string).unwrap_or_default());
        let (address, token) = (self.connect.address(), &self.token);
        self.transport.send(|| {
            let mut request = Request::builder()
                .method(method)
                .uri(format!("/api/{path}"))
                .header(header::HOST, &address)
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
