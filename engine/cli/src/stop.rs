//! `stop`: stops a running instance and waits until it has exited.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use clap::Args;
use engine_api::Kind;
use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

use super::{
    Printer,
    client::{ApiClient, instances},
    connect::{ConnectFlags, DEFAULT_PORT},
    failure::Failure,
    values,
};

/// The object that holds the process id.
const SESSION: &str = "Tiltfile";

/// How often to poll whether the process has exited; only its parent is notified.
const POLL: Duration = Duration::from_millis(20);

/// Stop a running instance.
///
/// This does the same as Ctrl-C: servers stop, deployments stay. The command waits until the
/// instance is gone.
#[derive(Debug, Args)]
pub struct StopFlags {
    /// Stop all of your instances
    #[arg(long)]
    all: bool,
    /// How long to wait, such as 10s; 0 waits forever
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = values::duration)]
    timeout: values::GoDuration,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &StopFlags, printer: Printer) -> Result<(), Failure> {
    if flags.all {
        let running = running();
        if running.is_empty() {
            return Err(Failure::Command("no instance is running".to_owned()));
        }
        return Failure::all(
            running.iter().filter_map(|it| it.stop(flags, printer).err()).collect(),
        );
    }
    let name = flags.connect.api_server_name();
    let instance = match Instance::find(&name) {
        Ok(Some(instance)) => instance,
        Ok(None) => return Err(not_running(&flags.connect)),
        Err(failure) => return Err(failure.native()),
    };
    instance.stop(flags, printer)
}

/// Who could have been meant instead is part of the answer.
fn not_running(connect: &ConnectFlags) -> Failure {
    let ports = running().into_iter().filter_map(|it| it.port());
    let others: Vec<String> = ports.map(|it| format!("--port {it}")).collect();
    let hint = match others.as_slice() {
        [] => String::new(),
        others => format!("; running are: {} (--all ends all)", others.join(", ")),
    };
    Failure::Command(format!("no instance is running at {}{hint}", connect.address()))
}

/// All instances of this user that answer.
fn running() -> Vec<Instance> {
    instances().iter().filter_map(|it| Instance::find(it).ok().flatten()).collect()
}

/// The web port of the instance with this process id, once it answers.
#[must_use]
pub fn port_of(pid: u32) -> Option<i64> {
    let found = running().into_iter().find(|it| u32::try_from(it.pid.as_raw()) == Ok(pid));
    found.and_then(|it| it.port())
}

/// An instance that answers.
#[derive(Debug)]
struct Instance {
    name: String,
    pid: Pid,
}

impl Instance {
    /// The instance of a name; nothing if there is none, or none that answers.
    fn find(name: &str) -> Result<Option<Self>, Failure> {
        if !instances().iter().any(|it| it == name) {
            return Ok(None);
        }
        let client = ApiClient::named(name)?;
        let session = match client.get(Kind::Session, SESSION) {
            Ok(session) => session,
            // It was killed, and what it wrote about itself is still there.
            Err(failure) if failure.is_unreachable() => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let pid = process_of(&session).ok_or_else(|| {
            Failure::Command("the instance does not say which process it is".to_owned())
        })?;
        Ok(Some(Self { name: name.to_owned(), pid }))
    }

    /// The web port that its name stands for.
    fn port(&self) -> Option<i64> {
        match self.name.strip_prefix("tilt-")? {
            "default" => Some(DEFAULT_PORT),
            port => port.parse().ok(),
        }
    }

    /// Ends it, and waits until it is gone.
    fn stop(&self, flags: &StopFlags, printer: Printer) -> Result<(), Failure> {
        let pid = self.pid;
        match kill(pid, Signal::SIGTERM) {
            // It was quicker.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => {
                return Err(Failure::Command(format!("cannot stop process {pid}: {error}")));
            }
        }
        wait(pid, flags)?;
        let port = self.port().unwrap_or(flags.connect.port);
        let address = format!("{}:{port}", flags.connect.host);
        if flags.json {
            printer.json(&json!({"stopped": true, "pid": pid.as_raw(), "address": address}));
        } else {
            printer.out(&format!("Stopped the instance at {address} (process {pid})\n"));
        }
        Ok(())
    }
}

/// The process of a session; never a process group or all processes, which small numbers mean.
#[must_use]
pub fn process_of(session: &Value) -> Option<Pid> {
    let pid = i32::try_from(session["status"]["pid"].as_i64()?).ok()?;
    (pid > 1).then(|| Pid::from_raw(pid))
}

fn wait(pid: Pid, flags: &StopFlags) -> Result<(), Failure> {
    let timeout = flags.timeout.not_negative().filter(|it| *it > Duration::ZERO);
    let deadline = timeout.map(|it| Instant::now() + it);
    while !is_gone(pid) {
        if deadline.is_some_and(|it| Instant::now() >= it) {
            return Err(Failure::Command(format!("process {pid} has not ended in time")));
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// Whether a process has ended, also if nobody has asked for its exit code yet.
fn is_gone(pid: Pid) -> bool {
    if kill(pid, None) == Err(Errno::ESRCH) {
        return true;
    }
    // Only Linux has this file; elsewhere, parents are quick enough.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_real_processes_are_stopped() {
        for (pid, want) in [
            (json!(1234), Some(1234)),
            (json!(1), None),
            (json!(0), None),
            (json!(-1), None),
            (json!(5_000_000_000_i64), None),
            (Value::Null, None),
        ] {
            let session = json!({"status": {"pid": &pid}});
            assert_eq!(process_of(&session).map(Pid::as_raw), want, "{pid}");
        }
    }

    #[test]
    fn a_process_that_nobody_waited_for_is_gone() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        let deadline = Instant::now() + Duration::from_secs(30);
        while !is_gone(pid) {
            assert!(Instant::now() < deadline);
            thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!is_gone(Pid::this()));
    }
}
