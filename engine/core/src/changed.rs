//! Changed files that wait for an update: each once, in the order in which they were first seen.
//!
//! Finding one takes as long among a hundred thousand as among ten.

use std::collections::HashMap;

use engine_model::{FilePath, TargetId};

use crate::resource::ChangedFile;

/// Which file, and for which part of a resource.
type Key = (FilePath, TargetId);

/// Changed files of a resource.
#[derive(Clone, Debug, Default)]
pub struct ChangedFiles {
    list: Vec<ChangedFile>,
    places: HashMap<Key, usize>,
}

impl ChangedFiles {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &ChangedFile> {
        self.list.iter().inspect(|_| work::count())
    }

    /// Adds a change. A file that is known already keeps its place, and of two explanations the one that speaks
    /// less for a loop.
    pub(crate) fn add(&mut self, change: ChangedFile) {
        work::count();
        let key = (change.path.clone(), change.target.clone());
        if let Some(&at) = self.places.get(&key) {
            let known = &mut self.list[at];
            known.at = change.at;
            // Nobody is less than anybody.
            if change.depth() < known.depth() {
                known.suspects = change.suspects;
            }
        } else {
            self.places.insert(key, self.list.len());
            self.list.push(change);
        }
    }

    /// Takes all of them out.
    pub(crate) fn take(&mut self) -> Vec<ChangedFile> {
        self.places.clear();
        std::mem::take(&mut self.list)
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.take();
    }
}

/// How many changed files were looked at, for tests: times differ from machine to machine, this does not.
pub(crate) mod work {
    #[cfg(test)]
    std::thread_local! {
        static LOOKS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    #[inline]
    pub(super) fn count() {
        #[cfg(test)]
        LOOKS.set(LOOKS.get() + 1);
    }

    /// How many since this was last asked.
    #[cfg(test)]
    pub(crate) fn take() -> usize {
        LOOKS.take()
    }
}
