//! Makes processes: copies of this one, and programs that lead a session of their own.

use std::{
    ffi::CString,
    io::{self, PipeReader},
    os::{
        fd::AsRawFd,
        unix::{ffi::OsStringExt, process::ExitStatusExt},
    },
    process::ExitStatus,
};

use nix::{
    errno::Errno,
    fcntl::OFlag,
    libc,
    spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn},
    sys::{
        signal::{SigSet, Signal},
        stat::Mode,
    },
    unistd::{ForkResult, Pid, fork},
};

/// The flag with which a program is started in a session of its own.
#[cfg(target_os = "linux")]
const SETSID: libc::c_int = libc::POSIX_SPAWN_SETSID as libc::c_int;
/// The flag with which a program is started in a session of its own, on macOS.
#[cfg(not(target_os = "linux"))]
const SETSID: libc::c_int = 0x400;

/// What a process becomes.
#[derive(Debug)]
pub(crate) struct Image {
    path: CString,
    argv: Vec<CString>,
    env: Vec<CString>,
}

impl Image {
    /// A program with its arguments, and its environment or that of this process.
    pub(crate) fn new(path: CString, argv: Vec<CString>, env: Option<Vec<CString>>) -> Self {
        Self { path, argv, env: env.unwrap_or_else(own_env) }
    }
}

fn own_env() -> Vec<CString> {
    let text = |(mut name, value): (std::ffi::OsString, std::ffi::OsString)| {
        name.push("=");
        name.push(value);
        // What the system has passed on has no zero byte.
        CString::new(name.into_vec()).ok()
    };
    std::env::vars_os().filter_map(text).collect()
}

/// Makes a copy of this process, and returns its id; nothing in the copy.
///
/// # Errors
/// If there are too many processes.
#[expect(unsafe_code, reason = "nothing else makes a process without starting a program")]
pub(crate) fn copy_process() -> io::Result<Option<Pid>> {
    // SAFETY: only the launcher calls this. It has one thread, so no lock, not even that of the
    // allocator, can be held by a thread that the copy lacks.
    Ok(match unsafe { fork() }? {
        ForkResult::Parent { child } => Some(child),
        ForkResult::Child => None,
    })
}

/// Starts a program in a session of its own, with the outputs of this process, and an input or none.
/// It is not run by a shell, whatever it is.
///
/// # Errors
/// If it cannot be started, with the reason of the system.
pub(crate) fn start_in_session(image: &Image, input: Option<&PipeReader>) -> io::Result<Pid> {
    let mut files = PosixSpawnFileActions::init()?;
    match input {
        Some(input) => files.add_dup2(input.as_raw_fd(), libc::STDIN_FILENO)?,
        None => files.add_open(libc::STDIN_FILENO, c"/dev/null", OFlag::O_RDONLY, Mode::empty())?,
    }
    let mut attributes = PosixSpawnAttr::init()?;
    let in_session = PosixSpawnFlags::from_bits_retain(SETSID);
    let with_signals =
        PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK;
    attributes.set_flags(in_session | with_signals)?;
    // The Rust runtime ignores it, which programs would inherit.
    attributes.set_sigdefault(&Signal::SIGPIPE.into())?;
    attributes.set_sigmask(&SigSet::empty())?;
    let started = posix_spawn(image.path.as_c_str(), &files, &attributes, &image.argv, &image.env);
    Ok(started?)
}

/// A child that has ended and was not waited for yet; nothing if all of them run.
///
/// # Errors
/// `ECHILD` if there are no children.
#[expect(unsafe_code, reason = "the library fails for signals that it has no name for")]
pub(crate) fn wait_for_any() -> nix::Result<Option<(Pid, ExitStatus)>> {
    let mut status = 0;
    // SAFETY: the system writes nothing but the status, which lives longer than the call.
    let pid = Errno::result(unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) })?;
    Ok((pid > 0).then(|| (Pid::from_raw(pid), ExitStatus::from_raw(status))))
}
