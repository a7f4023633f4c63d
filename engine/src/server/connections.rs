//! Which connections are open, and which of them has to go.
//!
//! Whoever has shown the token stays. Of the strangers, each has to ask for something in time; and when there is no room
//! for a new one, the one goes that was silent for longest. So nobody who only connects can keep others out, or take the
//! descriptors that the engine needs for its own work.

use std::{
    collections::BTreeMap,
    future::pending,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use nix::unistd::Uid;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::{Notify, OnceCell, Semaphore},
    time::{self, Instant},
};

use crate::platform;

/// The share of all descriptors that connections may take; the rest is for commands, watches and builds.
const SHARE: u64 = 4;
/// The fewest connections that are of any use.
const FEWEST: u64 = 16;
/// More than anybody needs.
const MOST: u64 = 1024;

/// How many may look at once who is at the other end.
static LOOKS: Semaphore = Semaphore::const_new(1);

/// How long others may take, and how many of them there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// How long a stranger may take for the next request, from its beginning to the end of its headers.
    pub(super) header: Duration,
    /// How long the body of a request may take.
    pub(super) body: Duration,
    /// How long a websocket may read nothing.
    pub(super) silence: Duration,
    /// How many connections may be open.
    pub(super) connections: usize,
}

impl Limits {
    /// The limits for a process that may open as many files.
    pub(super) fn of(open_files: u64) -> Self {
        let connections = (open_files / SHARE).clamp(FEWEST, MOST);
        Self {
            header: Duration::from_secs(10),
            body: Duration::from_secs(30),
            silence: Duration::from_secs(30),
            connections: usize::try_from(connections).unwrap_or(usize::MAX),
        }
    }
}

/// One connection, as those know it who have to do with it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) limits: Limits,
    /// The address of the other end, and ours.
    ends: Option<(SocketAddr, SocketAddr)>,
    /// Whether the other end is of this user.
    is_own: OnceCell<bool>,
    state: Mutex<State>,
    sent_away: Notify,
}

#[derive(Debug)]
struct State {
    /// When the other side last sent something, or read something that had to wait for it.
    heard: Instant,
    /// Since when the next request is waited for.
    idle_since: Instant,
    /// How many requests are being answered.
    n_requests: usize,
    is_known: bool,
    is_sent_away: bool,
}

impl Connection {
    pub(super) fn new(limits: Limits, ends: Option<(SocketAddr, SocketAddr)>) -> Self {
        let now = Instant::now();
        let state = State {
            heard: now,
            idle_since: now,
            n_requests: 0,
            is_known: false,
            is_sent_away: false,
        };
        Self {
            limits,
            ends,
            is_own: OnceCell::new(),
            state: Mutex::new(state),
            sent_away: Notify::new(),
        }
    }

    /// A connection whose other end is of this user or not, whatever the system says.
    #[cfg(test)]
    pub(super) fn known_to_be_own(is_own: bool) -> Self {
        Self { is_own: OnceCell::from(is_own), ..Self::new(Limits::of(0), None) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // What is in there is right after every single change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The other side has shown that it belongs here.
    pub(super) fn trust(&self) {
        self.lock().is_known = true;
    }

    /// Whether a process of this user, or of root, on this machine is at the other end.
    pub(super) async fn is_own(&self) -> bool {
        let Some((peer, local)) = self.ends else { return self.is_own.get() == Some(&true) };
        let find = || async move {
            if !peer.ip().to_canonical().is_loopback() {
                return false;
            }
            // One at a time: each look goes through all connections of the machine.
            let _turn = LOOKS.acquire().await;
            let user = tokio::task::spawn_blocking(move || platform::peer_user(peer, local));
            let user = user.await.ok().flatten();
            user.is_some_and(|it| it.is_root() || it == Uid::effective())
        };
        *self.is_own.get_or_init(find).await
    }

    /// A request is being answered until the result is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        self.lock().n_requests += 1;
        Busy(Arc::clone(self))
    }

    fn hear(&self) {
        self.lock().heard = Instant::now();
    }

    /// Returns when the other side has read nothing for as long as a websocket may.
    pub(super) async fn silent(&self) {
        loop {
            let end = self.lock().heard + self.limits.silence;
            if end <= Instant::now() {
                return;
            }
            time::sleep_until(end).await;
        }
    }

    /// Returns when the connection has to end: there is no room for it, or a stranger takes too long.
    pub(super) async fn over(&self) {
        tokio::select! {
            () = self.sent_away.notified() => {}
            () = self.overdue() => {}
        }
    }

    async fn overdue(&self) {
        loop {
            let end = {
                let state = self.lock();
                let since = if state.n_requests == 0 { state.idle_since } else { state.heard };
                (!state.is_known).then(|| since + self.limits.header)
            };
            match end {
                // Who was known once stays so.
                None => pending().await,
                Some(end) if end <= Instant::now() => return,
                Some(end) => time::sleep_until(end).await,
            }
        }
    }

    fn send_away(&self) {
        self.lock().is_sent_away = true;
        self.sent_away.notify_one();
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Busy(Arc<Connection>);

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.n_requests -= 1;
        state.idle_since = Instant::now();
    }
}

/// All open connections of all ports.
#[derive(Debug)]
pub(super) struct Connections {
    limits: Limits,
    open: Mutex<BTreeMap<u64, Arc<Connection>>>,
    left: Notify,
}

impl Connections {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, open: Mutex::default(), left: Notify::new() })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for a connection; nothing if all others are of those who belong here.
    pub(super) async fn admit(
        self: &Arc<Self>,
        ends: Option<(SocketAddr, SocketAddr)>,
    ) -> Option<ConnectionSlot> {
        loop {
            let left = self.left.notified();
            if let Some(place) = self.take(ends) {
                return Some(place);
            }
            if !self.make_room() {
                return None;
            }
            // Its descriptor is free only when it is really gone.
            left.await;
        }
    }

    /// Returns when another connection has ended.
    #[cfg(test)]
    pub(super) fn one_left(&self) -> impl Future<Output = ()> {
        self.left.notified()
    }

    fn take(self: &Arc<Self>, ends: Option<(SocketAddr, SocketAddr)>) -> Option<ConnectionSlot> {
        let mut open = self.lock();
        if open.len() >= self.limits.connections {
            return None;
        }
        let id = open.last_key_value().map_or(0, |(last, _)| last + 1);
        let connection = Arc::new(Connection::new(self.limits, ends));
        open.insert(id, Arc::clone(&connection));
        Some(ConnectionSlot { id, connection, of: Arc::clone(self) })
    }

    /// Sends the stranger away that was silent for longest; tells whether anybody goes.
    pub(super) fn make_room(&self) -> bool {
        let open = self.lock();
        let strangers = || open.values().filter(|it| !it.lock().is_known);
        if strangers().any(|it| it.lock().is_sent_away) {
            return true;
        }
        let longest = strangers().min_by_key(|it| it.lock().heard);
        longest.map(|it| it.send_away()).is_some()
    }
}

/// The place of a connection among all; free for others when it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    id: u64,
    pub(super) connection: Arc<Connection>,
    of: Arc<Connections>,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.of.lock().remove(&self.id);
        self.of.left.notify_waiters();
    }
}

/// A stream that notes when the other side gives a sign of life, and that keeps its place until it is closed.
#[derive(Debug)]
pub(super) struct Heard<S> {
    // Closed before the place is free.
    stream: S,
    is_full: bool,
    place: ConnectionSlot,
}

impl<S> Heard<S> {
    pub(super) fn new(stream: S, place: ConnectionSlot) -> Self {
        Self { stream, is_full: false, place }
    }

    /// Something was written, or not: who lets us go on after a while has read.
    fn wrote(&mut self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if result.is_ready() && self.is_full {
            self.place.connection.hear();
        }
        self.is_full = result.is_pending();
        result
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Heard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if buffer.filled().len() > before {
            self.place.connection.hear();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Heard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.wrote(result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
