//! Extensions that are Tiltfiles of their own: found in their repository, run, and taken away again.

use std::{
    fmt,
    path::{Component, Path, PathBuf},
};

use engine_model::{
    Kind, LoadedRepo, Time,
    path::{to_path, to_text},
    spec::ExtensionSpec,
};

use super::ObjectAction;
use crate::World;

/// Where a repository was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The directory.
    pub path: String,
    /// How old it is, if that is known.
    pub at: Option<Time>,
}

/// What became of a repository.
pub type RepoStatus = Result<Fetched, RepoError>;

/// Why a repository is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepoError {
    /// A folder has no versions.
    RefOfFolder,
    /// A folder has to be named from the root on.
    RelativeFolder {
        /// Its address.
        url: String,
    },
    /// A folder cannot be used, for this reason.
    Folder(String),
    /// A git repository could not be fetched, for this reason.
    Fetch(String),
}

impl std::error::Error for RepoError {}

impl fmt::Display for RepoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RefOfFolder => f.write_str("spec.ref not supported on file:// repos"),
            Self::RelativeFolder { url } => write!(f, "file paths must be absolute. Url: {url}"),
            Self::Folder(why) => write!(f, "loading: {why}"),
            Self::Fetch(why) => f.write_str(why),
        }
    }
}

/// Why there is no Tiltfile of an extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtensionError {
    /// Nobody has declared its repository.
    UnknownRepo(String),
    /// Its repository is not there yet.
    UnloadedRepo(String),
    /// Its path leads out of the repository.
    OutsideRepo(String),
    /// It is not where it must be.
    NoTiltfile(PathBuf),
}

impl std::error::Error for ExtensionError {}

impl fmt::Display for ExtensionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownRepo(repo) => write!(f, "extension repo not found: {repo}"),
            Self::UnloadedRepo(repo) => write!(f, "extension repo not loaded: {repo}"),
            Self::OutsideRepo(path) => write!(f, "invalid repo path: {path}"),
            Self::NoTiltfile(path) => {
                write!(f, "no extension tiltfile found at {}", path.display())
            }
        }
    }
}

impl World {
    /// What became of a repository, if that is known.
    pub fn repo_status(&self, name: &str) -> Option<&RepoStatus> {
        self.objects.found_repos.get(name)
    }

    /// Where the Tiltfile of an extension is, or why there is none, if that is known.
    pub fn extension_status(&self, name: &str) -> Option<&Result<String, ExtensionError>> {
        self.objects.found_extensions.get(name)
    }

    /// Finds a repository, and whoever waits for it.
    ///
    /// A git repository is fetched if an extension object waits for it; `load` fetches its own.
    pub(super) fn reconcile_repo(&mut self, name: &str) {
        let Some(spec) = self.objects.repos.get(name).cloned() else { return };
        let repo = name.to_owned();
        let Some(path) = spec.folder() else {
            let is_waiting = |it: &ExtensionSpec| !it.is_loaded && it.repo_name == name;
            if self.objects.extensions.iter().any(|(_, it)| is_waiting(it)) {
                let (url, reference) = (spec.url, spec.r#ref);
                self.do_for_object(ObjectAction::FetchRepo { repo, url, reference });
            }
            return;
        };
        if !spec.r#ref.is_empty() {
            self.repo_fetched(name, Err(RepoError::RefOfFolder));
        } else if !path.starts_with('/') {
            self.repo_fetched(name, Err(RepoError::RelativeFolder { url: spec.url }));
        } else {
            let path = path.to_owned();
            self.do_for_object(ObjectAction::FindFolder { repo, path });
        }
    }

    /// Takes in where a run of a Tiltfile found the git repositories that it has loaded from.
    pub(crate) fn repos_loaded(&mut self, now: Time, found: &[LoadedRepo]) {
        let mut news = Vec::new();
        for (name, spec) in self.objects.repos.iter().filter(|(_, it)| it.folder().is_none()) {
            let found = found.iter().find(|it| it.url == spec.url && it.reference == spec.r#ref);
            let Some(LoadedRepo { path, .. }) = found else { continue };
            let is_known = matches!(self.repo_status(name), Some(Ok(it)) if it.path == *path);
            if !is_known {
                news.push((name.clone(), path.clone()));
            }
        }
        for (name, path) in news {
            self.repo_fetched(&name, Ok(Fetched { path, at: Some(now) }));
        }
    }

    /// Takes in what became of a repository.
    pub(crate) fn repo_fetched(&mut self, name: &str, result: RepoStatus) {
        if self.objects.repos.get(name).is_none() {
            return;
        }
        let old = self.objects.found_repos.insert(name.to_owned(), result.clone());
        if let Err(error) = result
            && !matches!(&old, Some(Err(it)) if *it == error)
        {
            self.log_error(format!("extensionrepo {name}: {error}"));
        }
        self.publish_object(Kind::ExtensionRepo, name);
        self.reconcile_extensions_of(name);
    }

    /// Extensions of a repository that has changed.
    pub(super) fn reconcile_extensions_of(&mut self, repo: &str) {
        let all = self.objects.extensions.iter().filter(|(_, it)| it.repo_name == repo);
        let names: Vec<String> = all.map(|(name, _)| name.clone()).collect();
        for name in names {
            self.reconcile_extension(&name);
        }
    }

    /// Looks for the Tiltfile of an extension.
    pub(super) fn reconcile_extension(&mut self, name: &str) {
        let Some(spec) = self.objects.extensions.get(name) else { return };
        match self.extension_path(spec) {
            Ok(path) => {
                let name = name.to_owned();
                self.do_for_object(ObjectAction::FindExtension { name, path });
            }
            Err(error @ (ExtensionError::UnknownRepo(_) | ExtensionError::UnloadedRepo(_))) => {
                // An extension that is loaded without a repository comes with the engine.
                if !spec.is_loaded {
                    self.extension_missing(name, error);
                }
            }
            Err(error) => self.log_missing(name, error),
        }
    }

    /// Lets the Tiltfile of an extension run, unless another Tiltfile loads it.
    pub(crate) fn extension_found(&mut self, name: &str, path: &str, is_file: bool) {
        let Some(spec) = self.objects.extensions.get(name).cloned() else { return };
        if !matches!(self.extension_path(&spec), Ok(it) if it == path) {
            return;
        }
        if !is_file {
            let path = to_path(path).into_owned();
            return self.log_missing(name, ExtensionError::NoTiltfile(path));
        }
        self.objects.found_extensions.insert(name.to_owned(), Ok(path.to_owned()));
        self.publish_object(Kind::Extension, name);
        if !spec.is_loaded {
            let (name, path, args) = (name.to_owned(), path.to_owned(), spec.args);
            self.do_for_object(ObjectAction::PutExtensionTiltfile { name, path, args });
        }
    }

    fn log_missing(&mut self, name: &str, error: ExtensionError) {
        let old = self.objects.found_extensions.get(name);
        if !matches!(old, Some(Err(it)) if *it == error) {
            self.log_error(format!("extension {name}: {error}"));
        }
        self.extension_missing(name, error);
    }

    /// What cannot be found any more does not stay.
    fn extension_missing(&mut self, name: &str, error: ExtensionError) {
        self.objects.found_extensions.insert(name.to_owned(), Err(error));
        self.publish_object(Kind::Extension, name);
        self.remove_extension(name);
    }

    /// Takes an extension away, with all it declared.
    pub(super) fn remove_extension(&mut self, name: &str) {
        if self.objects.tiltfiles.get(name).is_some_and(|it| it.is_extension) {
            let name = name.to_owned();
            self.do_for_object(ObjectAction::RemoveExtensionTiltfile { name });
        }
    }

    /// Where the Tiltfile of an extension must be, or why it cannot be anywhere.
    fn extension_path(&self, spec: &ExtensionSpec) -> Result<String, ExtensionError> {
        let (repo_name, inside) = (&spec.repo_name, &spec.repo_path);
        let Some(repo) = self.objects.repos.get(repo_name) else {
            return Err(ExtensionError::UnknownRepo(repo_name.clone()));
        };
        let Some(Ok(Fetched { path: root, .. })) = self.repo_status(repo_name) else {
            return Err(ExtensionError::UnloadedRepo(repo_name.clone()));
        };
        let root = to_path(root);
        let joined = root.join(relative(&repo.git_subpath)).join(relative(inside));
        let path = clean(&joined).join("Tiltfile");
        if !path.starts_with(&root) {
            return Err(ExtensionError::OutsideRepo(inside.clone()));
        }
        Ok(to_text(&path).into_owned())
    }
}

/// A path that cannot replace what it is joined to.
fn relative(path: &str) -> &Path {
    Path::new(path.trim_start_matches('/'))
}

/// An absolute path without `.` and `..`, by name alone.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                clean.push(component);
            }
        }
    }
    clean
}
