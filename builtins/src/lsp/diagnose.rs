//! Finds errors without running a file: syntax, unknown names, parameters and files.

use std::path::Path;

use builtins_language::syntax;

use super::{
    Declared, Files, context, declared,
    document::{Document, Range},
    outline::LoadedName,
    tokens::TokenKind,
};
use crate::docs;

/// A mistake.
#[derive(Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where it is.
    pub range: Range,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
}

/// How bad a mistake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The file cannot run.
    Error,
    /// It will most likely fail.
    Warning,
}

/// Names that every file has without a description of their own.
const CONSTANTS: [&str; 3] = ["None", "True", "False"];

/// All mistakes of a file.
#[must_use]
pub fn diagnose(document: &Document, path: &Path, files: &dyn Files) -> Vec<Diagnostic> {
    let is_builtin = |name: &str| CONSTANTS.contains(&name) || docs::find(name).is_some();
    let mut found: Vec<Diagnostic> = syntax::check(document.text(), &is_builtin)
        .err()
        .map(|error| of_syntax(document, error))
        .into_iter()
        .collect();
    for load in &document.outline().loads {
        match files.module(path, &load.module) {
            // What has to be fetched first, or is only known by running the file, is no mistake.
            Err(_) if is_elsewhere(document, &load.module) => {}
            Err(why) => found.push(Diagnostic {
                range: document.range(&load.module_range),
                severity: Severity::Error,
                message: why.to_string(),
            }),
            Ok(module) => {
                let is_there = |it: &&LoadedName| {
                    let outline = module.document.outline();
                    outline.global(&it.exported).is_some() || outline.loaded(&it.exported).is_some()
                };
                for name in load.names.iter().filter(|it| !is_there(it)) {
                    let message = format!("{} does not define {:?}", load.module, name.exported);
                    let range = document.range(&name.range);
                    found.push(Diagnostic { range, severity: Severity::Warning, message });
                }
            }
        }
    }
    found.extend(unknown_parameters(document));
    found
}

/// Whether an extension comes from somewhere that is not looked at here.
fn is_elsewhere(document: &Document, module: &str) -> bool {
    let declared = module.strip_prefix("ext://").and_then(|it| declared(document, it));
    match declared {
        Some(Declared::Open) => true,
        Some(Declared::In { url, .. }) => !url.starts_with("file://"),
        Some(Declared::Default(_)) | None => false,
    }
}

fn of_syntax(document: &Document, error: syntax::SyntaxError) -> Diagnostic {
    let lines = document.text().split_inclusive('\n');
    let start: usize = lines.take(error.line.saturating_sub(1) as usize).map(str::len).sum();
    let line = document.text()[start..].split('\n').next().unwrap_or_default();
    let column = error.col.saturating_sub(1) as usize;
    let offset = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    let at = start + offset;
    // The whole word is easier to see than its first letter.
    let word =
        document.tokens.iter().find(|it| it.range.start == at && it.kind != TokenKind::Newline);
    let end = word.map_or((at + 1).min(document.text().len()), |it| it.range.end);
    let range = document.range(&(at..end));
    Diagnostic { range, severity: Severity::Error, message: error.message }
}

/// Names of arguments that a builtin function does not have.
fn unknown_parameters(document: &Document) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    context::walk(document, |at, open| {
        if context::names_argument(&document.tokens, at)
            && let Some(call) = context::innermost(open).filter(|it| it.is_innermost)
        {
            found.extend(unknown_parameter(document, at, &call.callee));
        }
        true
    });
    found
}

fn unknown_parameter(document: &Document, at: usize, callee: &str) -> Option<Diagnostic> {
    let is_own = document.outline().symbols.iter().any(|it| it.name == callee)
        || document.outline().loaded(callee).is_some();
    let entry = docs::find(callee).filter(|_| !is_own)?;
    let name = document.word(&document.tokens[at]);
    let takes = |it: &docs::Param| it.name.starts_with("**") || it.name == name;
    if !matches!(entry.shape, docs::Shape::Function { .. }) || entry.params().iter().any(takes) {
        return None;
    }
    let message = format!("{callee}: unexpected keyword argument {name:?}");
    let range = document.range(&document.tokens[at].range);
    Some(Diagnostic { range, severity: Severity::Warning, message })
}
