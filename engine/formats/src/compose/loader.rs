//! From files to one tree: read, interpolate, extend, include, merge, check, in Compose's order.

use super::dotenv::Variables;
use super::read::{self, Resets};
use super::value::{Map, Value};
use super::{
    ComposeError, World, canonical, environment, extends, files, include, interpolate, io_problem,
    merge, resolve, schema, unique,
};
use crate::golang::quote::quote;

/// A Compose file that may have been read already.
#[derive(Debug, Clone)]
pub(super) struct ConfigFile {
    pub(super) name: String,
    pub(super) content: Option<String>,
}

/// Files that form one tree, and what they are read with.
#[derive(Debug, Clone)]
pub(super) struct Details {
    /// What relative paths are relative to; itself relative in included files.
    pub(super) working_dir: String,
    pub(super) files: Vec<ConfigFile>,
    pub(super) env: Variables,
}

/// What is done with the tree of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Part of the project.
    Project,
    /// A place to look for a service to extend; the result of that is checked later.
    Extends,
}

/// Loads files; everything here may read more of them.
#[derive(Clone)]
pub(super) struct Loader<'a> {
    pub(super) world: &'a dyn World,
    pub(super) home: Option<String>,
    /// The directory that `extends` and `include` start from.
    pub(super) base: String,
    pub(super) purpose: Purpose,
}

impl Loader<'_> {
    /// The tree of all files of `details`; `included` are the files that led here.
    pub(super) fn load(&self, details: &Details, included: &[String]) -> Result<Map, ComposeError> {
        let mut tree = Map::new();
        for file in &details.files {
            (tree, _) = self.load_file(file, details, tree, included)?;
        }
        canonical::set_defaults(&mut tree)?;
        resolve::validate(&tree)?;
        self.resolve_paths(&mut tree, &details.working_dir)?;
        environment::resolve_references(&mut tree, &details.env);
        Ok(tree)
    }

    /// Makes the paths of `tree` relative to `base`.
    pub(super) fn resolve_paths(&self, tree: &mut Map, base: &str) -> Result<(), ComposeError> {
        let home = self.home.as_deref();
        resolve::PathResolver { base, home, world: self.world }.resolve(tree)
    }

    /// `tree` changed by a file, and what the file's last document resets.
    pub(super) fn load_file(
        &self,
        file: &ConfigFile,
        details: &Details,
        mut tree: Map,
        included: &[String],
    ) -> Result<(Map, Resets), ComposeError> {
        let content = match &file.content {
            Some(content) => content.clone(),
            None => self.read_text(&file.name)?,
        };
        let documents = read::read(&content).map_err(|error| {
            if error.starts_with(read::NON_STRING_KEY) {
                ComposeError::new(error)
            } else {
                ComposeError::new(format!("failed to parse {}: {error}", file.name))
            }
        })?;
        let mut included = included.to_vec();
        let mut resets = Resets::default();
        for document in documents {
            included.push(file.name.clone());
            resets = document.resets;
            tree = self.add_document(document.root, &resets, file, details, tree, &included)?;
        }
        Ok((tree, resets))
    }

    fn add_document(
        &self,
        root: Value,
        resets: &Resets,
        file: &ConfigFile,
        details: &Details,
        mut tree: Map,
        included: &[String],
    ) -> Result<Map, ComposeError> {
        let Value::Map(mut document) = root else {
            return Err(ComposeError::new("top-level object must be a mapping"));
        };
        let missing = |name: &str| {
            let name = quote(name);
            self.world
                .warn(&format!("The {name} variable is not set. Defaulting to a blank string."));
        };
        interpolate::interpolate(&mut document, &|name| details.env.get(name).cloned(), &missing)?;
        if self.purpose == Purpose::Project {
            extends::apply(self, &mut document, &file.name, details, resets)?;
        }
        resets.apply(&mut tree, &[]);
        if self.purpose == Purpose::Project {
            include::apply(self, &mut document, details, included, resets)?;
        }
        tree = merge::merge(tree, document)?;
        unique::enforce_unicity(&mut tree)?;
        if self.purpose == Purpose::Project {
            schema::validate(&tree)
                .map_err(|error| ComposeError::new(format!("validating {}: {error}", file.name)))?;
            if tree.shift_remove("version").is_some() {
                self.world.warn_obsolete_version(&file.name);
            }
        }
        canonical::canonicalize(&mut tree)?;
        // A range of ports may repeat a port that was given before.
        unique::enforce_unicity(&mut tree)?;
        Ok(tree)
    }

    /// Reads a text file.
    pub(super) fn read_text(&self, path: &str) -> Result<String, ComposeError> {
        let bytes =
            self.world.read(path.as_ref()).map_err(|error| io_problem("open", path, &error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Where a file that another one refers to lies.
    pub(super) fn locate(&self, path: &str) -> String {
        if files::is_abs(path) { path.to_owned() } else { files::join(&self.base, path) }
    }

    /// The directory of a file or directory, relative to where this loader starts if possible.
    pub(super) fn directory(&self, path: &str) -> String {
        let mut directory = self.locate(path);
        if !self.world.stat(directory.as_ref()).is_ok_and(super::FileKind::is_directory) {
            directory = self.locate(&files::dir(path));
        }
        files::rel(&self.base, &directory).unwrap_or(directory)
    }
}
