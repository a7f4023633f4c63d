//! What differs between operating systems; nothing outside this module asks which one it runs on.
//!
//! There are two forms: one that uses what only Linux has, and one that every POSIX system has.
//! Both are compiled and tested on Linux.

use std::{io, iter, path::PathBuf};

use nix::unistd::Pid;

pub mod code;
pub(crate) mod descriptors;
mod limits;
#[cfg(target_os = "linux")]
mod linux;
mod peers;
mod posix;
mod session;

pub(crate) use limits::restore_open_files;
pub use limits::{max_open_files, raise_open_files};
pub use peers::{TELLS_PEERS, peer_user};
pub(crate) use session::{Image, copy_process, start_in_session, wait_for_any};

/// How the guard of a command does its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// With subreapers and `/proc`.
    #[cfg(target_os = "linux")]
    Linux,
    /// With what POSIX offers; processes that leave both their parent and their group are lost.
    Posix,
}

impl Form {
    /// The best form for this machine.
    #[cfg(target_os = "linux")]
    pub const NATIVE: Self = Self::Linux;
    /// The best form for this machine.
    #[cfg(not(target_os = "linux"))]
    pub const NATIVE: Self = Self::Posix;

    /// The name on a guard's command line.
    pub fn name(self) -> &'static str {
        match self {
            #[cfg(target_os = "linux")]
            Self::Linux => "linux",
            Self::Posix => "posix",
        }
    }

    /// The form with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::NATIVE, Self::Posix].into_iter().find(|it| it.name() == name)
    }

    /// Makes orphans among the descendants children of this process, where that is possible.
    pub(crate) fn adopt_orphans(self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Linux => linux::adopt_orphans(),
            Self::Posix => {}
        }
    }

    /// Whether orphans become children of this process, so that their end is noticed.
    pub(crate) fn adopts_orphans(self) -> bool {
        self != Self::Posix
    }

    /// Sets the name that tools such as `killall` go by, where it differs from `argv[0]`.
    pub(crate) fn set_process_name(self, name: &std::ffi::CStr) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Linux => linux::set_process_name(name),
            // It goes by `argv[0]` there.
            Self::Posix => _ = name,
        }
    }

    /// The processes that this one has started, or has adopted, and not yet waited for.
    pub(crate) fn children(self) -> Vec<Pid> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Linux => linux::children(Pid::this()),
            Self::Posix => Vec::new(),
        }
    }

    /// The children of another process, where that is known.
    pub(crate) fn children_of(self, pid: Pid) -> Vec<Pid> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Linux => linux::children(pid),
            Self::Posix => {
                let _ = pid;
                Vec::new()
            }
        }
    }

    /// A child, and everything below it, where that is known.
    pub(crate) fn tree(self, child: Pid) -> Vec<Pid> {
        let below = match self {
            #[cfg(target_os = "linux")]
            Self::Linux => linux::descendants(child),
            Self::Posix => Vec::new(),
        };
        iter::once(child).chain(below).collect()
    }

    /// Everything below this process, in the given process group, or below one of these processes.
    ///
    /// # Errors
    /// If the system does not tell.
    pub(crate) fn descendants(self, group: Pid, known: &[Pid]) -> io::Result<Vec<Pid>> {
        match self {
            // All of them are below this process: orphans are adopted.
            #[cfg(target_os = "linux")]
            Self::Linux => Ok(linux::descendants(Pid::this())),
            Self::Posix => posix::descendants(Pid::this(), group, known),
        }
    }
}

/// The program that runs now, in a way that survives its replacement on disk.
///
/// # Errors
/// If the system does not tell.
pub fn own_program() -> io::Result<PathBuf> {
    #[cfg(target_os = "linux")]
    return Ok(PathBuf::from("/proc/self/exe"));
    #[cfg(not(target_os = "linux"))]
    std::env::current_exe()
}

/// The words for a signal that ended a process, as Go has them on this system.
pub fn signal_text(signal: i32) -> String {
    // Each line is a signal, from 1 on: what it is called on Linux, and on the BSDs and macOS.
    let mut lines = include_str!("platform/signals.txt").lines();
    let line = usize::try_from(signal).ok().and_then(|it| lines.nth(it.checked_sub(1)?));
    let words = line.and_then(|it| it.split_once(" | "));
    let word = words.map(|(linux, bsd)| if cfg!(target_os = "linux") { linux } else { bsd });
    word.map_or_else(|| format!("signal {signal}"), str::to_owned)
}

#[cfg(test)]
mod tests;
