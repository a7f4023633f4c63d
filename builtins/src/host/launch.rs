//! Starts the commands of Tiltfiles: as plain children, unless the host is configured otherwise.

use std::{
    io::{self, PipeReader, Write},
    os::unix::process::CommandExt,
    process::{Child, Stdio},
    sync::{Mutex, PoisonError},
};

use engine_model::path::{to_os, to_path};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use super::Command;

/// Starts commands.
pub trait Launcher: Send + Sync {
    /// Starts a command, whose program was found at this path.
    ///
    /// # Errors
    /// If the system refuses.
    fn launch(&self, program: &str, command: &Command) -> io::Result<Launched>;
}

/// A command that runs, and the ends of its pipes.
pub struct Launched {
    /// Where its input goes, if it has any.
    pub stdin: Option<Box<dyn Write + Send>>,
    /// Its standard output.
    pub stdout: PipeReader,
    /// Its standard error.
    pub stderr: PipeReader,
    /// The command itself.
    pub process: Box<dyn Process>,
}

impl std::fmt::Debug for Launched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launched").finish_non_exhaustive()
    }
}

/// A command that runs.
pub trait Process: Send + Sync {
    /// Kills it with all its descendants; safe while another thread waits for it.
    fn kill(&self);
    /// Waits for its end, once, and returns its exit code; a command that a signal ended has none.
    ///
    /// # Errors
    /// If the system refuses.
    fn wait(&self) -> io::Result<Option<i32>>;
}

/// Starts commands as plain children, each in its own process group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain;

impl Launcher for Plain {
    fn launch(&self, program: &str, command: &Command) -> io::Result<Launched> {
        let stdin = if command.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
        let (stdout, stdout_writer) = io::pipe()?;
        let (stderr, stderr_writer) = io::pipe()?;
        let mut child = std::process::Command::new(to_os(program))
            .arg0(to_os(&command.argv[0]))
            .args(command.argv[1..].iter().map(|it| to_os(it)))
            .current_dir(to_path(&command.dir))
            .env_clear()
            .envs(command.env.iter().map(|(name, value)| (to_os(name), to_os(value))))
            .stdin(stdin)
            .stdout(stdout_writer)
            .stderr(stderr_writer)
            .process_group(0)
            .spawn()?;
        Ok(Launched {
            stdin: child.stdin.take().map(|it| Box::new(it) as _),
            stdout,
            stderr,
            process: Box::new(Group::new(child)),
        })
    }
}

/// A plain child that leads a process group.
struct Group {
    child: Mutex<Child>,
    id: Pid,
}

impl Group {
    fn new(child: Child) -> Self {
        let id = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
        Self { child: Mutex::new(child), id }
    }
}

impl Process for Group {
    fn kill(&self) {
        // The group may be gone already; there is nothing else to stop then.
        let _ = killpg(self.id, Signal::SIGKILL);
    }

    fn wait(&self) -> io::Result<Option<i32>> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        child.wait().map(|it| it.code())
    }
}
