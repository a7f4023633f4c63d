//! The calls of the system that the standard library lacks: signals, foreign children, and watched files.
//!
//! Only this and `dir.rs` are unsafe code of the helper. The C library is part of the program in any case; the
//! declarations are those of Linux on 64-bit machines, the same for musl and glibc.

#![expect(unsafe_code, reason = "the standard library has neither signals nor foreign children")]

use std::{
    ffi::{CString, c_char, c_int, c_ulong},
    fs::File,
    io,
    os::{
        fd::{FromRawFd, OwnedFd},
        unix::{ffi::OsStrExt, process::CommandExt},
    },
    path::Path,
    process::Command,
};

/// A child has ended.
pub(crate) const SIGCHLD: i32 = 17;
/// Please end.
pub(crate) const SIGTERM: i32 = 15;
/// Somebody pressed Ctrl-C.
pub(crate) const SIGINT: i32 = 2;
/// Somebody pressed Ctrl-\.
pub(crate) const SIGQUIT: i32 = 3;
/// The terminal is gone.
pub(crate) const SIGHUP: i32 = 1;
/// End, without asking.
pub(crate) const SIGKILL: i32 = 9;

/// Caused by what a process itself does (a broken instruction, a pipe, a terminal that it may not use), or
/// impossible to catch, or reserved by the C library.
const NOT_FORWARDED: [i32; 15] = [4, 5, 6, 7, SIGKILL, 8, 11, 13, 19, 20, 21, 22, 31, 32, 33];
const LAST_SIGNAL: i32 = 64;

const SIG_BLOCK: c_int = 0;
const SIG_SETMASK: c_int = 2;
const WNOHANG: c_int = 1;
const PR_SET_CHILD_SUBREAPER: c_int = 36;
const IN_CLOEXEC: c_int = 0o2_000_000;
const IN_ATTRIB: u32 = 0x4;
const IN_CLOSE_WRITE: u32 = 0x8;
const IN_MOVED_TO: u32 = 0x80;

/// `sigset_t`: room for 1024 signals.
#[repr(C)]
struct SignalSet([u64; 16]);

// SAFETY: these are the prototypes of the C library, with its types on 64-bit Linux.
unsafe extern "C" {
    fn sigemptyset(set: *mut SignalSet) -> c_int;
    fn sigaddset(set: *mut SignalSet, signal: c_int) -> c_int;
    fn pthread_sigmask(how: c_int, set: *const SignalSet, old: *mut SignalSet) -> c_int;
    fn sigwait(set: *const SignalSet, signal: *mut c_int) -> c_int;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
    fn inotify_init1(flags: c_int) -> c_int;
    fn inotify_add_watch(fd: c_int, path: *const c_char, mask: u32) -> c_int;
}

/// Signals that are waited for instead of ending or interrupting the process.
pub(crate) struct Signals(SignalSet);

impl Signals {
    /// Holds back all signals that can be waited for, in this thread and in those that it starts. Programs
    /// inherit that, unless [`hold_back_none`] says otherwise.
    pub(crate) fn block() -> Self {
        let mut set = SignalSet([0; 16]);
        // SAFETY: the set is valid for writes, and as large as the library expects.
        unsafe { sigemptyset(&raw mut set) };
        for signal in (1..=LAST_SIGNAL).filter(|it| !NOT_FORWARDED.contains(it)) {
            // SAFETY: as above; a number that is no signal is refused.
            unsafe { sigaddset(&raw mut set, signal) };
        }
        // SAFETY: the set is initialized, and the old one is not asked for.
        unsafe { pthread_sigmask(SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        Self(set)
    }

    /// Waits for the next signal.
    pub(crate) fn wait(&self) -> i32 {
        let mut signal = 0;
        loop {
            // SAFETY: the set is initialized, and the number is valid for writes.
            if unsafe { sigwait(&raw const self.0, &raw mut signal) } == 0 {
                return signal;
            }
        }
    }
}

/// A program will get all signals, although this process holds some back.
pub(crate) fn hold_back_none(command: &mut Command) {
    let release = || {
        let mut set = SignalSet([0; 16]);
        // SAFETY: the set is valid for writes and as large as the library expects, and the old one is not asked for.
        unsafe {
            sigemptyset(&raw mut set);
            pthread_sigmask(SIG_SETMASK, &raw const set, std::ptr::null_mut());
        }
        Ok(())
    };
    // SAFETY: between fork and exec, only two functions are called that a signal handler may call, too.
    unsafe { command.pre_exec(release) };
}

/// Sends a signal to a process, or to a whole group by its negative number; whether there was one.
pub(crate) fn send_signal(process: i32, signal: i32) -> bool {
    // SAFETY: no memory is involved.
    unsafe { kill(process, signal) == 0 }
}

/// Becomes the parent of all below that lose theirs, so that they can be reaped.
pub(crate) fn adopt_orphans() {
    let yes: c_ulong = 1;
    // SAFETY: no memory is involved; the option takes one number.
    unsafe { prctl(PR_SET_CHILD_SUBREAPER, yes) };
}

/// The next child that has ended, whosever it was, with its exit code: 128 and the number for a signal.
pub(crate) fn reap() -> Option<(i32, u8)> {
    let mut status = 0;
    // SAFETY: the status is valid for writes.
    let process = unsafe { waitpid(-1, &raw mut status, WNOHANG) };
    let code = match status & 0x7f {
        0 => (status >> 8) & 0xff,
        signal => 128 + signal,
    };
    (process > 0).then(|| (process, u8::try_from(code).unwrap_or(u8::MAX)))
}

/// A stream of which something can be read whenever a file in a directory was written, moved or touched.
pub(crate) fn watch_directory(dir: &Path) -> io::Result<File> {
    let path = CString::new(dir.as_os_str().as_bytes())?;
    // SAFETY: no memory is involved.
    let fd = unsafe { inotify_init1(IN_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened, and nobody else has it.
    let owned = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: the path ends with a zero, and lives until the call returns.
    let watch =
        unsafe { inotify_add_watch(fd, path.as_ptr(), IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVED_TO) };
    if watch < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(File::from(owned))
}
