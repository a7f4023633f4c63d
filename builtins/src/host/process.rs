//! Runs one command to its end, in its own process group, until it ends or the evaluation is cancelled.

use std::{
    collections::HashSet,
    io::{Read, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, Stdio},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError, SyncSender},
    },
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use super::{Command, Output, RunError};

/// How often a silent command is checked for cancellation.
const POLL: Duration = Duration::from_millis(20);

/// How much a command may print.
pub(super) const MAX_OUTPUT: usize = 512 << 20;

/// The process groups of commands that are running.
#[derive(Debug, Default)]
pub(super) struct Groups(Mutex<HashSet<Pid>>);

impl Groups {
    /// Kills all commands that are running, with everything they started.
    pub(super) fn kill(&self) {
        for group in self.lock().iter() {
            // The group may be gone already; there is nothing else to stop then.
            let _ = killpg(*group, Signal::SIGKILL);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A group in the list of those that are running.
struct Running<'a> {
    groups: &'a Groups,
    group: Pid,
}

impl<'a> Running<'a> {
    fn new(groups: &'a Groups, child: &Child) -> Self {
        let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
        groups.lock().insert(group);
        Self { groups, group }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.groups.lock().remove(&self.group);
    }
}

type Chunk = (Output, Vec<u8>);

pub(super) fn run(
    program: &str,
    command: &Command,
    output: &mut dyn FnMut(Output, &[u8]),
    canceled: &AtomicBool,
    groups: &Groups,
    limit: Option<Duration>,
) -> Result<i32, RunError> {
    let started = Instant::now();
    let mut child = start(program, command)?;
    let running = Running::new(groups, &child);
    let (sender, chunks) = mpsc::sync_channel::<Chunk>(16);
    forward(child.stdout.take(), Output::Stdout, &sender);
    forward(child.stderr.take(), Output::Stderr, &sender);
    drop(sender);
    feed(&mut child, command.stdin.clone());

    let mut n_bytes = 0;
    loop {
        let stop = if canceled.load(Ordering::Relaxed) {
            Some(RunError::Canceled)
        } else if n_bytes > MAX_OUTPUT {
            Some(RunError::TooMuchOutput)
        } else {
            limit.filter(|it| started.elapsed() >= *it).map(RunError::TooLong)
        };
        if let Some(why) = stop {
            // The group may be gone already; there is nothing else to stop then.
            let _ = killpg(running.group, Signal::SIGKILL);
            child.wait().map_err(RunError::Io)?;
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
    let status = child.wait().map_err(RunError::Io)?;
    // As in Go, a command that a signal ended has no exit code.
    Ok(status.code().unwrap_or_else(|| status.signal().map_or(0, |_| -1)))
}

fn start(program: &str, command: &Command) -> Result<Child, RunError> {
    std::fs::metadata(&command.dir).map_err(RunError::Directory)?;
    let stdin = if command.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
    std::process::Command::new(program)
        .arg0(&command.argv[0])
        .args(&command.argv[1..])
        .current_dir(&command.dir)
        .env_clear()
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|source| RunError::Start { path: program.to_owned(), source })
}

/// Sends what a pipe yields until it is closed by all who hold it.
fn forward(pipe: Option<impl Read + Send + 'static>, which: Output, sender: &SyncSender<Chunk>) {
    let Some(mut pipe) = pipe else { return };
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

fn feed(child: &mut Child, input: Option<Vec<u8>>) {
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        // A command that does not read its input is no error.
        thread::spawn(move || drop(pipe.write_all(&input)));
    }
}
