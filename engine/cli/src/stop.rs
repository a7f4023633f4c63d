//! `stop`: stops a running instance and waits until it has exited.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use clap::Args;
use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;

use super::{
    Printer,
    connect::ConnectFlags,
    failure::Failure,
    instances::{Instance, nothing_runs, noun},
    values,
};

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
    /// Stop it even if it was started by another program
    #[arg(long)]
    force: bool,
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
        return stop_all(flags, printer);
    }
    let instance = match Instance::find(&flags.connect.api_server_name()) {
        Ok(Some(instance)) => instance,
        Ok(None) => return Err(nothing_runs(&flags.connect)),
        Err(failure) => return Err(failure.native()),
    };
    if let Some(tilt) = instance.tilt().filter(|_| !flags.force) {
        let address = flags.connect.address();
        let text = format!("{address} is {tilt}, and not an engine; --force ends it nevertheless");
        return Err(Failure::Command(text));
    }
    stop(&instance, flags, printer)
}

fn stop_all(flags: &StopFlags, printer: Printer) -> Result<(), Failure> {
    let (ours, tilts): (Vec<Instance>, Vec<Instance>) =
        Instance::all().into_iter().partition(|it| flags.force || it.tilt().is_none());
    for tilt in &tilts {
        let place = tilt.place();
        printer.err(&format!("Left alone: {place}, which is not an engine; --force ends it\n"));
    }
    if ours.is_empty() {
        return Err(Failure::Command(format!("no {} is running", noun())));
    }
    Failure::all(ours.iter().filter_map(|it| stop(it, flags, printer).err()).collect())
}

/// The web port of the instance with this process id, once it answers.
pub fn port_of(pid: u32) -> Option<i64> {
    let is_meant = |it: &Instance| it.pid.is_some_and(|it| u32::try_from(it.as_raw()) == Ok(pid));
    Instance::all().into_iter().find(is_meant).and_then(|it| it.port())
}

/// Ends an instance, and waits until it is gone.
fn stop(instance: &Instance, flags: &StopFlags, printer: Printer) -> Result<(), Failure> {
    let pid = instance.pid.ok_or_else(|| {
        Failure::Command("the instance does not say which process it is".to_owned())
    })?;
    match kill(pid, Signal::SIGTERM) {
        // It was quicker.
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => {
            return Err(Failure::Command(format!("cannot stop process {pid}: {error}")));
        }
    }
    wait(pid, flags)?;
    let port = instance.port().unwrap_or_else(|| flags.connect.port());
    let address = format!("{}:{port}", flags.connect.host());
    if flags.json {
        printer.json(&json!({"stopped": true, "pid": pid.as_raw(), "address": address}));
    } else {
        printer.out(&format!("Stopped the instance at {address} (process {pid})\n"));
    }
    Ok(())
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
