//! Decides how a syntax error is worded: go-yaml's words and go-yaml's line numbers.

use super::Dialect;
use super::error::Error;

/// A position in the text, counted in characters from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) index: usize,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// Which part of the reader stumbled; the line number depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Reader,
    Scanner,
    Parser,
}

/// A syntax error as the scanner or the parser sees it.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) stage: Stage,
    /// Where the construct started that could not be finished; the zero mark if there is none.
    pub(super) context: Mark,
    /// Where it went wrong.
    pub(super) problem: Mark,
    pub(super) message: &'static str,
}

impl Fault {
    /// Words the fault the way the given generation of go-yaml does.
    ///
    /// Version 2 points at the problem, the later ones at the start of the construct. A position
    /// on the first line counts as unknown, and parser errors are numbered from zero: both are
    /// slips of go-yaml that users have learned to read.
    pub(super) fn into_error(self, dialect: Dialect) -> Error {
        let scanned = usize::from(self.stage == Stage::Scanner);
        let (problem, context) = (self.problem.line, self.context.line);
        let line = match dialect {
            Dialect::V2 if problem != 0 => problem + scanned,
            Dialect::V2 => context,
            Dialect::V4 if context != 0 => context + scanned,
            Dialect::V4 if problem != 0 => problem + scanned,
            Dialect::V4 => 0,
        };
        match line {
            0 => Error::yaml(self.message),
            _ => Error::yaml(format!("line {line}: {}", self.message)),
        }
    }
}
