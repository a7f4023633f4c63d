//! This machine as a [`Host`].
//!
//! The environment is a copy taken at start: a Tiltfile's changes are seen by later evaluations and by
//! children, without touching the process, whose environment other threads read.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use indexmap::IndexMap;

use super::{
    Command, DirEntry, FileInfo, FileKind, Host, Launcher, Level, Output, RunError, file, launch,
    process,
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
    scratch: Mutex<Option<Scratch>>,
    writes: AtomicU64,
    /// Where relative paths begin, if not in the directory of this process.
    dir: PathBuf,
}

impl std::fmt::Debug for OsHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OsHost").finish_non_exhaustive()
    }
}

impl OsHost {
    /// This machine with a given environment.
    #[must_use]
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
            writes: AtomicU64::new(0),
            dir: PathBuf::new(),
        }
    }

    /// The same machine, seen from another directory.
    #[must_use]
    pub fn in_dir(self, dir: PathBuf) -> Self {
        Self { dir, ..self }
    }

    /// The same machine, with commands that are started in another way.
    #[must_use]
    pub fn with_launcher(self, launcher: Box<dyn Launcher>) -> Self {
        Self { launcher, ..self }
    }

    /// This machine with the environment of this process.
    #[must_use]
    pub fn from_process(log: LogSink) -> Self {
        let lossy = |it: std::ffi::OsString| it.to_string_lossy().into_owned();
        let vars = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value)));
        Self::new(vars, log)
    }

    /// Makes the evaluation stop as soon as it can.
    pub fn cancel(&self) {
        self.canceled.store(true, Ordering::Relaxed);
    }

    /// Leaves nothing behind: kills the commands that are running and removes temporary files.
    pub fn clean_up(&self) {
        self.running.kill();
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).take();
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
        file::read(&self.dir.join(path), &self.canceled)
    }

    fn stat(&self, path: &str) -> io::Result<FileInfo> {
        fs::metadata(self.dir.join(path)).map(|it| file_info(&it))
    }

    fn lstat(&self, path: &str) -> io::Result<FileInfo> {
        fs::symlink_metadata(self.dir.join(path)).map(|it| file_info(&it))
    }

    fn read_link(&self, path: &str) -> io::Result<String> {
        fs::read_link(self.dir.join(path)).map(|it| it.to_string_lossy().into_owned())
    }

    fn list(&self, dir: &str) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(self.dir.join(dir))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            entries.push(DirEntry { name, kind: file_kind(entry.file_type()?) });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.dir.join(path);
        let parent = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        let serial = self.writes.fetch_add(1, Ordering::Relaxed);
        let partial = parent.join(format!(".partial-{}-{serial}", std::process::id()));
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial)?;
        let written = file.write_all(bytes).and_then(|()| fs::rename(&partial, &path));
        if written.is_err() {
            // The error of the write is the one to report.
            let _ = fs::remove_file(&partial);
        }
        written
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.dir.join(path))
    }

    fn write_scratch(&self, name: &str, text: &[u8]) -> io::Result<String> {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        if scratch.is_none() {
            let parent = self.env("TMPDIR").filter(|it| !it.is_empty());
            *scratch = Some(Scratch::create(Path::new(parent.as_deref().unwrap_or("/tmp")))?);
        }
        let path = scratch.as_ref().expect("it was just made").0.join(name);
        let path = path.to_string_lossy().into_owned();
        self.write(&path, text)?;
        Ok(path)
    }

    fn current_dir(&self) -> String {
        let dir = if self.dir.as_os_str().is_empty() {
            std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"))
        } else {
            self.dir.clone()
        };
        dir.to_string_lossy().into_owned()
    }

    fn env(&self, name: &str) -> Option<String> {
        self.env.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
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
            return is_executable(Path::new(name)).then(|| name.to_owned());
        }
        let path = self.env("PATH")?;
        path.split(':')
            .map(|dir| if dir.is_empty() { PathBuf::from(name) } else { Path::new(dir).join(name) })
            .find(|it| is_executable(it))
            .map(|it| it.to_string_lossy().into_owned())
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

/// A private directory that goes away with its owner.
struct Scratch(PathBuf);

impl Scratch {
    fn create(parent: &Path) -> io::Result<Self> {
        for attempt in 0..100 {
            let dir = parent.join(format!("tilt-{}-{attempt}", std::process::id()));
            match fs::create_dir(&dir) {
                Ok(()) => {
                    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700))?;
                    return Ok(Self(dir));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing can be done about a temporary directory that resists.
        let _ = fs::remove_dir_all(&self.0);
    }
}
