//! Channels over one WebSocket, as exec and port forwards use them: the first byte of a message is its channel.

use std::io;

use bytes::Bytes;
use futures_util::{Sink, SinkExt, Stream, StreamExt};
use kube::client::Connection;
use tokio::io::{AsyncRead, AsyncReadExt};

/// How much one message to the API server may carry.
const MESSAGE: usize = 64 * 1024;

/// Why a connection broke off, in the words of the WebSocket.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct StreamError(Box<dyn std::error::Error + Send + Sync>);

impl From<io::Error> for StreamError {
    fn from(error: io::Error) -> Self {
        Self(Box::new(error))
    }
}

/// Messages to the API server, each with its channel in front.
pub(crate) trait Outgoing: Sink<Vec<u8>, Error = StreamError> + Send + Unpin {}
impl<T: Sink<Vec<u8>, Error = StreamError> + Send + Unpin> Outgoing for T {}

/// Messages of the API server, each with its channel in front.
pub(crate) trait Incoming: Stream<Item = Result<Bytes, StreamError>> + Send + Unpin {}
impl<T: Stream<Item = Result<Bytes, StreamError>> + Send + Unpin> Incoming for T {}

/// Both directions of a connection. Pings are answered by the connection itself.
pub(crate) fn channels(connection: Connection) -> (impl Outgoing, impl Incoming) {
    let (sink, stream) = connection.into_stream().split();
    let sink = sink
        .sink_map_err(|it| StreamError(Box::new(it)))
        .with(|message: Vec<u8>| std::future::ready(Ok::<_, StreamError>(message.into())));
    let stream = stream.filter_map(|message| {
        std::future::ready(match message {
            Ok(message) if message.is_binary() => Some(Ok(message.into_data())),
            Ok(_) => None,
            Err(error) => Some(Err(StreamError(Box::new(error)))),
        })
    });
    (sink, stream)
}

/// Makes messages for a channel of what can be read.
pub(crate) struct Messages<R> {
    reader: R,
    channel: u8,
    buffer: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Messages<R> {
    pub(crate) fn new(reader: R, channel: u8) -> Self {
        Self { reader, channel, buffer: Vec::new() }
    }

    /// The next message, as soon as there is anything to read; nothing at the end.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.buffer.clear();
        self.buffer.reserve(MESSAGE + 1);
        self.buffer.push(self.channel);
        if self.reader.read_buf(&mut self.buffer).await? == 0 {
            return Ok(None);
        }
        // A small message does not take the large buffer with it.
        if self.buffer.len() < MESSAGE / 4 {
            return Ok(Some(self.buffer.clone()));
        }
        Ok(Some(std::mem::take(&mut self.buffer)))
    }
}
