//! The process of an engine: its environment, its log, and the port that it took.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    pty::{OpenptyResult, Winsize, openpty},
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// Longer than anything here takes, even on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(2);

/// How often something is looked at again.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A program with nothing from outside but the `PATH`; an instance that it starts takes a free port.
pub(super) fn command(program: &str, dir: &Path, home: &Path, kubeconfig: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", home).env("KUBECONFIG", kubeconfig).env("TILT_PORT", "auto");
    command.current_dir(dir).stdin(Stdio::null());
    command
}

/// A running engine, which adds what it prints to a file; killed when it is dropped.
pub(super) struct Process {
    child: Child,
    log: PathBuf,
    /// How long the log of those before it is.
    n_before: usize,
}

impl Process {
    pub(super) fn start(mut command: Command, log: PathBuf) -> Self {
        let file = File::options().create(true).append(true).open(&log).expect("it can be made");
        let n_before = fs::read(&log).expect("it was made").len();
        command.stdout(file.try_clone().expect("it can be shared")).stderr(file);
        Self { child: command.spawn().expect("it starts"), log, n_before }
    }

    /// The same on a wide terminal of its own, whose screen goes to the file; ends with the process.
    pub(super) fn start_on_terminal(command: &Command, log: PathBuf) -> Self {
        let size = Winsize { ws_row: 50, ws_col: 1_000, ws_xpixel: 0, ws_ypixel: 0 };
        let OpenptyResult { master, slave } = openpty(Some(&size), None).expect("a terminal");
        let end = || Stdio::from(slave.try_clone().expect("it is open"));
        let mut own = Command::new("setsid");
        own.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
        own.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        own.current_dir(command.get_current_dir().expect("it is set"));
        own.stdin(end()).stdout(end()).stderr(end()).env("TERM", "xterm").env("NO_COLOR", "1");
        let (mut screen, mut file) = (File::from(master), File::create(&log).expect("a file"));
        let child = own.spawn().expect("it starts");
        // A terminal that nobody writes to any more is an error, and its end.
        thread::spawn(move || io::copy(&mut screen, &mut file));
        Self { child, log, n_before: 0 }
    }

    /// Waits until it listens, and gives its web port. Clients find it from then on.
    pub(super) fn port(&mut self) -> u16 {
        let started = Instant::now();
        loop {
            let is_alive = self.is_alive();
            let log = fs::read(&self.log).expect("it was made").split_off(self.n_before);
            let log = String::from_utf8_lossy(&log);
            if let Some(port) = port_in(&log) {
                return port;
            }
            assert!(is_alive, "it ended before it listened:\n{log}");
            assert!(started.elapsed() < TIMEOUT, "it does not listen:\n{log}");
            thread::sleep(LOOK_AGAIN);
        }
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().try_into().expect("it is an id"))
    }

    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("it was not waited for");
    }

    /// Ends it as Ctrl-C does.
    pub(super) fn stop(&mut self) {
        if self.is_alive() {
            self.signal(Signal::SIGTERM);
            let _ = self.child.wait();
        }
    }

    /// Waits until it has ended.
    pub(super) fn wait(&mut self) -> ExitStatus {
        until("the end", || self.child.try_wait().expect("it is a child"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The port that the first line of a log names.
fn port_in(log: &str) -> Option<u16> {
    let (_, address) = log.split_once(" on http://")?;
    let (address, _) = address.split_once('/')?;
    address.rsplit_once(':')?.1.parse().ok()
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
