//! Finds mistakes without running a file: syntax, unknown names, parameters and files.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    path::Path,
};

use builtins_language::syntax;
use engine_formats::golang::spell;

use super::{
    Declared, Files, Module, declared,
    document::{Document, Range as TextRange},
    outline::{Load, LoadedName},
    tokens::TokenKind,
};
use crate::docs;

mod calls;

/// A mistake.
#[derive(Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where it is.
    pub range: TextRange,
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

/// More undefined names than this are hardly looked at.
const MOST_UNDEFINED: usize = 20;

impl Diagnostic {
    fn new(document: &Document, at: &Range<usize>, severity: Severity, message: String) -> Self {
        Self { range: document.range(at), severity, message }
    }
}

/// All mistakes of a file.
pub fn diagnose(document: &Document, path: &Path, files: &dyn Files) -> Vec<Diagnostic> {
    let mut found = of_language(document);
    let mut modules = HashMap::new();
    for load in &document.outline().loads {
        match files.module(path, &load.module) {
            // What has to be fetched first, or is only known by running the file, is no mistake.
            Err(_) if is_elsewhere(document, &load.module) => {}
            Err(why) => {
                let (at, message) = (&load.module_range, why.to_string());
                found.push(Diagnostic::new(document, at, Severity::Error, message));
            }
            Ok(module) => {
                found.extend(
                    load.names.iter().filter_map(|it| missing(document, load, it, &module)),
                );
                modules
                    .extend(load.names.iter().map(|it| (it.local.as_str(), (it, module.clone()))));
            }
        }
    }
    found.extend(calls::of_calls(document, &modules));
    found.extend(calls::unknown_files(document, path, files));
    found.extend(calls::declared_twice(document));
    found
}

/// A name that a file loads, but the other one does not have.
fn missing(
    document: &Document,
    load: &Load,
    name: &LoadedName,
    module: &Module,
) -> Option<Diagnostic> {
    let outline = module.document.outline();
    if outline.global(&name.exported).is_some() || outline.loaded(&name.exported).is_some() {
        return None;
    }
    let globals = outline.symbols.iter().filter(|it| it.parent.is_none());
    let public = globals.map(|it| it.name.as_str()).filter(|it| !it.starts_with('_'));
    let hint = hint(&name.exported, public);
    let message = format!("{} does not define {:?}{hint}", load.module, name.exported);
    Some(Diagnostic::new(document, &name.range, Severity::Warning, message))
}

/// What the language itself has against a file: the first mistake of its syntax, or the names that nothing defines.
fn of_language(document: &Document) -> Vec<Diagnostic> {
    let mut undefined: HashSet<String> = HashSet::new();
    let mut found = Vec::new();
    while found.len() < MOST_UNDEFINED {
        let is_known = |name: &str| {
            CONSTANTS.contains(&name) || docs::find(name).is_some() || undefined.contains(name)
        };
        let Err(mut error) = syntax::check(document.text(), &is_known) else { break };
        let name = error.message.strip_prefix("undefined: ").map(str::to_owned);
        let name = name.map(|it| it.split(' ').next().unwrap_or_default().to_owned());
        if let Some(name) = &name
            && !error.message.ends_with("?)")
        {
            let builtins = docs::entries().map(|it| it.name).filter(|it| !it.contains('.'));
            error.message.push_str(&hint(name, builtins));
        }
        found.push(of_syntax(document, error));
        // Another mistake than an undefined name hides all that follow.
        if !name.is_some_and(|it| undefined.insert(it)) {
            break;
        }
    }
    found
}

/// Which name was probably meant.
fn hint<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    let near = spell::nearest(name, candidates);
    near.map_or(String::new(), |it| format!(" (did you mean {it}?)"))
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
    Diagnostic::new(document, &(at..end), Severity::Error, error.message)
}
