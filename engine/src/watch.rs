//! Watches files for all targets with one watcher, and tells each target what changed in batches.
//!
//! A thread of its own owns everything: which directories are watched (`tree`, `dirs`, `views`),
//! which changes do not count (`ignore`), whether a file really changed (`index`), and how long a
//! batch waits for more (`window`). It knows nothing of resources and their updates beyond the
//! ids of targets.

use std::{
    io,
    path::PathBuf,
    sync::mpsc,
    thread::{self, JoinHandle},
    time::SystemTime,
};

use engine_model::TargetId;
pub use engine_model::WatchTarget as Target;

use self::{source::Intake, worker::Worker};

pub use queue::{Batches, Sink, queue};

mod dirs;
mod ignore;
mod index;
mod locate;
mod queue;
mod row;
mod source;
#[cfg(test)]
mod tests;
mod tree;
mod views;
mod window;
mod worker;

/// Something to tell about one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The id of the target.
    pub target: TargetId,
    /// When the batch was closed.
    pub at: SystemTime,
    /// What there is to tell.
    pub kind: BatchKind,
}

/// What there is to tell about a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchKind {
    /// From now on changes of its files are noticed.
    Started,
    /// Files changed.
    Changed {
        /// The files as the target named them, each once, in the order of their first events.
        files: Vec<PathBuf>,
        /// Whether all of them changed during an update of the target or just after it.
        during_update: bool,
    },
    /// Many files change, and these seem to be complete. They are told again when the burst has ended.
    Early {
        /// The files as the target named them.
        files: Vec<PathBuf>,
    },
    /// Some of its files cannot be watched; changes may arrive late or not at all.
    Failed {
        /// What is wrong and what to do about it, as shown in the status.
        message: String,
    },
    /// What was wrong is right again.
    Recovered,
}

/// Why files cannot be watched at all.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// There is no thread for the watcher.
    #[error("cannot start the file watcher")]
    Thread(#[source] io::Error),
}

/// What the watcher's thread is told.
#[derive(Debug)]
enum Message {
    /// Something happened to a file.
    Seen(source::PathEvent),
    /// Events were lost.
    Lost,
    /// The targets changed.
    Set(Vec<Target>),
    /// An update of a target began or ended.
    Updating(TargetId, bool),
    /// The end.
    Stop,
}

/// Watches files until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    /// Unbounded, since the caller must not wait for the file system: the caller's messages are
    /// few, and events are limited where they come in.
    inbox: mpsc::Sender<Message>,
    thread: Option<JoinHandle<()>>,
    #[cfg(test)]
    intake: Intake,
}

impl Watcher {
    /// Starts a watcher without targets that tells `sink` what it sees.
    pub fn start(sink: Sink) -> Result<Self, WatchError> {
        let (inbox, messages) = mpsc::channel();
        let intake = Intake::new(inbox.clone());
        #[cfg(test)]
        let for_tests = intake.clone();
        let thread = thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || Worker::new(messages, intake, sink).run())
            .map_err(WatchError::Thread)?;
        Ok(Self {
            inbox,
            thread: Some(thread),
            #[cfg(test)]
            intake: for_tests,
        })
    }

    /// Replaces the targets; those that stay the same are not disturbed.
    ///
    /// Returns at once. A batch tells for each new or different target when it has started.
    pub fn set(&self, targets: Vec<Target>) {
        self.tell(Message::Set(targets));
    }

    /// Tells that an update of a target begins or ends, so that files which the update writes
    /// without changing them do not cause the next one.
    pub fn updating(&self, id: &TargetId, is_updating: bool) {
        self.tell(Message::Updating(id.clone(), is_updating));
    }

    fn tell(&self, message: Message) {
        // The thread ends only after the reader of batches has gone, and then nobody cares.
        let _ = self.inbox.send(message);
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.tell(Message::Stop);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported where it happened.
            let _ = thread.join();
        }
    }
}
