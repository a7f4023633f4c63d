//! Decides how the operating system is asked for events, and what its answers mean. Knows single
//! directories only: neither targets nor what is below a directory.

use std::{
    io, panic,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
};

use nix::errno::Errno;
use notify::{
    ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{AccessKind, AccessMode, ModifyKind, RenameMode},
};

use super::Message;

/// So many events may wait for the watcher. More are dropped and the files are looked at instead,
/// which is what the operating system does with its own queue.
const QUEUED_MAX: usize = 64 * 1024;

/// Something that happened at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathEvent {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Something new stands here.
    Created,
    /// What stood here is gone.
    Removed,
    /// The content was written to.
    Written,
    /// A file that was just created is open.
    Opened,
    /// A writer closed the file.
    Closed,
    /// Mode, owner or times were set.
    Attributes,
    /// A look at it found it different from before.
    Differs,
}

/// A limit of the operating system that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Limit {
    /// This user has too many watchers.
    #[error(
        "Hit OS limits creating a watcher.\n\
         Run 'sysctl fs.inotify.max_user_instances' to check your inotify limits.\n\
         To raise them, run 'sudo sysctl fs.inotify.max_user_instances=1024'"
    )]
    Instances,
    /// This user watches too many directories.
    #[error(
        "Hit OS limits watching directories.\n\
         Run 'sysctl fs.inotify.max_user_watches' to check your inotify limits.\n\
         To raise them, run 'sudo sysctl fs.inotify.max_user_watches=524288'"
    )]
    Watches,
    /// There is no watcher for another reason.
    #[error("creating file watcher: {0}")]
    Other(String),
}

/// Why a directory is not watched.
#[derive(Debug)]
pub(super) enum NotWatched {
    /// It is gone or cannot be read.
    Unreadable,
    /// The operating system has had enough.
    Limit(Limit),
}

/// The receiving end of the operating system's events.
#[derive(Debug, Clone)]
pub(super) struct Intake {
    inbox: mpsc::Sender<Message>,
    n_queued: Arc<AtomicUsize>,
    has_lost: Arc<AtomicBool>,
    /// The file created last, whose opening tells that it is being written.
    created: Option<PathBuf>,
    #[cfg(test)]
    pub(super) faults: Arc<Faults>,
}

/// Faults that tests bring about.
#[cfg(test)]
#[derive(Debug)]
pub(super) struct Faults {
    /// Events are lost.
    pub(super) is_deaf: AtomicBool,
    /// So many directories can be watched.
    pub(super) n_watches: AtomicUsize,
}

impl Intake {
    pub(super) fn new(inbox: mpsc::Sender<Message>) -> Self {
        Self {
            inbox,
            n_queued: Arc::default(),
            has_lost: Arc::default(),
            created: None,
            #[cfg(test)]
            faults: Arc::new(Faults {
                is_deaf: AtomicBool::new(false),
                n_watches: AtomicUsize::new(usize::MAX),
            }),
        }
    }

    /// Makes room for another event.
    pub(super) fn taken(&self) {
        self.n_queued.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether events were lost since this was last asked.
    pub(super) fn take_lost(&self) -> bool {
        self.has_lost.swap(false, Ordering::AcqRel)
    }

    fn lose(&self) {
        if !self.has_lost.swap(true, Ordering::AcqRel) {
            // The watcher is gone if nobody listens, and so is the need to tell it.
            let _ = self.inbox.send(Message::Lost);
        }
    }

    /// Hands an event on. It must not block: the watcher may be waiting for this very thread.
    fn push(&self, path: PathBuf, kind: Kind) {
        if self.n_queued.fetch_add(1, Ordering::Relaxed) < QUEUED_MAX {
            let _ = self.inbox.send(Message::Seen(PathEvent { path, kind }));
        } else {
            self.taken();
            self.lose();
        }
    }
}

impl notify::EventHandler for Intake {
    fn handle_event(&mut self, event: notify::Result<Event>) {
        let take = panic::AssertUnwindSafe(|| self.take(event));
        if panic::catch_unwind(take).is_err() {
            // Its thread would go on without telling anybody anything.
            let _ = self.inbox.send(Message::Stop);
        }
    }
}

impl Intake {
    fn take(&mut self, event: notify::Result<Event>) {
        let Ok(event) = event else { return self.lose() };
        if event.need_rescan() {
            return self.lose();
        }
        #[cfg(test)]
        if self.faults.is_deaf.load(Ordering::Relaxed) {
            return;
        }
        let Some(kind) = kind(event.kind) else { return };
        for path in event.paths {
            match kind {
                // Every reader opens files; only the opening that creates one is of interest.
                Kind::Opened if self.created.take().as_ref() != Some(&path) => continue,
                Kind::Created => self.created = Some(path.clone()),
                _ => {}
            }
            self.push(path, kind);
        }
    }
}

/// What an event means, or `None` if it says nothing about a change.
fn kind(event: EventKind) -> Option<Kind> {
    match event {
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => {
            Some(Kind::Created)
        }
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => {
            Some(Kind::Removed)
        }
        // It repeats the two events before it.
        EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => None,
        EventKind::Modify(ModifyKind::Metadata(_)) => Some(Kind::Attributes),
        EventKind::Modify(_) => Some(Kind::Written),
        EventKind::Access(AccessKind::Open(_)) => Some(Kind::Opened),
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(Kind::Closed),
        EventKind::Access(_) | EventKind::Any | EventKind::Other => None,
    }
}

/// The operating system's watcher, made when it is first needed.
#[derive(Debug)]
pub(super) struct Source {
    intake: Intake,
    watcher: Option<RecommendedWatcher>,
    #[cfg(test)]
    n_watched: usize,
}

impl Source {
    pub(super) fn new(intake: Intake) -> Self {
        Self {
            intake,
            watcher: None,
            #[cfg(test)]
            n_watched: 0,
        }
    }

    /// Asks for the events of one directory and its entries.
    pub(super) fn add(&mut self, dir: &Path) -> Result<(), NotWatched> {
        #[cfg(test)]
        if self.n_watched >= self.intake.faults.n_watches.load(Ordering::Relaxed) {
            return Err(NotWatched::Limit(Limit::Watches));
        }
        let watcher = match &mut self.watcher {
            Some(watcher) => watcher,
            none => {
                let config = notify::Config::default().with_follow_symlinks(false);
                let watcher = RecommendedWatcher::new(self.intake.clone(), config);
                none.insert(watcher.map_err(|err| NotWatched::Limit(creation_limit(err)))?)
            }
        };
        watcher.watch(dir, RecursiveMode::NonRecursive).map_err(|err| match err.kind {
            ErrorKind::MaxFilesWatch => NotWatched::Limit(Limit::Watches),
            _ => NotWatched::Unreadable,
        })?;
        #[cfg(test)]
        {
            self.n_watched += 1;
        }
        Ok(())
    }

    /// Ends the events of a directory.
    pub(super) fn remove(&mut self, dir: &Path) {
        #[cfg(test)]
        {
            self.n_watched = self.n_watched.saturating_sub(1);
        }
        if let Some(watcher) = &mut self.watcher {
            // A directory that is gone is not watched any more, which is what was wanted.
            let _ = watcher.unwatch(dir);
        }
    }
}

fn creation_limit(err: notify::Error) -> Limit {
    match err.kind {
        ErrorKind::Io(err) if is_too_many_files(&err) => Limit::Instances,
        kind => Limit::Other(notify::Error::new(kind).to_string()),
    }
}

fn is_too_many_files(err: &io::Error) -> bool {
    err.raw_os_error().is_some_and(|code| {
        matches!(Errno::from_raw(code), Errno::EMFILE | Errno::ENFILE | Errno::ENOSPC)
    })
}

#[cfg(test)]
mod tests {
    use notify::EventHandler as _;

    use super::*;

    #[test]
    fn a_full_queue_is_an_overflow_and_not_a_block() {
        let (inbox, messages) = mpsc::channel();
        let mut intake = Intake::new(inbox);
        for _ in 0..QUEUED_MAX + 10 {
            let event = Event::new(EventKind::Modify(ModifyKind::Any)).add_path("/x".into());
            intake.handle_event(Ok(event));
        }
        let n_messages = messages.try_iter().count();
        assert_eq!(n_messages, QUEUED_MAX + 1);
        assert!(intake.take_lost());
        assert!(!intake.take_lost());
    }

    #[test]
    fn only_the_opening_that_creates_a_file_is_told() {
        let (inbox, messages) = mpsc::channel();
        let mut intake = Intake::new(inbox);
        let mut send = |kind| intake.handle_event(Ok(Event::new(kind).add_path("/x".into())));
        let open = EventKind::Access(AccessKind::Open(AccessMode::Any));
        send(open);
        send(EventKind::Create(notify::event::CreateKind::File));
        send(open);
        send(open);
        let kinds: Vec<Kind> = messages
            .try_iter()
            .filter_map(|it| match it {
                Message::Seen(seen) => Some(seen.kind),
                _ => None,
            })
            .collect();
        assert_eq!(kinds, [Kind::Created, Kind::Opened]);
    }
}
