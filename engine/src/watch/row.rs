//! Keeps what is about to be told to one target.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    rc::Rc,
    time::{Duration, Instant},
};

use super::{
    Target,
    index::Verdict,
    views::ViewId,
    window::{QuietWindow, Step},
};

/// How long after an update its last writes may still arrive.
const AFTER_UPDATE: Duration = Duration::from_millis(500);

/// A target and its unreported changes.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) target: Target,
    pub(super) views: Vec<ViewId>,
    pub(super) window: QuietWindow,
    /// By the target's name of the file.
    files: HashMap<Rc<Path>, Change>,
    n_updates: usize,
    guarded_until: Option<Instant>,
    pub(super) has_started: bool,
    pub(super) problem: Option<String>,
    n_changes: usize,
}

#[derive(Debug)]
struct Change {
    real: Rc<Path>,
    /// Changes are told in the order of their first events.
    order: usize,
    /// Whether it is certain that the file changed.
    is_confirmed: bool,
    /// Whether it is still to be found out if the file changed (again).
    is_open: bool,
    /// Whether all events fell into an update of the target.
    is_guarded: bool,
}

impl Row {
    pub(super) fn new(target: Target) -> Self {
        Self {
            target,
            views: Vec::new(),
            window: QuietWindow::default(),
            files: HashMap::new(),
            n_updates: 0,
            guarded_until: None,
            has_started: false,
            problem: None,
            n_changes: 0,
        }
    }

    /// Takes note that an update of the target begins or ends.
    pub(super) fn set_updating(&mut self, now: Instant, is_updating: bool) {
        if is_updating {
            self.n_updates += 1;
        } else {
            self.n_updates = self.n_updates.saturating_sub(1);
            self.guarded_until = Some(now + AFTER_UPDATE);
        }
    }

    /// Whether a change of now may be the work of the target's own update.
    fn is_guarded(&self, now: Instant) -> bool {
        self.n_updates > 0 || self.guarded_until.is_some_and(|until| now < until)
    }

    /// Adds an event; tells whether the verdict about the file has to be announced here.
    pub(super) fn add(
        &mut self,
        now: Instant,
        named: &Rc<Path>,
        real: &Rc<Path>,
        key: u64,
        step: Step,
    ) -> bool {
        self.window.seen(now, key, step);
        let is_guarded = self.is_guarded(now);
        if let Some(change) = self.files.get_mut(named) {
            change.is_guarded &= is_guarded;
            return !std::mem::replace(&mut change.is_open, true);
        }
        self.n_changes += 1;
        let change = Change {
            real: Rc::clone(real),
            order: self.n_changes,
            is_confirmed: false,
            is_open: true,
            is_guarded,
        };
        self.files.insert(Rc::clone(named), change);
        true
    }

    /// Whether a file's content is to be compared before it is told.
    pub(super) fn is_guarding(&self, named: &Path) -> bool {
        self.files.get(named).is_some_and(|change| change.is_guarded)
    }

    /// Announces whether a file changed.
    pub(super) fn settle(&mut self, named: &Path, verdict: Verdict) {
        let Some(change) = self.files.get_mut(named) else { return };
        change.is_open = false;
        change.is_confirmed |= match verdict {
            Verdict::Same => false,
            Verdict::Touched => !change.is_guarded,
            Verdict::Changed => true,
        };
        if !change.is_confirmed {
            self.files.remove(named);
        }
    }

    /// Whether nothing waits to be told.
    pub(super) fn is_idle(&self) -> bool {
        self.files.is_empty()
    }

    /// The real paths of files about which a verdict is needed, in the order of their events.
    pub(super) fn open_files(&self) -> Vec<Rc<Path>> {
        let mut open: Vec<&Change> = self.files.values().filter(|it| it.is_open).collect();
        open.sort_by_key(|it| it.order);
        open.into_iter().map(|it| Rc::clone(&it.real)).collect()
    }

    /// Ends the batch: the changed files in the order of their first events, and whether all of
    /// them changed during an update.
    pub(super) fn take(&mut self) -> (Vec<PathBuf>, bool) {
        self.window.close();
        let during_update = self.files.values().all(|it| it.is_guarded);
        let mut changes: Vec<(Rc<Path>, Change)> = self.files.drain().collect();
        changes.sort_by_key(|(_, change)| change.order);
        (changes.into_iter().map(|(named, _)| named.to_path_buf()).collect(), during_update)
    }
}
