//! Runs one command to its end, or until the evaluation is cancelled.

use std::{
    collections::HashMap,
    io::{Read, Write},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError, SyncSender},
    },
    thread,
    time::{Duration, Instant},
};

use super::{Command, Launcher, Output, Process, RunError};

/// How often a silent command is checked for cancellation.
const POLL: Duration = Duration::from_millis(20);

/// How much a command may print.
pub(super) const MAX_OUTPUT: usize = 512 << 20;

/// How much input is passed on at once.
const INPUT_CHUNK: usize = 64 << 10;

/// The commands that are running.
#[derive(Default)]
pub(super) struct Running {
    processes: Mutex<HashMap<u64, Arc<dyn Process>>>,
    n_started: AtomicU64,
}

impl Running {
    /// Kills all of them, with everything they started.
    pub(super) fn kill(&self) {
        for process in self.lock().values() {
            process.kill();
        }
    }

    fn add(&self, process: Box<dyn Process>) -> Member<'_> {
        let id = self.n_started.fetch_add(1, Ordering::Relaxed);
        let process: Arc<dyn Process> = process.into();
        self.lock().insert(id, Arc::clone(&process));
        Member { running: self, id, process }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<dyn Process>>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the commands that are running.
struct Member<'a> {
    running: &'a Running,
    id: u64,
    process: Arc<dyn Process>,
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        self.running.lock().remove(&self.id);
    }
}

/// What a run depends on, besides its command.
pub(super) struct Context<'a> {
    pub(super) launcher: &'a dyn Launcher,
    pub(super) running: &'a Running,
    pub(super) canceled: &'a AtomicBool,
    /// How long it may take.
    pub(super) limit: Option<Duration>,
}

type Chunk = (Output, Vec<u8>);

pub(super) fn run(
    program: &str,
    command: &Command,
    output: &mut dyn FnMut(Output, &[u8]),
    context: &Context<'_>,
) -> Result<i32, RunError> {
    let started = Instant::now();
    std::fs::metadata(&command.dir).map_err(RunError::Directory)?;
    let launched = context.launcher.launch(program, command);
    let launched =
        launched.map_err(|source| RunError::Start { path: program.to_owned(), source })?;
    let member = context.running.add(launched.process);
    let (sender, chunks) = mpsc::sync_channel::<Chunk>(16);
    forward(launched.stdout, Output::Stdout, &sender);
    forward(launched.stderr, Output::Stderr, &sender);
    drop(sender);
    feed(launched.stdin, command.stdin.clone());

    let mut n_bytes = 0;
    loop {
        let stop = if context.canceled.load(Ordering::Relaxed) {
            Some(RunError::Canceled)
        } else if n_bytes > MAX_OUTPUT {
            Some(RunError::TooMuchOutput)
        } else {
            context.limit.filter(|it| started.elapsed() >= *it).map(RunError::TooLong)
        };
        if let Some(why) = stop {
            member.process.kill();
            member.process.wait().map_err(RunError::Io)?;
            return Err(why);
        }
        match chunks.recv_timeout(POLL) {
            Ok((which, bytes)) => {
                n_bytes += bytes.len();
                output(which, &bytes);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    // As in Go, a command that a signal ended has no exit code.
    Ok(member.process.wait().map_err(RunError::Io)?.unwrap_or(-1))
}

/// Sends what a pipe yields until it is closed by all who hold it.
fn forward(mut pipe: Box<dyn Read + Send>, which: Output, sender: &SyncSender<Chunk>) {
    let sender = sender.clone();
    thread::spawn(move || {
        let mut buffer = vec![0; 32 * 1024];
        while let Ok(n_bytes) = pipe.read(&mut buffer) {
            if n_bytes == 0 || sender.send((which, buffer[..n_bytes].to_vec())).is_err() {
                break;
            }
        }
    });
}

fn feed(pipe: Option<Box<dyn Write + Send>>, input: Option<Vec<u8>>) {
    if let (Some(mut pipe), Some(input)) = (pipe, input) {
        // A command that does not read its input is no error.
        thread::spawn(move || input.chunks(INPUT_CHUNK).try_for_each(|it| pipe.write_all(it)));
    }
}
