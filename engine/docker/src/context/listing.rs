//! What a context has, entry by entry, to be compared with what it had before.

use std::{collections::HashMap, fs::Metadata, os::unix::fs::MetadataExt, path::Path};

use sha2::{Digest, Sha256};

use super::{
    fingerprint::Fingerprint,
    walk::{Entry, Kind},
};

/// All entries of a context.
#[derive(Debug, Default)]
pub struct Listing {
    pub(super) fingerprint: Fingerprint,
    items: HashMap<Box<str>, Item>,
    /// When something was changed last, as the file system says.
    changed: (i64, i64),
    /// Whether a name cannot be written as text.
    has_odd_names: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Item {
    is: Is,
    mode: u32,
    size: u64,
    /// The beginning of a digest, which is enough to tell two contents apart.
    content: [u8; 16],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    File,
    Directory,
    Link,
    Special,
}

impl Listing {
    /// Notes when the context itself was changed.
    pub(super) fn saw(&mut self, metadata: &Metadata) {
        self.changed = self.changed.max((metadata.ctime(), metadata.ctime_nsec()));
    }

    pub(super) fn add(&mut self, entry: &Entry, mode: u32, content: &[u8]) {
        self.saw(&entry.metadata);
        let Some(path) = entry.path.to_str() else {
            self.has_odd_names = true;
            return;
        };
        let is = match entry.kind {
            Kind::File => Is::File,
            Kind::Directory => Is::Directory,
            Kind::Symlink(_) => Is::Link,
            Kind::Special => Is::Special,
        };
        let digest = Sha256::digest(content);
        let size = if is == Is::File { entry.metadata.len() } else { 0 };
        let mut item = Item { is, mode, size, content: [0; 16] };
        item.content.copy_from_slice(&digest[..16]);
        self.items.insert(path.into(), item);
    }

    /// The digest of all of it.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Whether nothing has happened since an earlier look, not even something that was undone again.
    pub fn is_untouched_since(&self, before: &Self) -> bool {
        self.fingerprint == before.fingerprint && self.changed == before.changed
    }

    /// How many files there are.
    pub fn n_files(&self) -> usize {
        self.items.values().filter(|it| it.is == Is::File).count()
    }

    /// How many bytes the files have.
    pub fn n_bytes(&self) -> u64 {
        self.items.values().map(|it| it.size).sum()
    }

    /// How many bytes a file has.
    pub fn size_of(&self, file: &str) -> u64 {
        self.items.get(file).map_or(0, |it| it.size)
    }

    /// All symbolic links.
    pub fn links(&self) -> Vec<&str> {
        self.items.iter().filter(|(_, it)| it.is == Is::Link).map(|(path, _)| &**path).collect()
    }

    /// Files that are new or other than before, sorted. `None` if anything else is not as it was: something is gone, or
    /// differs and is no file.
    pub fn files_changed_since(&self, before: &Self) -> Option<Vec<&str>> {
        if self.has_odd_names
            || before.has_odd_names
            || before.items.keys().any(|it| !self.items.contains_key(it))
        {
            return None;
        }
        let (mut files, mut directories) = (Vec::new(), Vec::new());
        for (path, item) in &self.items {
            match (item.is, before.items.get(path)) {
                (_, Some(was)) if was == item => {}
                (Is::File, None) => files.push(&**path),
                (Is::File, Some(was)) if was.is == Is::File => files.push(&**path),
                (Is::Directory, None) => directories.push(Path::new(&**path)),
                _ => return None,
            }
        }
        let is_needed = |it: &&Path| files.iter().any(|file| Path::new(file).starts_with(it));
        if !directories.iter().all(is_needed) {
            return None;
        }
        files.sort_unstable();
        Some(files)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    use super::*;
    use crate::{BuildContext, Fingerprints};

    fn list(dir: &Path) -> Listing {
        let context = BuildContext::new(dir.to_str().unwrap(), &[]).unwrap();
        Fingerprints::default().of(&context).unwrap()
    }

    /// What is told of a change, as text.
    fn check(change: &dyn Fn(&Path), expected: &str) {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path();
        fs::create_dir_all(at.join("d/empty")).unwrap();
        fs::write(at.join("d/a"), "1").unwrap();
        fs::write(at.join("b"), "1").unwrap();
        symlink("b", at.join("l")).unwrap();
        let before = list(at);
        change(at);
        let now = list(at);
        let found = now.files_changed_since(&before).map_or("-".to_owned(), |it| it.join(" "));
        assert_eq!(found, expected);
        assert_eq!(now.fingerprint() == before.fingerprint(), expected.is_empty());
    }

    #[test]
    fn what_was_undone_has_happened_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        fs::write(&file, "1").unwrap();
        let before = list(dir.path());
        assert!(list(dir.path()).is_untouched_since(&before));
        // Times go on in steps.
        while list(dir.path()).changed == before.changed {
            fs::write(&file, "2").unwrap();
            fs::write(&file, "1").unwrap();
        }
        let after = list(dir.path());
        assert_eq!(after.fingerprint(), before.fingerprint());
        assert!(!after.is_untouched_since(&before));
    }

    #[test]
    fn changed_and_new_files_are_told_and_anything_else_is_too_much() {
        check(&|_| {}, "");
        check(&|it| fs::write(it.join("d/a"), "2").unwrap(), "d/a");
        check(&|it| fs::write(it.join("new"), "2").unwrap(), "new");
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        check(&|it| mode(&it.join("b"), 0o700), "b");
        check(&|it| mode(&it.join("d"), 0o700), "-");
        check(&|it| fs::remove_file(it.join("b")).unwrap(), "-");
        check(&|it| fs::create_dir(it.join("e")).unwrap(), "-");
        check(
            &|it| {
                fs::create_dir_all(it.join("e/f")).unwrap();
                fs::write(it.join("e/f/g"), "").unwrap();
            },
            "e/f/g",
        );
        check(
            &|it| {
                fs::remove_file(it.join("l")).unwrap();
                symlink("d/a", it.join("l")).unwrap();
            },
            "-",
        );
        check(
            &|it| {
                fs::remove_file(it.join("l")).unwrap();
                fs::write(it.join("l"), "").unwrap();
            },
            "-",
        );
    }
}
