//! The process that makes guards, and takes the place of one that is killed.
//!
//! There is one for each engine: this program once more, with one thread and hardly any memory, so
//! that a copy of it is made in a fraction of the time that a start of the program takes. Each copy
//! becomes a guard. When a guard is killed, the launcher adopts what it guarded, and kills it.
//! Other processes never come to it: a guard goes when nothing is left below it, or when the
//! launcher has gone.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::{net::UnixStream, process::ExitStatusExt},
    },
    process::ExitStatus,
    time::Instant,
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::{Signal, kill},
    unistd::{self, Pid},
};

use super::{control::Signals, keeper::GIVE_UP, wire::GuardReport};
use crate::platform::{self, Form};

/// What the launcher is called by tools that look for processes.
const NAME: &std::ffi::CStr = c"cmd-launcher";

/// How soon what still lives is killed again, in milliseconds.
const KILL_AGAIN: u8 = 10;

/// Makes guards until there is no engine any more. Returns in each guard, with its tie to the
/// launcher, and when nothing is left to do.
///
/// # Errors
/// If the system refuses what launchers need.
pub(super) fn run(form: Form) -> io::Result<Option<Tie>> {
    // Neither the engine's terminal nor its process group reaches the launcher from here on.
    let _ = unistd::setsid();
    form.adopt_orphans();
    form.set_process_name(NAME);
    let mut launcher = Launcher::new(form)?;
    while !launcher.is_done() {
        if let Some(control) = launcher.wait()?
            && let Some(control) = launcher.copy(control)
        {
            return launcher.become_guard(&control).map(Some);
        }
    }
    Ok(None)
}

/// What connects a guard with its launcher.
#[derive(Debug)]
pub(super) struct Tie {
    /// All guards have the same end: they write, and see when nobody has the other one.
    socket: UnixStream,
    is_cut: bool,
}

impl Tie {
    /// Whether the launcher is known to have gone.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The launcher has gone.
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
    }

    /// Tells the launcher that what this guard has guarded may live, whatever becomes of the guard.
    pub(super) fn note_release(&mut self) {
        // A launcher that has gone does nothing to it either.
        let _ = self.socket.write_all(&Pid::this().as_raw().to_le_bytes());
    }
}

impl AsFd for Tie {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A guard that runs.
struct Guard {
    /// Its end of the socket to the engine, on which the launcher reports how it ended.
    control: UnixStream,
    /// What was below it when it let its command go, if it has.
    left: Option<Vec<Pid>>,
}

struct Launcher {
    form: Form,
    /// Standard input is the socket on which the engine asks for guards.
    engine: io::Stdin,
    has_engine: bool,
    signals: Signals,
    /// The launcher's end of the ties, and that of the guards.
    notes: UnixStream,
    tie: UnixStream,
    guards: BTreeMap<Pid, Guard>,
    /// Sockets of guards that were killed, as long as something of their commands may live.
    lost: Vec<(UnixStream, Instant)>,
    /// What finished commands have left and no guard stays with, as that was killed.
    strangers: BTreeSet<Pid>,
}

impl Launcher {
    fn new(form: Form) -> io::Result<Self> {
        let (notes, tie) = UnixStream::pair()?;
        notes.set_nonblocking(true)?;
        Ok(Self {
            form,
            engine: io::stdin(),
            has_engine: true,
            signals: Signals::of_launcher()?,
            notes,
            tie,
            guards: BTreeMap::new(),
            lost: Vec::new(),
            strangers: BTreeSet::new(),
        })
    }

    /// Whether there is neither an engine nor something that has to end with it.
    fn is_done(&self) -> bool {
        let is_idle = self.lost.is_empty() && self.guards.values().all(|it| it.left.is_some());
        !self.has_engine && is_idle
    }

    /// Waits until something has happened, and does what is to be done about it, except that it
    /// makes no guard for the socket that it returns.
    fn wait(&mut self) -> io::Result<Option<UnixStream>> {
        let engine = self.has_engine.then(|| self.engine.as_fd());
        let readable = [Some(self.signals.as_fd()), Some(self.notes.as_fd()), engine];
        let readable = readable.into_iter().flatten();
        let mut fds: Vec<_> = readable.map(|it| PollFd::new(it, PollFlags::POLLIN)).collect();
        let is_sweeping = !self.lost.is_empty();
        let timeout = if is_sweeping { PollTimeout::from(KILL_AGAIN) } else { PollTimeout::NONE };
        match poll(&mut fds, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let ready: Vec<bool> = fds.iter().map(|it| it.any().unwrap_or(true)).collect();
        if ready[0] || ready[1] {
            self.signals.take();
            self.reap();
        }
        if !self.lost.is_empty() {
            self.sweep();
        }
        if ready.get(2) == Some(&true) { self.receive() } else { Ok(None) }
    }

    /// The next request of the engine: the socket of a guard.
    fn receive(&mut self) -> io::Result<Option<UnixStream>> {
        match platform::descriptors::receive(&self.engine, &mut [0]) {
            Ok((0, _)) => self.has_engine = false,
            Ok((_, sockets)) => return Ok(sockets.into_iter().next().map(UnixStream::from)),
            // Too many files are open: the engine sees that nobody has got its socket.
            Err(Errno::EINTR | Errno::ENOBUFS) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(None)
    }

    /// Makes a guard. Returns its socket in the guard only.
    fn copy(&mut self, control: UnixStream) -> Option<UnixStream> {
        match platform::copy_process() {
            Ok(None) => return Some(control),
            Ok(Some(pid)) => drop(self.guards.insert(pid, Guard { control, left: None })),
            Err(error) => {
                let reason = error.raw_os_error().unwrap_or(Errno::EAGAIN as i32);
                report(&control, GuardReport::NotStarted(reason));
            }
        }
        None
    }

    /// Keeps nothing of the launcher: neither its sockets nor those of other guards.
    fn become_guard(self, control: &UnixStream) -> io::Result<Tie> {
        unistd::dup2_stdin(control)?;
        Ok(Tie { socket: self.tie, is_cut: false })
    }

    /// Waits for all that has ended, and learns what finished commands have left.
    fn reap(&mut self) {
        let mut left_some = self.collect();
        while left_some && self.lost.is_empty() {
            // They may have started others since they were noted. Whoever has come to the launcher
            // from a guard that was killed has done so before the end of that can be collected.
            let adopted = self.unknown();
            left_some = self.collect();
            if self.lost.is_empty() {
                let children = self.form.children();
                self.strangers.extend(adopted.into_iter().filter(|it| children.contains(it)));
            }
        }
    }

    /// Waits for all that has ended. Returns whether some of it has left what may live.
    fn collect(&mut self) -> bool {
        let mut left_some = false;
        loop {
            match platform::wait_for_any() {
                Ok(Some((pid, status))) => left_some |= self.ended(pid, status),
                Err(Errno::EINTR) => {}
                Ok(None) | Err(_) => break,
            }
        }
        self.take_notes();
        left_some
    }

    /// A child has ended; a guard that has not ended in order has lost what it guarded. Returns
    /// whether it has left something that may live.
    fn ended(&mut self, pid: Pid, status: ExitStatus) -> bool {
        // What it has said counts, also if it was killed since.
        self.take_notes();
        let was_stranger = self.strangers.remove(&pid);
        let Some(Guard { control, left }) = self.guards.remove(&pid) else { return was_stranger };
        match left {
            _ if status.success() => false,
            Some(left) => {
                let adopted = self.form.children();
                self.strangers.extend(left.into_iter().filter(|it| adopted.contains(it)));
                true
            }
            None => {
                report(&control, GuardReport::Lost(status.signal().unwrap_or(0)));
                self.lost.push((control, Instant::now() + GIVE_UP));
                false
            }
        }
    }

    /// Hears which guards have let their commands go.
    fn take_notes(&mut self) {
        let mut notes = [0; 64 * size_of::<i32>()];
        while let Ok(n_bytes @ 1..) = self.notes.read(&mut notes) {
            for note in notes[..n_bytes].as_chunks().0 {
                let pid = Pid::from_raw(i32::from_le_bytes(*note));
                if let Some(guard) = self.guards.get_mut(&pid) {
                    guard.left = Some(self.form.children_of(pid));
                }
            }
        }
    }

    /// Kills what guards have lost. Once nothing of it is left, or it does not die of that, the
    /// engine is told.
    fn sweep(&mut self) {
        let adopted = self.form.children();
        // One that stayed with what may live may have been killed just now, before they were seen.
        self.collect();
        for root in adopted.into_iter().filter(|it| !self.knows(*it)) {
            for pid in self.form.tree(root) {
                // It may have ended in the meantime.
                let _ = kill(pid, Signal::SIGKILL);
            }
        }
        // Nobody but the launcher waits for them, so they are its children until it has.
        let is_clean = self.unknown().is_empty();
        self.lost.retain(|(control, give_up_at)| {
            let is_over = is_clean || *give_up_at <= Instant::now();
            if is_over {
                report(control, GuardReport::Gone);
            }
            !is_over
        });
    }

    /// Children that are neither guards nor what finished commands have left.
    fn unknown(&self) -> Vec<Pid> {
        self.form.children().into_iter().filter(|it| !self.knows(*it)).collect()
    }

    fn knows(&self, pid: Pid) -> bool {
        self.guards.contains_key(&pid) || self.strangers.contains(&pid)
    }
}

fn report(mut control: &UnixStream, report: GuardReport) {
    // Nobody wants to know when the engine has gone.
    let _ = control.write_all(&report.encode());
}
