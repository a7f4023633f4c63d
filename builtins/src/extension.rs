//! `ext://NAME`: which repository an extension comes from, and where its Tiltfile is on disk.
//!
//! Repositories are git checkouts in the data folder that Tilt uses, so that an existing checkout works without
//! a network. As long as there is none of the public repository, the embedded standard library stands in for it.

use std::{cell::RefCell, collections::HashMap};

use serde_json::{Value, json};

use crate::{
    golang::{label::sanitize_name, os_error::PathError, path},
    host::{FileKind, Host},
    objects::{ApiObjects, EXTENSION, EXTENSION_REPO},
};

mod checkout;
mod embedded;
mod import_path;

/// The prefix of extension names in `load`.
pub(crate) const PREFIX: &str = "ext://";

const DEFAULT_REPO: &str = "default";
const PUBLIC_REPOSITORY: &str = "https://github.com/tilt-dev/tilt-extensions";
const PUBLIC_IMPORT_PATH: &str = "github.com/tilt-dev/tilt-extensions";
const MANAGED_BY: &str = "tilt.dev/managed-by";
const LOADER: &str = "tiltfile.loader";

/// Why an extension cannot be loaded, in Tilt's words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ExtensionError(String);

/// Repositories that were looked for during one evaluation: each is fetched, or fails, only once.
#[derive(Debug, Default)]
pub(crate) struct Repositories {
    /// The results by URL and reference.
    found: RefCell<HashMap<(String, String), Result<String, String>>>,
}

impl Repositories {
    /// Where the files of a repository are.
    fn root(&self, host: &dyn Host, repo: &Value) -> Result<String, String> {
        let key = (text(repo, "url").to_owned(), text(repo, "ref").to_owned());
        if let Some(known) = self.found.borrow().get(&key) {
            return known.clone();
        }
        let found = repo_root(host, &key.0, &key.1);
        self.found.borrow_mut().insert(key, found.clone());
        found
    }
}

/// The absolute path of the Tiltfile of an extension, whose name has no prefix any more.
///
/// # Errors
/// If the repository cannot be had, or has no such extension.
pub(crate) fn resolve(
    host: &dyn Host,
    repositories: &Repositories,
    objects: &mut ApiObjects,
    module: &str,
) -> Result<String, ExtensionError> {
    let name = sanitize_name(module);
    let extension = ensure_extension(objects, &name, module);
    let repo_name = text(&extension, "repoName");
    let repo_path = text(&extension, "repoPath");

    if !objects.declares_repo(repo_name)
        && !has_public_checkout(host)
        && let Some(found) = embedded::tiltfile(host, repo_path)
    {
        ensure_repo(objects, repo_name);
        return found.map_err(|error| ExtensionError(format!("loading extension {name}: {error}")));
    }

    let repo = ensure_repo(objects, repo_name);
    let root = repositories
        .root(host, &repo)
        .map_err(|error| ExtensionError(format!("loading extension repo {repo_name}: {error}")))?;
    tiltfile_in(host, &root, text(&repo, "gitSubpath"), repo_path)
        .map_err(|error| ExtensionError(format!("loading extension {name}: {error}")))
}

/// A string field of an object's spec, empty if absent.
fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["spec"][field].as_str().unwrap_or_default()
}

/// The extension of this name: the registered one, one of a repository with this load host, or the default.
fn ensure_extension(objects: &mut ApiObjects, name: &str, module: &str) -> Value {
    if let Some(existing) = objects.get(EXTENSION, name) {
        let mut extension = existing.clone();
        extension["metadata"]["annotations"][MANAGED_BY] = json!(LOADER);
        objects.put(EXTENSION, name, extension.clone());
        return extension;
    }
    let by_host = module.split_once('/').and_then(|(load_host, rest)| {
        let mut repos = objects.of_type(EXTENSION_REPO);
        let (repo, _) =
            repos.find(|(_, it)| !load_host.is_empty() && text(it, "loadHost") == load_host)?;
        Some((repo.clone(), rest.to_owned()))
    });
    let (repo_name, repo_path) =
        by_host.unwrap_or_else(|| (DEFAULT_REPO.to_owned(), module.to_owned()));
    let extension = json!({
        "metadata": {"name": name, "annotations": {MANAGED_BY: LOADER}},
        "spec": {"repoName": repo_name, "repoPath": repo_path},
        "status": {},
    });
    objects.put(EXTENSION, name, extension.clone());
    extension
}

/// The repository of this name: the registered one, or the public one under that name.
fn ensure_repo(objects: &mut ApiObjects, name: &str) -> Value {
    if let Some(existing) = objects.get(EXTENSION_REPO, name) {
        return existing.clone();
    }
    let repo = json!({
        "metadata": {"name": name},
        "spec": {"url": PUBLIC_REPOSITORY},
        "status": {"lastFetchedAt": null},
    });
    objects.put_implicit_repo(name, repo.clone());
    repo
}

/// Whether Tilt, or an earlier evaluation, has fetched the public repository.
fn has_public_checkout(host: &dyn Host) -> bool {
    let dest = path::join(&[&checkout::modules_dir(host), PUBLIC_IMPORT_PATH]);
    host.stat(&dest).is_ok()
}

/// Where the files of a repository are, by its URL; a git repository is fetched if it is not there.
///
/// # Errors
/// If it cannot be had, in Tilt's words.
pub fn repository_root(host: &dyn Host, url: &str, reference: &str) -> Result<String, String> {
    repo_root(host, url, reference)
}

/// Where the files of a repository are, by its URL.
fn repo_root(host: &dyn Host, url: &str, reference: &str) -> Result<String, String> {
    if let Some(dir) = url.strip_prefix("file://") {
        if !reference.is_empty() {
            return Err("spec.ref not supported on file:// repos".to_owned());
        }
        if !path::is_abs(dir) {
            return Err(format!("file paths must be absolute. Url: {url}"));
        }
        let info = host
            .stat(dir)
            .map_err(|error| format!("loading: {}", PathError::new("stat", dir, &error)))?;
        if info.kind != FileKind::Directory {
            return Err("loading: not a directory".to_owned());
        }
        return Ok(dir.to_owned());
    }
    let Some(import_path) = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))
    else {
        return Err(format!("invalid: URL must start with 'https://': {url}"));
    };
    checkout::ensure(host, import_path, reference)
}

/// `$XDG_DATA_HOME`, where Tilt keeps its checkouts in `tilt-dev/tilt_modules`.
fn data_home(host: &dyn Host) -> String {
    host.env("XDG_DATA_HOME").filter(|it| path::is_abs(it)).unwrap_or_else(|| {
        let home = host.env("HOME").unwrap_or_default();
        path::join(&[home.as_str(), ".local", "share"])
    })
}

fn tiltfile_in(
    host: &dyn Host,
    root: &str,
    subpath: &str,
    repo_path: &str,
) -> Result<String, String> {
    let file = path::join(&[root, subpath, repo_path, "Tiltfile"]);
    if !path::is_child(root, &file) {
        return Err(format!("invalid repo path: {repo_path}"));
    }
    match host.stat(&file) {
        Ok(info) if info.kind == FileKind::File => Ok(file),
        _ => Err(format!("no extension tiltfile found at {file}")),
    }
}
