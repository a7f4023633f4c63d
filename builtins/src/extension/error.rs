//! Why an extension cannot be loaded, in Tilt's words.

use engine_formats::golang::{os_error::PathError, quote::quote};

use super::{lock::LockError, revision::InvalidRevision};

/// Why an extension or its repository cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtensionError {
    /// The extension cannot be found in its repository.
    #[error("loading extension {name}: {source}")]
    Extension {
        /// Its name.
        name: String,
        /// Why.
        source: Box<Self>,
    },
    /// The repository cannot be had.
    #[error("loading extension repo {name}: {source}")]
    Repo {
        /// Its name.
        name: String,
        /// Why.
        source: Box<Self>,
    },
    /// Neither the standard library has the extension nor the public repository, if that can be had.
    #[error("{source}")]
    Missing {
        /// Its name.
        name: String,
        /// What is wrong with the public repository.
        source: Box<Self>,
    },
    /// The URL has an unsupported scheme.
    #[error("invalid: URL must start with 'https://': {0}")]
    Scheme(String),
    /// A folder has no branches.
    #[error("spec.ref not supported on file:// repos")]
    RefOfFolder,
    /// The folder is relative.
    #[error("file paths must be absolute. Url: {0}")]
    RelativeFolder(String),
    /// The folder cannot be looked at.
    #[error("loading: {0}")]
    Folder(PathError),
    /// The folder is none.
    #[error("loading: not a directory")]
    NotADirectory,
    /// Nothing says where the user's files are.
    #[error("there is no home directory to keep extensions in; set HOME or XDG_DATA_HOME")]
    NoHome,
    /// A file of the standard library cannot be written.
    #[error("writing {path}: {reason}")]
    Unwritable {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The path leads out of the repository.
    #[error("invalid repo path: {0}")]
    OutsideRepo(String),
    /// The repository has no such extension.
    #[error("no extension tiltfile found at {0}")]
    NoTiltfile(String),
    /// The lock of the project cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The branch, tag or commit is none.
    #[error(transparent)]
    Revision(#[from] InvalidRevision),
    /// The address names no git repository.
    #[error(transparent)]
    ImportPath(#[from] ImportPathError),
    /// The place of the checkout cannot be looked at before the download.
    #[error("loading download destination: {0}")]
    Destination(PathError),
    /// The download lacks the directory that was asked for.
    #[error("verifying download destination: {0}")]
    Downloaded(PathError),
    /// A checkout exists, but its origin is unknown.
    #[error("determining head: {0}")]
    Head(ImportPathError),
    /// The repository cannot be cloned.
    #[error("download error: waiting 5s before retrying. Original error: {0}")]
    Download(Box<Self>),
    /// The commit cannot be fetched.
    #[error("fetching {commit}: {source}")]
    Fetch {
        /// The commit.
        commit: String,
        /// Why.
        source: CommandError,
    },
    /// The branch, tag or commit cannot be checked out.
    #[error("sync to ref {reference}: {source}")]
    Sync {
        /// Its name.
        reference: String,
        /// Why.
        source: CommandError,
    },
    /// The repository has no such branch, tag or commit.
    #[error("{import_path} has no {reference}")]
    NoReference {
        /// The repository.
        import_path: String,
        /// What it lacks.
        reference: String,
    },
    /// Git, or a command that moves its files, failed.
    #[error(transparent)]
    Command(#[from] CommandError),
}

impl ExtensionError {
    /// The same, about the extension of this name.
    pub(super) fn of_extension(self, name: &str) -> Self {
        Self::Extension { name: name.to_owned(), source: Box::new(self) }
    }

    /// The same, about the repository of this name.
    pub(super) fn of_repo(self, name: &str) -> Self {
        Self::Repo { name: name.to_owned(), source: Box::new(self) }
    }
}

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// It ran and failed.
    #[error("exit status {0}")]
    Exit(i32),
    /// It could not run, or not to its end.
    #[error("{0}")]
    Run(String),
}

/// Why an address without its scheme names no git repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportPathError {
    /// It has no form that `go get` would take.
    #[error("{path}: invalid import path: malformed import path {}: {why}", quote(.path))]
    Malformed {
        /// The import path.
        path: String,
        /// What is wrong with its form.
        why: Malformation,
    },
    /// It is none of the paths of its site.
    #[error("invalid {site} import path {}", quote(.path))]
    Site {
        /// The site.
        site: &'static str,
        /// The import path.
        path: String,
    },
    /// It ends in the name of a version control system, which paths of its site never do.
    #[error("invalid version control suffix in {0} path")]
    Suffix(&'static str),
    /// Only its server could say where the repository is.
    #[error("dynamic lookup required to find mapping")]
    Dynamic,
    /// It is no git repository.
    #[error("unknown version control system {}", quote(.0))]
    System(String),
    /// Its host could be taken for an option.
    #[error("invalid host in import path {}", quote(.0))]
    Host(String),
    /// No scheme reaches it.
    #[error("{0} answers neither over https nor over ssh")]
    Unreachable(String),
}

/// What is wrong with the form of an import path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformation {
    /// A rule that the whole path, or one of its elements, breaks.
    #[error("{0}")]
    Rule(&'static str),
    /// An element that consists of dots.
    #[error("invalid path element {}", quote(.0))]
    Element(String),
    /// A character that no path has.
    #[error("invalid char {0:?}")]
    Char(char),
}
