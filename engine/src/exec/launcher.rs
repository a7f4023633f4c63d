//! How the commands of a Tiltfile, such as `local()`, are started: below a guard, like all others.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use builtins::host::{Command, Launched, Launcher, Process};
use engine_model::path::to_path;
use nix::errno::Errno;

use crate::{
    exec::own_name,
    guard::{self, GuardJob, GuardOrder, GuardReport, Lifetime, Outputs},
};

/// Starts commands of Tiltfiles so that nothing of them outlives an evaluation that is canceled,
/// or an engine that dies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Guarded;

impl Launcher for Guarded {
    fn launch(&self, program: &str, command: &Command) -> io::Result<Launched> {
        let env = own_name::findable(command.env.clone());
        let job = GuardJob::new(Lifetime::Call, program, &command.argv)?;
        let job = job.in_dir(&to_path(&command.dir))?.with_env(&env)?;
        let job = GuardJob { has_input: command.stdin.is_some(), ..job };
        let (outputs, stdout, stderr) = Outputs::apart()?;
        let control = guard::start(job, &outputs)?;
        // From here on, the pipes end with the command.
        drop(outputs);
        match read_report(&control) {
            Ok(GuardReport::Started(_)) => {}
            Ok(GuardReport::NotStarted(errno)) => {
                guard::keep(control);
                return Err(io::Error::from_raw_os_error(errno));
            }
            Ok(report) => return Err(mishap(report)),
            Err(_) => return Err(Errno::EPIPE.into()),
        }
        let orders = Orders(Arc::new(Mutex::new(Some(control.try_clone()?))));
        let has_input = command.stdin.is_some();
        let stdin = has_input.then(|| Box::new(Input(orders.clone())) as Box<dyn Write + Send>);
        let process = Call { orders, reports: control, has_input };
        Ok(Launched { stdin, stdout, stderr, process: Box::new(process) })
    }
}

fn read_report(mut control: impl Read) -> io::Result<GuardReport> {
    let mut bytes = [0; GuardReport::LEN];
    control.read_exact(&mut bytes)?;
    GuardReport::decode(bytes).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// The way to a guard, for those who give it orders at the same time; nothing once the command is
/// done with.
#[derive(Clone, Debug)]
struct Orders(Arc<Mutex<Option<UnixStream>>>);

impl Orders {
    /// Gives an order, whole.
    fn give(&self, order: &GuardOrder) -> io::Result<()> {
        match &mut *self.lock() {
            Some(control) => control.write_all(&order.encode()),
            None => Err(Errno::EPIPE.into()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<UnixStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command of a Tiltfile that runs.
#[derive(Debug)]
struct Call {
    orders: Orders,
    reports: UnixStream,
    has_input: bool,
}

impl Call {
    /// Waits until nothing is left of the command, or what is left may live.
    fn wait_for_guard(&self) {
        loop {
            match read_report(&self.reports) {
                // What is still on its way to the command must not reach the next one.
                Ok(GuardReport::Free) if !self.has_input => {
                    if let Some(control) = self.orders.lock().take() {
                        guard::keep(control);
                    }
                    return;
                }
                Ok(GuardReport::Free | GuardReport::Gone) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }
}

impl Process for Call {
    fn kill(&self) {
        // A guard that has gone has nothing to kill.
        let _ = self.orders.give(&GuardOrder::Kill);
    }

    fn wait(&self) -> io::Result<Option<i32>> {
        let report = read_report(&self.reports);
        // A guard that has been told to kill does not listen, and one that has gone cannot.
        let _ = self.orders.give(&GuardOrder::Release);
        self.wait_for_guard();
        match report {
            Ok(GuardReport::Exited(code)) => Ok(Some(code)),
            Ok(GuardReport::Signaled { .. }) => Ok(None),
            Ok(report) => Err(mishap(report)),
            Err(_) => Err(mishap(GuardReport::Lost(0))),
        }
    }
}

/// Why a call has failed whose command did nothing wrong.
fn mishap(report: GuardReport) -> io::Error {
    io::Error::other(report.mishap().unwrap_or_else(|| "its guard failed".to_owned()))
}

/// What a command reads, on its way through the guard.
#[derive(Debug)]
struct Input(Orders);

impl Write for Input {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.give(&GuardOrder::Input(bytes.to_vec()))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        // A guard that has gone needs no end.
        let _ = self.0.give(&GuardOrder::EndInput);
    }
}
