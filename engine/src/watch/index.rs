//! Decides whether a file really changed, from what was known about it and what it is now.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File, Metadata, OpenOptions},
    hash::{DefaultHasher, Hasher as _},
    io::{self, Read as _},
    num::NonZeroU64,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
    time::{Duration, Instant},
};

use nix::{fcntl::OFlag, sys::stat::SFlag};

/// Contents of larger files are not compared: reading them would cost more than it saves.
const HASHED_MAX: u64 = 16 * 1024 * 1024;

/// The longest that an event is expected to be on its way, on a busy machine.
const EVENT_DELAY: Duration = Duration::from_secs(1);

/// What the file system says about a file. For a directory only its identity counts, since its
/// times and size follow from its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    size: u64,
    /// Nanoseconds since 1970, as is `ctime`.
    mtime: i64,
    ctime: i64,
    inode: u64,
    mode: u32,
}

impl Stamp {
    /// Something about which nothing is known.
    const UNKNOWN: Self = Self { size: 0, mtime: 0, ctime: 0, inode: 0, mode: 0 };

    /// What stands at a path, without following a link; `None` if there is nothing to be seen.
    pub(super) fn read(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(|it| Self::of(&it))
    }

    pub(super) fn of(metadata: &Metadata) -> Self {
        let (inode, mode) = (metadata.ino(), metadata.mode());
        if metadata.is_dir() {
            let mode = mode & bits(SFlag::S_IFMT);
            return Self { size: 0, mtime: 0, ctime: 0, inode, mode };
        }
        Self {
            size: metadata.size(),
            mtime: nanos(metadata.mtime(), metadata.mtime_nsec()),
            ctime: changed_at(metadata),
            inode,
            mode,
        }
    }

    pub(super) fn is_dir(&self) -> bool {
        self.is(SFlag::S_IFDIR)
    }

    pub(super) fn is_symlink(&self) -> bool {
        self.is(SFlag::S_IFLNK)
    }

    /// Whether the file was changed in any way at or after a time in nanoseconds since 1970.
    pub(super) fn is_since(&self, nanos: i64) -> bool {
        self.ctime >= nanos
    }

    fn is(&self, kind: SFlag) -> bool {
        self.mode & bits(SFlag::S_IFMT) == bits(kind)
    }

    /// Whether everything but the time of the last status change is the same. That time also
    /// moves when a file is linked, or when its attributes are set to what they were.
    fn looks_like(&self, other: &Self) -> bool {
        *self == Self { ctime: self.ctime, ..*other }
    }
}

/// The bits of a kind of file as the standard library gives them; Apple's systems have fewer.
#[allow(clippy::useless_conversion, reason = "Apple's systems need it")]
fn bits(kind: SFlag) -> u32 {
    u32::from(kind.bits())
}

/// When anything about a file last changed, in nanoseconds since 1970.
fn changed_at(metadata: &Metadata) -> i64 {
    nanos(metadata.ctime(), metadata.ctime_nsec())
}

fn nanos(seconds: i64, nanos: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// A digest of a file's content, which only has to tell two versions of one file apart.
pub(super) type ContentHash = NonZeroU64;

/// The digest of a regular file of reasonable size.
pub(super) fn hash(path: &Path, stamp: &Stamp) -> Option<ContentHash> {
    if !stamp.is(SFlag::S_IFREG) || stamp.size > HASHED_MAX {
        return None;
    }
    // Should a pipe or a link have taken the file's place, opening it must neither block nor follow.
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path).ok()?;
    digest(file.take(HASHED_MAX)).ok()
}

fn digest(mut content: io::Take<File>) -> io::Result<ContentHash> {
    let mut hasher = DefaultHasher::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let n_bytes = content.read(&mut buffer)?;
        if n_bytes == 0 {
            return Ok(ContentHash::new(hasher.finish()).unwrap_or(ContentHash::MIN));
        }
        hasher.write(&buffer[..n_bytes]);
    }
}

/// What is known about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) stamp: Stamp,
    /// Known only of files that were once written without being changed.
    pub(super) hash: Option<ContentHash>,
}

impl Known {
    /// What a first look tells about a file in a directory watched since `watched_at`. The event
    /// of a younger change may still be on its way, and must not find the change known already.
    pub(super) fn at_first_sight(metadata: &Metadata, watched_at: i64) -> Self {
        let is_young = changed_at(metadata) >= watched_at;
        let stamp = if is_young { Stamp::UNKNOWN } else { Stamp::of(metadata) };
        Self { stamp, hash: None }
    }
}

/// How much of a directory is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// The files that are watched by name.
    Named,
    /// The same, until the rest is read in the background.
    Queued,
    /// All of it.
    Complete,
}

/// What is known about the entries of one directory.
#[derive(Debug)]
pub(super) struct DirIndex {
    pub(super) extent: Extent,
    pub(super) entries: BTreeMap<Box<OsStr>, Known>,
    /// When the entries were read, if they were.
    read_at: Option<Instant>,
}

impl DirIndex {
    pub(super) fn new(extent: Extent) -> Self {
        Self { extent, entries: BTreeMap::new(), read_at: None }
    }

    /// Whether nothing can be said about how an entry was before.
    pub(super) fn is_blind_to(&self, name: &OsStr) -> bool {
        // A file may have been removed before the entries were read, and its event come after.
        let is_recent = self.read_at.is_some_and(|at| at.elapsed() < EVENT_DELAY);
        (self.extent != Extent::Complete || is_recent) && !self.entries.contains_key(name)
    }

    /// Adds what a reading of the whole directory found. What events told meanwhile is newer.
    pub(super) fn complete(&mut self, found: Vec<(Box<OsStr>, Known)>) {
        let newer = std::mem::take(&mut self.entries);
        // Built at once from all entries, the map is dense.
        self.entries = found.into_iter().chain(newer).collect();
        self.extent = Extent::Complete;
        self.read_at = Some(Instant::now());
    }

    pub(super) fn update(&mut self, name: &OsStr, known: Option<Known>) {
        match known {
            Some(known) => match self.entries.get_mut(name) {
                Some(entry) => *entry = known,
                None => {
                    self.entries.insert(name.into(), known);
                }
            },
            None => {
                self.entries.remove(name);
            }
        }
    }
}

/// The strongest thing that events said about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sign {
    /// Its attributes were set.
    Attributes,
    /// It came into or out of its place.
    Placed,
    /// It was written to.
    Written,
}

/// Whether a file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is as it was.
    Same,
    /// It was written or touched, but its content is the same.
    Touched,
    /// It differs, or may differ.
    Changed,
}

/// Compares a file with what was known about it, and tells what is known from now on.
///
/// The content is looked at only if `is_guarded`, if it was known before, or if there is nothing
/// else to tell a real change by.
pub(super) fn judge(
    old: Option<Known>,
    now: Option<Stamp>,
    sign: Sign,
    is_guarded: bool,
    hash: impl FnOnce(&Stamp) -> Option<ContentHash>,
) -> (Verdict, Option<Known>) {
    match (old, now) {
        (None, None) => (Verdict::Same, None),
        (Some(_), None) => (Verdict::Changed, None),
        (None, Some(stamp)) => {
            let hash = if is_guarded { hash(&stamp) } else { None };
            (Verdict::Changed, Some(Known { stamp, hash }))
        }
        (Some(old), Some(stamp)) => {
            let looks_same = old.stamp.looks_like(&stamp);
            let was_seen = old.stamp == stamp && sign == Sign::Placed;
            if looks_same && (sign == Sign::Attributes || was_seen) {
                return (Verdict::Same, Some(Known { stamp, ..old }));
            }
            if !looks_same && !is_guarded && old.hash.is_none() {
                return (Verdict::Changed, Some(Known { stamp, hash: None }));
            }
            let hash = hash(&stamp);
            let is_equal = hash.is_some() && hash == old.hash && stamp.mode == old.stamp.mode;
            let verdict = match (is_equal, looks_same) {
                (true, true) => Verdict::Same,
                (true, false) => Verdict::Touched,
                (false, _) => Verdict::Changed,
            };
            (verdict, Some(Known { stamp, hash }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Stamp = Stamp { size: 5, mtime: 100, ctime: 100, inode: 7, mode: 0o100_644 };

    fn content(text: u64) -> Option<ContentHash> {
        ContentHash::new(text)
    }

    /// Judges a file whose content was `1` (if known) and now is `new`.
    fn verdict(known: bool, now: Stamp, sign: Sign, is_guarded: bool, new: u64) -> Verdict {
        let old = Known { stamp: OLD, hash: if known { content(1) } else { None } };
        judge(Some(old), Some(now), sign, is_guarded, |_| content(new)).0
    }

    #[test]
    fn attributes_set_to_what_they_were_are_no_change() {
        let linked = Stamp { ctime: 200, ..OLD };
        assert_eq!(verdict(false, linked, Sign::Attributes, false, 1), Verdict::Same);
        let executable = Stamp { mode: 0o100_755, ..linked };
        assert_eq!(verdict(false, executable, Sign::Attributes, false, 1), Verdict::Changed);
    }

    #[test]
    fn a_touch_is_a_change_unless_an_update_did_it() {
        let touched = Stamp { mtime: 200, ctime: 200, ..OLD };
        assert_eq!(verdict(false, touched, Sign::Attributes, false, 1), Verdict::Changed);
        assert_eq!(verdict(false, touched, Sign::Written, true, 1), Verdict::Changed);
        assert_eq!(verdict(true, touched, Sign::Written, true, 1), Verdict::Touched);
        assert_eq!(verdict(true, touched, Sign::Written, true, 2), Verdict::Changed);
    }

    #[test]
    fn a_write_that_metadata_cannot_tell_is_told_by_content() {
        assert_eq!(verdict(true, OLD, Sign::Written, false, 1), Verdict::Same);
        assert_eq!(verdict(true, OLD, Sign::Written, false, 2), Verdict::Changed);
        assert_eq!(verdict(false, OLD, Sign::Written, false, 1), Verdict::Changed);
    }

    #[test]
    fn a_creation_that_was_reported_already_is_no_change() {
        assert_eq!(verdict(false, OLD, Sign::Placed, false, 1), Verdict::Same);
        let moved_back = Stamp { ctime: 200, ..OLD };
        assert_eq!(verdict(false, moved_back, Sign::Placed, false, 1), Verdict::Changed);
    }

    #[test]
    fn a_file_that_came_and_went_is_no_change() {
        assert_eq!(judge(None, None, Sign::Written, false, |_| None), (Verdict::Same, None));
    }

    #[test]
    fn content_stays_known_across_ordinary_changes() {
        let old = Some(Known { stamp: OLD, hash: content(1) });
        let now = Stamp { mtime: 200, ..OLD };
        let (verdict, known) = judge(old, Some(now), Sign::Written, false, |_| content(2));
        assert_eq!((verdict, known.unwrap().hash), (Verdict::Changed, content(2)));
    }

    #[test]
    fn an_entry_is_small_enough_for_tens_of_thousands() {
        assert!(size_of::<(Box<OsStr>, Known)>() <= 64);
    }

    #[test]
    fn pipes_and_links_are_never_opened() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(hash(&pipe, &Stamp::read(&pipe).unwrap()), None);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        assert_eq!(hash(&link, &Stamp::read(&link).unwrap()), None);
    }
}
