//! What resources and the engine print: one log for all, in which every piece of text has its place.
//!
//! Writers never wait. The newest text is in memory, older text on disk, both bounded; when room is needed, the
//! resources that wrote most lose their oldest text first. Readers are cursors that go at their own speed.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc::SyncSender},
    time::SystemTime,
};

use engine_model::Secret;
use tokio::sync::Notify;

mod block;
mod fair;
mod filter;
mod format;
mod keeper;
mod lines;
pub mod query;
mod reader;
mod scrub;
mod segment;
mod spill;
mod state;
mod terminal;
#[cfg(test)]
mod tests;
mod time;
mod view;
mod writer;

pub use filter::{Filter, Source};
pub use format::{Formatter, JsonLines};
pub use lines::{Line, Lines};
pub use reader::{Batch, Gap, Reader};
pub use scrub::Scrubber;
pub use segment::{BuildEvent, Fields, Level, Segment, Span};
pub use terminal::TerminalStream;
pub use time::{micro_time, parse_micros};
pub use view::view_log_list;
pub use writer::LogWriter;

use spill::Spill;
use state::{Message, State};

/// How much the log keeps, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// Messages below this level are not stored.
    pub level: Level,
    /// Bytes in memory; for a moment there may be twice as many.
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
    state: Mutex<State>,
    /// Readers wait for this.
    changed: Notify,
    /// Wakes the keeper, which is started when there is something to do for it.
    keeper: OnceLock<Option<SyncSender<()>>>,
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No operation leaves the state half done where it could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogStore {
    /// An empty log. If there can be no file on disk, everything is in memory.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        let spill = options.dir.as_deref().filter(|_| options.disk_bytes > 0);
        let spill = spill.and_then(|dir| Spill::create(dir, options.disk_bytes).ok());
        let inner = Inner {
            level: options.level,
            state: Mutex::new(State::new(options, spill)),
            changed: Notify::new(),
            keeper: OnceLock::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Messages below this level are not stored.
    #[must_use]
    pub fn level(&self) -> Level {
        self.inner.level
    }

    /// Writes to a span of a resource; both may be empty.
    #[must_use]
    pub fn writer(&self, resource: &str, span: &str) -> LogWriter {
        let span = self.inner.lock().span(resource, span);
        LogWriter::new(self.clone(), span)
    }

    /// Keeps secrets out of what is read from now on, as far as it was written since a time.
    pub fn add_secrets(&self, secrets: &BTreeMap<String, Secret>, since: SystemTime) {
        let mut state = self.inner.lock();
        if let Some(scrubber) = state.scrubber().extended(secrets) {
            state.add_secrets(scrubber, since);
        }
    }

    /// Keeps the known secrets out of other text, such as errors.
    #[must_use]
    pub fn scrubber(&self) -> Arc<Scrubber> {
        Arc::clone(self.inner.lock().scrubber())
    }

    /// A cursor that begins at a place.
    #[must_use]
    pub fn reader(&self, from: Checkpoint) -> Reader {
        Reader::new(self, from)
    }

    /// The place after everything that was written.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.inner.lock().next())
    }

    /// The warnings of a span, each as it was written.
    #[must_use]
    pub fn warnings(&self, span: &str) -> Vec<String> {
        self.inner.lock().warnings(span)
    }

    /// Stores text that is held back because a secret may have begun in it.
    pub fn flush(&self) {
        self.inner.lock().release_held(None);
        self.inner.changed.notify_waiters();
    }

    fn append(&self, message: &Message<'_>) {
        if message.level < self.inner.level || message.text.is_empty() {
            return;
        }
        let needs_keeper = {
            let mut state = self.inner.lock();
            state.append(message);
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
