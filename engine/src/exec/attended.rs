//! A command below its guard, seen from the engine.

use std::{io, path::Path};

use nix::errno::Errno;
use tokio::{io::AsyncWriteExt, net::UnixStream, process::Child};

use super::{
    output::Output,
    program::{self, StartError},
};
use crate::guard::{self, Job, Lifetime, Order, Outputs, Report, Spawned};

/// What to start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch<'a> {
    pub(super) argv: &'a [String],
    /// Where; the engine's own directory otherwise.
    pub(super) dir: Option<&'a Path>,
    /// The whole environment; the engine's own otherwise.
    pub(super) env: Option<&'a [(String, String)]>,
    /// Where the program is looked up.
    pub(super) path: &'a str,
    pub(super) lifetime: Lifetime,
}

/// A command that runs.
#[derive(Debug)]
pub(super) struct Attended {
    pub(super) guard: Guard,
    pub(super) output: Output,
    /// The main process.
    pub(super) pid: i32,
}

impl Attended {
    /// Starts a command, and returns when it runs.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) async fn launch(launch: Launch<'_>) -> Result<Self, StartError> {
        let name = launch.argv.first().map_or("", String::as_str);
        let program = program::find(name, launch.path)?;
        let refused = |source| StartError::System { program: program.clone(), source };
        let job = Job::new(launch.lifetime, &program, launch.argv).map_err(refused)?;
        let (outputs, pipe) = Outputs::merged().map_err(refused)?;
        let output = Output::new(pipe).map_err(refused)?;
        let mut guard = Guard::spawn(launch, outputs).map_err(refused)?;
        let started = guard.control.write_all(&Order::Start(job).encode()).await;
        started.map_err(refused)?;
        match guard.report().await {
            Some(Report::Started(pid)) => Ok(Self { guard, output, pid }),
            Some(Report::NotStarted(errno)) => Err(refused(io::Error::from_raw_os_error(errno))),
            _ => Err(refused(Errno::EPIPE.into())),
        }
    }
}

/// A guard.
#[derive(Debug)]
pub(super) struct Guard {
    child: Child,
    control: UnixStream,
    unread: Vec<u8>,
}

impl Guard {
    fn spawn(launch: Launch<'_>, outputs: Outputs) -> io::Result<Self> {
        let Spawned { child, control } = guard::spawn(launch.dir, launch.env, outputs, |it| {
            tokio::process::Command::from(it).spawn()
        })?;
        control.set_nonblocking(true)?;
        Ok(Self { child, control: UnixStream::from_std(control)?, unread: Vec::new() })
    }

    /// The next report; `None` when the guard has gone. Loses nothing when it is dropped early.
    pub(super) async fn report(&mut self) -> Option<Report> {
        loop {
            if let Some((report, _)) = self.unread.split_first_chunk() {
                let report = Report::decode(*report);
                self.unread.drain(..Report::LEN);
                return report;
            }
            self.control.readable().await.ok()?;
            let mut bytes = [0; 8 * Report::LEN];
            match self.control.try_read(&mut bytes) {
                Ok(0) => return None,
                Ok(n_bytes) => self.unread.extend(&bytes[..n_bytes]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }

    /// Tells the guard to do something. A guard that has gone has done it.
    pub(super) fn order(&self, order: &Order) {
        let _ = self.control.try_write(&order.encode());
    }

    /// Waits for a guard that has reported its end, so that nothing remains of it.
    pub(super) async fn wait(&mut self) {
        let _ = self.child.wait().await;
    }
}
