//! What resources and the engine print: one log for all, in which every piece of text has its place.
//!
//! Writers never wait. The newest text is in memory, older text on disk, both bounded; when room is needed, the
//! resources that wrote most lose their oldest text first. Readers are cursors that go at their own speed.
//!
//! Who reads from something that can wait, such as a command, reads no faster than text goes to disk
//! ([`LogStore::room`]). Without that, text between that on disk and the newest would have to go.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc::SyncSender},
    time::{Duration, SystemTime},
};

use engine_model::Secret;
use tokio::{sync::Notify, time::timeout};

mod answer;
mod block;
mod fair;
mod keeper;
mod reader;
mod scrub;
mod spill;
mod state;
mod terminal;
#[cfg(test)]
mod tests;
mod view;
mod writer;

pub use answer::{answer, last_lines};
pub use engine_api::log::{
    BuildEvent, Fields, Filter, Formatter, Level, Lines, Segment, Source, Span, micro_time,
    parse_micros,
};
pub use reader::{Gap, Reader, SegmentBatch};
pub use scrub::Scrubber;
pub use terminal::TerminalStream;
pub use view::view_log_list;
pub use writer::LogWriter;

use spill::Spill;
use state::{LogState, Message, Note};

/// How long the disk may take for one block before nobody waits for it anymore.
const PATIENCE: Duration = Duration::from_secs(1);

/// How much the log keeps, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// Messages below this level are not stored.
    pub level: Level,
    /// Bytes in memory; while the disk lags behind there may be four times as many.
    pub memory_bytes: usize,
    /// Bytes on disk.
    pub disk_bytes: u64,
    /// Where the file on disk is, which has no name; without it everything is in memory.
    pub dir: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            level: Level::Info,
            memory_bytes: 4 << 20,
            disk_bytes: 256 << 20,
            dir: Some(std::env::temp_dir()),
        }
    }
}

/// A place in the log, between two segments; later places are larger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Checkpoint(pub u64);

/// The log; cheap to clone.
#[derive(Clone, Debug)]
pub struct LogStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    level: Level,
    state: Mutex<LogState>,
    /// Readers wait for this.
    changed: Notify,
    /// Who waits for room waits for this.
    moved: Notify,
    /// Wakes the keeper, which is started when there is something to do for it.
    keeper: OnceLock<Option<SyncSender<()>>>,
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, LogState> {
        // No operation leaves the state half done where it could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogStore {
    /// An empty log. If there can be no file on disk, everything is in memory.
    pub fn new(options: &Options) -> Self {
        let spill = options.dir.as_deref().filter(|_| options.disk_bytes > 0);
        let spill = spill.and_then(|dir| Spill::create(dir, options.disk_bytes).ok());
        let inner = Inner {
            level: options.level,
            state: Mutex::new(LogState::new(options, spill)),
            changed: Notify::new(),
            moved: Notify::new(),
            keeper: OnceLock::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Messages below this level are not stored.
    pub fn level(&self) -> Level {
        self.inner.level
    }

    /// Writes to a span of a resource; both may be empty.
    pub fn writer(&self, resource: &str, span: &str) -> LogWriter {
        let span = self.inner.lock().span(resource, span);
        LogWriter::new(self.clone(), span)
    }

    /// Keeps secrets out of what is read from now on, as far as it was written since a time.
    pub fn add_secrets(&self, secrets: &BTreeMap<String, Secret>, since: SystemTime) {
        // Only loads add secrets, one after the other; meanwhile nobody need wait.
        if let Some(scrubber) = self.scrubber().extended(secrets) {
            self.inner.lock().add_secrets(scrubber, since);
        }
    }

    /// Keeps the known secrets out of other text, such as errors.
    pub fn scrubber(&self) -> Arc<Scrubber> {
        Arc::clone(self.inner.lock().scrubber())
    }

    /// A cursor that begins at a place.
    pub fn reader(&self, from: Checkpoint) -> Reader {
        Reader::new(self, from)
    }

    /// The place after everything that was written.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.inner.lock().next())
    }

    /// The warnings of a span, each as it was written.
    pub fn warnings(&self, span: &str) -> Vec<String> {
        self.inner.lock().warnings(span)
    }

    /// Waits while much more is in memory than should be, as long as the disk takes some of it each second.
    pub async fn room(&self) {
        self.room_within(PATIENCE).await;
    }

    async fn room_within(&self, patience: Duration) {
        while self.inner.lock().is_crowded() {
            let mut moved = pin!(self.inner.moved.notified());
            // What is moved after this wakes us, also if it is moved before we wait.
            moved.as_mut().enable();
            if !self.inner.lock().is_crowded() {
                return;
            }
            if timeout(patience, moved).await.is_err() {
                self.inner.lock().disk_stalls();
            }
        }
    }

    /// Stores text that is held back because a secret may have begun in it.
    pub fn flush(&self) {
        self.inner.lock().release_all();
        self.inner.changed.notify_waiters();
    }

    fn flush_span(&self, span: &Arc<Span>) {
        self.inner.lock().release_span(span);
        self.inner.changed.notify_waiters();
    }

    /// What a terminal shows after a segment and after later ones.
    fn notes_from(&self, index: u64) -> Vec<Note> {
        self.inner.lock().notes_from(index)
    }

    fn append(&self, message: &Message<'_>, note: Option<&str>) {
        if message.level < self.inner.level || message.text.is_empty() {
            return;
        }
        let needs_keeper = {
            let mut state = self.inner.lock();
            match note {
                Some(note) => state.append_noted(message, note),
                None => state.append(message),
            }
            state.is_holding() || state.wants_to_spill()
        };
        self.inner.changed.notify_waiters();
        if needs_keeper {
            self.wake_keeper();
        }
    }

    fn wake_keeper(&self) {
        let start = || keeper::start(Arc::downgrade(&self.inner));
        if let Some(keeper) = self.inner.keeper.get_or_init(start) {
            // If it is told already, it need not be told again.
            let _ = keeper.try_send(());
        }
    }
}
