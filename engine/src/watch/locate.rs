//! Decides where a watched path really is, and which directory has to be watched for it.

use std::{
    collections::HashMap,
    env, fs, io,
    path::{Component, Path, PathBuf},
};

use super::index::Stamp;

/// A path that cannot be watched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Finding ancestor of {}: cannot watch root directory", .0.display())]
pub(super) struct RootDirectory(pub(super) PathBuf);

/// Where a watched path is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    /// The path with the links on the way resolved; its last part is never followed.
    pub(super) real: PathBuf,
    pub(super) place: Located,
}

/// What stands at a watched path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Located {
    /// A directory, which is watched with everything below.
    Dir,
    /// Anything else, which is watched through its directory.
    Entry(Stamp),
    /// Nothing; this nearest directory will tell when that changes.
    Missing(PathBuf),
}

/// The path seen from the root, made shorter by its text alone.
pub(super) fn absolute(path: &Path) -> PathBuf {
    let mut clean = PathBuf::from("/");
    let cwd = if path.is_absolute() { None } else { env::current_dir().ok() };
    for part in cwd.iter().flat_map(|it| it.components()).chain(path.components()) {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::ParentDir => {
                clean.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    clean
}

/// Finds paths, and remembers directories while many are looked for.
#[derive(Debug, Default)]
pub(super) struct Locator {
    dirs: HashMap<PathBuf, Option<PathBuf>>,
}

impl Locator {
    /// Finds an absolute path.
    pub(super) fn locate(&mut self, path: &Path) -> Result<Location, RootDirectory> {
        let root = || RootDirectory(path.to_owned());
        let parent = path.parent().ok_or_else(root)?;
        for ancestor in parent.ancestors() {
            let Some(dir) = self.resolve(ancestor) else { continue };
            let rest = path.strip_prefix(ancestor).expect("an ancestor is a prefix");
            let real = dir.join(rest);
            let place = match Stamp::read(&real) {
                Some(stamp) if stamp.is_dir() => Located::Dir,
                Some(stamp) if ancestor == parent => Located::Entry(stamp),
                _ if dir.parent().is_none() => return Err(root()),
                _ => Located::Missing(dir),
            };
            return Ok(Location { real, place });
        }
        Err(root())
    }

    /// The real path of a directory, if it is one.
    fn resolve(&mut self, dir: &Path) -> Option<PathBuf> {
        if let Some(known) = self.dirs.get(dir) {
            return known.clone();
        }
        let real = real_dir(dir).ok();
        self.dirs.insert(dir.to_owned(), real.clone());
        real
    }
}

fn real_dir(dir: &Path) -> io::Result<PathBuf> {
    let real = fs::canonicalize(dir)?;
    if fs::metadata(&real)?.is_dir() { Ok(real) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locate(path: &Path) -> Result<Location, RootDirectory> {
        Locator::default().locate(path)
    }

    #[test]
    fn links_on_the_way_are_resolved_and_the_last_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("real/sub")).unwrap();
        std::os::unix::fs::symlink("real", base.join("link")).unwrap();

        let sub = locate(&base.join("link/sub")).unwrap();
        assert_eq!(sub, Location { real: base.join("real/sub"), place: Located::Dir });
        let link = locate(&base.join("link")).unwrap();
        assert_eq!(link.real, base.join("link"));
        assert!(matches!(link.place, Located::Entry(_)));
        let missing = locate(&base.join("link/a/b")).unwrap();
        assert_eq!(missing.real, base.join("real/a/b"));
        assert_eq!(missing.place, Located::Missing(base.join("real")));
    }

    #[test]
    fn a_path_below_a_file_waits_for_the_file_to_become_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::write(base.join("file"), "").unwrap();
        let below = locate(&base.join("file/x")).unwrap();
        assert_eq!(below.place, Located::Missing(base));
    }

    #[test]
    fn the_root_directory_is_refused() {
        for path in ["/", "/surely/not/there"] {
            let err = locate(Path::new(path)).unwrap_err().to_string();
            assert_eq!(err, format!("Finding ancestor of {path}: cannot watch root directory"));
        }
    }

    #[test]
    fn paths_are_cleaned_as_text() {
        assert_eq!(absolute(Path::new("/a/./b/../c/")), Path::new("/a/c"));
        assert_eq!(absolute(Path::new("/../a")), Path::new("/a"));
        assert_eq!(absolute(Path::new("x")), env::current_dir().unwrap().join("x"));
    }
}
