//! A project with an engine that runs it, and everything a test wants to know about both.

use std::{
    cell::Cell,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Output},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use tempfile::TempDir;

use super::process::{self, LOOK_AGAIN, Process, until};

/// A port where nobody listens.
const NOBODY: u16 = 1;

/// How long processes may take to be gone; what leaks stays much longer.
const GONE: Duration = Duration::from_secs(10);

/// The variable by which every process below an engine is found, wherever it went.
const MARK: &str = "ENGINE_TEST_PROJECT";

/// A folder with a Tiltfile and a home folder of its own.
pub(crate) struct Project {
    root: TempDir,
    /// Where all of it is.
    dir: PathBuf,
    /// Where the instance that was started last listens.
    port: Cell<u16>,
}

impl Project {
    pub(crate) fn new(tiltfile: &str) -> Self {
        Self::below(OsStr::new(""), tiltfile)
    }

    /// A project in a folder of this name, with its home folder.
    pub(crate) fn below(folder: &OsStr, tiltfile: &str) -> Self {
        let root = tempfile::tempdir().expect("a directory");
        let dir = root.path().join(folder);
        for it in ["home", "work", "tmp"] {
            fs::create_dir_all(dir.join(it)).expect("a directory");
        }
        let project = Self { root, dir, port: Cell::new(NOBODY) };
        project.write("Tiltfile", tiltfile);
        project
    }

    /// A path in the project's folder.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        // Reports show paths without links.
        let dir = self.dir.canonicalize().expect("it exists");
        dir.join("work").join(name)
    }

    /// The home folder.
    pub(crate) fn home(&self) -> PathBuf {
        self.dir.join("home")
    }

    /// The folder of temporary files.
    pub(crate) fn temp(&self) -> PathBuf {
        self.dir.join("tmp")
    }

    /// Gives the project a kubeconfig, of a cluster that nobody reaches.
    pub(crate) fn write_kubeconfig(&self, text: &str) {
        fs::write(self.root.path().join("kubeconfig"), text).expect("it can be written");
    }

    /// Replaces a file at once, as most editors do.
    pub(crate) fn write(&self, name: impl AsRef<Path>, text: &str) {
        let new = self.root.path().join("new");
        fs::write(&new, text).expect("it can be written");
        fs::rename(&new, self.path(name)).expect("it can be replaced");
    }

    /// The text of a file, or nothing as long as there is none.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// How many lines a file has.
    pub(crate) fn lines(&self, name: &str) -> usize {
        self.read(name).lines().count()
    }

    /// Waits until a file exists.
    pub(crate) fn wait_for(&self, name: &str) {
        until(name, || self.path(name).exists().then_some(()));
    }

    /// A command of the engine, to be found again whatever becomes of the test. `up` and `ci` take a free port, all
    /// others look for the instance that was started last.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let kubeconfig = self.root.path().join("kubeconfig");
        let program = env!("CARGO_BIN_EXE_engine");
        let mut command = process::command(program, &self.path(""), &self.home(), &kubeconfig);
        command.args(args).env("TMPDIR", self.temp()).env(MARK, self.root.path());
        if !matches!(args.first(), Some(&("up" | "ci"))) {
            command.env("TILT_PORT", self.port());
        }
        command
    }

    /// Runs a command of the engine beside the instance.
    pub(crate) fn engine(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("it starts")
    }

    /// What a command prints when it succeeds.
    pub(crate) fn out(&self, args: &[&str]) -> String {
        let output = self.engine(args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {stderr}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What a command prints as JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.out(args)).expect("it is JSON")
    }

    /// Where the instance that was started last listens.
    pub(crate) fn port(&self) -> String {
        self.port.get().to_string()
    }

    /// Lets commands look for an instance at this address.
    pub(crate) fn look_at(&self, url: &str) {
        let port = url.trim_end_matches('/').rsplit_once(':').and_then(|it| it.1.parse().ok());
        self.port.set(port.unwrap_or_else(|| panic!("{url} has no port")));
    }

    /// Starts `engine up`, which writes its log to a file, and waits until it listens.
    pub(crate) fn up(&self) -> Running<'_> {
        self.up_with(self.command(&["up", "--stream"]))
    }

    /// The same with a command that is `engine up` in the end.
    pub(crate) fn up_with(&self, command: Command) -> Running<'_> {
        let mut running = self.start(command);
        self.port.set(running.process.port());
        running
    }

    /// Starts a command that goes on until it is ended, and writes what it prints to a file.
    pub(crate) fn start(&self, command: Command) -> Running<'_> {
        let log = self.root.path().join("log");
        let _ = fs::remove_file(&log);
        Running { project: self, process: Process::start(command, log) }
    }

    /// The log of the instance that was started last.
    pub(crate) fn log(&self) -> String {
        let log = fs::read(self.root.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// The processes of the instance: ids and command lines.
    pub(crate) fn processes(&self) -> Vec<(Pid, String)> {
        let mark = format!("{MARK}={}\0", self.root.path().display());
        let dirs = fs::read_dir("/proc").expect("Linux").flatten();
        let pids = dirs.filter_map(|it| it.file_name().to_str()?.parse().ok());
        pids.filter_map(|pid: i32| {
            let dir = Path::new("/proc").join(pid.to_string());
            let environ = fs::read(dir.join("environ")).ok()?;
            let is_ours = environ.windows(mark.len()).any(|it| it == mark.as_bytes());
            // A zombie has no environment, so it is not found.
            let line = fs::read(dir.join("cmdline")).ok().filter(|_| is_ours)?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            Some((Pid::from_raw(pid), line))
        })
        .collect()
    }

    /// Waits until no process is left.
    pub(crate) fn wait_until_all_are_gone(&self, scene: &str) {
        let deadline = Instant::now() + GONE;
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "{scene}: left behind: {left:?}\n{}", self.log());
            thread::sleep(LOOK_AGAIN);
        }
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        for (pid, _) in self.processes() {
            let _ = kill(pid, Signal::SIGKILL);
        }
    }
}

/// A running `engine up`; killed when it is dropped.
pub(crate) struct Running<'p> {
    project: &'p Project,
    process: Process,
}

impl Running<'_> {
    pub(crate) fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Waits until the engine has ended.
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.process.wait()
    }

    /// Kills the engine, which can do nothing about it.
    pub(crate) fn kill(self) {
        self.signal(Signal::SIGKILL);
        self.wait();
    }

    /// Resident memory of the engine itself, in megabytes.
    pub(crate) fn resident(&self) -> u64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.process.pid())).unwrap_or_default();
        let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|it| it.split_whitespace().next()?.parse::<u64>().ok());
        kilobytes.expect("it runs") / 1024
    }

    /// Waits until a resource has this update status, and nothing more to do.
    pub(crate) fn wait_for_update(&self, resource: &str, status: &str) -> Value {
        until(&format!("{resource} to be {status}"), || {
            let answer = self.project.engine(&["why", "--json", resource]);
            let answer: Value = serde_json::from_slice(&answer.stdout).ok()?;
            (answer["updateStatus"] == status).then_some(answer)
        })
    }
}
