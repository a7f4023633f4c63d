//! A helper that runs in a container, and the stream to it: each batch is one message there and one back.

use std::{fmt, pin::Pin, time::Duration};

use engine_core::live_update::{Run, RunEnd};
use engine_docker::{Answers, Docker, DockerError, Exec, Output};
use engine_helper::{
    carried,
    protocol::{
        Decoder, Message, ProtocolError, Refusal, Reply, Request, RunEnd as Ended, VERSION,
    },
};
use futures_util::{StreamExt, future};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::mpsc,
};

use super::{batch::Piece, commands, place::Place};
use crate::{
    exec::Text,
    logs::{Level, LogWriter},
};

/// How the helper is called in containers, for as long as it takes to start it.
const NAME: &str = ".engine-helper";

/// Longer than any container needs to start a small program, even on a busy machine.
const START: Duration = Duration::from_secs(20);

/// Why there is no stream, or no longer one.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    #[error("{0}")]
    Docker(#[from] DockerError),
    #[error("{0}")]
    NotCarried(String),
    #[error("there is no place for a program in the container, as nothing in it can be written")]
    NoPlace,
    #[error("the helper did not start in time")]
    Slow,
    #[error("the helper ended: {0}")]
    Ended(String),
    #[error("the helper cannot be understood: {0}")]
    Protocol(#[from] ProtocolError),
}

/// How a batch went.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// What could not be put in place, in words, and whether the container does not allow it.
    pub(super) refused: Vec<(Refusal, String)>,
    /// Whether something is not there any more that was sent before.
    pub(super) has_missing: bool,
    /// Which command was the last to run, and how it ended, if any has run.
    pub(super) ended: Option<(usize, RunEnd)>,
}

/// A helper that serves.
pub(super) struct Session {
    input: Pin<Box<dyn AsyncWrite + Send>>,
    output: Answers<Output>,
    decoder: Decoder,
    /// What the helper or the runtime said beside the stream.
    complaint: String,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

impl Session {
    /// Puts the helper into a container and starts it, as root if that is possible.
    pub(super) async fn open(docker: &Docker, place: &Place) -> Result<Self, SessionError> {
        let arch = docker.server().await?.arch;
        let not_carried = || SessionError::NotCarried(carried::how_to_build(&arch));
        let program = carried::helper_for(&arch).ok_or_else(not_carried)?;
        let mut last = SessionError::NoPlace;
        for dir in place.dirs() {
            if let Err(error) = docker.put_program(&place.id, dir, NAME, program).await {
                last = error.into();
                continue;
            }
            for user in place.users() {
                let started = Self::start(docker, place, dir, user);
                match tokio::time::timeout(START, started).await {
                    Ok(Ok(session)) => return Ok(session),
                    Ok(Err(error)) => last = error,
                    Err(_) => last = SessionError::Slow,
                }
            }
        }
        Err(last)
    }

    async fn start(
        docker: &Docker,
        place: &Place,
        dir: &str,
        user: Option<&str>,
    ) -> Result<Self, SessionError> {
        let path = format!("{}/{NAME}", dir.trim_end_matches('/'));
        let exec = Exec {
            argv: vec![path.clone(), "serve".to_owned()],
            user: user.map(ToOwned::to_owned),
            ..Exec::default()
        };
        let attached = docker.attach(&place.id, &exec).await?;
        let (input, output) = (attached.input, attached.output);
        let complaint = String::new();
        let mut session = Self { input, output, decoder: Decoder::default(), complaint };
        // A program that runs needs no file, and people should not find ours.
        let tidy = Request::Delete(path.trim_start_matches('/').as_bytes().to_vec());
        let mut bytes = Vec::new();
        for request in
            [Request::Hello(VERSION), Request::Root(b"/".to_vec()), tidy, Request::Commit]
        {
            request.encode(&mut bytes);
        }
        let ((), greeted) = future::join(write(&mut session.input, &bytes), async {
            loop {
                match receive(&mut session.output, &mut session.decoder, &mut session.complaint)
                    .await?
                {
                    Reply::Done { .. } => return Ok(()),
                    Reply::Broken(reason) => return Err(SessionError::Ended(reason)),
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

    /// Passes a batch on, with the commands that follow if all of it is there, and waits for the answer.
    pub(super) async fn update(
        &mut self,
        pieces: &mut mpsc::Receiver<Piece>,
        runs: &[Run],
        log: &LogWriter,
    ) -> Result<Answer, SessionError> {
        let Self { input, output, decoder, complaint } = self;
        let writing = pass_on(input, pieces, runs);
        let reading = async {
            let mut answer = Answer::default();
            let mut text = Text::default();
            let mut show = |it: &str| log.write(Level::Info, it);
            loop {
                match receive(output, decoder, complaint).await? {
                    Reply::Hello(_) => {}
                    Reply::Refused { refusal, message, .. } => {
                        answer.refused.push((refusal, message));
                    }
                    Reply::Missing { .. } => answer.has_missing = true,
                    Reply::Begins { run } => {
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

/// Writes a batch as it comes. Its end goes together with the last piece, so that a small one is one message.
async fn pass_on(
    input: &mut Pin<Box<dyn AsyncWrite + Send>>,
    pieces: &mut mpsc::Receiver<Piece>,
    runs: &[Run],
) {
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.recv().await {
        let Piece::Messages(messages) = piece else {
            for run in runs {
                let argv = run.argv.iter().map(|it| it.as_bytes().to_vec()).collect();
                Request::Run(argv).encode(&mut bytes);
            }
            break;
        };
        if !bytes.is_empty() {
            write(input, &bytes).await;
            bytes.clear();
        }
        bytes.extend_from_slice(&messages);
    }
    Request::Commit.encode(&mut bytes);
    write(input, &bytes).await;
}

/// Writes to the helper. One that is gone is noticed by whoever waits for its answer.
async fn write(input: &mut Pin<Box<dyn AsyncWrite + Send>>, bytes: &[u8]) {
    if input.write_all(bytes).await.is_ok() {
        let _ = input.flush().await;
    }
}

/// The next message of the helper.
async fn receive(
    output: &mut Answers<Output>,
    decoder: &mut Decoder,
    complaint: &mut String,
) -> Result<Reply, SessionError> {
    loop {
        if let Some(reply) = decoder.decode()? {
            return Ok(reply);
        }
        match output.next().await {
            Some(Ok(output)) if output.is_stderr => {
                complaint.push_str(&String::from_utf8_lossy(&output.bytes));
            }
            Some(Ok(output)) => decoder.push(&output.bytes),
            Some(Err(error)) => return Err(error.into()),
            None => return Err(SessionError::Ended(complaint.trim().to_owned())),
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
