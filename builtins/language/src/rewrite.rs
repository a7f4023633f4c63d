//! Decides what text the Rust `starlark` crate gets to see for a file that starlark-go accepts.
//!
//! The grammar and the meaning of a few constructs differ between the two; those are written
//! differently, everything else is copied. Positions survive: copied text maps byte by byte,
//! inserted text maps to the place that starlark-go would report.

mod expr;
mod info;
mod literal;
mod names;
mod output;
mod stmt;

use std::collections::HashSet;

pub use info::{CallInfo, DefInfo, FileInfo, ParamInfo, ParamKind, SiteKind};
pub use names::{mangle, unmangle};
use output::Output;

use super::source_map::SourceMap;
use crate::syntax::{self, Checked, SyntaxError};

/// A file ready for the crate's parser.
#[derive(Debug)]
pub struct Prepared {
    /// What the crate parses.
    pub text: String,
    /// Where each part of it comes from.
    pub map: SourceMap,
    /// What the error translator wants to know about it.
    pub info: FileInfo,
}

impl Prepared {
    /// The line and column starlark-go reports for an error in the expression that the crate sees
    /// at `begin..end`.
    pub fn position(&self, begin: u32, end: u32) -> (u32, u32) {
        let offset = self.info.go_offset_of_any(begin, end);
        self.map.line_col(offset.unwrap_or_else(|| self.map.to_source(begin)))
    }

    /// Like [`Prepared::position`], for errors that are known to be about one kind of site.
    pub fn position_of(&self, begin: u32, end: u32, kind: SiteKind) -> (u32, u32) {
        match self.info.go_offset(begin, end, kind) {
            Some(offset) => self.map.line_col(offset),
            None => self.position(begin, end),
        }
    }
}

/// Checks a file as starlark-go would, and rewrites it for the crate.
///
/// `is_builtin` knows the predeclared and universal names of the file.
pub fn prepare(source: &str, is_builtin: &dyn Fn(&str) -> bool) -> Result<Prepared, SyntaxError> {
    let Checked { ast, names, lines } = syntax::check(source, is_builtin)?;
    let bound: HashSet<&str> =
        names.globals.iter().chain(&names.loaded).map(String::as_str).collect();
    let mut rewriter = Rewriter {
        source,
        ast: &ast,
        names: &names,
        bound: &bound,
        out: Output::new(source),
        info: FileInfo::default(),
        indent: 0,
    };
    rewriter.stmts(&ast.body);
    rewriter.out.copy_to(ast.end as usize);
    let Rewriter { out, mut info, .. } = rewriter;
    let (text, segments) = out.finish();
    info.finish();
    let map = SourceMap::new(source, lines, segments);
    info.globals = names.globals;
    info.loaded = names.loaded;
    Ok(Prepared { text, map, info })
}

/// Walks the tree in source order and writes it out again.
struct Rewriter<'a> {
    source: &'a str,
    ast: &'a syntax::ast::Ast,
    names: &'a syntax::Resolution,
    /// The names the file binds at top level.
    bound: &'a HashSet<&'a str>,
    out: Output<'a>,
    info: FileInfo,
    /// How far the current block is indented.
    indent: u32,
}

#[cfg(test)]
mod tests;
