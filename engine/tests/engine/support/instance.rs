//! An engine that has a folder for itself, and what a test asks it.

use std::{
    fs,
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    path::Path,
    process::{Command, Output},
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use tempfile::TempDir;

use super::process::{self, LOOK_AGAIN, Process, TIMEOUT};

/// A running engine; ends with the test.
pub(crate) struct Instance {
    pub(crate) dir: TempDir,
    pub(crate) port: u16,
    pub(crate) token: String,
    process: Process,
    env: Vec<(String, String)>,
}

impl Instance {
    /// Starts an engine with a Tiltfile, and waits until it listens.
    pub(crate) fn start(tiltfile: &str) -> Self {
        Self::start_in(with_tiltfile(tiltfile), Vec::new())
    }

    /// Starts an engine in a folder that has a Tiltfile, with more variables, and waits until it listens.
    pub(crate) fn start_in(dir: TempDir, env: Vec<(String, String)>) -> Self {
        let mut up = engine(dir.path());
        up.args(["up", "--stream"]);
        Self::of(dir, up, env)
    }

    /// Starts an engine in a folder that has a Tiltfile on a terminal, where it shows its prompt. The log is what the
    /// terminal has shown.
    pub(crate) fn start_on_terminal(
        dir: TempDir,
        env: Vec<(String, String)>,
        resources: &[&str],
    ) -> Self {
        let mut up = engine(dir.path());
        up.arg("up").args(resources).envs(env.iter().map(|(name, value)| (name, value)));
        let process = Process::start_on_terminal(&up, dir.path().join("log"));
        Self::listening(dir, process, env)
    }

    /// Starts an engine that may not open more files than this, and waits until it listens.
    pub(crate) fn start_with_open_files(tiltfile: &str, open_files: u64) -> Self {
        let dir = with_tiltfile(tiltfile);
        // A shell sets the limit, and then becomes the engine.
        let mut shell = program("sh", dir.path());
        let script = format!("ulimit -n {open_files} && exec \"$0\" \"$@\"");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_engine"), "up", "--stream"]);
        Self::of(dir, shell, Vec::new())
    }

    fn of(dir: TempDir, mut up: Command, env: Vec<(String, String)>) -> Self {
        up.envs(env.iter().map(|(name, value)| (name, value)));
        let process = Process::start(up, dir.path().join("log"));
        Self::listening(dir, process, env)
    }

    fn listening(dir: TempDir, mut process: Process, env: Vec<(String, String)>) -> Self {
        let port = process.port();
        let token = fs::read_to_string(dir.path().join("home/.tilt-dev/token"));
        let token = token.expect("it is there before anybody listens").trim().to_owned();
        Self { dir, port, token, process, env }
    }

    /// Starts an engine in place of one that was stopped, where clients look for it: on the same port.
    pub(crate) fn restart(&mut self) {
        let mut up = engine(self.dir.path());
        up.args(["up", "--stream", "--port", &self.port.to_string()]);
        up.envs(self.env.iter().map(|(name, value)| (name, value)));
        self.process = Process::start(up, self.dir.path().join("log"));
        self.process.port();
    }

    /// Ends the engine as Ctrl-C does.
    pub(crate) fn stop(&mut self) {
        self.process.stop();
    }

    /// Kills the engine, which can do nothing about it.
    pub(crate) fn kill(&mut self) {
        self.process.signal(Signal::SIGKILL);
        self.process.wait();
    }

    /// Waits until something is so.
    pub(crate) fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let started = Instant::now();
        while !is_so(self) {
            assert!(self.is_alive(), "it ended before {what}:\n{}", self.log());
            assert!(started.elapsed() < TIMEOUT, "not in time: {what}\n{}", self.log());
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// The answer to a request that shows the token.
    pub(crate) fn get(&self, path: &str) -> String {
        let (port, token) = (self.port, &self.token);
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\nX-Tilt-Token: {token}\r\nConnection: close\r\n\r\n"
        );
        String::from_utf8_lossy(&exchange(self.port, request.as_bytes(), false)).into_owned()
    }

    /// The process of the engine.
    pub(crate) fn pid(&self) -> i32 {
        self.process.pid().as_raw()
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.process.is_alive()
    }

    /// All that it has printed.
    pub(crate) fn log(&self) -> String {
        let bytes = fs::read(self.dir.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The address of a path of the page.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.port)
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }

    /// Asks for an update, as commands do.
    pub(crate) fn trigger(&self, name: &str) {
        self.client(&["trigger", name]);
    }

    /// What a command prints that talks to the engine.
    pub(crate) fn client(&self, args: &[&str]) -> String {
        let output = self.ask(args);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The same of a command that may fail.
    pub(crate) fn ask(&self, args: &[&str]) -> Output {
        let mut command = engine(self.dir.path());
        command.args(args).args(["--port", &self.port.to_string()]);
        command.output().expect("it starts")
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.stop();
    }
}

fn with_tiltfile(tiltfile: &str) -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("Tiltfile"), tiltfile).expect("it can be written");
    dir
}

/// The program, with nothing from outside but the `PATH`.
pub(crate) fn engine(dir: &Path) -> Command {
    program(env!("CARGO_BIN_EXE_engine"), dir)
}

fn program(name: &str, dir: &Path) -> Command {
    let home = dir.join("home");
    fs::create_dir_all(&home).expect("it can be made");
    let mut command = process::command(name, dir, &home, &dir.join("kubeconfig"));
    command.env("TERM", "dumb");
    command
}

/// Sends bytes on a connection of their own, and reads what comes back until it is closed or nothing comes any more.
pub(crate) fn exchange(port: u16, bytes: &[u8], is_last: bool) -> Vec<u8> {
    let mut answer = Vec::new();
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return answer };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    // Who does not like what is sent may close before everything was sent.
    let _ = stream.write_all(bytes);
    if is_last {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let _ = stream.read_to_end(&mut answer);
    answer
}
