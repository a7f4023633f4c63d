//! Where a path below a root leads, and that it does not lead out of it.

use std::{
    ffi::OsStr,
    fmt, fs,
    io::{self, ErrorKind},
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
};

use engine_helper::protocol::Refusal;

use crate::place;

/// Why an entry has no place.
#[derive(Debug)]
pub(crate) enum Problem {
    /// An entry came before any root.
    NoRoot,
    /// A path is absolute, or has `..` or a zero byte in it.
    BadPath(PathBuf),
    /// A link leads out of the root.
    Escapes { link: PathBuf, root: PathBuf },
    /// The system does not want it.
    Io { path: PathBuf, error: io::Error },
}

impl Problem {
    /// What the system says about a path.
    pub(crate) fn at(path: &Path, error: io::Error) -> Self {
        Self::Io { path: path.to_owned(), error }
    }

    /// The kind of problem, for the other side.
    pub(crate) fn refusal(&self) -> Refusal {
        match self {
            Self::NoRoot | Self::BadPath(_) => Refusal::BadPath,
            Self::Escapes { .. } => Refusal::Escapes,
            Self::Io { error, .. } if place::is_denied(error) => Refusal::Denied,
            Self::Io { error, .. }
                if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) =>
            {
                Refusal::NoSpace
            }
            Self::Io { .. } => Refusal::Other,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoot => f.write_str("no root was given"),
            Self::BadPath(path) => write!(f, "{}: not a path below its root", path.display()),
            Self::Escapes { link, root } => {
                write!(f, "{}: leads out of {}", link.display(), root.display())
            }
            Self::Io { path, error } if path.as_os_str().is_empty() => write!(f, "{error}"),
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

/// A directory that entries are below. Links on the way to it are the user's own, and followed.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
    /// The directory that was found to be fine last; entries come directory by directory.
    last_parent: Option<PathBuf>,
}

impl Root {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), last_parent: None }
    }

    /// Something went away that may have been a directory.
    pub(crate) fn forget(&mut self) {
        self.last_parent = None;
    }

    /// The place for an entry. Directories on the way are made; files in the way are removed.
    pub(crate) fn locate(&mut self, path: &[u8]) -> Result<PathBuf, Problem> {
        let relative = self.check(path)?;
        let place = self.place(&relative);
        let Some(parent) = relative.parent() else {
            // The root itself: whatever is above it is the user's.
            if let Some(above) = self.path.parent() {
                fs::create_dir_all(above).map_err(|it| Problem::at(above, it))?;
            }
            self.forget();
            return Ok(place);
        };
        if self.last_parent.as_deref() != Some(parent) {
            fs::create_dir_all(&self.path).map_err(|it| Problem::at(&self.path, it))?;
            self.walk(parent, true)?;
            self.last_parent = Some(parent.to_owned());
        }
        // What is put here may replace a directory that was fine.
        if self.last_parent.as_deref().is_some_and(|it| it.starts_with(&relative)) {
            self.forget();
        }
        Ok(place)
    }

    /// The place of an entry that is to go, if there can be one.
    pub(crate) fn find(&self, path: &[u8]) -> Result<Option<PathBuf>, Problem> {
        let relative = self.check(path)?;
        let is_there = match relative.parent() {
            Some(parent) => self.walk(parent, false)?,
            None => true,
        };
        Ok(is_there.then(|| self.place(&relative)))
    }

    /// Joining nothing would add a slash, which only directories may have.
    fn place(&self, relative: &Path) -> PathBuf {
        let is_root = relative.as_os_str().is_empty();
        if is_root { self.path.clone() } else { self.path.join(relative) }
    }

    /// A path without anything that the system would follow: a slash or a dot at the end of a link.
    fn check(&self, path: &[u8]) -> Result<PathBuf, Problem> {
        let relative = Path::new(OsStr::from_bytes(path));
        let is_plain = relative.components().all(|it| matches!(it, Component::Normal(_)));
        if is_plain && !path.contains(&0) && self.path.is_absolute() {
            Ok(relative.components().collect())
        } else {
            Err(Problem::BadPath(self.path.join(relative)))
        }
    }

    /// Goes down from the root, and says whether all of the way is there.
    fn walk(&self, relative: &Path, makes_way: bool) -> Result<bool, Problem> {
        let mut place = self.path.clone();
        for component in relative.components() {
            place.push(component);
            let found = fs::symlink_metadata(&place);
            match found {
                Ok(found) if found.is_dir() => continue,
                Ok(found) if found.is_symlink() && place.is_dir() => {
                    self.check_link(&place)?;
                    continue;
                }
                Ok(_) if makes_way => {
                    place::remove(&place).map_err(|it| Problem::at(&place, it))?
                }
                Ok(_) => return Ok(false),
                Err(error) if error.kind() == ErrorKind::NotFound && makes_way => {}
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(Problem::at(&place, error)),
            }
            place::new_directory(&place).map_err(|it| Problem::at(&place, it))?;
        }
        Ok(true)
    }

    /// A link to a directory is used as long as it stays below the root.
    fn check_link(&self, link: &Path) -> Result<(), Problem> {
        let real = |path: &Path| fs::canonicalize(path).map_err(|it| Problem::at(path, it));
        if real(link)?.starts_with(real(&self.path)?) {
            return Ok(());
        }
        Err(Problem::Escapes { link: link.to_owned(), root: self.path.clone() })
    }
}
