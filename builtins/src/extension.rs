//! `ext://NAME`: which repository an extension comes from, and where its Tiltfile is on disk.
//!
//! The default repository is the embedded standard library. A Tiltfile can declare a repository instead: a folder, or
//! a git checkout in Tilt's data folder, so that an existing checkout works offline. If the public repository is
//! declared but unavailable, the standard library replaces it.

use std::{cell::RefCell, collections::BTreeMap};

use engine_formats::golang::{label::sanitize_name, os_error::PathError, path};
use engine_model::LoadedRepo;
use serde_json::{Value, json};

use crate::{
    host::{FileKind, Host, Level},
    objects::{ApiObjects, EXTENSION, EXTENSION_REPO},
};

pub use error::ExtensionError;
use lock::Lock;
use revision::{Commit, Reference};

mod checkout;
mod embedded;
mod error;
mod import_path;
pub mod lock;
pub mod revision;

/// The prefix of extension names in `load`.
pub(crate) const PREFIX: &str = "ext://";

const DEFAULT_REPO: &str = "default";
const PUBLIC_REPOSITORY: &str = "https://github.com/tilt-dev/tilt-extensions";
const MANAGED_BY: &str = "tilt.dev/managed-by";
const LOADER: &str = "tiltfile.loader";

/// Repositories that were looked for during one evaluation: each is fetched, or fails, only once.
#[derive(Debug, Default)]
pub(crate) struct Repositories {
    /// The results by URL and reference.
    found: RefCell<BTreeMap<(String, String), Result<String, ExtensionError>>>,
}

impl Repositories {
    /// Those that were found, sorted by URL.
    pub(crate) fn used(&self) -> Vec<LoadedRepo> {
        let found = self.found.borrow();
        let used = found.iter().filter_map(|((url, reference), root)| {
            let (url, reference) = (url.clone(), reference.clone());
            Some(LoadedRepo { url, reference, path: root.as_ref().ok()?.clone() })
        });
        used.collect()
    }

    /// Where the files of a repository are. Only for one that a Tiltfile declares the standard library stands in.
    fn root(
        &self,
        host: &dyn Host,
        project: &str,
        repo: &Value,
        is_declared: bool,
    ) -> Result<String, ExtensionError> {
        let key = (text(repo, "url").to_owned(), text(repo, "ref").to_owned());
        if let Some(known) = self.found.borrow().get(&key) {
            return known.clone();
        }
        let find = if is_declared { repository_root } else { own_root };
        let found = find(host, project, &key.0, &key.1);
        self.found.borrow_mut().insert(key, found.clone());
        found
    }
}

/// The absolute path of the Tiltfile of an extension, whose name has no prefix any more. The project is the folder of
/// the main Tiltfile.
///
/// # Errors
/// If the repository cannot be had, or has no such extension.
pub(crate) fn resolve(
    host: &dyn Host,
    repositories: &Repositories,
    project: &str,
    objects: &mut ApiObjects,
    module: &str,
) -> Result<String, ExtensionError> {
    let name = sanitize_name(module);
    let extension = ensure_extension(objects, &name, module);
    let repo_name = text(&extension, "repoName");
    let repo_path = text(&extension, "repoPath");

    let is_declared = objects.declares_repo(repo_name);
    let repo = ensure_repo(objects, repo_name);
    if !is_declared && let Some(found) = embedded::tiltfile(host, repo_path) {
        return found.map_err(|source| source.of_extension(&name));
    }
    let root = repositories.root(host, project, &repo, is_declared);
    let found = root.map_err(|source| source.of_repo(repo_name)).and_then(|root| {
        tiltfile_in(host, &root, text(&repo, "gitSubpath"), repo_path)
            .map_err(|source| source.of_extension(&name))
    });
    let missing =
        |source| ExtensionError::Missing { name: repo_path.to_owned(), source: Box::new(source) };
    if is_declared { found } else { found.map_err(missing) }
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

/// The Tiltfile of an extension, for whoever only reads it: nothing is fetched.
///
/// # Errors
/// If it is neither part of the standard library nor in a repository that was fetched before.
pub fn extension_tiltfile(host: &dyn Host, name: &str) -> Result<String, ExtensionError> {
    if let Some(found) = embedded::tiltfile(host, name) {
        return found;
    }
    let modules = checkout::modules_dir(host)?;
    let root = path::join(&[&modules, "github.com/tilt-dev/tilt-extensions"]);
    tiltfile_in(host, &root, "", name).map_err(|source| source.of_extension(name))
}

/// The Tiltfile of an extension of a repository that is not the default one, for whoever only reads it: nothing is
/// fetched.
///
/// # Errors
/// If the repository was not fetched before, or has no such extension.
pub fn declared_tiltfile(
    host: &dyn Host,
    project: &str,
    url: &str,
    subpath: &str,
    repo_path: &str,
) -> Result<String, ExtensionError> {
    let root = match url.split_once("://") {
        Some(("file", dir)) => dir.to_owned(),
        Some((_, import_path)) => {
            let vendored = lock::vendored(project, import_path);
            if host.stat(&vendored).is_ok() {
                vendored
            } else {
                path::join(&[&checkout::modules_dir(host)?, import_path])
            }
        }
        None => return Err(ExtensionError::Scheme(url.to_owned())),
    };
    tiltfile_in(host, &root, subpath, repo_path).map_err(|source| source.of_extension(repo_path))
}

/// Where the files of a repository are, by its URL; a git repository is fetched if it is not there. The project may
/// have a copy of its own, or pin a commit. The standard library stands in for the public repository.
///
/// # Errors
/// If it cannot be had, in Tilt's words.
pub fn repository_root(
    host: &dyn Host,
    project: &str,
    url: &str,
    reference: &str,
) -> Result<String, ExtensionError> {
    match own_root(host, project, url, reference) {
        Err(why)
            if url.trim_end_matches('/') == PUBLIC_REPOSITORY
                && !matches!(why, ExtensionError::Lock(_) | ExtensionError::Revision(_)) =>
        {
            host.log(
                Level::Warn,
                &format!("{url} cannot be had ({why}), so the standard library stands in for it\n"),
            );
            embedded::root(host)
        }
        found => found,
    }
}

/// Where the files of a repository are, without another one that stands in for it.
fn own_root(
    host: &dyn Host,
    project: &str,
    url: &str,
    reference: &str,
) -> Result<String, ExtensionError> {
    if let Some(dir) = url.strip_prefix("file://") {
        if !reference.is_empty() {
            return Err(ExtensionError::RefOfFolder);
        }
        if !path::is_abs(dir) {
            return Err(ExtensionError::RelativeFolder(url.to_owned()));
        }
        let info = host
            .stat(dir)
            .map_err(|error| ExtensionError::Folder(PathError::new("stat", dir, &error)))?;
        if info.kind != FileKind::Directory {
            return Err(ExtensionError::NotADirectory);
        }
        return Ok(dir.to_owned());
    }
    let Some(import_path) = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))
    else {
        return Err(ExtensionError::Scheme(url.to_owned()));
    };
    // A lock that nobody can read, and a ref that is none, are errors even where nothing is fetched.
    let lock = Lock::read(host, project)?;
    let branch = Reference::try_from(reference.to_owned())?;
    let vendored = lock::vendored(project, import_path);
    if host.stat(&vendored).is_ok() {
        return Ok(vendored);
    }
    match lock.commit(url, reference) {
        Some(commit) => checkout::pinned(host, import_path, commit),
        None => checkout::ensure(host, import_path, &branch),
    }
}

/// The names of all extensions that come with the engine, sorted.
pub fn standard_library() -> impl Iterator<Item = &'static str> {
    stdlib::all().map(|it| it.name)
}

/// Whether these are the files of the standard library, which stand in for the public repository.
pub fn is_standard_library(host: &dyn Host, root: &str) -> bool {
    embedded::dir(host).is_ok_and(|it| it == root)
}

/// The newest commit that a reference of a git repository names, or nothing for a folder.
///
/// # Errors
/// If the repository cannot be had, or has no such reference.
pub fn newest_commit(
    host: &dyn Host,
    url: &str,
    reference: &Reference,
) -> Result<Option<Commit>, ExtensionError> {
    let import_path = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    import_path.map(|it| checkout::newest(host, it, reference)).transpose()
}

/// `$XDG_DATA_HOME`, where Tilt keeps its checkouts in `tilt-dev/tilt_modules`.
///
/// # Errors
/// If nothing says where that is: the directory of the project is not the place for it.
fn data_home(host: &dyn Host) -> Result<String, ExtensionError> {
    let given = host.env("XDG_DATA_HOME").filter(|it| path::is_abs(it));
    let of_user = || Some(path::join(&[host.home()?.as_str(), ".local", "share"]));
    given.or_else(of_user).ok_or(ExtensionError::NoHome)
}

fn tiltfile_in(
    host: &dyn Host,
    root: &str,
    subpath: &str,
    repo_path: &str,
) -> Result<String, ExtensionError> {
    let file = path::join(&[root, subpath, repo_path, "Tiltfile"]);
    if !path::is_child(root, &file) {
        return Err(ExtensionError::OutsideRepo(repo_path.to_owned()));
    }
    match host.stat(&file) {
        Ok(info) if info.kind == FileKind::File => Ok(file),
        _ => Err(ExtensionError::NoTiltfile(file)),
    }
}
