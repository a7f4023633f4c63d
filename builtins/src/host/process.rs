//! Runs one command until it exits or the evaluation is canceled.

use std::{
    collections::HashMap,
    io::{self, PipeReader, Read, Write},
    os::fd::AsFd,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

use super::{Command, Launcher, Output, Process, RunError};

/// How often a silent command is checked for cancellation, in milliseconds.
const CHECK_AGAIN: u8 = 20;

/// How much output is read at once.
const OUTPUT_CHUNK: usize = 32 << 10;

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

pub(super) fn run(
    program: &str,
    command: &Command,
    output: &mut dyn FnMut(Output, &[u8]),
    context: &Context<'_>,
) -> Result<i32, RunError> {
    let started = Instant::now();
    std::fs::metadata(engine_model::path::to_path(&command.dir)).map_err(RunError::Directory)?;
    let launched = context.launcher.launch(program, command);
    let launched =
        launched.map_err(|source| RunError::Start { path: program.to_owned(), source })?;
    let member = context.running.add(launched.process);
    feed(launched.stdin, command.stdin.clone());

    let mut pipes = vec![(Output::Stdout, launched.stdout), (Output::Stderr, launched.stderr)];
    let mut buffer = vec![0; OUTPUT_CHUNK];
    let mut n_bytes = 0;
    while !pipes.is_empty() {
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
        n_bytes += pass_on(&mut pipes, &mut buffer, output).map_err(RunError::Io)?;
    }
    // As in Go, a command that a signal ended has no exit code.
    Ok(member.process.wait().map_err(RunError::Io)?.unwrap_or(-1))
}

type Pipe = (Output, PipeReader);

/// Passes on what pipes yield, after a short wait for it, and returns how much that was. Drops those
/// that were closed by all who held them.
fn pass_on(
    pipes: &mut Vec<Pipe>,
    buffer: &mut [u8],
    output: &mut dyn FnMut(Output, &[u8]),
) -> io::Result<usize> {
    let mut fds: Vec<PollFd<'_>> =
        pipes.iter().map(|it| PollFd::new(it.1.as_fd(), PollFlags::POLLIN)).collect();
    match poll(&mut fds, PollTimeout::from(CHECK_AGAIN)) {
        Ok(_) => {}
        Err(Errno::EINTR) => return Ok(0),
        Err(errno) => return Err(errno.into()),
    }
    let ready: Vec<bool> = fds.iter().map(|it| it.any().unwrap_or(true)).collect();
    let (mut ready, mut n_bytes) = (ready.into_iter(), 0);
    pipes.retain_mut(|(which, pipe)| {
        if ready.next() != Some(true) {
            return true;
        }
        match pipe.read(buffer) {
            Ok(n_read @ 1..) => {
                n_bytes += n_read;
                output(*which, &buffer[..n_read]);
                true
            }
            Err(error) => error.kind() == io::ErrorKind::Interrupted,
            Ok(_) => false,
        }
    });
    Ok(n_bytes)
}

fn feed(pipe: Option<Box<dyn Write + Send>>, input: Option<Vec<u8>>) {
    if let (Some(mut pipe), Some(input)) = (pipe, input) {
        // A command that does not read its input is no error.
        thread::spawn(move || input.chunks(INPUT_CHUNK).try_for_each(|it| pipe.write_all(it)));
    }
}
