//! A command below its guard, seen from the engine.

use std::{io, path::Path};

use nix::errno::Errno;
use tokio::net::UnixStream;

use super::{
    output::OutputReader,
    program::{self, StartError},
};
use crate::guard::{self, GuardJob, GuardOrder, GuardReport, Lifetime, Outputs};

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

impl Launch<'_> {
    /// The order to a guard, with the path of the program.
    fn job(self, program: &str) -> io::Result<GuardJob> {
        let mut job = GuardJob::new(self.lifetime, program, self.argv)?;
        if let Some(dir) = self.dir {
            job = job.in_dir(dir)?;
        }
        match self.env {
            Some(env) => job.with_env(env),
            None => Ok(job),
        }
    }
}

/// A command that runs.
#[derive(Debug)]
pub(super) struct Attended {
    pub(super) guard: Guard,
    pub(super) output: OutputReader,
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
        let job = launch.job(&program).map_err(refused)?;
        let (outputs, pipe) = Outputs::merged().map_err(refused)?;
        let output = OutputReader::new(pipe).map_err(refused)?;
        let mut guard = Guard::start(job, &outputs).map_err(refused)?;
        // From here on, the pipe ends with the command.
        drop(outputs);
        match guard.report().await {
            Some(GuardReport::Started(pid)) => Ok(Self { guard, output, pid }),
            Some(GuardReport::NotStarted(errno)) => {
                Err(refused(io::Error::from_raw_os_error(errno)))
            }
            _ => Err(refused(Errno::EPIPE.into())),
        }
    }
}

/// A guard.
#[derive(Debug)]
pub(super) struct Guard {
    control: UnixStream,
    unread: Vec<u8>,
}

impl Guard {
    fn start(job: GuardJob, outputs: &Outputs) -> io::Result<Self> {
        let control = guard::start(job, outputs)?;
        control.set_nonblocking(true)?;
        Ok(Self { control: UnixStream::from_std(control)?, unread: Vec::new() })
    }

    /// The next report; `None` when the guard has gone. Loses nothing when it is dropped early.
    pub(super) async fn report(&mut self) -> Option<GuardReport> {
        loop {
            if let Some((report, _)) = self.unread.split_first_chunk() {
                let report = GuardReport::decode(*report);
                self.unread.drain(..GuardReport::LEN);
                return report;
            }
            self.control.readable().await.ok()?;
            let mut bytes = [0; 8 * GuardReport::LEN];
            match self.control.try_read(&mut bytes) {
                Ok(0) => return None,
                Ok(n_bytes) => self.unread.extend(&bytes[..n_bytes]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }

    /// Tells the guard to do something. A guard that has gone has done it.
    pub(super) fn order(&self, order: &GuardOrder) {
        let _ = self.control.try_write(&order.encode());
    }
}
