//! Private directories for temporary files, which are always cleaned up.
//!
//! The creator of a directory holds its lock. A program that is killed loses the lock but leaves the directory; the
//! next program that starts removes it. Process ids are no substitute: they are reused, and differ between containers.

use std::{
    env,
    fs::{self, File, OpenOptions, TryLockError},
    hash::{BuildHasher as _, RandomState},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use engine_files::private;
use nix::{fcntl::OFlag, unistd::Uid};

/// How the names of temporary directories begin.
const PREFIX: &str = "tilt-run-";
/// How often to try again when another program interferes.
const ATTEMPTS: usize = 100;

/// A private directory that goes away with its owner.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Locked; another process that gets the lock knows that the owner is gone.
    lock: File,
}

impl Scratch {
    /// A new directory among the temporary files.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create() -> io::Result<Self> {
        Self::create_in(&temp_dir())
    }

    /// A new directory in another one, which has to exist.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create_in(parent: &Path) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let random = RandomState::new().hash_one(0) & 0xffff_ffff_ffff;
            let path = parent.join(format!("{PREFIX}{random:012x}"));
            match private::create_new_dir(&path).and_then(|()| Self::hold(&path)) {
                Ok(Some(scratch)) => return Ok(scratch),
                // It was taken for a leftover before it was locked.
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// A directory with a given name, made if it is missing; nothing if another process holds it.
    ///
    /// # Errors
    /// If it cannot be created, or belongs to another user.
    pub fn claim(path: &Path) -> io::Result<Option<Self>> {
        for _ in 0..ATTEMPTS {
            match private::create_dir(path).and_then(|()| Self::hold(path)) {
                Ok(None) if is_held(path) => return Ok(None),
                // Its last owner removes it.
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                result => return result,
            }
        }
        Ok(None)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Locks an existing directory; `None` if another process has locked or removed it.
    fn hold(path: &Path) -> io::Result<Option<Self>> {
        let dir = match open(path) {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if !is_own(&dir)? {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        match dir.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            // Where there are no locks, nobody removes what others have left.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let is_there = private::is_at(&dir, path)?;
        Ok(is_there.then(|| Self { path: path.to_owned(), lock: dir }))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Who removed it already may have left its name to others.
        if private::is_at(&self.lock, &self.path).unwrap_or(false) {
            // Nothing can be done about a temporary directory that resists.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Where temporary files of this process go.
pub fn temp_dir() -> PathBuf {
    let dir = Some(env::temp_dir()).filter(|it| !it.as_os_str().is_empty());
    let dir = dir.unwrap_or_else(|| PathBuf::from("/tmp"));
    std::path::absolute(&dir).unwrap_or(dir)
}

/// Removes the temporary directories that programs of this user have left.
pub fn sweep() {
    sweep_in(&temp_dir());
}

fn sweep_in(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in
        entries.filter(|it| it.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()))
    {
        remove_left(&entry.path());
    }
}

/// Removes a directory of this user that is not locked.
pub fn remove_left(path: &Path) {
    let locked = || -> io::Result<Option<File>> {
        let dir = open(path)?;
        let is_left = is_own(&dir)? && dir.try_lock().is_ok() && private::is_at(&dir, path)?;
        Ok(is_left.then_some(dir))
    };
    if let Ok(Some(_locked)) = locked() {
        // Whatever resists is tried again by the next start.
        let _ = fs::remove_dir_all(path);
    }
}

/// Opens a directory; in a folder that everybody may write to, a link may be a trap.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW).bits();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn is_own(dir: &File) -> io::Result<bool> {
    Ok(dir.metadata()?.uid() == Uid::effective().as_raw())
}

fn is_held(path: &Path) -> bool {
    open(path).is_ok_and(|it| matches!(it.try_lock(), Err(TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn n_entries(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    /// Leaves a directory behind, as a program that was killed.
    fn abandon(scratch: Scratch) -> PathBuf {
        let path = scratch.path().to_owned();
        fs::write(path.join("secret"), "").unwrap();
        let kept = scratch.lock.try_clone().unwrap();
        std::mem::forget(scratch);
        // A lock belongs to all copies of a descriptor.
        kept.unlock().unwrap();
        path
    }

    #[test]
    fn a_directory_is_private_and_goes_with_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::create_in(dir.path()).unwrap();
        let mode = fs::metadata(scratch.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::write(scratch.path().join("f"), "").unwrap();
        drop(scratch);
        assert_eq!(n_entries(dir.path()), 0);
    }

    #[test]
    fn only_what_nobody_holds_is_swept() {
        let dir = tempfile::tempdir().unwrap();
        let held = Scratch::create_in(dir.path()).unwrap();
        let left = abandon(Scratch::create_in(dir.path()).unwrap());
        let target = dir.path().join("target");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("precious"), "").unwrap();
        symlink(&target, dir.path().join(format!("{PREFIX}link"))).unwrap();
        fs::write(dir.path().join(format!("{PREFIX}file")), "").unwrap();
        sweep_in(dir.path());
        assert!(held.path().is_dir() && !left.exists());
        assert!(target.join("precious").exists(), "a link was followed");
        assert_eq!(n_entries(dir.path()), 4, "what is no directory was touched");
    }

    #[test]
    fn a_name_belongs_to_one_process_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        let first = Scratch::claim(&path).unwrap().unwrap();
        assert!(Scratch::claim(&path).unwrap().is_none());
        let left = abandon(first);
        let next = Scratch::claim(&left).unwrap().unwrap();
        drop(next);
        assert!(!path.exists());
    }

    #[test]
    fn those_who_start_while_others_sweep_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            let sweeper = scope.spawn(|| (0..2_000).for_each(|_| sweep_in(dir.path())));
            while !sweeper.is_finished() {
                let scratch = Scratch::create_in(dir.path()).unwrap();
                let file = scratch.path().join("f");
                fs::write(&file, "").unwrap();
                assert!(file.exists());
            }
        });
        assert_eq!(n_entries(dir.path()), 0);
    }
}
