//! Decides which texts are programs: starlark-go's grammar, name resolution and error words.
//!
//! The Rust `starlark` crate reads a slightly different language and words its errors differently,
//! so every file passes through here first; what gets past is then adapted by
//! [`crate::rewrite`]. The file options are Tilt's: `set`, global reassignment,
//! recursion, top-level control flow and `while` are on, and loaded names are local to the file.

mod chars;
mod literal;
mod parse_expr;
mod parse_stmt;
mod parser;
mod resolve;
mod scan;

pub mod ast;
pub mod position;
pub mod token;

use std::borrow::Cow;

use ast::Ast;
use engine_formats::golang::spell;
pub use literal::unquote;
use position::LineTable;
pub use resolve::{Resolution, Scope};

use crate::error::{Complaint, Mistake};

/// A syntax or name error at the place and in the words of starlark-go.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{col}: {message}")]
pub struct SyntaxError {
    /// The 1-based line.
    pub line: u32,
    /// The 1-based column, in code points.
    pub col: u32,
    /// What is wrong.
    pub message: String,
    /// The mistake, if it is a known one.
    pub mistake: Option<Mistake>,
}

impl SyntaxError {
    /// The same error; if a name does not exist, one of these may have been meant.
    #[must_use]
    pub fn suggest_among(mut self, names: &[&str]) -> Self {
        if let Some(Mistake::Undefined { name, meant }) = &mut self.mistake {
            let candidates = meant.as_deref().into_iter().chain(names.iter().copied());
            let nearest = spell::similar(name, candidates).map(str::to_owned);
            *meant = nearest.or(meant.take());
        }
        self
    }
}

/// An error whose place is still a byte offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) offset: usize,
    pub(crate) complaint: Complaint,
}

impl Fault {
    pub(crate) fn new(offset: usize, message: impl Into<String>) -> Fault {
        Fault { offset, complaint: Complaint::new(message, None) }
    }

    pub(crate) fn at(self, lines: &LineTable, source: &str) -> SyntaxError {
        let (line, col) = lines.line_col(source, self.offset);
        let Complaint { message, mistake } = self.complaint;
        SyntaxError { line, col, message, mistake }
    }
}

/// Fails at a byte offset.
pub(crate) fn fault_at<T>(at: u32, message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::new(at as usize, message))
}

/// A file that parsed and whose names all resolve.
#[derive(Debug)]
pub struct Checked {
    /// The tree.
    pub ast: Ast,
    /// What each name refers to.
    pub names: Resolution,
    /// Where the lines start.
    pub lines: LineTable,
}

/// Parses and resolves a file; `is_builtin` knows the predeclared and universal names.
pub fn check(source: &str, is_builtin: &dyn Fn(&str) -> bool) -> Result<Checked, SyntaxError> {
    let lines = LineTable::new(source);
    let checked = parser::parse(source).and_then(|ast| {
        let names = resolve::resolve(source, &ast, is_builtin)?;
        Ok((ast, names))
    });
    match checked {
        Ok((ast, names)) => Ok(Checked { ast, names, lines }),
        Err(fault) => Err(fault.at(&lines, source)),
    }
}

/// Reads bytes as Go's scanner does: each byte that is no part of valid UTF-8 becomes U+FFFD.
pub fn decode_source(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Cow::Owned(text)
}

#[cfg(test)]
pub(crate) mod tests;
