//! Runs a command in a container, with its input and its output as streams.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Resource;
use kube::api::AttachParams;
use kube::core::Request;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::stream::{Incoming, Messages, Outgoing, StreamError, channels};
use crate::{Cluster, KubernetesError};

/// How long the API server may take to start a command.
const ANSWER: Duration = Duration::from_secs(6);
/// How much may wait to be sent.
const BUFFER: usize = 256 * 1024;
/// How much of what a command prints may wait to be read, or is kept of what is read only in the end.
const PRINTED: usize = 64 * 1024;
const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
const CLOSE: u8 = 255;

/// A container of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContainerPlace {
    /// Where the pod is.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
}

/// A command that runs in a container. Dropping it ends the connection.
#[derive(Debug)]
pub struct ExecSession {
    /// What the command reads; dropping it ends its input.
    pub stdin: Option<DuplexStream>,
    /// What it prints.
    pub stdout: DuplexStream,
    /// What it prints about its work.
    pub stderr: DuplexStream,
    status: oneshot::Receiver<Result<i32, KubernetesError>>,
    guard: Guard,
}

#[derive(Debug)]
struct Guard(AbortHandle);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The end of a command, apart from its streams.
#[derive(Debug)]
pub struct ExecStatus {
    status: oneshot::Receiver<Result<i32, KubernetesError>>,
    _guard: Guard,
}

impl ExecStatus {
    /// Waits for the end of the command; the answer is its exit code.
    ///
    /// # Errors
    /// If the command could not be run, or the connection was lost.
    pub async fn wait(self) -> Result<i32, KubernetesError> {
        let Self { status, _guard } = self;
        status.await.unwrap_or_else(|_| Err(lost("the connection was lost")))
    }
}

impl ExecSession {
    /// The streams, and the end of the command. Dropping the latter ends the connection.
    pub fn split(self) -> (Option<DuplexStream>, DuplexStream, DuplexStream, ExecStatus) {
        let Self { stdin, stdout, stderr, status, guard } = self;
        (stdin, stdout, stderr, ExecStatus { status, _guard: guard })
    }

    /// Ends the input, reads all output and waits for the end of the command. Of a long output the end is kept.
    ///
    /// # Errors
    /// If the command could not be run, or the connection was lost.
    pub async fn finish(self) -> Result<(i32, Vec<u8>, Vec<u8>), KubernetesError> {
        let (stdin, stdout, stderr, status) = self.split();
        drop(stdin);
        let (code, out, err) = tokio::join!(status.wait(), end_of(stdout), end_of(stderr));
        Ok((code?, out, err))
    }
}

impl Cluster {
    /// Runs a command in a container. It has started when this answers, or its status says why not.
    ///
    /// # Errors
    /// If the API server refuses, or cannot be reached.
    pub async fn exec(
        &self,
        at: &ContainerPlace,
        argv: &[String],
        with_stdin: bool,
    ) -> Result<ExecSession, KubernetesError> {
        let params = AttachParams {
            container: Some(at.container.clone()),
            stdin: with_stdin,
            stdout: true,
            stderr: true,
            ..AttachParams::default()
        };
        let path = Pod::url_path(&(), Some(&at.namespace));
        let request = Request::new(path)
            .exec(&at.pod, argv.iter().cloned(), &params)
            .map_err(|it| KubernetesError::Request(it.to_string()))?;
        let connection = self.answered(ANSWER, self.client().connect(request)).await?;
        let can_close = connection.supports_stream_close();
        let (sink, stream) = channels(connection);
        let (stdin, input) = tokio::io::duplex(BUFFER);
        let (stdout, output) = tokio::io::duplex(PRINTED);
        let (stderr, errors) = tokio::io::duplex(PRINTED);
        let (sender, status) = oneshot::channel();
        let input = with_stdin.then_some(input);
        let task = tokio::spawn(async move {
            let ended = tokio::select! {
                ended = receive(stream, output, errors) => ended,
                Err(error) = send(sink, input, can_close) => Err(lost(&error.to_string())),
            };
            // Nobody has to wait for it.
            let _ = sender.send(ended);
        });
        let guard = Guard(task.abort_handle());
        let stdin = with_stdin.then_some(stdin);
        Ok(ExecSession { stdin, stdout, stderr, status, guard })
    }
}

/// Reads to the end, of which not too much is kept.
async fn end_of(mut printed: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut kept = Vec::new();
    // What breaks off has no more to say.
    while let Ok(n) = printed.read_buf(&mut kept).await
        && n > 0
    {
        let n_too_many = kept.len().saturating_sub(PRINTED);
        kept.drain(..n_too_many);
    }
    kept
}

/// Passes the input on, then waits: only the other side ends a session.
async fn send(
    mut sink: impl Outgoing,
    input: Option<DuplexStream>,
    can_close: bool,
) -> Result<(), StreamError> {
    if let Some(input) = input {
        let mut messages = Messages::new(input, STDIN);
        while let Some(message) = messages.next().await? {
            sink.send(message).await?;
        }
        if can_close {
            sink.send(vec![CLOSE, STDIN]).await?;
        } else {
            sink.close().await?;
        }
    }
    std::future::pending().await
}

/// Passes the output on; the answer is the exit code.
async fn receive(
    mut stream: impl Incoming,
    mut stdout: DuplexStream,
    mut stderr: DuplexStream,
) -> Result<i32, KubernetesError> {
    while let Some(message) = stream.next().await {
        let message = message.map_err(|it| lost(&it.to_string()))?;
        let Some((channel, data)) = message.split_first() else { continue };
        // Output that nobody reads is thrown away, as by a program that closed its end.
        match *channel {
            STDOUT => drop(stdout.write_all(data).await),
            STDERR => drop(stderr.write_all(data).await),
            STATUS => return exit_code(&message.slice(1..)),
            _ => {}
        }
    }
    Err(lost("the connection was lost"))
}

/// The exit code that a status tells.
fn exit_code(status: &Bytes) -> Result<i32, KubernetesError> {
    let status: Status = serde_json::from_slice(status).map_err(|it| failed(&it.to_string()))?;
    if status.status.as_deref() == Some("Success") {
        return Ok(0);
    }
    if status.reason.as_deref() == Some("NonZeroExitCode") {
        let causes = status.details.and_then(|it| it.causes).into_iter().flatten();
        let mut codes = causes.filter(|it| it.reason.as_deref() == Some("ExitCode"));
        let code = codes.next().and_then(|it| it.message?.parse().ok());
        return code.ok_or_else(|| failed("the exit code is unknown"));
    }
    let message = status.message.filter(|it| !it.is_empty());
    Err(KubernetesError::Request(message.unwrap_or_else(|| "unknown server failure".to_owned())))
}

fn lost(why: &str) -> KubernetesError {
    KubernetesError::Lost(why.to_owned())
}

fn failed(why: &str) -> KubernetesError {
    KubernetesError::Request(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_a_long_output_the_end_is_kept() {
        let printed = [vec![b'x'; 5 * PRINTED], b"the error".to_vec()].concat();
        let kept = end_of(printed.as_slice()).await;
        assert_eq!(kept.len(), PRINTED);
        assert!(kept.ends_with(b"xthe error") && kept.capacity() < 4 * PRINTED);
        assert_eq!(end_of(&b"short"[..]).await, b"short");
    }

    #[test]
    fn exit_codes_are_read_from_the_status() {
        for (status, expected) in [
            (r#"{"status":"Success"}"#, Ok(0)),
            (
                r#"{"status":"Failure","reason":"NonZeroExitCode","message":"command terminated",
                   "details":{"causes":[{"reason":"ExitCode","message":"3"}]}}"#,
                Ok(3),
            ),
            (r#"{"status":"Failure","message":"no such file"}"#, Err(failed("no such file"))),
            (r#"{"status":"Failure"}"#, Err(failed("unknown server failure"))),
        ] {
            assert_eq!(exit_code(&Bytes::from(status)), expected, "{status}");
        }
    }
}
