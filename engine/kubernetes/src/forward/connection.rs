//! Carries one connection to a port of a pod.
//!
//! The API server ends the whole connection when either side has nothing more to say, so the end of what a client
//! says is not passed on while the pod still talks.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::Resource;
use kube::core::Request;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use super::{ANSWER, ForwardError, Place};
use crate::stream::{Incoming, Messages, Outgoing, channels};

const DATA: u8 = 0;
const ERROR: u8 = 1;
/// How long the pod may be silent after the client said all.
const PATIENCE: Duration = Duration::from_secs(10);

/// Carries a connection until it ends. An error is one of the forward, not of those who speak over it.
pub(super) async fn carry(socket: TcpStream, place: &Place, port: u16) -> Result<(), ForwardError> {
    let local_port = socket.local_addr().map_or(0, |it| it.port());
    let path = Pod::url_path(&(), Some(&place.namespace));
    let request = Request::new(path).portforward(&place.pod, &[port])?;
    let connecting = place.cluster.client().connect(request);
    let connection = place.cluster.answered(ANSWER, connecting).await?;
    let (sink, stream) = channels(connection);
    let (from_client, to_client) = socket.into_split();
    let (said_all, client_said_all) = tokio::sync::watch::channel(false);
    tokio::select! {
        error = from_pod(stream, to_client, client_said_all) => match error {
            Some(message) => Err(ForwardError::Pod { local_port, port, message }),
            None => Ok(()),
        },
        () = from_client_to(from_client, sink, said_all) => Ok(()),
    }
}

/// Passes on what the client says. The end of that is only told to the other direction.
async fn from_client_to(
    client: OwnedReadHalf,
    mut sink: impl Outgoing,
    said_all: tokio::sync::watch::Sender<bool>,
) {
    let mut messages = Messages::new(client, DATA);
    loop {
        // A client that went away has no more to be told.
        let Ok(message) = messages.next().await else { return };
        let Some(message) = message else { break };
        if sink.send(message).await.is_err() {
            // Why is known to the other direction.
            break;
        }
    }
    said_all.send_replace(true);
    std::future::pending().await
}

/// Passes on what the pod says; the answer is its error about the forward, if there is one.
async fn from_pod(
    mut stream: impl Incoming,
    mut client: OwnedWriteHalf,
    mut said_all: tokio::sync::watch::Receiver<bool>,
) -> Option<String> {
    // The first message of each channel repeats the port.
    let mut is_begun = [false; 2];
    loop {
        let is_ending = *said_all.borrow_and_update();
        let message = tokio::select! {
            message = stream.next() => message,
            () = tokio::time::sleep(PATIENCE), if is_ending => None,
            Ok(()) = said_all.changed(), if !is_ending => continue,
        };
        let Some(message) = message else { break };
        let Ok(message) = message else { break };
        let Some((channel, data)) = message.split_first() else { continue };
        let Some(is_begun) = is_begun.get_mut(usize::from(*channel)) else { continue };
        if !std::mem::replace(is_begun, true) {
            continue;
        }
        if *channel == ERROR {
            return Some(String::from_utf8_lossy(data).trim().to_owned());
        }
        if client.write_all(data).await.is_err() {
            return None;
        }
    }
    // An error here is one of a client that is gone.
    let _ = client.shutdown().await;
    None
}
