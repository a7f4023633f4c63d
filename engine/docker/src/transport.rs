//! Connections to an engine: by socket, by TCP with or without TLS, and by ssh.
//!
//! Every request, also those of the client library, goes through [`Transport`], so that there is
//! one way to connect and one way to tell what went wrong.

use std::{
    future::Future,
    io,
    pin::Pin,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bollard::BollardRequest;
use hyper::{
    Request, Response, Uri,
    body::Incoming,
    rt::{Executor, ReadBufCursor},
};
use hyper_util::{
    client::legacy::{
        Client,
        connect::{Connected, Connection},
    },
    rt::TokioIo,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    task::JoinSet,
};
use tower::Service;

use crate::{
    endpoint::{Endpoint, SshTarget, Way},
    environment::Environment,
    error::{DockerError, TransportError},
    transport::pipes::Pipes,
};

mod pipes;
mod tls;

/// The body of a request.
pub(crate) type Body = http_body_util::combinators::UnsyncBoxBody<
    bytes::Bytes,
    Box<dyn std::error::Error + Send + Sync>,
>;

/// Sends requests to one engine.
#[derive(Clone)]
pub(crate) struct Transport {
    client: Client<Connector, Body>,
    host: Arc<str>,
}

impl Transport {
    pub(crate) fn new(endpoint: &Endpoint, environment: &Environment) -> Self {
        let connector =
            Connector { endpoint: Arc::new(endpoint.clone()), environment: environment.clone() };
        let mut builder = Client::builder(Tasks::default());
        match endpoint.way {
            // A local connection costs nothing, and a fresh one is never one that just broke.
            Way::Unix(_) => builder.pool_max_idle_per_host(0),
            Way::Tcp { .. } | Way::Ssh(_) => {
                builder.pool_idle_timeout(Duration::from_secs(30)).pool_max_idle_per_host(4)
            }
        };
        Self { client: builder.build(connector), host: endpoint.host().into() }
    }

    /// Sends a request; the answer may still be an error of the engine.
    pub(crate) async fn send(
        &self,
        request: Request<Body>,
    ) -> Result<Response<Incoming>, DockerError> {
        self.exchange(request).await.map_err(|error| error.at(&self.host))
    }

    /// Sends a request of the client library.
    pub(crate) async fn forward(
        &self,
        request: BollardRequest,
    ) -> Result<Response<Incoming>, bollard::errors::Error> {
        use http_body_util::BodyExt;
        let request = request.map(|body| body.map_err(Into::into).boxed_unsync());
        let answer = self.exchange(request).await;
        answer.map_err(|error| bollard::errors::Error::IOError { err: io::Error::other(error) })
    }

    async fn exchange(&self, request: Request<Body>) -> Result<Response<Incoming>, TransportError> {
        let answer = self.client.request(request).await;
        answer.map_err(|error| TransportError::new(error.is_connect(), &error))
    }
}

/// The tasks of connections: they end with the transport, at the latest.
#[derive(Clone, Default)]
pub(crate) struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl<F> Executor<F> for Tasks
where
    F: Future + Send + 'static,
{
    fn execute(&self, future: F) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            future.await;
        });
    }
}

/// Makes connections; the address in a request does not matter.
#[derive(Clone)]
struct Connector {
    endpoint: Arc<Endpoint>,
    environment: Environment,
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move { connector.connect().await })
    }
}

impl Connector {
    async fn connect(&self) -> io::Result<Stream> {
        let io: Box<dyn Duplex> = match &self.endpoint.way {
            Way::Unix(path) => Box::new(UnixStream::connect(path).await?),
            Way::Tcp { address, tls: None } => Box::new(dial(address).await?),
            Way::Tcp { address, tls: Some(tls) } => {
                Box::new(tls::connect(dial(address).await?, address, tls).await?)
            }
            Way::Ssh(target) => Box::new(self.ssh(target)?),
        };
        Ok(Stream(TokioIo::new(io)))
    }

    /// Lets ssh connect us with the engine over there; it ends with the connection.
    fn ssh(&self, target: &SshTarget) -> io::Result<Pipes> {
        let mut command = self.environment.command("ssh");
        command.args(target.arguments());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let missing = || io::Error::other("ssh has no pipes");
        let output = child.stdout.take().ok_or_else(missing)?;
        let input = child.stdin.take().ok_or_else(missing)?;
        let complaints = child.stderr.take();
        Ok(Pipes::new(tokio::io::join(output, input), complaints, child))
    }
}

async fn dial(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A connection as the HTTP library wants it.
struct Stream(TokioIo<Box<dyn Duplex>>);

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl hyper::rt::Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl hyper::rt::Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
