//! The engine's side: how a guard is started.

use std::{
    ffi::OsStr,
    io::{self, PipeReader, PipeWriter},
    os::unix::{net::UnixStream, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use super::{Lifetime, NAME, wire::Job};
use crate::platform::{self, Form};

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

/// A guard that waits for its first order.
#[derive(Debug)]
pub(crate) struct Spawned<C> {
    pub(crate) child: C,
    pub(crate) control: UnixStream,
}

/// Starts a guard in the directory and with the environment that its command is to have; without
/// an environment, with this process's.
///
/// # Errors
/// If it cannot be started, or not there.
pub(crate) fn spawn<C>(
    dir: Option<&Path>,
    env: Option<&[(String, String)]>,
    outputs: Outputs,
    spawn: impl FnOnce(Command) -> io::Result<C>,
) -> io::Result<Spawned<C>> {
    let setup = setup();
    let (control, theirs) = UnixStream::pair()?;
    let mut command = Command::new(&setup.program);
    command.arg0(OsStr::new(NAME.to_str().unwrap_or_default())).arg(setup.form.name());
    if let Some(dir) = dir {
        command.current_dir(dir);
    }
    if let Some(env) = env {
        command.env_clear().envs(env.iter().map(|(name, value)| (name, value)));
    }
    let (stdout, stderr) = match outputs {
        Outputs::Merged(writer) => (writer.try_clone()?, writer),
        Outputs::Apart(stdout, stderr) => (stdout, stderr),
    };
    command.stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)));
    command.stdout(stdout).stderr(stderr);
    Ok(Spawned { child: spawn(command)?, control })
}

impl Job {
    /// What a guard of this process is to start.
    ///
    /// # Errors
    /// If an argument contains a zero byte, which the system cannot pass on.
    pub(crate) fn new(lifetime: Lifetime, program: &str, argv: &[String]) -> io::Result<Self> {
        if program.contains('\0') || argv.iter().any(|it| it.contains('\0')) {
            return Err(io::Error::from_raw_os_error(nix::errno::Errno::EINVAL as i32));
        }
        Ok(Self {
            lifetime,
            has_input: false,
            open_files: setup().open_files,
            program: program.to_owned(),
            argv: argv.to_vec(),
        })
    }
}
