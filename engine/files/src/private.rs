//! Files and directories that only their owner can read, regardless of the umask.
//!
//! Everything that the program keeps for itself is written here, atomically; a failed write leaves nothing behind.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use nix::{fcntl::OFlag, unistd::Uid};

/// What the owner alone may do with a file.
const FILE_MODE: u32 = 0o600;
/// What the owner alone may do with a directory.
const DIR_MODE: u32 = 0o700;
/// What group and others may do.
const OTHERS: u32 = 0o077;

/// Makes a directory, and those above it that are missing; one that is there stays as it is.
///
/// # Errors
/// If it cannot be made.
pub fn create_dir(dir: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(DIR_MODE).create(dir)
}

/// Makes a directory that nobody has made yet.
pub fn create_new_dir(dir: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(DIR_MODE).create(dir)
}

/// Opens a file to append to, which is made if it is missing.
///
/// # Errors
/// If it cannot be opened.
pub fn append(path: &Path) -> io::Result<File> {
    closed_to_others(OpenOptions::new().read(true).append(true).create(true), path)
}

/// Waits until nobody else has this file locked; who holds it loses it only by closing the file or ending.
///
/// # Errors
/// If it cannot be made or locked.
pub fn lock(path: &Path) -> io::Result<File> {
    let file = closed_to_others(OpenOptions::new().write(true).truncate(false).create(true), path)?;
    file.lock()?;
    Ok(file)
}

/// Replaces a file in one step, so that nobody reads half of it.
///
/// # Errors
/// If it cannot be written; the old one is untouched then.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Draft::begin(path)?.finish(bytes)
}

/// Replaces a file by what `change` makes of it, while no other process does; `None` leaves it as it is.
///
/// # Errors
/// If it cannot be written, or `change` says so; the old one is untouched then.
pub fn update(
    path: &Path,
    change: impl FnOnce(io::Result<Vec<u8>>) -> io::Result<Option<Vec<u8>>>,
) -> io::Result<()> {
    let draft = Draft::begin(path)?;
    match change(fs::read(path))? {
        Some(bytes) => draft.finish(&bytes),
        None => Ok(()),
    }
}

/// Takes from others what they may do with a file or directory of this user; links are left alone.
///
/// # Errors
/// If it is there, and its mode cannot be changed.
pub fn tighten(path: &Path) -> io::Result<()> {
    let is_open = |it: &fs::Metadata| {
        !it.is_symlink() && it.uid() == Uid::effective().as_raw() && it.mode() & OTHERS != 0
    };
    if !fs::symlink_metadata(path).is_ok_and(|it| is_open(&it)) {
        return Ok(());
    }
    // What is looked at is what is changed.
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if is_open(&metadata) {
        file.set_permissions(Permissions::from_mode(metadata.mode() & DIR_MODE))?;
    }
    Ok(())
}

/// Whether a path still leads to an open file or directory.
pub fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Opens a file, and closes it to others, also if it was there before.
fn closed_to_others(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.mode(FILE_MODE).custom_flags(OFlag::O_NOFOLLOW.bits()).open(path)?;
    if file.metadata()?.mode() & 0o777 != FILE_MODE {
        file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    }
    Ok(file)
}

/// A file that takes the place of another when it is whole.
///
/// Its name is always the same: who has it locked writes it, and what a program that was killed has left is used up by
/// the next one.
struct Draft<'a> {
    path: PathBuf,
    file: File,
    place: &'a Path,
    is_in_place: bool,
}

impl<'a> Draft<'a> {
    fn begin(place: &'a Path) -> io::Result<Self> {
        let name = place.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let name: OsString = [".".as_ref(), name, ".partial".as_ref()].into_iter().collect();
        let path = place.with_file_name(name);
        loop {
            let file = lock(&path)?;
            // Whoever had it before has put it in its place, or removed it.
            if is_at(&file, &path)? {
                file.set_len(0)?;
                return Ok(Self { path, file, place, is_in_place: false });
            }
        }
    }

    fn finish(mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        fs::rename(&self.path, self.place)?;
        self.is_in_place = true;
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.is_in_place {
            // It is still locked. Why the write failed is what counts.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o777
    }

    fn names(dir: &Path) -> Vec<OsString> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|it| it.unwrap().file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_written_is_private_also_if_it_was_not() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        create_dir(&inner).unwrap();
        assert_eq!((mode(&dir.path().join("a")), mode(&inner)), (0o700, 0o700));
        for name in ["written", "appended"] {
            fs::write(inner.join(name), "old").unwrap();
            fs::set_permissions(inner.join(name), Permissions::from_mode(0o666)).unwrap();
        }
        write(&inner.join("written"), b"new").unwrap();
        append(&inner.join("appended")).unwrap().write_all(b" and new").unwrap();
        assert_eq!(fs::read(inner.join("written")).unwrap(), b"new");
        assert_eq!(fs::read(inner.join("appended")).unwrap(), b"old and new");
        assert_eq!((mode(&inner.join("written")), mode(&inner.join("appended"))), (0o600, 0o600));
    }

    #[test]
    fn nothing_is_left_of_a_write_that_failed_or_was_not_wanted() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        fs::create_dir(&file).unwrap();
        assert!(write(&file, b"x").is_err(), "a directory is in its place");
        update(&file, |_| Ok(None)).unwrap();
        update(&file, |_| Err(io::ErrorKind::InvalidData.into())).unwrap_err();
        assert_eq!(names(dir.path()), ["f"]);
    }

    #[test]
    fn what_a_killed_program_left_is_used_up() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(".f.partial"), "a long rest").unwrap();
        write(&dir.path().join("f"), b"new").unwrap();
        assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"new");
        assert_eq!(names(dir.path()), ["f"]);
    }

    #[test]
    fn updates_at_the_same_time_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    update(&file, |old| Ok(Some([old.unwrap_or_default(), vec![b'x']].concat())))
                });
            }
        });
        assert_eq!(fs::read(&file).unwrap(), b"xxxxxxxx");
        assert_eq!(names(dir.path()), ["f"]);
    }

    #[test]
    fn what_others_could_read_is_tightened_but_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("f"), dir.path().join("l"));
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o664)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        tighten(&link).unwrap();
        assert_eq!(mode(&file), 0o664);
        tighten(&file).unwrap();
        assert_eq!(mode(&file), 0o600);
        tighten(&dir.path().join("missing")).unwrap();
    }
}
