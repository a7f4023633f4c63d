//! From events to verdicts: which targets an event concerns, and whether the file really changed.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
    rc::Rc,
    time::{Duration, Instant},
};

use super::Worker;
use crate::watch::{
    BatchKind,
    index::{self, Known, Sign, Stamp, Verdict},
    row::Row,
    source::{Kind, PathEvent},
    views::RowId,
    window::Activity,
};

/// So long the files of one target are looked at before others get their turn.
const SETTLE_MAX: Duration = Duration::from_millis(20);

/// A file about which events came in and no verdict went out.
#[derive(Debug)]
pub(super) struct Pending {
    sign: Sign,
    /// What was known about the file before.
    old: Option<Known>,
    /// Whether that says nothing about how it was.
    is_blind: bool,
    /// Who waits for the verdict, and the target's name of the file.
    pub(super) waiting: Vec<(RowId, Rc<Path>)>,
}

impl Worker {
    pub(super) fn see_all(&mut self, seen: Vec<PathEvent>) {
        let now = Instant::now();
        for seen in seen {
            self.see(now, &seen);
        }
    }

    pub(super) fn see(&mut self, now: Instant, seen: &PathEvent) {
        let path = seen.path.as_path();
        let stamp = match seen.kind {
            Kind::Opened | Kind::Closed => return self.see_handle(now, seen),
            _ => Stamp::read(path),
        };
        let is_dir = stamp.is_some_and(|it| it.is_dir());
        match (seen.kind, stamp) {
            (Kind::Removed, _) => self.tree.vanished(path),
            (Kind::Created, Some(stamp)) if is_dir || stamp.is_symlink() => {
                self.tree.appeared(path, stamp);
            }
            // Times and mode of a directory are no change, but it may have become readable.
            (Kind::Attributes | Kind::Written | Kind::Differs, Some(stamp)) if is_dir => {
                if self.tree.dirs.get(path).is_none() {
                    self.tree.appeared(path, stamp);
                }
                return;
            }
            _ => {}
        }
        self.note(now, path, seen.kind, is_dir);
    }

    /// Takes note that a changed file was opened by its writer, or closed.
    fn see_handle(&mut self, now: Instant, seen: &PathEvent) {
        let Some(pending) = self.pending.get(seen.path.as_path()) else { return };
        let step = if seen.kind == Kind::Opened { Activity::Writing } else { Activity::Closed };
        let key = key(&seen.path);
        for (row, named) in &pending.waiting {
            if let Some(row) = self.rows.get_mut(row) {
                row.see(now, key, step);
                if step == Activity::Closed {
                    row.is_complete(now, named, key);
                }
            }
        }
    }

    /// Adds an event to the batches of all targets it concerns.
    pub(super) fn note(&mut self, now: Instant, path: &Path, kind: Kind, is_dir: bool) {
        let (sign, step) = match kind {
            Kind::Created => (Sign::Placed, Activity::Changed),
            Kind::Removed => (Sign::Placed, Activity::Removed),
            Kind::Written => (Sign::Written, Activity::Writing),
            Kind::Differs => (Sign::Written, Activity::Changed),
            Kind::Attributes => (Sign::Attributes, Activity::Changed),
            Kind::Opened | Kind::Closed => return,
        };
        let real: Rc<Path> = path.into();
        let mut waiting = Vec::new();
        let mut is_wanted = false;
        for view in self.tree.covering(path) {
            let is_root_dir = is_dir && view.real == path;
            let named: Rc<Path> = view.name_of(path).into();
            if is_root_dir || view.ignores.matches(&named) {
                continue;
            }
            is_wanted = true;
            for &id in &view.rows {
                let Some(row) = self.rows.get_mut(&id) else { continue };
                let key = key(path);
                if kind == Kind::Created && !is_dir {
                    // Moved here, most likely; if it is being written, somebody will tell.
                    row.is_complete(now, &named, key);
                }
                if row.add(now, &named, &real, key, step) {
                    waiting.push((id, Rc::clone(&named)));
                }
                self.active.insert(id);
            }
        }
        if is_wanted {
            let dirs = &self.tree.dirs;
            let pending = self.pending.entry(real).or_insert_with(|| Pending {
                sign,
                old: dirs.known(path),
                is_blind: dirs.is_blind_to(path),
                waiting: Vec::new(),
            });
            pending.sign = pending.sign.max(sign);
            pending.waiting.append(&mut waiting);
        } else if !self.tree.dirs.is_blind_to(path) {
            let known = Stamp::read(path).map(|stamp| Known { stamp, hash: None });
            self.tree.dirs.learn(path, known);
        }
    }

    /// Finds out whether a file changed, and announces it to all who wait for that.
    fn settle(&mut self, real: &Path) {
        let Some(pending) = self.pending.remove(real) else { return };
        let is_guarded = pending
            .waiting
            .iter()
            .any(|(row, named)| self.rows.get(row).is_some_and(|row| row.is_guarding(named)));
        let hash = |stamp: &Stamp| index::hash(real, stamp);
        let (verdict, known) =
            index::judge(pending.old, Stamp::read(real), pending.sign, is_guarded, hash);
        self.tree.dirs.learn(real, known);
        let verdict = if pending.is_blind { Verdict::Changed } else { verdict };
        for (row, named) in pending.waiting {
            if let Some(row) = self.rows.get_mut(&row) {
                row.settle(&named, verdict);
            }
        }
    }

    /// Finds out what changed for a target; whether that is done. A hundred thousand files take their time, in which
    /// others are told of theirs.
    fn settle_row(&mut self, id: RowId) -> bool {
        let start = Instant::now();
        while let Some(real) = self.rows.get_mut(&id).and_then(Row::next_open) {
            self.settle(&real);
            let is_late = start.elapsed() >= SETTLE_MAX;
            if is_late && self.rows.get(&id).is_some_and(Row::may_pause) {
                return false;
            }
        }
        true
    }

    /// Tells targets that want to know of files that are complete, although others still change.
    pub(super) fn tell_early(&mut self) {
        let mut early = Vec::new();
        for row in self.active.iter().filter_map(|it| self.rows.get(it)) {
            if row.target.is_early && row.window.is_burst() {
                early.push(row.target.id.clone());
            }
        }
        for id in early {
            let row = self.ids.get(&id).and_then(|it| self.rows.get_mut(it));
            let files = row.map(Row::take_early).unwrap_or_default();
            if !files.is_empty() {
                self.post(id, BatchKind::Early { files });
            }
        }
    }

    /// Tells targets whose changes have waited long enough.
    pub(super) fn flush_due(&mut self) {
        let now = Instant::now();
        let is_due = |row: &Row| row.window.deadline().is_none_or(|deadline| deadline <= now);
        let due: Vec<RowId> =
            self.active.iter().copied().filter(|id| self.rows.get(id).is_none_or(is_due)).collect();
        for id in due {
            if !self.settle_row(id) {
                continue;
            }
            self.active.remove(&id);
            let Some(row) = self.rows.get_mut(&id) else { continue };
            let is_idle = row.is_idle();
            let (files, during_update) = row.take();
            if !is_idle {
                let target = row.target.id.clone();
                self.post(target, BatchKind::Changed { files, during_update });
            }
        }
    }
}

/// Tells files apart for the window.
fn key(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}
