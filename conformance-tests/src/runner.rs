//! Ways to evaluate a case. Each gives the same kind of outcome.

use std::{
    env,
    io::{self, Read},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use crate::{
    case::Case,
    extensions, in_process,
    outcome::{Outcome, order_compose, unreadable},
    sandbox::Sandbox,
    scrub::Scrubber,
};

/// What evaluates a case.
#[derive(Clone, Debug)]
pub enum Runner {
    /// A program with Tilt's command line, which is killed with all it started after the time limit.
    Binary {
        /// The program.
        path: PathBuf,
        /// How long it may take.
        time_limit: Duration,
    },
    /// The evaluation library, in this process. The program stands for `sys.argv` and `sys.executable`.
    InProcess {
        /// The program that would have been run.
        stands_for: PathBuf,
    },
}

/// Whether what the Tiltfile prints is shown when evaluation succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// With `-v`.
    Verbose,
    /// Without `-v`.
    Quiet,
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The program did not end in time.
    #[error("no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The program could not be started.
    #[error("cannot run `{}`: {cause}", .path.display())]
    CannotStart {
        /// The program.
        path: PathBuf,
        /// The system's answer.
        cause: io::Error,
    },
    /// The case could not be prepared or read.
    #[error("cannot prepare the case: {0}")]
    CannotPrepare(#[from] io::Error),
    /// A line of the case's `mask` file is no pattern.
    #[error("bad mask: {0}")]
    BadMask(#[from] Box<fancy_regex::Error>),
}

/// The answer of a process, before normalization.
pub(crate) struct Answer {
    pub(crate) exit_code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Runner {
    /// A runner for a program, with the time limit that recording uses.
    pub fn binary(path: PathBuf) -> Self {
        Self::Binary { path, time_limit: Duration::from_mins(2) }
    }

    /// Evaluates a fresh copy of a case.
    pub fn run(&self, case: &Case, verbosity: Verbosity) -> Result<Outcome, RunError> {
        let sandbox = Sandbox::new(case)?;
        let (answer, binary) = match self {
            Self::Binary { path, time_limit } => {
                let command = command(path, &sandbox, verbosity);
                (answer_of(command, path, *time_limit)?, Some(path.as_path()))
            }
            Self::InProcess { stands_for } => {
                (in_process::evaluate(&sandbox, verbosity, stands_for), Some(stands_for.as_path()))
            }
        };
        let scrubber = Scrubber::new(&sandbox, binary, &case.masks()?)?;
        let mut outcome = normalized(&answer, &scrubber);
        if case.uses_extensions()
            && let Some(value) = &mut outcome.value
        {
            extensions::normalize(value);
        }
        Ok(outcome)
    }
}

/// The engine that was built beside the running test, unless `ENGINE_BIN` names another.
///
/// Cargo builds the programs of other packages only when asked, so the file may be missing.
pub fn engine_binary() -> Result<PathBuf, RunError> {
    let named = env::var_os("ENGINE_BIN").filter(|it| !it.is_empty());
    let found = if let Some(path) = named {
        PathBuf::from(path)
    } else {
        let test = env::current_exe()?;
        let mut dirs = test.ancestors().skip(1).skip_while(|dir| dir.ends_with("deps"));
        dirs.next().unwrap_or(Path::new(".")).join("engine")
    };
    found.canonicalize().map_err(|cause| RunError::CannotStart { path: found, cause })
}

fn command(path: &Path, sandbox: &Sandbox, verbosity: Verbosity) -> Command {
    let mut command = Command::new(path);
    command.args(["alpha", "tiltfile-result"]);
    if verbosity == Verbosity::Verbose {
        command.arg("-v");
    }
    command.args(["-f", "Tiltfile"]);
    if let Some(args) = &sandbox.args {
        command.arg("--").args(args);
    }
    command
        .current_dir(&sandbox.work)
        .env_clear()
        .envs(&sandbox.env)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    command
}

/// One of the three things a process leaves behind.
enum Part {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    Exit(io::Result<ExitStatus>),
}

/// Runs a command that leads its own process group, and kills the group if it takes too long.
fn answer_of(mut command: Command, path: &Path, limit: Duration) -> Result<Answer, RunError> {
    let deadline = Instant::now() + limit;
    let mut child =
        command.spawn().map_err(|cause| RunError::CannotStart { path: path.to_owned(), cause })?;
    let group = Pid::from_raw(child.id().cast_signed());
    let (sender, parts) = mpsc::channel();
    collect(child.stdout.take(), Part::Stdout, &sender);
    collect(child.stderr.take(), Part::Stderr, &sender);
    wait(child, sender);

    let (mut stdout, mut stderr, mut status) = (Vec::new(), Vec::new(), None);
    for _ in 0..3 {
        match parts.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Part::Stdout(bytes)) => stdout = bytes,
            Ok(Part::Stderr(bytes)) => stderr = bytes,
            Ok(Part::Exit(exit)) => status = Some(exit?),
            Err(RecvTimeoutError::Timeout) => {
                // The group may be gone already, if only a stranger still holds a pipe.
                let _gone = killpg(group, Signal::SIGKILL);
                return Err(RunError::TimedOut(limit));
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = status.ok_or_else(|| io::Error::other("the process was not awaited"))?;
    let exit_code = status.code().unwrap_or_else(|| -status.signal().unwrap_or(1));
    Ok(Answer { exit_code, stdout, stderr })
}

fn collect(
    stream: Option<impl Read + Send + 'static>,
    part: fn(Vec<u8>) -> Part,
    to: &Sender<Part>,
) {
    let to = to.clone();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            // What was read before an error still helps to see what went wrong.
            let _partial = stream.read_to_end(&mut bytes);
        }
        let _abandoned = to.send(part(bytes));
    });
}

fn wait(mut child: Child, to: Sender<Part>) {
    thread::spawn(move || {
        let _abandoned = to.send(Part::Exit(child.wait()));
    });
}

fn normalized(answer: &Answer, scrubber: &Scrubber) -> Outcome {
    let value = (answer.exit_code == 0).then(|| match serde_json::from_slice(&answer.stdout) {
        Ok(value) => {
            let mut value = scrubber.result(value);
            order_compose(&mut value);
            value
        }
        Err(error) => unreadable(&error),
    });
    let stderr = scrubber.log(&String::from_utf8_lossy(&answer.stderr));
    Outcome { exit_code: answer.exit_code, value, stderr }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<Answer, RunError> {
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        answer_of(command, Path::new("sh"), limit)
    }

    #[test]
    fn an_answer_has_both_streams_and_the_exit_code() {
        let answer = shell("echo out; echo err >&2; exit 5", Duration::from_mins(1)).unwrap();
        assert_eq!(
            (answer.exit_code, &*answer.stdout, &*answer.stderr),
            (5, &b"out\n"[..], &b"err\n"[..])
        );
    }

    #[test]
    fn a_signal_is_a_negative_exit_code() {
        assert_eq!(shell("kill -9 $$", Duration::from_mins(1)).unwrap().exit_code, -9);
    }

    #[test]
    fn children_that_outlive_the_limit_are_killed_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        // The grandchild holds the writing end, so reading to the end returns once it is dead.
        let script = format!("exec 3>'{0}'; sleep 1000 & wait", pipe.display());
        let reader = thread::spawn(move || std::fs::read(pipe));
        assert!(matches!(shell(&script, Duration::from_millis(200)), Err(RunError::TimedOut(_))));
        assert!(reader.join().unwrap().unwrap().is_empty());
    }
}
