//! What the engine already has of a context.
//!
//! The engine keeps the files of a session under its key, and asks only for those whose size, mode
//! or time differ. A file may change without any of that, as build tools like to write fixed
//! times. So we remember what was sent, notice such a file by its inode and change time, and shift
//! the time that is sent by a nanosecond, which makes the engine ask. What an earlier run of the
//! program has sent is not known any more, so keys are never used by two runs.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use super::run_id;
use crate::context::fingerprint::Seen;

/// What was sent of each context.
#[derive(Clone, Debug, Default)]
pub(crate) struct SyncMemory(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    contexts: HashMap<String, Kept>,
    generations: u64,
}

/// Copies of a context that the engine has, and that nobody else is changing. There may be several,
/// as different steps ask for different files; what is known holds for the file, not for a copy.
#[derive(Debug, Default)]
struct Kept {
    generation: u64,
    files: HashMap<PathBuf, SentFile>,
    /// How often a time was shifted. No shift is used twice.
    shifts: i64,
}

/// A file as it was sent last.
#[derive(Clone, Copy, Debug)]
struct SentFile {
    seen: Seen,
    /// By how much the time was shifted, in nanoseconds.
    shift: i64,
}

/// The right to change the copies of one context. Unless it is given back, they are not used again.
#[derive(Debug)]
pub(crate) struct Lease {
    memory: SyncMemory,
    context: String,
    kept: Kept,
    /// Transfers that have begun and not ended well.
    open: usize,
    /// Files of the largest transfer.
    largest: usize,
}

impl SyncMemory {
    /// Takes the copies of a context if nobody uses them, or starts new ones.
    pub(crate) fn lease(&self, context: &str) -> Lease {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = state.contexts.remove(context).unwrap_or_else(|| {
            state.generations += 1;
            Kept { generation: state.generations, ..Kept::default() }
        });
        let (memory, context) = (self.clone(), context.to_owned());
        Lease { memory, context, kept, open: 0, largest: 0 }
    }
}

impl Lease {
    /// The key under which the engine keeps the copies.
    pub(crate) fn shared_key(&self) -> String {
        format!("{}-{}-{}", run_id(), self.kept.generation, self.context)
    }

    /// Notes that files are about to be sent.
    pub(crate) fn begin(&mut self) {
        self.open += 1;
    }

    /// Notes that the engine has got this many files.
    pub(crate) fn end(&mut self, files: usize) {
        self.open = self.open.saturating_sub(1);
        self.largest = self.largest.max(files);
    }

    /// By how much to shift the time of a file so that the engine notices any change.
    pub(crate) fn shift(&mut self, path: &Path, seen: Seen, now: SystemTime) -> i64 {
        let shift = match self.kept.files.get(path) {
            Some(before) if before.seen == seen => before.shift,
            Some(before) if before.seen.looks_like(&seen) => {
                self.kept.shifts += 1;
                self.kept.shifts
            }
            _ => 0,
        };
        // What may still change within the same step of the clock counts as changed next time.
        let seen = if seen.is_settled(now) { seen } else { seen.without_change() };
        self.kept.files.insert(path.to_owned(), SentFile { seen, shift });
        shift
    }

    /// Lets others use the copies, if the engine has got all it wanted.
    pub(crate) fn give_back(self) {
        let Self { memory, context, kept, open, largest } = self;
        // Files that are long gone must not be forgotten one by one, so it starts anew at times.
        if open == 0 && kept.files.len() <= 4 * largest + 10_000 {
            let mut state = memory.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.contexts.insert(context, kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        time::{Duration, UNIX_EPOCH},
    };

    use super::*;

    fn write(path: &Path, text: &str) -> Seen {
        fs::write(path, text).unwrap();
        fs::File::options().write(true).open(path).unwrap().set_modified(UNIX_EPOCH).unwrap();
        Seen::new(&fs::metadata(path).unwrap())
    }

    #[test]
    fn a_file_that_changes_without_its_time_is_sent_with_another_time() {
        let dir = tempfile::tempdir().unwrap();
        let (file, other) = (dir.path().join("f"), dir.path().join("g"));
        let later = SystemTime::now() + Duration::from_secs(10);
        let memory = SyncMemory::default();
        let mut first = memory.lease("c");
        assert_eq!(first.shift(&file, write(&file, "1"), later), 0);
        let key = first.shared_key();
        first.give_back();
        // A new file of the same size and time takes its place.
        let seen = write(&other, "2");
        let mut second = memory.lease("c");
        assert_eq!(second.shared_key(), key);
        assert_eq!(second.shift(&file, seen, later), 1);
        second.give_back();
        assert_eq!(memory.lease("c").shift(&file, seen, later), 1, "it stays shifted");
    }

    #[test]
    fn a_file_that_may_still_change_counts_as_changed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let seen = Seen::new(&file.as_file().metadata().unwrap());
        let mut lease = SyncMemory::default().lease("c");
        let shifts = [0; 3].map(|_| lease.shift(file.path(), seen, UNIX_EPOCH));
        assert_eq!(shifts, [0, 1, 2]);
    }

    #[test]
    fn copies_that_are_in_use_or_incomplete_are_not_used_again() {
        let memory = SyncMemory::default();
        let one = memory.lease("c");
        let mut two = memory.lease("c");
        assert_ne!(one.shared_key(), two.shared_key());
        two.begin();
        two.give_back();
        let key = one.shared_key();
        one.give_back();
        assert_eq!(memory.lease("c").shared_key(), key);
        assert_ne!(memory.lease("c").shared_key(), key);
    }
}
