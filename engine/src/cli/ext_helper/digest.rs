//! Computes one digest of all inputs of a Helm upgrade.

use std::{env, fs, io, os::unix::ffi::OsStrExt, path::Path};

use engine_formats::golang::hex;
use sha2::{Digest, Sha256};

use super::release::Release;

/// Flags whose value is a file.
const FILE_FLAGS: [&str; 3] = ["-f", "--values", "--set-file"];
/// Flags with unknown inputs, or that require an upgrade each time.
const OPEN_FLAGS: [&str; 8] = [
    "--post-renderer",
    "--dry-run",
    "--force",
    "--force-replace",
    "--force-conflicts",
    "--devel",
    "--repo",
    "--recreate-pods",
];

/// The digest, or `None` if some input is unknown.
pub(super) fn of(chart: &str, flags: &[String], release: &Release) -> Option<String> {
    let mut hash = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    add(env!("CARGO_PKG_VERSION").as_bytes());
    for part in [Some(&release.name), release.namespace.as_ref()].into_iter().flatten().chain(flags)
    {
        add(part.as_bytes());
    }
    for name in ["KUBECONFIG", "HELM_KUBECONTEXT", "HELM_NAMESPACE", "HELM_KUBEAPISERVER"] {
        add(env::var(name).unwrap_or_default().as_bytes());
    }
    add(&kubeconfig());
    add(chart.as_bytes());
    let path = Path::new(chart);
    if path.exists() {
        tree(path, &mut add).ok()?;
    } else {
        add(&repository(chart, flags)?);
    }
    files(flags, &mut add)?;
    Some(hex::encode(&hash.finalize()))
}

/// The files of a chart, by their names and contents.
fn tree(path: &Path, add: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    if !path.is_dir() {
        add(path.as_os_str().as_bytes());
        add(&fs::read(path)?);
        return Ok(());
    }
    let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    entries.iter().try_for_each(|it| tree(&it.path(), add))
}

/// What is known of a chart that is not here: its version, or the index of its repository.
fn repository(chart: &str, flags: &[String]) -> Option<Vec<u8>> {
    let is_pinned = flags.iter().any(|it| it == "--version" || it.starts_with("--version="));
    if is_pinned {
        return Some(Vec::new());
    }
    let (repo, _) = chart.split_once('/').filter(|_| !chart.contains("://"))?;
    let cache = env::var("HELM_REPOSITORY_CACHE").ok().or_else(|| {
        let home = env::var("HELM_CACHE_HOME").ok().or_else(|| {
            let cache = env::var("XDG_CACHE_HOME").ok().filter(|it| !it.is_empty());
            let cache = cache.or_else(|| Some(format!("{}/.cache", env::var("HOME").ok()?)))?;
            Some(format!("{cache}/helm"))
        })?;
        Some(format!("{home}/repository"))
    })?;
    fs::read(Path::new(&cache).join(format!("{repo}-index.yaml"))).ok()
}

/// The files that flags name.
fn files(flags: &[String], add: &mut dyn FnMut(&[u8])) -> Option<()> {
    let mut rest = flags.iter();
    while let Some(flag) = rest.next() {
        let (name, given) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (flag.as_str(), None),
        };
        if OPEN_FLAGS.contains(&name) {
            return None;
        }
        if !FILE_FLAGS.contains(&name) {
            continue;
        }
        let value = given.or_else(|| rest.next().cloned())?;
        for part in value.split(',') {
            let path = if name == "--set-file" { part.split_once('=')?.1 } else { part };
            add(&fs::read(path).ok()?);
        }
    }
    Some(())
}

/// Which cluster is meant.
fn kubeconfig() -> Vec<u8> {
    let paths = env::var("KUBECONFIG").ok().filter(|it| !it.is_empty());
    let paths =
        paths.unwrap_or_else(|| format!("{}/.kube/config", env::var("HOME").unwrap_or_default()));
    paths.split(':').flat_map(|it| fs::read(it).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(chart: &Path, flags: &[&str]) -> Option<String> {
        let flags: Vec<String> = flags.iter().map(|it| (*it).to_owned()).collect();
        let release = Release { name: "r".to_owned(), namespace: None, scope: Vec::new() };
        of(chart.to_str().unwrap(), &flags, &release)
    }

    #[test]
    fn a_change_of_chart_values_or_flags_is_another_upgrade() {
        let dir = tempfile::tempdir().unwrap();
        let (chart, values) = (dir.path().join("chart"), dir.path().join("values.yaml"));
        fs::create_dir_all(chart.join("templates")).unwrap();
        fs::write(chart.join("templates/a.yaml"), "a").unwrap();
        fs::write(&values, "x: 1").unwrap();
        let flags = ["-f", values.to_str().unwrap(), "--set", "a=1"];
        let first = digest(&chart, &flags).unwrap();
        assert_eq!(digest(&chart, &flags), Some(first.clone()));
        assert_ne!(digest(&chart, &flags[..2]), Some(first.clone()));
        fs::write(&values, "x: 2").unwrap();
        let second = digest(&chart, &flags).unwrap();
        assert_ne!(first, second);
        fs::write(chart.join("templates/b.yaml"), "").unwrap();
        assert_ne!(digest(&chart, &flags), Some(second));
    }

    #[test]
    fn what_cannot_be_known_is_never_skipped() {
        let dir = tempfile::tempdir().unwrap();
        assert!(digest(dir.path(), &["--wait"]).is_some());
        for flags in
            [&["--post-renderer", "x"][..], &["-f", "/no/such/file"], &["--dry-run=server"]]
        {
            assert_eq!(digest(dir.path(), flags), None, "{flags:?}");
        }
        assert_eq!(digest(Path::new("oci://example.com/chart"), &[]), None);
        assert!(digest(Path::new("oci://example.com/chart"), &["--version", "1.0.0"]).is_some());
    }
}
