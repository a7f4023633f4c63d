//! The outside world for a Tiltfile: files, environment, commands, the log.
//!
//! Evaluation has access only through [`Host`]; [`OsHost`] is this machine, tests may use another one. Paths are
//! strings, as in Tiltfiles, even if they are not UTF-8 (`engine_model::path`). Errors are those of the operating
//! system; callers word them.

use std::{io, time::Duration};

mod file;
mod launch;
mod os;
mod process;
mod scratch;

pub use launch::{Launched, Launcher, Process};
pub use os::OsHost;
pub(crate) use os::add_git_defaults;
pub use scratch::{Scratch, remove_left, sweep, temp_dir};

/// How loud a line of the log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For debugging the engine.
    Debug,
    /// What a Tiltfile prints.
    Info,
    /// Warnings that users should act on.
    Warn,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A directory.
    Directory,
    /// A symbolic link (only where links are not followed).
    Symlink,
    /// Anything else.
    File,
}

/// What is known of a file without reading it; enough to see that it has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// What it is.
    pub kind: FileKind,
    /// Its size in bytes.
    pub len: u64,
    /// When it was modified, in nanoseconds since the epoch.
    pub modified: i128,
    /// When its content, owner or mode changed, in nanoseconds since the epoch.
    pub changed: i128,
    /// Which file it is: the device and its number there.
    pub inode: (u64, u64),
    /// Its permission bits.
    pub mode: u32,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// Its name, without the directory.
    pub name: String,
    /// What it is; links are not followed.
    pub kind: FileKind,
}

/// A command to run to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments; a program without a slash is looked up in `PATH`.
    pub argv: Vec<String>,
    /// Where it runs.
    pub dir: String,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    /// What it reads; nothing by default.
    pub stdin: Option<Vec<u8>>,
}

/// Which of a command's two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Why a command did not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The program is not in `PATH`.
    #[error("exec: {}: executable file not found in $PATH", engine_formats::golang::quote::quote(.0))]
    NotFound(String),
    /// It could not be started.
    #[error("fork/exec {path}: {}", engine_formats::golang::os_error::errno_text(.source))]
    Start {
        /// The program.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The working directory is missing.
    #[error("{}", engine_formats::golang::os_error::errno_text(.0))]
    Directory(io::Error),
    /// The evaluation was cancelled, and the command with it.
    #[error("canceled")]
    Canceled,
    /// It took longer than it may.
    #[error("took longer than {}s", .0.as_secs())]
    TooLong(Duration),
    /// It did not stop printing.
    #[error("it printed more than {} MB", process::MAX_OUTPUT >> 20)]
    TooMuchOutput,
    /// Its output could not be read.
    #[error("{}", engine_formats::golang::os_error::errno_text(.0))]
    Io(io::Error),
}

/// The world as a Tiltfile sees it.
pub trait Host: Send + Sync {
    /// The bytes of a file.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;
    /// What a path leads to, links followed.
    fn stat(&self, path: &str) -> io::Result<FileInfo>;
    /// What a path is, links not followed.
    fn lstat(&self, path: &str) -> io::Result<FileInfo>;
    /// Where a link points.
    fn read_link(&self, path: &str) -> io::Result<String>;
    /// The entries of a directory, sorted by name.
    fn list(&self, dir: &str) -> io::Result<Vec<DirEntry>>;
    /// Writes a private file, whole or not at all, and the directories above it.
    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &str) -> io::Result<()>;
    /// A file of its own for this text, which lives as long as the host: same name, same path.
    fn write_scratch(&self, name: &str, text: &[u8]) -> io::Result<String>;

    /// The directory that relative paths are relative to.
    fn current_dir(&self) -> String {
        std::env::current_dir()
            .map_or_else(|_| "/".to_owned(), |it| engine_model::path::to_text(&it).into_owned())
    }

    /// An environment variable.
    fn env(&self, name: &str) -> Option<String>;
    /// The home directory, if there is one.
    fn home(&self) -> Option<String> {
        self.env("HOME").filter(|it| it.starts_with('/'))
    }

    /// The whole environment, in the order it was set.
    fn env_vars(&self) -> Vec<(String, String)>;
    /// Sets or removes an environment variable, for this evaluation, later ones and all children.
    fn set_env(&self, name: &str, value: Option<&str>);

    /// Where a program is, by the rules of `PATH`.
    fn find_program(&self, name: &str) -> Option<String>;
    /// Runs a command to its end in its own process group and returns its exit code.
    ///
    /// # Errors
    /// If it could not be started, or the evaluation was cancelled.
    fn run(
        &self,
        command: &Command,
        output: &mut dyn FnMut(Output, &[u8]),
    ) -> Result<i32, RunError>;
    /// Runs a command like [`Host::run`], but ends it when it takes longer than this.
    ///
    /// # Errors
    /// As of [`Host::run`], or if it took too long.
    fn run_within(
        &self,
        command: &Command,
        _limit: Duration,
        output: &mut dyn FnMut(Output, &[u8]),
    ) -> Result<i32, RunError> {
        self.run(command, output)
    }

    /// A line, or several, for the log.
    fn log(&self, level: Level, text: &str);
    /// Whether the evaluation should stop.
    fn canceled(&self) -> bool;
}

impl std::fmt::Debug for dyn Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Host")
    }
}
