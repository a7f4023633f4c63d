//! A command with everything below it: how it is started, signaled and waited for.

use std::{
    fs::OpenOptions,
    io::{self, PipeWriter, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::process::ExitStatusExt,
    },
    process::ExitStatus,
};

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl},
    sys::signal::{Signal, kill, killpg},
    unistd::{self, Pid},
};

use super::{
    Lifetime,
    wire::{GuardJob, GuardReport},
};
use crate::platform::{self, Form, Image};

/// A running command and its descendants.
#[derive(Debug)]
pub(super) struct Family {
    form: Form,
    pub(super) lifetime: Lifetime,
    /// The main process, which leads the group and the session.
    pub(super) main: Pid,
    /// Whether the main process has ended and was waited for.
    pub(super) has_ended: bool,
    /// Whether a child of the guard is left, as far as it knows.
    pub(super) has_children: bool,
    /// What was found below it; only some systems find it again when its parent has ended.
    known: Vec<Pid>,
    input: Input,
}

impl Family {
    /// Starts a command; the guard gives up its own copies of the outputs.
    pub(super) fn start(job: GuardJob, form: Form) -> io::Result<Self> {
        if let Some(dir) = &job.dir {
            unistd::chdir(dir.as_c_str())?;
        }
        platform::restore_open_files(job.open_files);
        let image = Image::new(job.program, job.argv, job.env);
        let (reader, writer) = if job.has_input {
            let (reader, writer) = io::pipe()?;
            (Some(reader), Some(writer))
        } else {
            (None, None)
        };
        let main = platform::start_in_session(&image, reader.as_ref())?;
        let_go();
        Ok(Self {
            form,
            lifetime: job.lifetime,
            main,
            has_ended: false,
            has_children: true,
            known: Vec::new(),
            input: Input::new(writer),
        })
    }

    /// Waits for all that has ended, and tells how the main process has, the first time.
    pub(super) fn reap(&mut self) -> Option<GuardReport> {
        let mut ended = None;
        self.has_children = loop {
            match platform::wait_for_any() {
                Ok(Some((pid, status))) if pid == self.main => ended = Some(status),
                // What has become of an orphan matters to nobody.
                Ok(Some(_)) | Err(Errno::EINTR) => {}
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let status = ended.filter(|_| !self.has_ended)?;
        self.has_ended = true;
        if self.lifetime != Lifetime::Call {
            // The group may be empty.
            let _ = killpg(self.main, Signal::SIGKILL);
        }
        Some(report(status))
    }

    /// Signals the group, and what has left it.
    pub(super) fn signal(&mut self, signal: Signal) {
        // Looked for first: when their parent ends of the signal, it may be too late.
        self.look();
        if !self.has_ended {
            // Its main process is there, and so is the group.
            let _ = killpg(self.main, signal);
        }
        for pid in &self.known {
            let is_signaled = !self.has_ended && unistd::getpgid(Some(*pid)) == Ok(self.main);
            if !is_signaled || signal == Signal::SIGKILL {
                // It may have ended in the meantime.
                let _ = kill(*pid, signal);
            }
        }
    }

    /// Whether nothing is left.
    pub(super) fn is_gone(&mut self) -> bool {
        if !self.has_ended {
            return false;
        }
        if self.form.adopts_orphans() {
            return !self.has_children;
        }
        self.look();
        self.known.is_empty()
    }

    /// Finds what is left, as far as the system tells.
    fn look(&mut self) {
        self.known = self.form.descendants(self.main, &self.known).unwrap_or_default();
    }

    /// What the command is to read; `None` at the end.
    pub(super) fn feed(&mut self, bytes: Option<Vec<u8>>) {
        match bytes {
            Some(bytes) => self.input.unwritten.extend(bytes),
            None => self.input.is_complete = true,
        }
        self.input.write();
    }

    /// Writes what the command is ready to read.
    pub(super) fn write_input(&mut self) {
        self.input.write();
    }

    /// The pipe to write to, if there is something to write.
    pub(super) fn input(&self) -> Option<BorrowedFd<'_>> {
        let has_more = !self.input.unwritten.is_empty();
        self.input.pipe.as_ref().filter(|_| has_more).map(AsFd::as_fd)
    }
}

/// Holds nothing open that is the command's: its outputs, and its directory.
fn let_go() {
    if let Ok(null) = OpenOptions::new().write(true).open("/dev/null") {
        // If this failed, the engine would see the end of the outputs when the guard ends.
        let _ = unistd::dup2_stdout(&null);
        let _ = unistd::dup2_stderr(&null);
    }
    // Only unmounting its file system would be in the way.
    let _ = unistd::chdir("/");
}

fn report(status: ExitStatus) -> GuardReport {
    match (status.code(), status.signal()) {
        (Some(code), _) => GuardReport::Exited(code),
        (None, signal) => GuardReport::Signaled {
            signal: signal.unwrap_or_default(),
            core_dumped: status.core_dumped(),
        },
    }
}

/// What the command has not read yet; the caller holds it in memory anyway.
#[derive(Debug)]
struct Input {
    pipe: Option<PipeWriter>,
    unwritten: Vec<u8>,
    is_complete: bool,
}

impl Input {
    fn new(pipe: Option<PipeWriter>) -> Self {
        if let Some(pipe) = &pipe {
            // Should it block, orders would wait; pipes can always be set so.
            let _ = fcntl(pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK));
        }
        Self { pipe, unwritten: Vec::new(), is_complete: false }
    }

    fn write(&mut self) {
        while let Some(pipe) = self.pipe.as_mut().filter(|_| !self.unwritten.is_empty()) {
            match pipe.write(&self.unwritten) {
                Ok(n_bytes) => drop(self.unwritten.drain(..n_bytes)),
                Err(error) if error.raw_os_error() == Some(Errno::EAGAIN as i32) => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A command that does not read its input is no error.
                Err(_) => self.pipe = None,
            }
        }
        if self.is_complete && self.unwritten.is_empty() {
            self.pipe = None;
        }
        if self.pipe.is_none() {
            self.unwritten.clear();
        }
    }
}
