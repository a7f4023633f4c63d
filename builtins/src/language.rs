//! What an editor asks about a Tiltfile: names, parameters, places and mistakes.
//!
//! A file is mostly broken while somebody types. So everything here but the diagnostics reads tokens and indentation,
//! never a finished tree, and never fails.

use std::{path::Path, sync::Arc};

mod complete;
mod context;
mod declared;
mod definition;
mod diagnose;
mod document;
mod hover;
mod outline;
mod scope;
mod tokens;

pub use complete::{Completion, CompletionKind, complete};
pub use declared::{Declared, declared};
pub use definition::{Location, definition};
pub use diagnose::{Diagnostic, Severity, diagnose};
pub use document::{Document, Position, Range};
pub use hover::{Hover, SignatureHelp, hover, signature_help};
pub use outline::{Outline, Symbol, SymbolKind};

/// A file that another one loads.
#[derive(Clone, Debug)]
pub struct Module {
    /// Where it is.
    pub path: String,
    /// What is in it.
    pub document: Arc<Document>,
}

/// The files around the one that is edited.
pub trait Files {
    /// The file that `load` means, seen from another file; an error says why there is none.
    ///
    /// # Errors
    /// If there is no such file.
    fn module(&self, from: &Path, name: &str) -> Result<Module, String>;

    /// The names in a folder; those of folders end with a slash.
    fn list(&self, dir: &Path) -> Vec<String>;
}

#[cfg(test)]
mod tests;
