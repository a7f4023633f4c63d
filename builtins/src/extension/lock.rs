//! `tilt-extensions.lock`: which commit of each git repository a project uses, and copies that a project has itself.
//!
//! With the lock, a load asks no network as soon as the commit is on this machine; with copies in `tilt_modules`, it
//! never does. Both lie beside the Tiltfile and are meant to be committed.

use serde::{Deserialize, Serialize};

use crate::{golang::path, host::Host};

/// The name of the file, beside the Tiltfile.
pub const LOCK_FILE: &str = "tilt-extensions.lock";
/// The folder with copies of repositories, beside the Tiltfile.
pub const VENDOR_FOLDER: &str = "tilt_modules";

/// The pinned repositories of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// Each of them once, sorted.
    #[serde(default)]
    pub repos: Vec<Pin>,
}

/// A repository, and the commit of it that is used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pin {
    /// As the Tiltfile writes it.
    pub url: String,
    /// The branch, tag or commit that the Tiltfile names.
    #[serde(default, rename = "ref", skip_serializing_if = "String::is_empty")]
    pub reference: String,
    /// What that was when the lock was written.
    pub commit: String,
}

impl Lock {
    /// The lock of a project; one that cannot be read is worse than none.
    ///
    /// # Errors
    /// If there is one, and it is not what `ext lock` writes.
    pub fn read(host: &dyn Host, project: &str) -> Result<Self, String> {
        let file = path::join(&[project, LOCK_FILE]);
        let Ok(bytes) = host.read(&file) else { return Ok(Self::default()) };
        serde_json::from_slice(&bytes).map_err(|error| format!("{file}: {error}"))
    }

    /// The commit of a repository.
    #[must_use]
    pub fn commit(&self, url: &str, reference: &str) -> Option<&str> {
        let found = self.repos.iter().find(|it| it.url == url && it.reference == reference);
        found.map(|it| it.commit.as_str())
    }

    /// Sets the commit of a repository.
    pub fn pin(&mut self, pin: Pin) {
        self.repos.retain(|it| (&it.url, &it.reference) != (&pin.url, &pin.reference));
        self.repos.push(pin);
        self.repos.sort();
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).map_or_else(|_| String::new(), |text| text + "\n")
    }
}

/// Where the copy of a repository would be.
#[must_use]
pub fn vendored(project: &str, import_path: &str) -> String {
    path::join(&[project, VENDOR_FOLDER, import_path])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(url: &str, reference: &str, commit: &str) -> Pin {
        let [url, reference, commit] = [url, reference, commit].map(str::to_owned);
        Pin { url, reference, commit }
    }

    #[test]
    fn a_lock_is_read_as_it_was_written() {
        let mut lock = Lock::default();
        lock.pin(pin("https://b", "", "1"));
        lock.pin(pin("https://a", "v1", "2"));
        lock.pin(pin("https://b", "", "3"));
        assert_eq!(lock.commit("https://b", ""), Some("3"));
        assert_eq!(lock.commit("https://a", ""), None);
        assert_eq!(serde_json::from_str::<Lock>(&lock.text()).unwrap(), lock);
        assert_eq!(lock.repos[0].url, "https://a");
    }
}
