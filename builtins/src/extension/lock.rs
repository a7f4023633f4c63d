//! `tilt-extensions.lock`: the commit of each git repository that a project uses, and vendored copies.
//!
//! With the lock, a load needs no network once the commit is on this machine; with copies in `tilt_modules`, it never
//! does. Both are next to the Tiltfile and meant to be committed.

use std::io::ErrorKind;

use engine_formats::golang::path;
use serde::{Deserialize, Serialize};

use super::revision::{Commit, Reference};
use crate::host::Host;

/// The name of the file, beside the Tiltfile.
pub const LOCK_FILE: &str = "tilt-extensions.lock";
/// The folder with copies of repositories, beside the Tiltfile.
pub const VENDOR_FOLDER: &str = "tilt_modules";

/// The pinned repositories of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// Each of them once, sorted.
    pub repos: Vec<Pin>,
}

/// A repository, and the commit of it that is used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// As the Tiltfile writes it.
    pub url: String,
    /// The branch, tag or commit that the Tiltfile names.
    #[serde(default, rename = "ref", skip_serializing_if = "Reference::is_default")]
    pub reference: Reference,
    /// What that was when the lock was written.
    pub commit: Commit,
}

/// Why the lock of a project cannot be used, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// It is there, but cannot be read.
    #[error("cannot read {file}: {reason}; restore it, or remove it and run `ext lock`")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// It is not what `ext lock` writes.
    #[error("malformed {file}: {reason}; restore it, or remove it and run `ext lock`")]
    Malformed {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Lock {
    /// The lock of a project; one that cannot be read is worse than none.
    ///
    /// # Errors
    /// If there is one, and it cannot be read or is not what `ext lock` writes.
    pub fn read(host: &dyn Host, project: &str) -> Result<Self, LockError> {
        let file = path::join(&[project, LOCK_FILE]);
        let bytes = match host.read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                return Err(LockError::Unreadable { file, reason: error.to_string() });
            }
        };
        serde_json::from_slice(&bytes)
            .map_err(|error| LockError::Malformed { file, reason: error.to_string() })
    }

    /// The commit of a repository.
    pub fn commit(&self, url: &str, reference: &str) -> Option<&Commit> {
        let mut repos = self.repos.iter();
        let found = repos.find(|it| it.url == url && it.reference.as_str() == reference);
        found.map(|it| &it.commit)
    }

    /// Sets the commit of a repository.
    pub fn pin(&mut self, pin: Pin) {
        self.repos.retain(|it| (&it.url, &it.reference) != (&pin.url, &pin.reference));
        self.repos.push(pin);
        self.repos.sort();
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).map_or_else(|_| String::new(), |text| text + "\n")
    }
}

/// Where the copy of a repository would be.
pub fn vendored(project: &str, import_path: &str) -> String {
    path::join(&[project, VENDOR_FOLDER, import_path])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::host::OsHost;

    fn commit(digit: char) -> Commit {
        Commit::try_from(digit.to_string().repeat(40)).expect("40 digits")
    }

    fn pin(url: &str, reference: &str, digit: char) -> Pin {
        let reference = Reference::try_from(reference.to_owned()).expect("a ref");
        Pin { url: url.to_owned(), reference, commit: commit(digit) }
    }

    #[test]
    fn a_lock_is_read_as_it_was_written() {
        let mut lock = Lock::default();
        lock.pin(pin("https://b", "", '1'));
        lock.pin(pin("https://a", "v1", '2'));
        lock.pin(pin("https://b", "", '3'));
        assert_eq!(lock.commit("https://b", ""), Some(&commit('3')));
        assert_eq!(lock.commit("https://a", ""), None);
        assert_eq!(serde_json::from_str::<Lock>(&lock.text()).unwrap(), lock);
        assert_eq!(lock.repos[0].url, "https://a");
    }

    #[test]
    fn only_a_lock_that_is_not_there_pins_nothing() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let project = dir.path().to_string_lossy();
        let host = OsHost::new([], Box::new(|_, _| ()));
        let file = dir.path().join(LOCK_FILE);
        assert_eq!(Lock::read(&host, &project), Ok(Lock::default()));

        let refusal = || Lock::read(&host, &project).expect_err("no lock").to_string();
        let url = r#""url": "https://a""#;
        let digits = "1".repeat(40);
        for (text, why) in [
            (String::new(), "EOF while parsing"),
            ("{".to_owned(), "EOF while parsing"),
            ("{}".to_owned(), "missing field `repos`"),
            (r#"{"repos": [], "more": 1}"#.to_owned(), "unknown field `more`"),
            (format!(r#"{{"repos": [{{{url}, "commit": "--x"}}]}}"#), r#"invalid commit "--x""#),
            (format!(r#"{{"repos": [{{{url}, "commit": "main"}}]}}"#), r#"invalid commit "main""#),
            (
                format!(r#"{{"repos": [{{{url}, "ref": "-x", "commit": "{digits}"}}]}}"#),
                r#"invalid ref "-x": begins with `-`"#,
            ),
        ] {
            fs::write(&file, &text).expect("a lock");
            let said = refusal();
            assert!(said.starts_with(&format!("malformed {}: ", file.display())), "{said}");
            assert!(said.contains(why), "{text}: {said}");
        }
        fs::remove_file(&file).and_then(|()| fs::create_dir(&file)).expect("a folder");
        assert!(refusal().starts_with(&format!("cannot read {}: ", file.display())));
    }
}
