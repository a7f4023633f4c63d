//! Decides what changed in watched directories when no event told, by comparing with the index.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use super::Tree;
use crate::watch::{
    dirs::Dir,
    index::{Extent, Stamp},
    source::{Kind, PathEvent},
};

impl Tree {
    /// What differs anywhere.
    pub(in crate::watch) fn rescan(&self) -> Vec<PathEvent> {
        self.dirs.paths().flat_map(|path| self.rescan_dir(path)).collect()
    }

    /// Tries to have polled directories watched, and tells what differs in them.
    pub(in crate::watch) fn poll(&mut self) -> Vec<PathEvent> {
        let watched = self.dirs.retry_polled();
        let polled = self.dirs.polled().map(|(polled, _)| polled);
        let dirs = watched.iter().chain(polled.into_iter().flatten());
        dirs.flat_map(|path| self.rescan_dir(path)).collect()
    }

    /// What differs in one directory.
    fn rescan_dir(&self, path: &Path) -> Vec<PathEvent> {
        let Some(dir) = self.dirs.get(path) else { return Vec::new() };
        if Stamp::read(path) != Some(dir.stamp) {
            return vec![PathEvent { path: path.to_owned(), kind: Kind::Removed }];
        }
        if dir.index.extent == Extent::Named {
            self.rescan_named(path, dir)
        } else {
            self.rescan_entries(path, dir)
        }
    }

    /// Looks only at what stands between the directory and the paths it is watched for.
    fn rescan_named(&self, path: &Path, dir: &Dir) -> Vec<PathEvent> {
        let next = |real: &Path| {
            let rest = real.strip_prefix(path).ok()?;
            Some((path.join(rest.components().next()?), rest.components().count() == 1))
        };
        let roots = dir.views.iter().filter_map(|&id| self.views.get(id));
        let steps: BTreeMap<PathBuf, bool> = roots.filter_map(|view| next(&view.real)).collect();
        let seen = steps.into_iter().filter_map(|(step, is_root)| {
            let known = self.dirs.known(&step).map(|it| it.stamp);
            let now = Stamp::read(&step);
            let kind = match (known, now) {
                (None, Some(_)) => Kind::Created,
                (Some(_), None) => Kind::Removed,
                (Some(old), Some(now)) if old != now && is_root => Kind::Differs,
                _ => return None,
            };
            Some(PathEvent { path: step, kind })
        });
        seen.collect()
    }

    /// Looks at everything in the directory.
    fn rescan_entries(&self, path: &Path, dir: &Dir) -> Vec<PathEvent> {
        let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
        let stamped = entries.flatten().filter_map(|entry| {
            let stamp = Stamp::of(&entry.metadata().ok()?);
            Some((entry.file_name(), stamp))
        });
        let now: BTreeMap<OsString, Stamp> = stamped.collect();
        let mut seen = Vec::new();
        for (name, known) in &dir.index.entries {
            let watched = || self.dirs.get(&path.join(&**name)).map(|it| it.stamp);
            let kind = match now.get(&**name) {
                None => Kind::Removed,
                Some(stamp) if *stamp == known.stamp => continue,
                Some(stamp) if stamp.is_dir() && watched() == Some(*stamp) => continue,
                // A directory only differs by being another one.
                Some(stamp) if stamp.is_dir() || known.stamp.is_dir() => Kind::Removed,
                Some(_) => Kind::Differs,
            };
            seen.push(PathEvent { path: path.join(&**name), kind });
        }
        for (name, stamp) in now {
            if dir.index.entries.contains_key(name.as_os_str()) {
                continue;
            }
            let path = path.join(name);
            // While the index is incomplete, only what is younger than the watch can be new.
            let is_new = match dir.index.extent {
                Extent::Complete => true,
                _ if stamp.is_dir() => !self.is_planned(&path),
                _ => stamp.is_since(dir.watched_at),
            };
            if is_new {
                seen.push(PathEvent { path, kind: Kind::Created });
            }
        }
        seen
    }
}
