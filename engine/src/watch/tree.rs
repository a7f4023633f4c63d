//! Decides what has to be watched for the views: directories with all that is below and not
//! ignored, and the way to paths that are no directories or do not exist yet.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    rc::Rc,
};

use super::{
    dirs::Dirs,
    ignore::Ignores,
    index::{Extent, Known, Stamp},
    locate::{Located, Locator, RootDirectory},
    views::{RowId, View, ViewId, Views},
};

mod rescan;

/// How often a missing path is looked for anew because it moves while it is looked for.
const ATTEMPTS: usize = 8;

/// A path that appeared along with a directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AppearedPath {
    pub(super) path: PathBuf,
    pub(super) is_dir: bool,
}

/// Whether what is watched existed before anybody could have changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Age {
    /// It was there when watching began.
    Old,
    /// It appeared, so all of it is a change.
    New,
}

/// A directory still to be visited.
#[derive(Debug)]
struct Visit {
    views: Vec<ViewId>,
    age: Age,
}

/// What is watched.
#[derive(Debug)]
pub(super) struct Tree {
    views: Views,
    pub(super) dirs: Dirs,
    /// Parents come before their children, so each directory is visited once for all views.
    unvisited: BTreeMap<PathBuf, Visit>,
    found: Vec<AppearedPath>,
    unplaced: BTreeMap<ViewId, RootDirectory>,
}

impl Tree {
    pub(super) fn new(dirs: Dirs) -> Self {
        Self {
            views: Views::default(),
            dirs,
            unvisited: BTreeMap::new(),
            found: Vec::new(),
            unplaced: BTreeMap::new(),
        }
    }

    /// Watches paths for a target.
    pub(super) fn join(
        &mut self,
        locator: &mut Locator,
        paths: &[PathBuf],
        ignores: &Rc<Ignores>,
        row: RowId,
    ) -> Vec<ViewId> {
        let mut ids = Vec::new();
        for path in paths {
            let (id, is_new) = self.views.join(path, ignores, row);
            if is_new {
                self.place(locator, id, Age::Old);
            }
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    /// Ends views of targets.
    pub(super) fn leave(&mut self, views: impl IntoIterator<Item = (RowId, ViewId)>) {
        let mut gone = BTreeSet::new();
        for (row, id) in views {
            if self.views.leave(id, row) {
                self.unplaced.remove(&id);
                gone.insert(id);
            }
        }
        if !gone.is_empty() {
            self.dirs.release_all(&gone);
        }
    }

    /// The views that contain a real path.
    pub(super) fn covering<'a>(&'a self, real: &'a Path) -> impl Iterator<Item = &'a View> {
        self.views.covering(real).map(|(_, view)| view)
    }

    /// Finds out where a view is and watches what tells about it.
    fn place(&mut self, locator: &mut Locator, id: ViewId, age: Age) {
        for attempt in 0..ATTEMPTS {
            let Some(view) = self.views.get_mut(id) else { return };
            let anchor = view.anchor.take();
            let named = view.named.clone();
            let location = if attempt == 0 {
                locator.locate(&named)
            } else {
                Locator::default().locate(&named)
            };
            self.unplaced.remove(&id);
            match location {
                Ok(location) => {
                    self.views.relocate(id, &location.real);
                    let has_settled = self.watch_place(id, &location.real, &location.place, age);
                    self.let_go(anchor, id);
                    if has_settled {
                        return;
                    }
                }
                Err(root) => {
                    self.let_go(anchor, id);
                    self.unplaced.insert(id, root);
                    return;
                }
            }
        }
    }

    /// Lets go of a former anchor unless it is the anchor again.
    fn let_go(&mut self, anchor: Option<PathBuf>, id: ViewId) {
        if let Some(anchor) = anchor
            && self.views.get(id).is_some_and(|it| it.anchor.as_ref() != Some(&anchor))
        {
            self.dirs.release(&anchor, id);
        }
    }

    /// Watches a located view; false if it has moved meanwhile.
    fn watch_place(&mut self, id: ViewId, real: &Path, place: &Located, age: Age) -> bool {
        let anchor = match place {
            Located::Dir => {
                self.visit_later(real.to_owned(), &[id], age);
                return true;
            }
            Located::Entry(_) => real.parent(),
            Located::Missing(dir) => Some(dir.as_path()),
        };
        let Some(anchor) = anchor else { return true };
        if !self.dirs.hold(anchor, &[id], Extent::Named) {
            return false;
        }
        if let Some(view) = self.views.get_mut(id) {
            view.anchor = Some(anchor.to_owned());
        }
        match place {
            Located::Entry(stamp) if age == Age::Old => {
                if self.dirs.known(real).is_none() {
                    self.dirs.learn(real, Some(Known { stamp: *stamp, hash: None }));
                }
                true
            }
            Located::Entry(_) => {
                self.found.push(AppearedPath { path: real.to_owned(), is_dir: false });
                true
            }
            // From here on events tell. What came before has to be looked for once more.
            Located::Missing(dir) => {
                let next = real.strip_prefix(dir).ok().and_then(|rest| rest.components().next());
                next.is_none_or(|next| Stamp::read(&dir.join(next)).is_none())
            }
            Located::Dir => true,
        }
    }

    fn visit_later(&mut self, dir: PathBuf, views: &[ViewId], age: Age) {
        let visit = self.unvisited.entry(dir).or_insert(Visit { views: Vec::new(), age });
        visit.age = visit.age.max(age);
        for &view in views {
            if !visit.views.contains(&view) {
                visit.views.push(view);
            }
        }
    }

    /// Whether directories wait to be watched.
    pub(super) fn is_visiting(&self) -> bool {
        !self.unvisited.is_empty()
    }

    /// Watches the next directory, and plans for what is below it.
    pub(super) fn visit_next(&mut self) {
        let Some((dir, visit)) = self.unvisited.pop_first() else { return };
        let extent = if visit.age == Age::New { Extent::Complete } else { Extent::Queued };
        if !self.dirs.hold(&dir, &visit.views, extent) {
            return self.replace_roots(&dir, &visit);
        }
        let Ok(entries) = fs::read_dir(&dir) else { return };
        for entry in entries.flatten() {
            let is_dir = entry.file_type().is_ok_and(|it| it.is_dir());
            if !is_dir && visit.age == Age::Old {
                continue;
            }
            let path = entry.path();
            if is_dir {
                self.plan(&path, &visit);
            }
            if visit.age == Age::New {
                self.found.push(AppearedPath { path, is_dir });
            }
        }
    }

    /// Looks anew for views whose directory went away before it could be watched.
    fn replace_roots(&mut self, dir: &Path, visit: &Visit) {
        if Stamp::read(dir).is_some_and(|it| it.is_dir()) {
            return;
        }
        let mut locator = Locator::default();
        for &id in &visit.views {
            if self.views.get(id).is_some_and(|view| view.real == dir) {
                self.place(&mut locator, id, Age::New);
            }
        }
    }

    /// Whether a directory is watched or about to be.
    fn is_planned(&self, dir: &Path) -> bool {
        self.dirs.get(dir).is_some() || self.unvisited.contains_key(dir)
    }

    fn plan(&mut self, dir: &Path, visit: &Visit) {
        let is_wanted = |id: &ViewId| self.views.get(*id).is_some_and(|view| !view.skips(dir));
        let views: Vec<ViewId> = visit.views.iter().copied().filter(is_wanted).collect();
        if !views.is_empty() {
            self.visit_later(dir.to_owned(), &views, visit.age);
        }
    }

    /// What appeared along with directories, since this was last asked.
    pub(super) fn take_found(&mut self) -> Vec<AppearedPath> {
        std::mem::take(&mut self.found)
    }

    /// Takes note of a directory or link that is new at a path.
    pub(super) fn appeared(&mut self, path: &Path, stamp: Stamp) {
        self.place_within(path);
        if !stamp.is_dir() {
            return;
        }
        let is_inside =
            |(id, view): (ViewId, &View)| (view.real != path && !view.skips(path)).then_some(id);
        let views: Vec<ViewId> = self.views.covering(path).filter_map(is_inside).collect();
        if !views.is_empty() {
            self.visit_later(path.to_owned(), &views, Age::New);
        }
    }

    /// Takes note that a path is gone, although something may stand there again.
    pub(super) fn vanished(&mut self, path: &Path) {
        let was_watched = self.dirs.get(path).is_some();
        if was_watched {
            self.dirs.forget(path);
        }
        match Stamp::read(path) {
            Some(stamp) if stamp.is_dir() || stamp.is_symlink() => self.appeared(path, stamp),
            _ if was_watched => self.place_within(path),
            _ => {}
        }
    }

    fn place_within(&mut self, path: &Path) {
        let within: Vec<ViewId> = self.views.within(path).collect();
        let mut locator = Locator::default();
        for id in within {
            self.place(&mut locator, id, Age::New);
        }
    }

    /// Looks again for paths that could not be watched.
    pub(super) fn retry_unplaced(&mut self) {
        let mut locator = Locator::default();
        for id in self.unplaced.keys().copied().collect::<Vec<_>>() {
            self.place(&mut locator, id, Age::New);
        }
    }

    /// Whether something is wrong that may get better by itself.
    pub(super) fn has_problem(&self) -> bool {
        self.dirs.polled().is_some() || !self.unplaced.is_empty()
    }

    /// What is wrong, by target.
    pub(super) fn problems(&self) -> BTreeMap<RowId, String> {
        let mut problems = BTreeMap::new();
        if let Some((polled, limit)) = self.dirs.polled() {
            let message = format!("filewatch init: {limit}");
            let dirs = polled.iter().filter_map(|path| self.dirs.get(path));
            for view in dirs.flat_map(|dir| &dir.views).filter_map(|&id| self.views.get(id)) {
                problems.extend(view.rows.iter().map(|&row| (row, message.clone())));
            }
        }
        for (&id, root) in &self.unplaced {
            let rows = self.views.get(id).map(|view| view.rows.as_slice()).unwrap_or_default();
            problems.extend(rows.iter().map(|&row| (row, format!("filewatch init: {root}"))));
        }
        problems
    }
}
