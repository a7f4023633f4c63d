//! Answers questions of editors about a Tiltfile: names, parameters, locations and errors.
//!
//! A file is mostly incomplete while somebody types. So everything here except diagnostics works on tokens and
//! indentation, never on a complete syntax tree, and never fails.

use std::{path::Path, sync::Arc};

mod calls;
mod complete;
mod context;
mod declared;
mod definition;
mod diagnose;
pub(crate) mod docstring;
mod document;
mod hover;
mod outline;
mod references;
mod resources;
mod scope;
mod tokens;
mod types;
mod values;

pub use complete::{Completion, CompletionKind, complete};
pub use declared::{Declared, declared};
pub use definition::{Location, definition};
pub use diagnose::{Diagnostic, Severity, diagnose};
pub use document::{Document, Range, TextPosition};
pub use hover::{Hover, SignatureHelp, hover, signature_help};
pub use outline::{Outline, Symbol, SymbolKind};
pub use references::{RenameError, references, rename};
pub use resources::{Resource, resources};

/// A file that another one loads.
#[derive(Clone, Debug)]
pub struct Module {
    /// Where it is.
    pub path: String,
    /// What is in it.
    pub document: Arc<Document>,
}

/// Why `load` finds nothing, as the editor shows it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoModule(pub String);

/// The files around the one that is edited.
pub trait Files {
    /// The file that `load` means, seen from another file; an error says why there is none.
    ///
    /// # Errors
    /// If there is no such file.
    fn module(&self, from: &Path, name: &str) -> Result<Module, NoModule>;

    /// The names in a folder; those of folders end with a slash.
    fn list(&self, dir: &Path) -> Vec<String>;

    /// Whether a file or folder exists.
    fn exists(&self, path: &Path) -> bool;

    /// The text of a file, unless it is large.
    fn read(&self, path: &Path) -> Option<String>;
}

#[cfg(test)]
mod tests;
