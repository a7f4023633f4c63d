//! Starts a program as the leader of a session of its own.

use std::{
    convert::Infallible,
    ffi::{CString, OsStr},
    io,
    os::unix::{ffi::OsStrExt, process::CommandExt},
    process::{Child, Command, Stdio},
};

use nix::unistd::{execve, setsid};

use super::{Form, limits};

/// What a process becomes.
#[derive(Debug)]
pub(crate) struct Image {
    path: CString,
    argv: Vec<CString>,
    env: Vec<CString>,
}

impl Image {
    /// A program with its arguments and the environment of this process.
    ///
    /// # Errors
    /// If something contains a zero byte, which the system cannot pass on.
    pub(crate) fn new<S: AsRef<OsStr>>(program: &OsStr, argv: &[S]) -> io::Result<Self> {
        let text = |it: &OsStr| CString::new(it.as_bytes()).map_err(io::Error::from);
        let env = std::env::vars_os().map(|(mut name, value)| {
            name.push("=");
            name.push(value);
            text(&name)
        });
        Ok(Self {
            path: text(program)?,
            argv: argv.iter().map(|it| text(it.as_ref())).collect::<io::Result<_>>()?,
            env: env.collect::<io::Result<_>>()?,
        })
    }

    /// Becomes it, without the help of a shell that `execvp` would ask for.
    fn exec(&self) -> io::Result<Infallible> {
        Ok(execve(&self.path, &self.argv, &self.env)?)
    }
}

/// Starts a program in a session of its own, with the outputs of this process.
///
/// # Errors
/// If it cannot be started, with the reason of the system.
#[expect(unsafe_code, reason = "only a hook between fork and exec can make a session")]
pub(crate) fn start_in_session(
    image: Image,
    form: Form,
    stdin: Stdio,
    open_files: Option<u64>,
) -> io::Result<Child> {
    // The name is never used: the hook becomes the program, or fails.
    let mut command = Command::new("/");
    command.stdin(stdin);
    let hook = move || {
        setsid()?;
        form.die_with_parent();
        limits::restore_open_files(open_files);
        match image.exec()? {}
    };
    // SAFETY: only guards call this. They have one thread, so no lock, not even that of the
    // allocator, can be held by a thread that the fork leaves behind.
    unsafe { command.pre_exec(hook) };
    command.spawn()
}
