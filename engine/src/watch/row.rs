//! Keeps what is about to be told to one target.

use std::{
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
    rc::Rc,
    time::{Duration, Instant},
};

use super::{
    Target,
    index::Verdict,
    views::ViewId,
    window::{Activity, QuietWindow},
};

/// How long after an update its last writes may still arrive.
const AFTER_UPDATE: Duration = Duration::from_millis(500);

/// So often the files of a batch are gathered that need a verdict.
const GATHERED_MAX: usize = 3;

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
    /// Files about which a verdict is needed before the batch can be told.
    open: VecDeque<Rc<Path>>,
    /// How often they were gathered for the batch that is about to be told.
    n_gathered: usize,
    /// Files that may be complete, for a target that wants to know early.
    ready: Vec<(u64, Rc<Path>)>,
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
    /// Whether it was told early; then it has to be told in the end as well.
    is_told: bool,
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
            open: VecDeque::new(),
            n_gathered: 0,
            ready: Vec::new(),
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

    /// Takes note of a step of a file that is, or is about to be, among the changes.
    pub(super) fn see(&mut self, now: Instant, key: u64, step: Activity) {
        let step = match step {
            Activity::Writing if self.is_guarded(now) => Activity::WritingInUpdate,
            step => step,
        };
        self.window.seen(now, key, step);
    }

    /// Adds an event; tells whether the verdict about the file has to be announced here.
    pub(super) fn add(
        &mut self,
        now: Instant,
        named: &Rc<Path>,
        real: &Rc<Path>,
        key: u64,
        step: Activity,
    ) -> bool {
        self.see(now, key, step);
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
            is_told: false,
        };
        self.files.insert(Rc::clone(named), change);
        true
    }

    /// Takes note that a file may be complete.
    pub(super) fn is_complete(&mut self, now: Instant, named: &Rc<Path>, key: u64) {
        if self.target.is_early && !self.is_guarded(now) {
            self.ready.push((key, Rc::clone(named)));
        }
    }

    /// The files that are complete while others still change, each time that happens.
    pub(super) fn take_early(&mut self) -> Vec<PathBuf> {
        if !self.window.is_burst() {
            return Vec::new();
        }
        let window = &self.window;
        let ready = self.ready.extract_if(.., |(key, _)| !window.is_unclosed(*key));
        let mut told = Vec::new();
        for (_, named) in ready {
            if !self.files.contains_key(&named) {
                continue;
            }
            // Directories that have just been made get there with their files.
            for path in named.ancestors() {
                if let Some(change) = self.files.get_mut(path) {
                    change.is_told = true;
                }
            }
            told.push(named.to_path_buf());
        }
        told.sort();
        told.dedup();
        told
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
            Verdict::Same => change.is_told,
            Verdict::Touched => !change.is_guarded || change.is_told,
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

    /// The real path of the next file about which a verdict is needed, in the order of their events. Files that change
    /// while others are looked at come later, but not forever.
    pub(super) fn next_open(&mut self) -> Option<Rc<Path>> {
        if self.open.is_empty() && self.n_gathered < GATHERED_MAX {
            let mut open: Vec<&Change> = self.files.values().filter(|it| it.is_open).collect();
            open.sort_by_key(|it| it.order);
            self.open.extend(open.into_iter().map(|it| Rc::clone(&it.real)));
            self.n_gathered += 1;
        }
        self.open.pop_front()
    }

    /// Whether a pause is harmless before the next verdict: files that keep changing must not hold back a batch.
    pub(super) fn may_pause(&self) -> bool {
        self.n_gathered < GATHERED_MAX
    }

    /// Ends the batch: the changed files in the order of their first events, and whether all of
    /// them changed during an update.
    pub(super) fn take(&mut self) -> (Vec<PathBuf>, bool) {
        self.window.close();
        self.ready.clear();
        self.open.clear();
        self.n_gathered = 0;
        let during_update = self.files.values().all(|it| it.is_guarded);
        let mut changes: Vec<(Rc<Path>, Change)> = self.files.drain().collect();
        changes.sort_by_key(|(_, change)| change.order);
        (changes.into_iter().map(|(named, _)| named.to_path_buf()).collect(), during_update)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::target, *};

    /// A row that wants to know early, after events of so many files that were closed.
    fn burst(now: Instant, n_files: u64, is_early: bool) -> Row {
        let mut row = Row::new(Target { is_early, ..target("t") });
        for key in 0..n_files {
            let path = path(key);
            row.add(now, &path, &path, key, Activity::Writing);
            row.see(now, key, Activity::Closed);
            row.is_complete(now, &path, key);
        }
        row
    }

    fn path(key: u64) -> Rc<Path> {
        Path::new(&format!("/f{key}")).into()
    }

    #[test]
    fn directories_of_files_that_were_told_early_are_told_when_they_are_gone() {
        let now = Instant::now();
        let mut row = burst(now, 5, true);
        let (dir, file): (Rc<Path>, Rc<Path>) =
            (Path::new("/new").into(), Path::new("/new/file").into());
        for (key, path) in [(7, &dir), (8, &file)] {
            row.add(now, path, path, key, Activity::Changed);
        }
        row.is_complete(now, &file, 8);
        assert!(row.take_early().contains(&file.to_path_buf()));
        row.settle(&file, Verdict::Same);
        row.settle(&dir, Verdict::Same);
        let (told, _) = row.take();
        assert!(
            told.contains(&dir.to_path_buf()) && told.contains(&file.to_path_buf()),
            "{told:?}"
        );
    }

    #[test]
    fn files_that_keep_changing_are_looked_at_again_but_hold_back_no_batch() {
        let now = Instant::now();
        let mut row = burst(now, 3, false);
        assert_eq!(row.next_open(), Some(path(0)));
        row.settle(&path(0), Verdict::Changed);
        row.add(now, &path(0), &path(0), 0, Activity::Changed);
        for key in [1, 2, 0] {
            assert_eq!(row.next_open(), Some(path(key)));
            row.settle(&path(key), Verdict::Changed);
            assert!(row.may_pause());
        }
        row.add(now, &path(0), &path(0), 0, Activity::Changed);
        assert_eq!(row.next_open(), Some(path(0)));
        assert!(!row.may_pause(), "it was looked at twice");
        assert_eq!(row.next_open(), None, "a verdict that never comes holds back nothing");
        assert_eq!(row.take().0.len(), 3);
        assert!(row.may_pause(), "the next batch is another one");
    }

    #[test]
    fn only_files_of_a_burst_are_told_early() {
        let now = Instant::now();
        assert!(burst(now, 3, true).take_early().is_empty());
        assert!(burst(now, 20, false).take_early().is_empty());
        let mut row = burst(now, 20, true);
        assert_eq!(row.take_early().len(), 20);
        assert!(row.take_early().is_empty());
        row.is_complete(now, &path(7), 7);
        assert_eq!(row.take_early(), [PathBuf::from("/f7")]);
    }

    #[test]
    fn a_file_that_is_being_written_again_is_not_told_early() {
        let now = Instant::now();
        let mut row = burst(now, 20, true);
        row.add(now, &path(7), &path(7), 7, Activity::Writing);
        assert_eq!(row.take_early().len(), 19);
        row.see(now, 7, Activity::Closed);
        assert_eq!(row.take_early(), [PathBuf::from("/f7")]);
    }

    #[test]
    fn what_was_told_early_is_told_in_the_end_even_if_it_came_and_went() {
        let now = Instant::now();
        let mut row = burst(now, 20, true);
        row.take_early();
        row.settle(&path(3), Verdict::Same);
        assert_eq!(row.take().0.len(), 20);
        let mut row = burst(now, 20, true);
        row.settle(&path(3), Verdict::Same);
        assert_eq!(row.take().0.len(), 19);
    }

    #[test]
    fn what_an_update_writes_is_not_told_early() {
        let now = Instant::now();
        let mut row = Row::new(Target { is_early: true, ..target("t") });
        row.set_updating(now, true);
        for key in 0..20 {
            row.add(now, &path(key), &path(key), key, Activity::Changed);
            row.is_complete(now, &path(key), key);
        }
        assert!(row.take_early().is_empty());
    }
}
