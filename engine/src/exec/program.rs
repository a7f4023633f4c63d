//! Finds the program of a command, by the rules and with the words of Go.

use std::{fs, io, path::Path};

use engine_formats::golang::{os_error::errno_text, path::join, quote::quote};
use engine_model::path::to_path;
use nix::unistd::{AccessFlags, access};

/// Why a command did not start.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    /// The name of the program is empty.
    #[error("exec: no command")]
    NoCommand,
    /// No directory has the program.
    #[error("exec: {}: executable file not found in $PATH", quote(.0))]
    NotFound(String),
    /// A directory of `PATH` that depends on where the engine runs has the program.
    #[error("exec: {}: cannot run executable found relative to current directory", quote(.0))]
    Relative(String),
    /// The system refused.
    #[error("fork/exec {program}: {}", errno_text(.source))]
    System {
        /// The program, as it was found.
        program: String,
        /// Why.
        source: io::Error,
    },
}

/// The path of a program; names without a slash are looked up in `path`.
pub(super) fn find(name: &str, path: &str) -> Result<String, StartError> {
    if name.is_empty() {
        return Err(StartError::NoCommand);
    }
    if name.contains('/') {
        return Ok(name.to_owned());
    }
    for dir in path.split(':') {
        let candidate = join(&[if dir.is_empty() { "." } else { dir }, name]);
        if is_executable(&to_path(&candidate)) {
            let is_absolute = candidate.starts_with('/');
            return is_absolute.then_some(candidate).ok_or(StartError::Relative(name.to_owned()));
        }
    }
    Err(StartError::NotFound(name.to_owned()))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| !it.is_dir()) && access(path, AccessFlags::X_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn check(name: &str, path: &str, expected: &str) {
        let found = find(name, path).unwrap_or_else(|error| error.to_string());
        assert_eq!(found, expected, "{name} in {path}");
    }

    #[test]
    fn programs_are_found_as_go_finds_them() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().to_str().expect("it is text");
        for (file, mode) in [("plain", 0o644), ("runs", 0o755)] {
            fs::write(dir.path().join(file), "").expect("it can be written");
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(dir.path().join(file), mode).expect("it is ours");
        }
        fs::create_dir(dir.path().join("folder")).expect("it is new");

        check("runs", &format!("/nowhere:{root}/./"), &format!("{root}/runs"));
        check("./runs", root, "./runs");
        check("a/b", root, "a/b");
        check("", root, "exec: no command");
        for name in ["plain", "folder", ".", "..", "no \"such"] {
            let quoted = quote(name);
            let text = format!("exec: {quoted}: executable file not found in $PATH");
            check(name, root, &text);
            check(name, "", &text);
        }
        let here = std::env::current_dir().expect("it exists");
        let up = "../".repeat(here.components().count() - 1);
        let text = "exec: \"runs\": cannot run executable found relative to current directory";
        check("runs", &format!("{up}{}", &root[1..]), text);
    }

    #[test]
    fn refusals_of_the_system_name_the_program() {
        let source = io::Error::from_raw_os_error(8);
        let error = StartError::System { program: "./x".to_owned(), source };
        assert_eq!(error.to_string(), "fork/exec ./x: exec format error");
    }
}
