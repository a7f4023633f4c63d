//! A project with an engine that runs it, and everything a test wants to know about both.

use std::{
    fs::{self, File},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use tempfile::TempDir;

/// Longer than anything here takes, even on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);

/// How long processes may take to be gone; what leaks stays much longer.
const GONE: Duration = Duration::from_secs(10);

/// How often something is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The variable by which every process below an engine is found, wherever it went.
const MARK: &str = "ENGINE_TEST_PROJECT";

/// A folder with a Tiltfile, a home folder and a port of its own.
pub(crate) struct Project {
    root: TempDir,
    port: u16,
}

impl Project {
    pub(crate) fn new(tiltfile: &str) -> Self {
        let root = tempfile::tempdir().expect("a directory");
        for dir in ["home", "work"] {
            fs::create_dir(root.path().join(dir)).expect("a directory");
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let project = Self { root, port };
        project.write("Tiltfile", tiltfile);
        project
    }

    /// A path in the project's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        // Reports show paths without links.
        let root = self.root.path().canonicalize().expect("it exists");
        root.join("work").join(name)
    }

    /// Replaces a file at once, as most editors do.
    pub(crate) fn write(&self, name: &str, text: &str) {
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

    /// A command of the engine, to be found again whatever becomes of the test.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_engine"));
        command.args(args).current_dir(self.path("")).stdin(Stdio::null()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.root.path().join("home"));
        command.env("KUBECONFIG", self.root.path().join("kubeconfig"));
        command.env("TILT_PORT", self.port.to_string()).env(MARK, self.root.path());
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

    /// Starts `engine up`, which writes its log to a file.
    pub(crate) fn up(&self) -> Instance<'_> {
        let log = File::create(self.root.path().join("log")).expect("a file");
        let mut command = self.command(&["up", "--stream"]);
        command.stdout(log.try_clone().expect("a file")).stderr(log);
        Instance { project: self, child: command.spawn().expect("it starts") }
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
pub(crate) struct Instance<'p> {
    project: &'p Project,
    child: Child,
}

impl Instance<'_> {
    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("it was not waited for");
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().try_into().expect("it is an id"))
    }

    /// Waits until the engine has ended.
    pub(crate) fn wait(mut self) -> ExitStatus {
        until("the end", || self.child.try_wait().expect("it is a child"))
    }

    /// Kills the engine, which can do nothing about it.
    pub(crate) fn kill(self) {
        self.signal(Signal::SIGKILL);
        self.wait();
    }

    /// Resident memory of the engine itself, in megabytes.
    pub(crate) fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
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

impl Drop for Instance<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks again and again until there is an answer.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::sleep(LOOK_AGAIN);
    }
}
