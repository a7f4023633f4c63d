//! Stores entries on disk: private, checked when read, written atomically, and bounded in size.

use engine_formats::golang::path;

use super::{digest, key::Key};
use crate::host::{FileKind, Host};

/// The start of every entry.
const MAGIC: &[u8] = b"engine cache 1\n";
/// How many bytes all entries may have together.
const MAX_TOTAL: u64 = 256 << 20;
/// How many entries there may be.
const MAX_ENTRIES: usize = 4_096;
/// How large an entry may be.
const MAX_ENTRY: usize = 32 << 20;

/// A directory of entries.
pub(super) struct Store<'a> {
    host: &'a dyn Host,
    dir: String,
    max_total: u64,
    max_entries: usize,
}

impl<'a> Store<'a> {
    /// The cache of the person who runs this; there is none without a home, or where others may write.
    pub(super) fn open(host: &'a dyn Host) -> Option<Self> {
        let variable = |name| host.env(name).filter(|it| path::is_abs(it));
        let parent = variable("XDG_CACHE_HOME")
            .or_else(|| variable("HOME").map(|it| path::join(&[it.as_str(), ".cache"])))?;
        Self::at(host, path::join(&[parent.as_str(), "tilt-dev/engine"]))
    }

    /// The cache in a directory.
    pub(super) fn at(host: &'a dyn Host, dir: String) -> Option<Self> {
        let is_private = match host.stat(&dir) {
            Ok(info) => info.kind == FileKind::Directory && info.mode & 0o022 == 0,
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        is_private.then_some(Self { host, dir, max_total: MAX_TOTAL, max_entries: MAX_ENTRIES })
    }

    /// The same cache with less room.
    #[cfg(test)]
    pub(super) fn bounded(mut self, max_total: u64, max_entries: usize) -> Self {
        (self.max_total, self.max_entries) = (max_total, max_entries);
        self
    }

    /// The text of an entry, if it is there and whole.
    pub(super) fn get(&self, key: &Key) -> Option<String> {
        let bytes = self.host.read(&self.file(key)).ok()?;
        let (checksum, text) = bytes.strip_prefix(MAGIC)?.split_at_checked(32)?;
        if checksum != checksum_of(key, text) {
            return None;
        }
        String::from_utf8(text.to_vec()).ok()
    }

    /// Keeps an entry. A cache that cannot be written to is no problem.
    pub(super) fn put(&self, key: &Key, text: &str) {
        if text.len() > MAX_ENTRY {
            return;
        }
        let bytes = [MAGIC, &checksum_of(key, text.as_bytes()), text.as_bytes()].concat();
        if self.host.write(&self.file(key), &bytes).is_ok() {
            self.make_room();
        }
    }

    fn file(&self, key: &Key) -> String {
        path::join(&[self.dir.as_str(), &key.hex()])
    }

    /// Removes the oldest entries until a quarter of the room is free, if there are too many.
    fn make_room(&self) {
        let Ok(entries) = self.host.list(&self.dir) else { return };
        let mut files = Vec::new();
        for entry in entries.iter().filter(|it| it.kind == FileKind::File) {
            let file = path::join(&[self.dir.as_str(), &entry.name]);
            if let Ok(info) = self.host.lstat(&file) {
                files.push((info.modified, info.len, file));
            }
        }
        let mut total: u64 = files.iter().map(|it| it.1).sum();
        let mut n_entries = files.len();
        if total <= self.max_total && n_entries <= self.max_entries {
            return;
        }
        files.sort_unstable();
        for (_, len, file) in files {
            if total <= self.max_total / 4 * 3 && n_entries <= self.max_entries / 4 * 3 {
                break;
            }
            // Another engine may have removed it already.
            let _ = self.host.remove(&file);
            total -= len;
            n_entries -= 1;
        }
    }
}

/// Guards the text against damage, and the entry against being found under another name.
fn checksum_of(key: &Key, text: &[u8]) -> [u8; 32] {
    digest(&[&key.0, &digest(text)[..]].concat())
}
