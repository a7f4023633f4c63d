//! How a port is served: connections are taken as long as there is room, and each is spoken with until it ends.

use std::{
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{Router, body::Body};
use bytes::Bytes;
use hyper::{
    Request,
    body::{Body as HttpBody, Frame, Incoming, SizeHint},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::{self, Sleep},
};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use super::connections::{Connection, ConnectionSlot, Connections, Heard};

/// How long to wait before the next connection is taken when the system has none to give.
const PAUSE: Duration = Duration::from_millis(50);

/// What a port is, and how it answers.
#[derive(Clone)]
pub(super) struct Port {
    /// What answers requests.
    pub(super) app: Router,
    /// What encrypts, if anything does.
    pub(super) tls: Option<TlsAcceptor>,
    /// The connections of this port and of others that share the room for them.
    pub(super) connections: Arc<Connections>,
    /// Tells when to end.
    pub(super) closing: watch::Receiver<bool>,
}

impl Port {
    /// Answers until the end is near, and then until all that was asked before is answered.
    pub(super) async fn serve(self, listener: TcpListener) {
        let mut tasks = JoinSet::new();
        let mut closing = self.closing.clone();
        loop {
            let stream = tokio::select! {
                // A sender that is gone means the end, too.
                _ = closing.wait_for(|it| *it) => break,
                Some(_) = tasks.join_next() => continue,
                stream = self.accept(&listener) => stream,
            };
            let ends = stream.peer_addr().and_then(|peer| Ok((peer, stream.local_addr()?)));
            // Who is gone already needs no place, and one for whom there is none is let go.
            let Ok(ends) = ends else { continue };
            let Some(place) = self.connections.admit(Some(ends)).await else { continue };
            // Answers are small and should not wait for one another.
            let _ = stream.set_nodelay(true);
            tasks.spawn(self.clone().speak(stream, place));
        }
        drop(listener);
        while tasks.join_next().await.is_some() {}
    }

    async fn accept(&self, listener: &TcpListener) -> TcpStream {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => return stream,
                Err(error) if is_of_connection(&error) => {}
                // There are no descriptors left, whoever took them.
                Err(_) => {
                    self.connections.make_room();
                    time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Speaks with one who has connected, until that is over.
    pub(super) async fn speak<S>(self, stream: S, place: ConnectionSlot)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let connection = Arc::clone(&place.connection);
        let stream = Heard::new(stream, place);
        let talk = async {
            match self.tls.clone() {
                None => self.answer(stream, &connection).await,
                Some(tls) => {
                    let mut closing = self.closing.clone();
                    let encrypted = tokio::select! {
                        _ = closing.wait_for(|it| *it) => return,
                        encrypted = tls.accept(stream) => encrypted,
                    };
                    if let Ok(stream) = encrypted {
                        self.answer(stream, &connection).await;
                    }
                }
            }
        };
        tokio::select! {
            () = talk => {}
            () = connection.over() => {}
        }
    }

    async fn answer<S>(&self, stream: S, connection: &Arc<Connection>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (app, connection) = (self.app.clone(), Arc::clone(connection));
        let service = service_fn(move |request: Request<Incoming>| {
            let (app, connection) = (app.clone(), Arc::clone(&connection));
            async move {
                let _busy = connection.begin();
                let mut request = request.map(|it| in_time(it, connection.limits.body));
                request.extensions_mut().insert(Arc::clone(&connection));
                app.oneshot(request).await
            }
        });
        let mut builder = auto::Builder::new(TokioExecutor::new());
        // Websockets need it where HTTP/2 is spoken.
        builder.http2().enable_connect_protocol();
        let mut served =
            pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
        let mut closing = self.closing.clone();
        // Errors of connections stay theirs.
        tokio::select! {
            _ = served.as_mut() => return,
            _ = closing.wait_for(|it| *it) => {}
        }
        served.as_mut().graceful_shutdown();
        let _ = served.await;
    }
}

fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// The body of a request did not come in time.
#[derive(Debug, thiserror::Error)]
#[error("the body of the request took too long")]
pub(super) struct TooSlow;

/// A body that has to come in time; most requests have none.
fn in_time(body: Incoming, limit: Duration) -> Body {
    if body.is_end_stream() {
        return Body::new(body);
    }
    Body::new(InTime { body, end: Box::pin(time::sleep(limit)) })
}

struct InTime {
    body: Incoming,
    end: Pin<Box<Sleep>>,
}

impl HttpBody for InTime {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame.map(|it| it.map_err(Into::into)));
        }
        self.end.as_mut().poll(context).map(|()| Some(Err(TooSlow.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
