//! This machine as a [`Host`].
//!
//! The environment is a copy taken at start: later evaluations and children see a Tiltfile's changes, but the
//! environment of the process, which other threads read, stays untouched.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use engine_files::{home_dir, private};
use engine_model::path::{to_path, to_text};
use indexmap::IndexMap;

use super::{
    Command, DirEntry, FileInfo, FileKind, Host, Launcher, Level, Output, RunError, Scratch, file,
    launch, process, temp_dir,
};

/// Receives each log call.
pub(crate) type LogSink = Box<dyn Fn(Level, &str) + Send + Sync>;

/// This machine.
pub struct OsHost {
    env: Mutex<IndexMap<String, String>>,
    log: LogSink,
    canceled: Arc<AtomicBool>,
    running: process::Running,
    launcher: Box<dyn Launcher>,
    scratch: Mutex<Temporary>,
    /// Where temporary files go, if not where those of this process do.
    temp_dir: Option<PathBuf>,
    /// Where relative paths begin, if not in the directory of this process.
    dir: PathBuf,
}

/// Temporary files of a host.
#[derive(Default)]
enum Temporary {
    /// Nobody has asked for one yet.
    #[default]
    Unused,
    /// They are here.
    In(Scratch),
    /// They were removed, and no more are needed.
    Removed,
}

impl std::fmt::Debug for OsHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OsHost").finish_non_exhaustive()
    }
}

impl OsHost {
    /// This machine with a given environment.
    pub fn new(env: impl IntoIterator<Item = (String, String)>, log: LogSink) -> Self {
        let mut env: IndexMap<String, String> = env.into_iter().collect();
        add_git_defaults(&mut env);
        Self {
            env: Mutex::new(env),
            log,
            canceled: Arc::default(),
            running: process::Running::default(),
            launcher: Box::new(launch::Plain),
            scratch: Mutex::default(),
            temp_dir: None,
            dir: PathBuf::new(),
        }
    }

    /// The same machine, seen from another directory.
    #[must_use]
    pub fn in_dir(self, dir: PathBuf) -> Self {
        Self { dir, ..self }
    }

    /// The same machine, with temporary files in a directory that the caller removes.
    #[must_use]
    pub fn with_temp_dir(self, dir: PathBuf) -> Self {
        Self { temp_dir: Some(dir), ..self }
    }

    /// The same machine, with commands that are started in another way.
    #[must_use]
    pub fn with_launcher(self, launcher: Box<dyn Launcher>) -> Self {
        Self { launcher, ..self }
    }

    /// This machine with the environment of this process.
    pub fn from_process(log: LogSink) -> Self {
        let text = |it: std::ffi::OsString| to_text(&it).into_owned();
        let vars = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
        Self::new(vars, log)
    }

    /// Makes the evaluation stop as soon as it can.
    pub fn cancel(&self) {
        self.canceled.store(true, Ordering::Relaxed);
    }

    /// Leaves nothing behind: kills the commands that are running and removes temporary files. There will be no more
    /// of them, even if the evaluation still goes on.
    pub fn clean_up(&self) {
        self.running.kill();
        *self.scratch.lock().unwrap_or_else(PoisonError::into_inner) = Temporary::Removed;
    }

    fn run_up_to(
        &self,
        limit: Option<Duration>,
        command: &Command,
        output: &mut dyn FnMut(Output, &[u8]),
    ) -> Result<i32, RunError> {
        let program = self.program_of(command)?;
        let context = process::Context {
            launcher: &*self.launcher,
            running: &self.running,
            canceled: &self.canceled,
            limit,
        };
        process::run(&program, command, output, &context)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.join(to_path(path))
    }

    /// The path of the program that a command runs.
    fn program_of(&self, command: &Command) -> Result<String, RunError> {
        let name = command.argv.first().map_or("", String::as_str);
        if name.contains('/') {
            return Ok(name.to_owned());
        }
        self.find_program(name).ok_or_else(|| RunError::NotFound(name.to_owned()))
    }
}

/// Keeps Git from asking people anything, unless they have said themselves how it should behave;
/// Tiltfiles and their commands see these variables.
pub(crate) fn add_git_defaults(env: &mut IndexMap<String, String>) {
    let is_unset = |env: &IndexMap<_, String>, name| env.get(name).is_none_or(String::is_empty);
    if is_unset(env, "GIT_TERMINAL_PROMPT") {
        env.insert("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned());
    }
    if is_unset(env, "GIT_SSH") && is_unset(env, "GIT_SSH_COMMAND") {
        let command = "ssh -o ControlMaster=no -o BatchMode=yes";
        env.insert("GIT_SSH_COMMAND".to_owned(), command.to_owned());
    }
}

impl Host for OsHost {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        file::read(&self.path(path), &self.canceled)
    }

    fn stat(&self, path: &str) -> io::Result<FileInfo> {
        fs::metadata(self.path(path)).map(|it| file_info(&it))
    }

    fn lstat(&self, path: &str) -> io::Result<FileInfo> {
        fs::symlink_metadata(self.path(path)).map(|it| file_info(&it))
    }

    fn read_link(&self, path: &str) -> io::Result<String> {
        fs::read_link(self.path(path)).map(|it| to_text(&it).into_owned())
    }

    fn list(&self, dir: &str) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(self.path(dir))? {
            let entry = entry?;
            let name = to_text(&entry.file_name()).into_owned();
            entries.push(DirEntry { name, kind: file_kind(entry.file_type()?) });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(path);
        private::create_dir(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        private::write(&path, bytes)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.path(path))
    }

    fn write_scratch(&self, name: &str, text: &[u8]) -> io::Result<String> {
        let parent = self.temp_dir.clone().unwrap_or_else(temp_dir);
        let explained = |why: io::Error| {
            let text =
                format!("cannot write to {}: {why}; TMPDIR names another place", parent.display());
            io::Error::new(why.kind(), text)
        };
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*scratch, Temporary::Unused) {
            *scratch = Temporary::In(Scratch::create_in(&parent).map_err(explained)?);
        }
        let Temporary::In(scratch) = &*scratch else {
            return Err(io::Error::other("the evaluation is over"));
        };
        let path = scratch.path().join(name);
        private::write(&path, text).map_err(explained)?;
        Ok(to_text(&path).into_owned())
    }

    fn current_dir(&self) -> String {
        let dir = if self.dir.as_os_str().is_empty() {
            std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"))
        } else {
            self.dir.clone()
        };
        to_text(&dir).into_owned()
    }

    fn env(&self, name: &str) -> Option<String> {
        self.env.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn home(&self) -> Option<String> {
        let home = home_dir(self.env("HOME").map(PathBuf::from))?;
        Some(home.to_string_lossy().into_owned())
    }

    fn env_vars(&self) -> Vec<(String, String)> {
        let env = self.env.lock().unwrap_or_else(PoisonError::into_inner);
        env.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    fn set_env(&self, name: &str, value: Option<&str>) {
        // The environment cannot hold these, and nobody is told.
        let is_possible = !name.is_empty()
            && !name.contains(['=', '\0'])
            && !value.is_some_and(|it| it.contains('\0'));
        if !is_possible {
            return;
        }
        let mut env = self.env.lock().unwrap_or_else(PoisonError::into_inner);
        match value {
            Some(value) => env.insert(name.to_owned(), value.to_owned()),
            None => env.shift_remove(name),
        };
    }

    fn find_program(&self, name: &str) -> Option<String> {
        if name.contains('/') {
            return is_executable(&to_path(name)).then(|| name.to_owned());
        }
        let path = self.env("PATH")?;
        path.split(':')
            .map(|dir| to_path(dir).join(&*to_path(name)))
            .find(|it| is_executable(it))
            .map(|it| to_text(&it).into_owned())
    }

    fn run(
        &self,
        command: &Command,
        output: &mut dyn FnMut(Output, &[u8]),
    ) -> Result<i32, RunError> {
        self.run_up_to(None, command, output)
    }

    fn run_within(
        &self,
        command: &Command,
        limit: Duration,
        output: &mut dyn FnMut(Output, &[u8]),
    ) -> Result<i32, RunError> {
        self.run_up_to(Some(limit), command, output)
    }

    fn log(&self, level: Level, text: &str) {
        (self.log)(level, text);
    }

    fn canceled(&self) -> bool {
        self.canceled.load(Ordering::Relaxed)
    }
}

fn file_kind(kind: fs::FileType) -> FileKind {
    if kind.is_dir() {
        FileKind::Directory
    } else if kind.is_symlink() {
        FileKind::Symlink
    } else {
        FileKind::File
    }
}

fn file_info(metadata: &fs::Metadata) -> FileInfo {
    FileInfo {
        kind: file_kind(metadata.file_type()),
        len: metadata.len(),
        modified: i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()),
        changed: i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec()),
        inode: (metadata.dev(), metadata.ino()),
        mode: metadata.mode() & 0o7777,
    }
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| !it.is_dir() && it.permissions().mode() & 0o111 != 0)
}
