//! `~/.tilt-dev`, the folder where instances and clients of one user find each other, as in Tilt.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use crate::{home_dir, private};

/// Variables that name the folder, first wins.
const VARIABLES: [&str; 3] = ["TILT_DEV_DIR", "WMDAEMON_HOME", "WINDMILL_DIR"];

/// The longest token that is taken for one.
const TOKEN_MAX: usize = 512;

/// What is made in the folder, and others have no business with.
const OWN: [&str; 13] = [
    "analytics",
    "audit.jsonl",
    "audit.old.jsonl",
    "bin",
    "config",
    "config.lock",
    "helm-releases",
    "images.contexts",
    "images.json",
    "images.lock",
    "logs",
    // What is in it goes into images with its modes.
    RESTART_HELPER,
    "token",
];

/// The folder of the program that restarts processes in containers.
pub const RESTART_HELPER: &str = "restart-helper";

/// The folder; it need not exist yet.
///
/// # Errors
/// If nobody says where it is. What is kept for a user never goes to the folder of a project instead.
pub fn path() -> io::Result<PathBuf> {
    if let Some(dir) = chosen() {
        return Ok(dir);
    }
    let home = home_dir(env::var_os("HOME").map(PathBuf::from)).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            "no home directory to keep files in; set HOME or TILT_DEV_DIR",
        )
    })?;
    let old = home.join(".windmill");
    Ok(if old.is_dir() { old } else { home.join(".tilt-dev") })
}

/// The folder that a variable names.
fn chosen() -> Option<PathBuf> {
    VARIABLES.iter().find_map(|it| env::var_os(it).filter(|it| !it.is_empty())).map(PathBuf::from)
}

/// The folder, made if it is missing.
///
/// # Errors
/// If it cannot be made; the error names it, and the way out.
pub fn create() -> io::Result<PathBuf> {
    let dir = path()?;
    private::create_dir(&dir).map_err(|it| explained("make", &dir, &it))?;
    Ok(dir)
}

/// Closes what is in the folder to other users; earlier versions left it open.
pub fn tighten() {
    let Ok(dir) = path() else { return };
    if chosen().is_none() {
        let _ = private::tighten(&dir);
    }
    for name in OWN {
        tighten_tree(&dir.join(name), name != RESTART_HELPER);
    }
}

/// What cannot be tightened belongs to somebody else, and says nothing that they do not know.
fn tighten_tree(path: &Path, is_deep: bool) {
    let _ = private::tighten(path);
    if is_deep && fs::symlink_metadata(path).is_ok_and(|it| it.is_dir()) {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.for_each(|it| tighten_tree(&it.path(), true));
    }
}

/// The token that clients of the web port show; made at first use, the same for all instances of a user. One that
/// nobody can show is made anew.
///
/// # Errors
/// If it can be neither read nor written; the error names the file, and the way out.
pub fn token() -> io::Result<String> {
    let file = create()?.join("token");
    if let Some(token) = fs::read(&file).ok().and_then(|it| usable(&it)) {
        return Ok(token);
    }
    let mut token = uuid::Uuid::new_v4().to_string();
    let written = private::update(&file, |old| match old.map(|it| usable(&it)) {
        // Two instances that start together agree on the one that came first.
        Ok(Some(first)) => {
            token = first;
            Ok(None)
        }
        Ok(None) => Ok(Some(token.clone().into_bytes())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Some(token.clone().into_bytes()))
        }
        Err(error) => Err(error),
    });
    written.map_err(|it| explained("write", &file, &it))?;
    Ok(token)
}

/// The token that a file holds, if it can be sent in a header.
fn usable(bytes: &[u8]) -> Option<String> {
    let token = bytes.trim_ascii();
    let is_usable =
        !token.is_empty() && token.len() <= TOKEN_MAX && token.iter().all(u8::is_ascii_graphic);
    is_usable.then(|| String::from_utf8_lossy(token).into_owned())
}

/// Why a file of this folder cannot be used, and what to do about it.
pub fn explained(verb: &str, path: &Path, error: &io::Error) -> io::Error {
    way_out(verb, path, error, "TILT_DEV_DIR")
}

/// Why a file cannot be used that a variable may move elsewhere.
pub fn way_out(verb: &str, path: &Path, error: &io::Error, variable: &str) -> io::Error {
    let advice = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("free up space there, or set {variable} to another directory")
        }
        io::ErrorKind::IsADirectory
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::AlreadyExists => {
            format!("rename what is in its place, or set {variable} to another directory")
        }
        _ => format!("make it writable, or set {variable} to another directory"),
    };
    let text = format!("cannot {verb} {}: {error}; {advice}", path.display());
    io::Error::new(error.kind(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_what_a_header_can_carry() {
        let check = |bytes: &[u8], want: Option<&str>| {
            assert_eq!(usable(bytes).as_deref(), want, "{bytes:?}");
        };
        check(b" 0f-a_b.\n", Some("0f-a_b."));
        check(b"", None);
        check(b"\n", None);
        check(b"a\xffb", None);
        check(b"a b", None);
        check(b"a\0b", None);
        check(&[b'a'; TOKEN_MAX + 1], None);
    }

    #[test]
    fn an_error_names_the_file_and_the_way_out() {
        let check = |kind: io::ErrorKind, want: &str| {
            let error = explained("write", Path::new("/d/token"), &kind.into()).to_string();
            assert!(error.starts_with("cannot write /d/token: "), "{error}");
            assert!(error.contains(want), "{error}");
        };
        check(io::ErrorKind::StorageFull, "; free up space there, or set TILT_DEV_DIR");
        check(io::ErrorKind::ReadOnlyFilesystem, "; make it writable, or set TILT_DEV_DIR");
        check(io::ErrorKind::IsADirectory, "; rename what is in its place");
    }
}
