//! A guard's end of the socket, and of the signals it gets.

use std::{
    collections::VecDeque,
    io::{self, Read},
    mem,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use nix::{errno::Errno, unistd};
use signal_hook::{
    SigId,
    consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM},
    low_level,
};

use super::wire::{GuardOrder, GuardReport};
use crate::platform::descriptors;

/// The socket to the engine: the guard's standard input.
#[derive(Debug)]
pub(super) struct Control {
    stdin: io::Stdin,
    unread: Vec<u8>,
    orders: VecDeque<GuardOrder>,
    /// The outputs for the next command.
    outputs: Vec<OwnedFd>,
    is_closed: bool,
}

impl Control {
    pub(super) fn new() -> Self {
        let (unread, outputs) = (Vec::new(), Vec::new());
        Self { stdin: io::stdin(), unread, orders: VecDeque::new(), outputs, is_closed: false }
    }

    /// The next order that has arrived; waits for nothing.
    pub(super) fn next(&mut self) -> Option<GuardOrder> {
        self.orders.pop_front()
    }

    /// Whether the engine has gone.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Reads what has arrived; waits if nothing has.
    pub(super) fn read(&mut self) {
        let mut chunk = [0; 16 * 1024];
        match descriptors::receive(&self.stdin, &mut chunk) {
            Ok((0, _)) => self.is_closed = true,
            Ok((n_bytes, outputs)) => {
                self.unread.extend(&chunk[..n_bytes]);
                self.outputs.extend(outputs);
            }
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(_) => self.is_closed = true,
        }
        let mut read = 0;
        while let Some((order, len)) = GuardOrder::decode(&self.unread[read..]) {
            self.orders.push_back(order);
            read += len;
        }
        self.unread.drain(..read);
    }

    /// Makes the outputs of the next command those of this process.
    pub(super) fn take_outputs(&mut self) -> io::Result<()> {
        let [stdout, stderr] =
            <[OwnedFd; 2]>::try_from(mem::take(&mut self.outputs)).map_err(|_| Errno::EINVAL)?;
        unistd::dup2_stdout(&stdout)?;
        Ok(unistd::dup2_stderr(&stderr)?)
    }

    /// Lets the engine go.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        if let Ok(null) = std::fs::File::open("/dev/null") {
            // If this failed, the socket would stay open until the guard ends.
            let _ = unistd::dup2_stdin(&null);
        }
    }

    pub(super) fn report(&self, report: GuardReport) {
        // Nobody wants to know when the engine has gone.
        let _ = unistd::write(&self.stdin, &report.encode());
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stdin.as_fd()
    }
}

/// Signals, as something that can be waited for.
#[derive(Debug)]
pub(super) struct Signals {
    wakes: UnixStream,
    must_end: Arc<AtomicBool>,
    registered: Vec<SigId>,
}

impl Signals {
    /// From now on, children that end wake the guard, and nobody can end it without its command.
    pub(super) fn of_guard() -> io::Result<Self> {
        Self::handle(&[SIGTERM, SIGINT, SIGHUP])
    }

    /// From now on, children that end wake the launcher.
    pub(super) fn of_launcher() -> io::Result<Self> {
        Self::handle(&[])
    }

    fn handle(requests: &[i32]) -> io::Result<Self> {
        let (wakes, sender) = UnixStream::pair()?;
        wakes.set_nonblocking(true)?;
        let must_end = Arc::new(AtomicBool::new(false));
        let mut registered = Vec::new();
        for signal in requests {
            registered.push(signal_hook::flag::register(*signal, Arc::clone(&must_end))?);
            registered.push(low_level::pipe::register(*signal, sender.try_clone()?)?);
        }
        registered.push(low_level::pipe::register(SIGCHLD, sender)?);
        Ok(Self { wakes, must_end, registered })
    }

    /// Forgets the signals so far, and tells whether one of them asked this process to end.
    pub(super) fn take(&mut self) -> bool {
        let mut bytes = [0; 64];
        while self.wakes.read(&mut bytes).is_ok_and(|it| it == bytes.len()) {}
        self.must_end.swap(false, Ordering::Relaxed)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for signal in self.registered.drain(..) {
            low_level::unregister(signal);
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wakes.as_fd()
    }
}
