//! How the commands of a Tiltfile, such as `local()`, are started: below a guard, like all others.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    process::Child,
    sync::{Arc, Mutex, PoisonError},
};

use builtins::host::{Command, Launched, Launcher, Process};
use nix::errno::Errno;

use crate::{
    exec::own_name,
    guard::{self, Job, Lifetime, Order, Outputs, Report, Spawned},
};

/// Starts commands of Tiltfiles so that nothing of them outlives an evaluation that is canceled,
/// or an engine that dies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Guarded;

impl Launcher for Guarded {
    fn launch(&self, program: &str, command: &Command) -> io::Result<Launched> {
        let job = Job::new(Lifetime::Call, program, &command.argv)?;
        let job = Job { has_input: command.stdin.is_some(), ..job };
        let (outputs, stdout, stderr) = Outputs::apart()?;
        let dir = std::path::Path::new(&command.dir);
        let env = own_name::findable(command.env.clone());
        let Spawned { child, control } =
            guard::spawn(Some(dir), Some(&env), outputs, |mut it| it.spawn())?;
        let orders = Orders(Arc::new(Mutex::new(control.try_clone()?)));
        let call = Call { orders: orders.clone(), reports: control, child: Mutex::new(child) };
        call.orders.give(&Order::Start(job))?;
        match read_report(&call.reports) {
            Ok(Report::Started(_)) => {}
            Ok(Report::NotStarted(errno)) => {
                call.reap();
                return Err(io::Error::from_raw_os_error(errno));
            }
            Ok(_) | Err(_) => {
                call.reap();
                return Err(Errno::EPIPE.into());
            }
        }
        let stdin = command.stdin.is_some().then_some(Input(orders));
        Ok(Launched {
            stdin: stdin.map(|it| Box::new(it) as _),
            stdout: Box::new(stdout),
            stderr: Box::new(stderr),
            process: Box::new(call),
        })
    }
}

fn read_report(mut control: impl Read) -> io::Result<Report> {
    let mut bytes = [0; Report::LEN];
    control.read_exact(&mut bytes)?;
    Report::decode(bytes).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// The way to a guard, for those who give it orders at the same time.
#[derive(Clone, Debug)]
struct Orders(Arc<Mutex<UnixStream>>);

impl Orders {
    /// Gives an order, whole.
    fn give(&self, order: &Order) -> io::Result<()> {
        let mut control = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        control.write_all(&order.encode())
    }
}

/// A command of a Tiltfile that runs.
#[derive(Debug)]
struct Call {
    orders: Orders,
    reports: UnixStream,
    child: Mutex<Child>,
}

impl Call {
    /// Waits for the guard, which is about to end.
    fn reap(&self) {
        let _ = self.child.lock().unwrap_or_else(PoisonError::into_inner).wait();
    }
}

impl Process for Call {
    fn kill(&self) {
        // A guard that has gone has nothing to kill.
        let _ = self.orders.give(&Order::Kill);
    }

    fn wait(&self) -> io::Result<Option<i32>> {
        let code = match read_report(&self.reports) {
            Ok(Report::Exited(code)) => Some(code),
            // A guard that was killed has not let its command live on.
            Ok(_) | Err(_) => None,
        };
        // A guard that has been told to kill does not listen, and one that has gone cannot.
        let _ = self.orders.give(&Order::Release);
        self.reap();
        Ok(code)
    }
}

/// What a command reads, on its way through the guard.
#[derive(Debug)]
struct Input(Orders);

impl Write for Input {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.give(&Order::Input(bytes.to_vec()))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        // A guard that has gone needs no end.
        let _ = self.0.give(&Order::EndInput);
    }
}
