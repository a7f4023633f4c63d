//! Decides which directories are watched, and keeps what is known about their entries. Every
//! directory is watched once, however many views need it.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ffi::OsStr,
    fs::{self, ReadDir},
    ops::Bound,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::{
    index::{DirIndex, Extent, Known, Stamp},
    source::{Limit, NotWatched, Source},
    views::ViewId,
};

/// So many files are looked at before events are served again, about a quarter of a millisecond.
const SLICE: usize = 256;

/// The clock of files may be so much behind, since it only moves with the kernel's timer.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// A watched directory.
#[derive(Debug)]
pub(super) struct Dir {
    /// Who needs it, sorted.
    pub(super) views: Vec<ViewId>,
    pub(super) index: DirIndex,
    pub(super) stamp: Stamp,
    /// Nanoseconds since 1970; what changed later has caused or will cause an event.
    pub(super) watched_at: i64,
}

/// All watched directories, by their real path.
#[derive(Debug)]
pub(super) struct Dirs {
    source: Source,
    dirs: BTreeMap<PathBuf, Dir>,
    /// Those that the operating system does not watch for us.
    polled: BTreeSet<PathBuf>,
    limit: Option<Limit>,
    unread: VecDeque<PathBuf>,
    reading: Option<Reading>,
}

/// A directory whose entries are being read.
#[derive(Debug)]
struct Reading {
    dir: PathBuf,
    watched_at: i64,
    rest: ReadDir,
    found: Vec<(Box<OsStr>, Known)>,
}

impl Dirs {
    pub(super) fn new(source: Source) -> Self {
        Self {
            source,
            dirs: BTreeMap::new(),
            polled: BTreeSet::new(),
            limit: None,
            unread: VecDeque::new(),
            reading: None,
        }
    }

    pub(super) fn get(&self, path: &Path) -> Option<&Dir> {
        self.dirs.get(path)
    }

    /// The paths of all watched directories.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.dirs.keys()
    }

    /// The directories that have to be looked at regularly, with the reason.
    pub(super) fn polled(&self) -> Option<(&BTreeSet<PathBuf>, &Limit)> {
        self.limit.as_ref().filter(|_| !self.polled.is_empty()).map(|limit| (&self.polled, limit))
    }

    /// Watches a directory for some views; false if it cannot be read.
    pub(super) fn hold(&mut self, path: &Path, views: &[ViewId], extent: Extent) -> bool {
        if let Some(dir) = self.dirs.get(path)
            && Stamp::read(path) != Some(dir.stamp)
        {
            self.forget(path);
        }
        let is_new = !self.dirs.contains_key(path);
        if is_new && !self.watch(path, extent) {
            return false;
        }
        let Some(dir) = self.dirs.get_mut(path) else { return false };
        for &view in views {
            if let Err(at) = dir.views.binary_search(&view) {
                dir.views.insert(at, view);
            }
        }
        let is_wider = dir.index.extent == Extent::Named && extent != Extent::Named;
        if is_wider {
            dir.index.extent = Extent::Queued;
        }
        if is_wider || (is_new && extent == Extent::Queued) {
            self.unread.push_back(path.to_owned());
        }
        true
    }

    fn watch(&mut self, path: &Path, extent: Extent) -> bool {
        let watched_at = (SystemTime::now() - CLOCK_TICK).duration_since(SystemTime::UNIX_EPOCH);
        match self.source.add(path) {
            Ok(()) => {}
            Err(NotWatched::Unreadable) => return false,
            Err(NotWatched::Limit(limit)) => {
                self.limit = Some(limit);
                self.polled.insert(path.to_owned());
            }
        }
        let Some(stamp) = Stamp::read(path) else {
            self.unwatch(path);
            return false;
        };
        let dir = Dir {
            views: Vec::new(),
            index: DirIndex::new(extent),
            stamp,
            watched_at: watched_at.map_or(0, |it| i64::try_from(it.as_nanos()).unwrap_or(0)),
        };
        self.dirs.insert(path.to_owned(), dir);
        true
    }

    fn unwatch(&mut self, path: &Path) {
        if !self.polled.remove(path) {
            self.source.remove(path);
        }
    }

    /// Lets go of one directory for one view.
    pub(super) fn release(&mut self, path: &Path, view: ViewId) {
        let Some(dir) = self.dirs.get_mut(path) else { return };
        dir.views.retain(|&it| it != view);
        if dir.views.is_empty() {
            self.dirs.remove(path);
            self.unwatch(path);
        }
    }

    /// Lets go of everything that some views needed.
    pub(super) fn release_all(&mut self, gone: &BTreeSet<ViewId>) {
        let mut unneeded = Vec::new();
        for (path, dir) in &mut self.dirs {
            dir.views.retain(|it| !gone.contains(it));
            if dir.views.is_empty() {
                unneeded.push(path.clone());
            }
        }
        for path in unneeded {
            self.dirs.remove(&path);
            self.unwatch(&path);
        }
    }

    /// Forgets a directory that is gone, and all below.
    pub(super) fn forget(&mut self, path: &Path) {
        let below = self.dirs.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
        let below = below.take_while(|(it, _)| it.starts_with(path));
        let gone: Vec<PathBuf> = below.map(|(it, _)| it.clone()).collect();
        for path in gone {
            self.dirs.remove(&path);
            self.unwatch(&path);
        }
    }

    /// Tries again to have the polled directories watched, and returns those that now are.
    pub(super) fn retry_polled(&mut self) -> Vec<PathBuf> {
        let mut watched = Vec::new();
        while let Some(path) = self.polled.first().cloned() {
            match self.source.add(&path) {
                Ok(()) => {
                    self.polled.remove(&path);
                    watched.push(path);
                }
                Err(NotWatched::Limit(_)) => break,
                Err(NotWatched::Unreadable) => {
                    self.polled.remove(&path);
                    self.dirs.remove(&path);
                }
            }
        }
        watched
    }

    /// Whether entries are still unknown that should be known.
    pub(super) fn is_reading(&self) -> bool {
        self.reading.is_some() || !self.unread.is_empty()
    }

    /// Reads some more entries.
    pub(super) fn read_some(&mut self) {
        let Some(mut reading) = self.reading.take().or_else(|| self.next_unread()) else { return };
        for _ in 0..SLICE {
            let Some(entry) = reading.rest.next() else {
                let dir = self.dirs.get_mut(&reading.dir);
                if let Some(dir) = dir.filter(|it| it.index.extent == Extent::Queued) {
                    dir.index.complete(reading.found);
                }
                return;
            };
            if let Ok(entry) = entry
                && let Ok(metadata) = entry.metadata()
            {
                let known = Known::at_first_sight(&metadata, reading.watched_at);
                reading.found.push((entry.file_name().into_boxed_os_str(), known));
            }
        }
        self.reading = Some(reading);
    }

    fn next_unread(&mut self) -> Option<Reading> {
        while let Some(path) = self.unread.pop_front() {
            let Some(dir) = self.dirs.get(&path) else { continue };
            if dir.index.extent == Extent::Queued
                && let Ok(rest) = fs::read_dir(&path)
            {
                let watched_at = dir.watched_at;
                return Some(Reading { dir: path, watched_at, rest, found: Vec::new() });
            }
        }
        None
    }

    fn entry<'a>(&self, path: &'a Path) -> Option<(&Dir, &'a OsStr)> {
        Some((self.dirs.get(path.parent()?)?, path.file_name()?))
    }

    /// What is known about a path.
    pub(super) fn known(&self, path: &Path) -> Option<Known> {
        let (dir, name) = self.entry(path)?;
        dir.index.entries.get(name).copied()
    }

    /// Whether it cannot be told how a path was before.
    pub(super) fn is_blind_to(&self, path: &Path) -> bool {
        self.entry(path).is_none_or(|(dir, name)| dir.index.is_blind_to(name))
    }

    /// Remembers how a path is.
    pub(super) fn learn(&mut self, path: &Path, known: Option<Known>) {
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name())
            && let Some(dir) = self.dirs.get_mut(parent)
        {
            dir.index.update(name, known);
        }
    }
}
