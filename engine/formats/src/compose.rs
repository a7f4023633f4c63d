//! Compose projects: what services a set of Compose files defines, and how Compose itself would
//! write each of them.
//!
//! Projects are loaded in process. Files and directories are reached through [`World`] and
//! variables come with the request, so that a load is a function of its arguments. When a
//! project cannot be loaded this way, the Compose command line may still be able to resolve it:
//! [`load_or_ask_cli`] asks it through a closure and loads what it prints.

mod bind;
mod canonical;
pub mod cli;
mod consistency;
mod dotenv;
mod environment;
mod extends;
mod files;
mod include;
mod interpolate;
mod loader;
mod merge;
mod normalize;
mod project;
mod read;
mod resolve;
mod schema;
mod short_forms;
mod table;
mod template;
#[cfg(test)]
mod tests;
mod tree;
mod unique;
mod units;
mod value;
mod write;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::Files;

pub use project::{Build, Mount, Project, Service};

/// Why a Compose project cannot be loaded, in Compose's words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ComposeError {
    message: String,
}

impl ComposeError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Something that can be read.
    File,
    /// A directory.
    Directory,
}

impl FileKind {
    fn is_directory(self) -> bool {
        self == Self::Directory
    }
}

/// The files and directories a project is loaded from.
pub trait World: Files {
    /// Says what a path leads to, through symbolic links.
    fn stat(&self, path: &Path) -> io::Result<FileKind>;
    /// Says whether the path itself is a symbolic link.
    fn is_symlink(&self, path: &Path) -> bool;
    /// Resolves all symbolic links of a path.
    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf>;
    /// Hears of something that people should know.
    fn warn(&self, _text: &str) {}
    /// Hears that a file still has the key `version`.
    fn warn_obsolete_version(&self, _file: &str) {}
}

/// Which project to load, and with what.
#[derive(Debug, Clone, Default)]
pub struct ProjectRequest {
    /// The Compose files, absolute, later ones changing earlier ones.
    pub config_paths: Vec<PathBuf>,
    /// What relative paths are relative to, absolute.
    pub project_dir: PathBuf,
    /// The project's name; empty to let the files or the directory name it.
    pub name: String,
    /// Variables for interpolation, instead of `.env` in the project directory.
    pub env_file: Option<PathBuf>,
    /// The profiles to enable.
    pub profiles: Vec<String>,
    /// The environment; it wins over env files.
    pub env: BTreeMap<String, String>,
}

/// Loads a project in process.
pub fn load(request: &ProjectRequest, world: &dyn World) -> Result<Project, ComposeError> {
    project::load(request, world)
}

/// Loads what the Compose command line printed for a project; nothing is left to interpolate.
pub fn load_resolved(
    yaml: &str,
    request: &ProjectRequest,
    world: &dyn World,
) -> Result<Project, ComposeError> {
    project::load_resolved(yaml, request, world)
}

/// Loads a project in process, or else from what `config` prints: that runs the Compose command
/// line with the arguments it is given, and its failure is the one that is reported.
pub fn load_or_ask_cli(
    request: &ProjectRequest,
    world: &dyn World,
    config: &mut dyn FnMut(&[String]) -> Result<String, ComposeError>,
) -> Result<Project, ComposeError> {
    if let Ok(project) = load(request, world) {
        return Ok(project);
    }
    let mut args = cli::project_args(request);
    args.push("config".to_owned());
    let yaml = config(&args)?;
    load_resolved(yaml.trim(), request, world)
}

/// A project name made of a directory's: lower case, only letters, digits, `-` and `_`.
pub fn normalize_project_name(name: &str) -> String {
    let kept: String = name
        .to_lowercase()
        .chars()
        .filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'))
        .collect();
    kept.trim_start_matches(['_', '-']).to_owned()
}

/// A failed file operation in the words of the operating system.
fn io_problem(operation: &str, path: &str, error: &io::Error) -> ComposeError {
    let text = error.to_string();
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory",
        io::ErrorKind::PermissionDenied => "permission denied",
        io::ErrorKind::IsADirectory if operation == "open" => {
            return ComposeError::new(format!("read {path}: is a directory"));
        }
        io::ErrorKind::NotADirectory => "not a directory",
        _ => text.split(" (os error").next().unwrap_or_default(),
    };
    ComposeError::new(format!("{operation} {path}: {reason}"))
}
