//! A guard's end of the socket, and of the signals it gets.

use std::{
    collections::VecDeque,
    io::{self, Read},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use nix::{errno::Errno, unistd};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use super::wire::{Order, Report};

/// The socket to the engine: the guard's standard input.
#[derive(Debug)]
pub(super) struct Control {
    stdin: io::Stdin,
    unread: Vec<u8>,
    orders: VecDeque<Order>,
    is_closed: bool,
}

impl Control {
    pub(super) fn new() -> Self {
        Self { stdin: io::stdin(), unread: Vec::new(), orders: VecDeque::new(), is_closed: false }
    }

    /// The next order that has arrived; waits for nothing.
    pub(super) fn next(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// Whether the engine has gone.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Reads what has arrived; waits if nothing has.
    pub(super) fn read(&mut self) {
        let mut chunk = [0; 16 * 1024];
        match unistd::read(&self.stdin, &mut chunk) {
            Ok(0) => self.is_closed = true,
            Ok(n_bytes) => self.unread.extend(&chunk[..n_bytes]),
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(_) => self.is_closed = true,
        }
        let mut read = 0;
        while let Some((order, len)) = Order::decode(&self.unread[read..]) {
            self.orders.push_back(order);
            read += len;
        }
        self.unread.drain(..read);
    }

    pub(super) fn report(&self, report: Report) {
        // Nobody wants to know when the engine has gone.
        let _ = unistd::write(&self.stdin, &report.encode());
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stdin.as_fd()
    }
}

/// The signals of a guard.
#[derive(Debug)]
pub(super) struct Signals {
    wakes: UnixStream,
    must_end: Arc<AtomicBool>,
}

impl Signals {
    /// From now on, children that end wake the guard, and nobody can end it without its command.
    pub(super) fn handle() -> io::Result<Self> {
        let (wakes, sender) = UnixStream::pair()?;
        wakes.set_nonblocking(true)?;
        let must_end = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&must_end))?;
            signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
        }
        signal_hook::low_level::pipe::register(SIGCHLD, sender)?;
        Ok(Self { wakes, must_end })
    }

    /// Forgets the signals so far, and tells whether one of them asked the guard to end.
    pub(super) fn take(&mut self) -> bool {
        let mut bytes = [0; 64];
        while self.wakes.read(&mut bytes).is_ok_and(|it| it > 0) {}
        self.must_end.swap(false, Ordering::Relaxed)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wakes.as_fd()
    }
}
