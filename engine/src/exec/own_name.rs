//! Under which name commands find this program: Tiltfiles call it `tilt`.

use std::{
    env, fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use engine_files::{dev_dir, private};
use engine_model::path::to_text;

/// The name that Tiltfiles use.
const NAME: &str = "tilt";

/// An environment in which commands find this program as `tilt`, made of theirs.
pub fn findable(mut env: Vec<(String, String)>) -> Vec<(String, String)> {
    if let Some((_, path)) = env.iter_mut().find(|(name, _)| name == "PATH")
        && let Some(with_us) = known_child_path(path)
    {
        *path = with_us;
    }
    env
}

/// The same as [`child_path`], which is looked up only once for calls in a row with the same `PATH`:
/// a Tiltfile may make thousands of them.
fn known_child_path(path: &str) -> Option<String> {
    static LAST: Mutex<Option<(String, Option<String>)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, found) = match last.take() {
        Some(known) if known.0 == path => last.insert(known),
        _ => last.insert((path.to_owned(), child_path(path))),
    };
    found.clone()
}

/// The `PATH` with which commands find this program as `tilt`, if the one they have does not do.
///
/// Who called this program through a link named `tilt` means that program everywhere. Otherwise a
/// `tilt` that is installed stays the one that is found; if there is none, a link to this program
/// comes last.
fn child_path(path: &str) -> Option<String> {
    let found = find(path);
    let called = env::args_os().next().map(PathBuf::from)?;
    if let Some(folder) = folder_of_link(&called) {
        let is_found = found.is_some_and(|it| is_same_file(&it, &folder.join(NAME)));
        return (!is_found).then(|| joined(&to_text(&folder), path));
    }
    if found.is_some() {
        return None;
    }
    let folder = link_folder().ok()?;
    Some(joined(path, &to_text(&folder)))
}

/// The folder of the link that this program was called through, if it was by a path.
fn folder_of_link(called: &Path) -> Option<PathBuf> {
    let folder = called.parent().filter(|it| !it.as_os_str().is_empty())?;
    (called.file_name()? == NAME).then(|| std::path::absolute(folder).ok()).flatten()
}

fn joined(first: &str, second: &str) -> String {
    [first, second].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(":")
}

/// The program that a shell would start.
fn find(path: &str) -> Option<PathBuf> {
    env::split_paths(path).map(|it| it.join(NAME)).find(|it| {
        fs::metadata(it).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    })
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// A folder with nothing but a link to this program.
fn link_folder() -> io::Result<PathBuf> {
    let program = env::current_exe()?;
    let folder = dev_dir::create()?.join("bin");
    private::create_dir(&folder)?;
    let link = folder.join(NAME);
    if fs::read_link(&link).ok().as_ref() != Some(&program) {
        // Commands of other instances always find one or the other.
        let partial = folder.join(format!("{NAME}.{}", std::process::id()));
        symlink(&program, &partial)?;
        fs::rename(&partial, &link).inspect_err(|_| drop(fs::remove_file(&partial)))?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_to_a_link_named_tilt_names_a_folder() {
        let folder = |called: &str| folder_of_link(Path::new(called));
        assert_eq!(folder("/opt/x/tilt"), Some(PathBuf::from("/opt/x")));
        assert_eq!(folder("tilt"), None);
        assert_eq!(folder("/opt/x/engine"), None);
        assert_eq!(folder("bin/tilt"), std::env::current_dir().ok().map(|it| it.join("bin")));
    }

    #[test]
    fn only_what_can_run_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_str().unwrap();
        assert_eq!(find(path), None);
        let file = dir.path().join(NAME);
        fs::write(&file, "").unwrap();
        assert_eq!(find(path), None);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find(path), Some(file));
        assert_eq!(find(""), None);
    }
}
