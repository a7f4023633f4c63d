//! An engine that a test starts: in a folder of its own, on a free port, with nothing from outside.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

/// Longer than anything here takes, even on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(2);

/// A running engine; ends with the test.
pub(crate) struct Instance {
    pub(crate) dir: TempDir,
    pub(crate) port: u16,
    pub(crate) token: String,
    pub(crate) child: Child,
    env: Vec<(String, String)>,
}

impl Instance {
    /// Starts an engine in a folder that has a Tiltfile, with more variables, and waits until it answers.
    pub(crate) fn start_in(dir: TempDir, env: Vec<(String, String)>) -> Self {
        let port = free_port();
        let child = up(dir.path(), port, &env);
        let mut instance = Self { dir, port, token: String::new(), child, env };
        instance.until_it_answers();
        instance
    }

    fn until_it_answers(&mut self) {
        self.until("it answers", |it| {
            let token = it.dir.path().join("home/.tilt-dev/token");
            fs::read_to_string(token).unwrap_or_default().trim().clone_into(&mut it.token);
            !it.token.is_empty() && it.get("/api/view").starts_with("HTTP/1.1 200")
        });
    }

    /// Waits until something is so.
    pub(crate) fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let started = Instant::now();
        while !is_so(self) {
            assert!(self.is_alive(), "it ended before {what}:\n{}", self.log());
            assert!(started.elapsed() < TIMEOUT, "not in time: {what}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(5));
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

    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// All that it has printed.
    pub(crate) fn log(&self) -> String {
        let bytes = fs::read(self.dir.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// What only some tests do with an engine.
#[allow(dead_code, reason = "each test program has this file for itself")]
impl Instance {
    /// Starts an engine with a Tiltfile, and waits until it answers.
    pub(crate) fn start(tiltfile: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("Tiltfile"), tiltfile).expect("it can be written");
        Self::start_in(dir, Vec::new())
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
        let output = engine(self.dir.path())
            .args(args)
            .args(["--port", &self.port.to_string()])
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Ends the engine as Ctrl-C does.
    pub(crate) fn stop(&mut self) {
        let pid = Pid::from_raw(self.child.id().try_into().expect("a process id"));
        if self.is_alive() {
            let _ = kill(pid, Signal::SIGTERM);
        }
        let _ = self.child.wait();
    }

    /// Starts an engine in place of one that was stopped.
    pub(crate) fn restart(&mut self) {
        self.child = up(self.dir.path(), self.port, &self.env);
        self.until_it_answers();
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.stop();
    }
}

fn up(dir: &Path, port: u16, env: &[(String, String)]) -> Child {
    let log = File::options().create(true).append(true).open(dir.join("log"));
    let log = log.expect("it can be made");
    engine(dir)
        .args(["up", "--stream", "--port", &port.to_string()])
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdout(log.try_clone().expect("it can be shared"))
        .stderr(log)
        .spawn()
        .expect("it starts")
}

/// The program, with nothing from outside but the `PATH`.
pub(crate) fn engine(dir: &Path) -> Command {
    let home = dir.join("home");
    fs::create_dir_all(&home).expect("it can be made");
    let mut command = Command::new(env!("CARGO_BIN_EXE_engine"));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", home).env("KUBECONFIG", dir.join("kubeconfig")).env("TERM", "dumb");
    command.current_dir(dir).stdin(Stdio::null());
    command
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.local_addr().expect("it has an address").port()
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
