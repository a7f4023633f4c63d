//! A helper that runs in a container, and the stream to it: each batch is one message there and one back.

use std::{fmt, pin::Pin, time::Duration};

use engine_core::live_update::{ContainerCommand, RunEnd};
use engine_docker::DockerError;
use engine_helper::{
    carried,
    protocol::{
        Decoder, Message, ProtocolError, Refusal, Reply, Request, RunEnd as Ended, VERSION,
    },
};
use engine_kubernetes::KubernetesError;
use futures_util::{Stream, StreamExt, future};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::{mpsc, oneshot},
};

use super::{batch::Piece, commands, helper_image::HelperImageError, tail::Tail};
use crate::{
    exec::Text,
    logs::{Level, LogWriter},
};

/// How the helper is called in containers, for as long as it takes to start it.
pub(super) const HELPER: &str = ".engine-helper";

/// Longer than any container needs to start a small program, even on a busy machine.
pub(super) const START: Duration = Duration::from_secs(20);

/// Longer than a few files take to be in place after all of them were sent.
const ANSWER: Duration = Duration::from_secs(10);

/// How long it may take until a piece is accepted at all.
const ACCEPTED: Duration = Duration::from_secs(30);

/// What is under way in buffers moves on with at least so many bytes in a second.
const SLOWEST: u64 = 256 * 1024;

/// Why there is no stream, or no longer one.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    #[error(transparent)]
    Docker(#[from] DockerError),
    #[error(transparent)]
    Kubernetes(#[from] KubernetesError),
    #[error(transparent)]
    Image(#[from] HelperImageError),
    #[error("the containers of the pod share their processes")]
    SharedProcesses,
    #[error("{}", carried::how_to_build(.0))]
    NotCarried(String),
    #[error("no place in the container is writable, so no program can be put there")]
    NoPlace,
    #[error("the helper did not answer in time")]
    Slow,
    #[error("the helper ended: {0}")]
    Ended(String),
    #[error("unexpected answer from the helper: {0}")]
    Protocol(#[from] ProtocolError),
}

impl SessionError {
    /// Whether nothing is known of the container, as its cluster does not answer.
    pub(super) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Kubernetes(KubernetesError::Unreachable(_)))
    }

    /// Whether only the connection broke off.
    pub(super) fn is_disconnect(&self) -> bool {
        matches!(self, Self::Kubernetes(KubernetesError::Lost(_)))
    }
}

/// How a batch went.
#[derive(Debug, Default)]
pub(super) struct BatchReply {
    /// The first that could not be put in place, in words.
    pub(super) refused: Option<(Refusal, String)>,
    /// Whether there is anything that the container does not allow.
    pub(super) is_denied: bool,
    /// Whether something is not there any more that was sent before.
    pub(super) has_missing: bool,
    /// Which command was the last to run, and how it ended, if any has run.
    pub(super) ended: Option<(usize, RunEnd)>,
}

/// A helper that serves.
pub(super) struct Session {
    input: Input,
    output: Answers,
    decoder: Decoder,
    /// What the helper or the runtime said beside the stream.
    complaint: Tail,
    leaves_runs: bool,
    leaves_file: bool,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

/// Something that the helper, or whoever starts it, printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Printed {
    /// Whether it was written to standard error.
    pub(super) is_stderr: bool,
    /// What was written.
    pub(super) bytes: Vec<u8>,
}

/// The way to a helper.
pub(super) type Input = Pin<Box<dyn AsyncWrite + Send>>;

/// The way back.
pub(super) type Answers = Pin<Box<dyn Stream<Item = Result<Printed, SessionError>> + Send>>;

impl Session {
    /// Greets a helper that has just been started from a file of its container, if that is to be tidied up.
    pub(super) async fn begin(
        input: Input,
        output: Answers,
        path: Option<&str>,
        leaves_runs: bool,
    ) -> Result<Self, SessionError> {
        let (decoder, complaint) = (Decoder::default(), Tail::default());
        let mut session =
            Self { input, output, decoder, complaint, leaves_runs, leaves_file: false };
        let mut bytes = Vec::new();
        Request::Hello(VERSION).encode(&mut bytes);
        Request::Root(b"/".to_vec()).encode(&mut bytes);
        // A program that runs needs no file, and people should not find ours.
        if let Some(path) = path {
            let path = path.trim_start_matches('/').as_bytes().to_vec();
            Request::Delete(path).encode(&mut bytes);
        }
        Request::Commit.encode(&mut bytes);
        let ((), greeted) = future::join(write(&mut session.input, &bytes), async {
            loop {
                match receive(&mut session.output, &mut session.decoder, &mut session.complaint)
                    .await?
                {
                    Reply::Done { .. } => return Ok(()),
                    Reply::Broken(reason) => return Err(SessionError::Ended(reason)),
                    Reply::Refused { .. } => session.leaves_file = true,
                    Reply::Hello(version) if version != VERSION => {
                        return Err(SessionError::Ended(format!("it speaks version {version}")));
                    }
                    _ => {}
                }
            }
        })
        .await;
        greeted.map(|()| session)
    }

    /// Whether commands are not run by the helper, which is not who the container is.
    pub(super) fn leaves_runs(&self) -> bool {
        self.leaves_runs
    }

    /// Whether the file that the helper was started from is still there, as its user may not remove it.
    pub(super) fn leaves_file(&self) -> bool {
        self.leaves_file
    }

    /// Passes a batch on, with the commands that follow if all of it is there, and waits for the answer.
    pub(super) async fn update(
        &mut self,
        pieces: &mut mpsc::Receiver<Piece>,
        runs: &[ContainerCommand],
        log: &LogWriter,
    ) -> Result<BatchReply, SessionError> {
        let Self { input, output, decoder, complaint, .. } = self;
        let (written, is_written) = oneshot::channel();
        let writing = async {
            let n_bytes = pass_on(input, pieces, runs).await;
            let _ = written.send(n_bytes);
        };
        let reading = async {
            let mut silence = std::pin::pin!(async {
                let n_bytes = is_written.await.unwrap_or_default();
                tokio::time::sleep(ANSWER + Duration::from_secs(n_bytes / SLOWEST)).await;
            });
            let mut is_running = false;
            let mut answer = BatchReply::default();
            let mut text = Text::default();
            let mut show = |it: &str| log.write(Level::Info, it);
            loop {
                let reply = tokio::select! {
                    reply = receive(output, decoder, complaint) => reply?,
                    // Commands take as long as they take.
                    () = &mut silence, if !is_running => return Err(SessionError::Slow),
                };
                match reply {
                    Reply::Hello(_) => {}
                    Reply::Refused { refusal, message, .. } => {
                        answer.is_denied |= refusal == Refusal::Denied;
                        // A container may refuse whatever it is asked for, without an end.
                        answer.refused.get_or_insert((refusal, message));
                    }
                    Reply::Missing { .. } => answer.has_missing = true,
                    Reply::Begins { run } => {
                        is_running = true;
                        commands::announce(runs, index(run), log);
                    }
                    Reply::Output(bytes) => text.take(&bytes, &mut show),
                    Reply::Ran { run, end } => answer.ended = Some((index(run), run_end(end))),
                    Reply::Done { .. } => return Ok(answer),
                    Reply::Broken(reason) => return Err(SessionError::Ended(reason)),
                }
            }
        };
        // What cannot be written shows in what is read: nothing.
        future::join(writing, reading).await.1
    }
}

/// Writes a batch as it comes. Its end goes together with the last piece, so that a small one is one message. The
/// answer is how many bytes there were.
async fn pass_on(
    input: &mut Input,
    pieces: &mut mpsc::Receiver<Piece>,
    runs: &[ContainerCommand],
) -> u64 {
    let mut bytes = Vec::new();
    let mut n_bytes = 0;
    while let Some(piece) = pieces.recv().await {
        let Piece::Messages(messages) = piece else {
            for run in runs {
                let argv = run.argv.iter().map(|it| it.as_bytes().to_vec()).collect();
                Request::Run(argv).encode(&mut bytes);
            }
            break;
        };
        if !bytes.is_empty() {
            n_bytes += bytes.len();
            write(input, &bytes).await;
            bytes.clear();
        }
        bytes.extend_from_slice(&messages);
    }
    Request::Commit.encode(&mut bytes);
    n_bytes += bytes.len();
    write(input, &bytes).await;
    u64::try_from(n_bytes).unwrap_or(u64::MAX)
}

/// Writes to the helper. One that is gone is noticed by whoever waits for its answer.
async fn write(input: &mut Input, bytes: &[u8]) {
    // A connection that is dead without knowing it takes some bytes, and then none.
    let _ = tokio::time::timeout(ACCEPTED, async {
        if input.write_all(bytes).await.is_ok() {
            let _ = input.flush().await;
        }
    })
    .await;
}

/// The next message of the helper.
async fn receive(
    output: &mut Answers,
    decoder: &mut Decoder,
    complaint: &mut Tail,
) -> Result<Reply, SessionError> {
    loop {
        if let Some(reply) = decoder.decode()? {
            return Ok(reply);
        }
        match output.next().await {
            Some(Ok(output)) if output.is_stderr => {
                complaint.push(&output.bytes);
            }
            Some(Ok(output)) => decoder.push(&output.bytes),
            Some(Err(error)) => return Err(error),
            None => return Err(SessionError::Ended(complaint.text())),
        }
    }
}

fn index(run: u32) -> usize {
    usize::try_from(run).unwrap_or(usize::MAX)
}

fn run_end(end: Ended) -> RunEnd {
    match end {
        Ended::Exited(code) => RunEnd::Exited(code),
        Ended::Signaled(signal) => RunEnd::Exited(128 + signal),
        Ended::NotStarted => RunEnd::NotStarted,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;
    use crate::deploy::live_update::tail::KEPT_MAX;

    #[tokio::test]
    async fn of_what_a_container_says_beside_its_answers_the_end_is_kept() {
        let printed = |bytes: Vec<u8>| Ok(Printed { is_stderr: true, bytes });
        let noise = stream::iter((0..100).map(move |_| printed(vec![b'x'; KEPT_MAX / 2])));
        let last = stream::iter([printed(b" the error\n".to_vec())]);
        let mut output: Answers = Box::pin(noise.chain(last));
        let (mut decoder, mut complaint) = (Decoder::default(), Tail::default());
        match receive(&mut output, &mut decoder, &mut complaint).await {
            Err(SessionError::Ended(words)) => {
                assert!(words.len() <= KEPT_MAX && words.ends_with("x the error"));
            }
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn an_answer_that_claims_to_be_huge_is_not_waited_for() {
        let bytes = vec![b'O', 0, 0, 0x0f, 0];
        let mut output: Answers = Box::pin(stream::iter([Ok(Printed { is_stderr: false, bytes })]));
        let (mut decoder, mut complaint) = (Decoder::default(), Tail::default());
        let received = receive(&mut output, &mut decoder, &mut complaint).await;
        assert!(matches!(received, Err(SessionError::Protocol(ProtocolError::TooLong))));
    }
}
