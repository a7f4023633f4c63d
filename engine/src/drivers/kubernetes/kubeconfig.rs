//! Where a kubeconfig is looked for, and when it appears there.

use std::{fmt, fs, os::unix::fs::MetadataExt, time::Duration};

use engine_formats::kube_config;
use engine_model::path::to_path;

/// How often the files are looked at while there is no kubeconfig.
pub(crate) const PERIOD: Duration = Duration::from_secs(1);

/// The files that a kubeconfig is read from.
#[derive(Debug)]
pub(crate) struct KubeconfigPlaces {
    /// In order, with what was there.
    files: Vec<(String, Option<Stamp>)>,
    /// Whether nobody named them.
    is_default: bool,
}

impl KubeconfigPlaces {
    /// The files as they are now, from what `KUBECONFIG` and `HOME` say.
    pub(crate) fn new(variable: Option<&str>, home: &str) -> Self {
        let paths = kube_config::paths(variable, home).into_iter();
        Self {
            files: paths.map(|it| (stamp(&it), it)).map(|(stamp, it)| (it, stamp)).collect(),
            is_default: variable.is_none_or(str::is_empty),
        }
    }

    /// Whether one of the files is there.
    pub(crate) fn has_any(&self) -> bool {
        self.files.iter().any(|it| it.1.is_some())
    }

    /// Returns when one of the files has appeared or changed, with its path.
    pub(crate) async fn changed(mut self, period: Duration) -> String {
        loop {
            for (path, known) in &mut self.files {
                let now = stamp(path);
                let is_news = now.is_some() && now != *known;
                *known = now;
                if is_news {
                    return std::mem::take(path);
                }
            }
            tokio::time::sleep(period).await;
        }
    }
}

impl fmt::Display for KubeconfigPlaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = if self.is_default { "KUBECONFIG is not set" } else { "set by KUBECONFIG" };
        let paths: Vec<&str> = self.files.iter().map(|it| it.0.as_str()).collect();
        write!(f, "no kubeconfig: looked at {} ({why})", paths.join(", "))
    }
}

/// Differs whenever a file has changed.
type Stamp = (u64, u64, i64, i64);

fn stamp(path: &str) -> Option<Stamp> {
    let metadata = fs::metadata(to_path(path)).ok()?;
    Some((metadata.ino(), metadata.size(), metadata.ctime(), metadata.ctime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_appears_is_noticed() {
        let dir = tempfile::tempdir().expect("a directory");
        let [a, b] = ["a", "b"].map(|it| dir.path().join(it).display().to_string());
        fs::write(&a, "").expect("it is written");
        let places = KubeconfigPlaces::new(Some(&format!("{a}:{b}")), "");
        let words = format!("no kubeconfig: looked at {a}, {b} (set by KUBECONFIG)");
        assert_eq!(places.to_string(), words);
        fs::write(&b, "x").expect("it is written");
        assert_eq!(places.changed(Duration::from_millis(1)).await, b);

        let places = KubeconfigPlaces::new(None, "/home/me");
        let words = "no kubeconfig: looked at /home/me/.kube/config (KUBECONFIG is not set)";
        assert_eq!(places.to_string(), words);
    }
}
