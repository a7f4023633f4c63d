//! The engine's side: how the launcher is started, and asked for guards.

use std::{
    collections::BTreeMap,
    ffi::{CString, OsStr},
    io::{self, PipeReader, PipeWriter},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{ffi::OsStrExt, net::UnixStream, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use engine_model::path::to_os;
use nix::errno::Errno;

use super::{
    Lifetime, NAME,
    wire::{GuardJob, GuardOrder},
};
use crate::platform::{self, Form, descriptors};

/// How guards of this process are started.
static SETUP: OnceLock<Setup> = OnceLock::new();

#[derive(Debug)]
struct Setup {
    program: PathBuf,
    form: Form,
    /// How many files a command may open, if the engine may open more.
    open_files: Option<u64>,
}

/// Names the engine's binary, for programs that use this library and are not that binary.
///
/// Has no effect once a command was started.
pub fn use_program(program: PathBuf, form: Form) {
    SETUP.get_or_init(|| Setup { program, form, open_files: platform::raise_open_files() });
}

fn setup() -> &'static Setup {
    SETUP.get_or_init(|| Setup {
        program: platform::own_program().unwrap_or_default(),
        form: Form::NATIVE,
        open_files: platform::raise_open_files(),
    })
}

/// Where a command prints to.
#[derive(Debug)]
pub(crate) enum Outputs {
    /// Both outputs into one pipe, in the order they were written.
    Merged(PipeWriter),
    /// Standard output and standard error.
    Apart(PipeWriter, PipeWriter),
}

impl Outputs {
    /// One pipe for both outputs, and its other end.
    pub(crate) fn merged() -> io::Result<(Self, PipeReader)> {
        let (reader, writer) = io::pipe()?;
        Ok((Self::Merged(writer), reader))
    }

    /// A pipe for each output, and their other ends.
    pub(crate) fn apart() -> io::Result<(Self, PipeReader, PipeReader)> {
        let (stdout, stdout_writer) = io::pipe()?;
        let (stderr, stderr_writer) = io::pipe()?;
        Ok((Self::Apart(stdout_writer, stderr_writer), stdout, stderr))
    }
}

/// The launcher of this process, once there is one.
static LAUNCHER: Mutex<Option<Launcher>> = Mutex::new(None);

#[derive(Debug)]
struct Launcher {
    child: Child,
    requests: UnixStream,
}

impl Launcher {
    fn start() -> io::Result<Self> {
        let setup = setup();
        let (requests, theirs) = UnixStream::pair()?;
        let mut command = Command::new(&setup.program);
        command.arg0(OsStr::new(NAME.to_str().unwrap_or_default())).arg(setup.form.name());
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { child: command.spawn()?, requests })
    }

    /// Waits for a launcher that has gone.
    fn end(mut self) {
        // Nothing else is to be known of it.
        let _ = self.child.wait();
    }
}

fn launcher() -> MutexGuard<'static, Option<Launcher>> {
    LAUNCHER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the launcher now, as there will be commands.
///
/// # Errors
/// If it cannot be started.
pub fn prepare() -> io::Result<()> {
    let mut launcher = launcher();
    if launcher.is_none() {
        *launcher = Some(Launcher::start()?);
    }
    Ok(())
}

/// A guard without a command, kept for the next one.
static FREE: Mutex<Option<UnixStream>> = Mutex::new(None);

fn free() -> MutexGuard<'static, Option<UnixStream>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a guard start a command, and returns the socket to it.
///
/// # Errors
/// If there is no guard, and none can be made.
pub(crate) fn start(job: GuardJob, outputs: &Outputs) -> io::Result<UnixStream> {
    let order = GuardOrder::Start(job).encode();
    let outputs = match outputs {
        Outputs::Merged(both) => [both.as_fd(), both.as_fd()],
        Outputs::Apart(stdout, stderr) => [stdout.as_fd(), stderr.as_fd()],
    };
    let kept = free().take();
    if let Some(control) = kept
        && descriptors::send(&control, &order, &outputs).is_ok()
    {
        return Ok(control);
    }
    let control = new_guard()?;
    descriptors::send(&control, &order, &outputs)?;
    Ok(control)
}

/// Keeps a guard that has reported to be free. It ends when it is not kept.
pub(crate) fn keep(control: UnixStream) {
    *free() = Some(control);
}

/// Has the launcher make a guard, and returns the socket to it.
fn new_guard() -> io::Result<UnixStream> {
    let (control, theirs) = UnixStream::pair()?;
    let mut launcher = launcher();
    if let Some(running) = &*launcher {
        match descriptors::send(&running.requests, &[0], &[theirs.as_fd()]) {
            // Somebody has killed it; its guards have noticed, too.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            sent => return sent.map(|()| control),
        }
    }
    if let Some(killed) = launcher.take() {
        killed.end();
    }
    let started = launcher.insert(Launcher::start()?);
    descriptors::send(&started.requests, &[0], &[theirs.as_fd()])?;
    Ok(control)
}

impl GuardJob {
    /// What a guard of this process is to start.
    ///
    /// # Errors
    /// If an argument contains a zero byte, which the system cannot pass on.
    pub(crate) fn new(lifetime: Lifetime, program: &str, argv: &[String]) -> io::Result<Self> {
        Ok(Self {
            lifetime,
            has_input: false,
            open_files: setup().open_files,
            program: bytes(program)?,
            argv: argv.iter().map(|it| bytes(it)).collect::<io::Result<_>>()?,
            dir: None,
            env: None,
        })
    }

    /// The same in another directory than the engine's.
    ///
    /// # Errors
    /// If its path contains a zero byte.
    pub(crate) fn in_dir(self, dir: &Path) -> io::Result<Self> {
        Ok(Self { dir: Some(c_string(dir.as_os_str().as_bytes())?), ..self })
    }

    /// The same with another environment than the engine's; the last value of a name counts.
    ///
    /// # Errors
    /// If a value contains a zero byte.
    pub(crate) fn with_env(self, env: &[(String, String)]) -> io::Result<Self> {
        let env: BTreeMap<&str, &str> = env.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let env = env.into_iter().map(|(name, value)| bytes(&format!("{name}={value}")));
        Ok(Self { env: Some(env.collect::<io::Result<_>>()?), ..self })
    }
}

/// What a text stands for, which may be a path that is not UTF-8.
fn bytes(text: &str) -> io::Result<CString> {
    c_string(to_os(text).as_bytes())
}

fn c_string(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes).map_err(|_| Errno::EINVAL.into())
}
