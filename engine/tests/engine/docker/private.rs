//! A Docker engine that a test has for itself, because it breaks it.

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Output},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

use crate::{docker::ground::is_there, support::TIMEOUT};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/ground.sh");

/// A test ground of its own; gone when dropped.
pub(crate) struct Private {
    dir: TempDir,
}

impl Private {
    /// Starts one, unless there is no Docker at all.
    pub(crate) fn start() -> Option<Self> {
        let private = Self::new()?;
        private.up();
        Some(private)
    }

    /// Starts one whose disk has so many MB.
    pub(crate) fn with_disk(megabytes: u32) -> Option<Self> {
        let private = Self::new()?;
        let data = private.dir.path().join("data");
        fs::create_dir(&data).expect("it can be made");
        let size = format!("size={megabytes}m");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(data);
        assert!(mount.status().expect("it starts").success(), "cannot mount a small disk");
        private.up();
        Some(private)
    }

    fn new() -> Option<Self> {
        // The path of a socket must be short, wherever other temporary files are.
        let dir = tempfile::Builder::new().prefix("eg-").tempdir_in("/tmp");
        is_there().then(|| Self { dir: dir.expect("a directory") })
    }

    /// Where it listens.
    pub(crate) fn host(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("run/docker.sock")
    }

    /// Starts it, or starts again what was killed.
    pub(crate) fn up(&self) {
        let output = self.script("up");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words}");
    }

    /// Kills the Docker engine, and waits until nobody listens there any more.
    pub(crate) fn kill(&self) {
        let pid = fs::read_to_string(self.dir.path().join("run/dockerd.pid")).expect("it runs");
        let pid = Pid::from_raw(pid.trim().parse().expect("a process id"));
        kill(pid, Signal::SIGKILL).expect("it runs");
        let started = Instant::now();
        while std::os::unix::net::UnixStream::connect(self.socket()).is_ok() {
            assert!(started.elapsed() < TIMEOUT, "it does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Leaves only so many MB of its disk, until the file is removed.
    pub(crate) fn fill(&self, megabytes: u64) -> PathBuf {
        let path = self.dir.path().join("data/filler");
        let mut file = fs::File::create(&path).expect("it can be made");
        let chunk = vec![0; 1 << 20];
        while file.write_all(&chunk).is_ok() {}
        let size = file.metadata().expect("it is there").len();
        file.set_len(size.saturating_sub(megabytes << 20)).expect("it can be made shorter");
        path
    }

    /// What a `docker` command prints.
    pub(crate) fn docker(&self, args: &[&str]) -> String {
        let mut command = Command::new("docker");
        command.args(["--host", &self.host()]).args(args);
        let output = command.output().expect("docker is in the PATH");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn script(&self, word: &str) -> Output {
        let mut command = Command::new(SCRIPT);
        command.arg(word).env("ENGINE_GROUND_DIR", self.dir.path());
        command.output().expect("it starts")
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.script("down");
    }
}
