//! One HTTP/1.1 connection, plain or encrypted, for blocking callers.
//!
//! A command makes a few requests one after another, so a runtime on the calling thread is enough; the connection
//! lives as long as that runtime.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request,
    body::Incoming,
    client::conn::http1::{self, SendRequest},
    header,
};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    runtime::{Builder, Runtime},
    time::{timeout, timeout_at},
};
use tokio_rustls::TlsConnector;

use crate::connect::dial;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransportError {
    /// The server cannot be reached.
    #[error("{0}")]
    Connect(io::Error),
    /// It was reached, and then something failed.
    #[error("{0}")]
    Http(#[from] hyper::Error),
    /// The request cannot be sent at all.
    #[error("{0}")]
    Request(#[from] hyper::http::Error),
}

impl From<io::Error> for TransportError {
    fn from(error: io::Error) -> Self {
        Self::Connect(error)
    }
}

/// A connection; made at the first request.
#[derive(Debug)]
pub(crate) struct Transport {
    runtime: Runtime,
    sender: Option<SendRequest<Full<Bytes>>>,
    host: String,
    port: i64,
    tls: Option<Arc<ClientConfig>>,
    /// How long each step may take; without one, as long as it takes.
    pub(super) limit: Option<Duration>,
}

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The status code.
    pub(crate) status: u16,
    /// The status line's text, such as `403 Forbidden`.
    pub(crate) status_text: String,
    /// All of the body.
    pub(crate) body: Vec<u8>,
    /// Where the server sends the client instead.
    pub(crate) location: Option<String>,
}

impl Transport {
    /// A connection to be made.
    pub(crate) fn new(host: &str, port: i64, tls: Option<Arc<ClientConfig>>) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        Ok(Self { runtime, sender: None, host: host.to_owned(), port, tls, limit: None })
    }

    /// Sends a request and waits for the whole answer.
    pub(crate) fn send(
        &mut self,
        build: impl Fn() -> Result<Request<Full<Bytes>>, hyper::http::Error>,
    ) -> Result<Answer, TransportError> {
        let response = self.response(build()?)?;
        self.answer(response)
    }

    fn answer(&self, response: hyper::Response<Incoming>) -> Result<Answer, TransportError> {
        let status = response.status();
        let location = response.headers().get(header::LOCATION);
        let location = location.and_then(|it| it.to_str().ok()).map(str::to_owned);
        let body = async { Ok(response.into_body().collect().await?) };
        let body = self.block_on(body)?.to_bytes().to_vec();
        Ok(Answer { status: status.as_u16(), status_text: status.to_string(), body, location })
    }

    /// Sends a request whose answer never ends; an answer that is an error is read whole.
    pub(super) fn open(
        mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Result<Stream, Answer>, TransportError> {
        let response = self.response(request)?;
        if response.status().is_success() {
            let stream = Stream { transport: self, body: response.into_body(), rest: Vec::new() };
            return Ok(Ok(stream));
        }
        self.answer(response).map(Err)
    }

    fn response(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<hyper::Response<Incoming>, TransportError> {
        let mut sender = match self.sender.take().filter(|it| !it.is_closed()) {
            Some(sender) => sender,
            None => self.connect()?,
        };
        let response = self.block_on(async {
            sender.ready().await?;
            Ok(sender.send_request(request).await?)
        })?;
        self.sender = Some(sender);
        Ok(response)
    }

    fn block_on<T>(
        &self,
        work: impl Future<Output = Result<T, TransportError>>,
    ) -> Result<T, TransportError> {
        let limit = self.limit.unwrap_or(Duration::MAX);
        let too_late = |_| Err(TransportError::Connect(io::ErrorKind::TimedOut.into()));
        self.runtime.block_on(async { timeout(limit, work).await.unwrap_or_else(too_late) })
    }

    fn connect(&self) -> Result<SendRequest<Full<Bytes>>, TransportError> {
        self.block_on(async {
            let stream = dial(&self.host, self.port).await?;
            match &self.tls {
                None => handshake(TokioIo::new(stream)).await,
                Some(tls) => {
                    let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
                    let stream = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await?;
                    handshake(TokioIo::new(stream)).await
                }
            }
        })
    }
}

async fn handshake<S>(stream: S) -> Result<SendRequest<Full<Bytes>>, TransportError>
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(stream).await?;
    // The runtime owns the connection: both end with the command.
    tokio::spawn(connection);
    Ok(sender)
}

/// An answer that arrives line by line.
#[derive(Debug)]
pub(super) struct Stream {
    transport: Transport,
    body: Incoming,
    rest: Vec<u8>,
}

/// What comes next on a stream.
#[derive(Debug)]
pub(super) enum Next {
    /// A line without its end.
    Line(Vec<u8>),
    /// The server has nothing more to say.
    End,
    /// Nothing came in time.
    Deadline,
}

impl Stream {
    /// Waits for the next line, at most until the deadline.
    pub(super) fn next(&mut self, deadline: Option<Instant>) -> Result<Next, TransportError> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.rest) {
                let mut line: Vec<u8> = self.rest.drain(..=end).collect();
                line.pop();
                return Ok(Next::Line(line));
            }
            let frame = self.body.frame();
            let frame = self.transport.runtime.block_on(async {
                match deadline {
                    Some(deadline) => timeout_at(deadline.into(), frame).await.ok(),
                    None => Some(frame.await),
                }
            });
            match frame {
                None => return Ok(Next::Deadline),
                Some(None) => return Ok(Next::End),
                Some(Some(frame)) => {
                    if let Ok(data) = frame?.into_data() {
                        self.rest.extend_from_slice(&data);
                    }
                }
            }
        }
    }
}
