//! Build contexts: which files of a directory an image is made from.
//!
//! What is left out is decided here, before anything is sent, by Docker's rules as Tilt applies
//! them. All functions read the disk, and therefore block.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use engine_formats::docker::ignore::Rule;
use engine_model::{IgnoreDef, path::to_path};

use crate::error::DockerError;

pub(crate) mod archive;
pub(crate) mod fingerprint;
pub(crate) mod listing;
pub(crate) mod walk;

use walk::Only;

/// A directory, and what of it goes into an image.
#[derive(Debug)]
pub struct BuildContext {
    /// As declared; patterns are relative to it.
    dir: PathBuf,
    /// The same without symbolic links, or nothing for an empty context.
    root: Option<PathBuf>,
    filter: Filter,
    /// Nothing else belongs to it, if this is set.
    only: Option<Only>,
}

impl BuildContext {
    /// Looks at a directory; `-` stands for an empty one.
    pub fn new(dir: &str, ignores: &[IgnoreDef]) -> Result<Self, DockerError> {
        let filter = Filter::new(ignores);
        if dir == "-" {
            return Ok(Self { dir: PathBuf::from("/"), root: None, filter, only: None });
        }
        let unreadable = |source| DockerError::File {
            doing: "reading build context: stat",
            path: to_path(dir).into_owned(),
            source,
        };
        let root = fs::canonicalize(to_path(dir)).map_err(unreadable)?;
        if !root.is_dir() {
            return Err(unreadable(io::ErrorKind::NotADirectory.into()));
        }
        Ok(Self { dir: to_path(dir).into_owned(), root: Some(root), filter, only: None })
    }

    /// The same directory, with nothing but these files.
    pub(crate) fn with_only(self, files: &[String]) -> Self {
        Self { only: Some(Only::new(files)), ..self }
    }

    pub(crate) fn is_partial(&self) -> bool {
        self.only.is_some()
    }

    pub(crate) fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// The directory as it was declared.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

/// Paths that several definitions leave out.
#[derive(Debug, Default)]
pub struct Filter {
    rules: Vec<Rule>,
    defs: Vec<IgnoreDef>,
}

impl Filter {
    /// Compiles definitions; malformed ones are no rules, as in Tilt.
    pub fn new(defs: &[IgnoreDef]) -> Self {
        let rules = defs.iter().filter_map(|def| Rule::new(&def.base_path, &def.patterns).ok());
        Self { rules: rules.collect(), defs: defs.to_vec() }
    }

    fn matches(&self, path: &Path) -> bool {
        self.rules.iter().any(|rule| rule.matches(path))
    }

    fn matches_entire_dir(&self, dir: &Path) -> bool {
        self.rules.iter().any(|rule| rule.matches_entire_dir(dir))
    }
}
