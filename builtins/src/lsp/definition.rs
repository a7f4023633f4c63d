//! Finds the definition of a name, in this file or in one that it loads.

use std::path::Path;

use super::{
    Files,
    document::{Document, Range},
    scope::{self, Meaning},
    tokens::TokenKind,
};

/// A place in a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Location {
    /// The file; nothing if it is the one that was asked about.
    pub path: Option<String>,
    /// The place in it.
    pub range: Range,
}

/// Functions whose first argument is another Tiltfile.
const LOADERS: [&str; 3] = ["load", "load_dynamic", "include"];

/// Where the name at a place is defined.
pub fn definition(
    document: &Document,
    path: &Path,
    files: &dyn Files,
    offset: usize,
) -> Option<Location> {
    if let Some(found) = in_text(document, path, files, offset) {
        return Some(found);
    }
    let dotted = document.dotted_at(offset)?;
    let meaning = scope::meaning(document, path, files, &dotted.full(), offset)?;
    match &meaning {
        Meaning::Own(symbol) => {
            Some(Location { path: None, range: document.range(&symbol.name_range) })
        }
        Meaning::Loaded(_, module) => {
            let module = module.as_ref()?;
            let symbol = meaning.loaded_symbol().map(|(_, symbol)| symbol);
            let range = symbol.map_or(Range::default(), |it| module.document.range(&it.name_range));
            Some(Location { path: Some(module.path.clone()), range })
        }
        Meaning::Builtin(_) => None,
    }
}

/// The file that a text names, or the name that a `load` takes from it.
fn in_text(document: &Document, path: &Path, files: &dyn Files, offset: usize) -> Option<Location> {
    let at = document.tokens.iter().position(|it| {
        it.kind == TokenKind::Text && it.range.start <= offset && offset <= it.range.end
    })?;
    let text = &document.tokens[at];
    for load in &document.outline().loads {
        if load.module_range == text.content {
            return start_of(path, files, &load.module);
        }
        let Some(name) = load.names.iter().find(|it| it.range == text.content) else { continue };
        let module = files.module(path, &load.module).ok()?;
        let symbol = module.document.outline().global(&name.exported)?;
        let range = module.document.range(&symbol.name_range);
        return Some(Location { path: Some(module.path.clone()), range });
    }
    let call = super::context::call_at(document, text.range.start + 1)?;
    let is_loader = LOADERS.contains(&call.callee.as_str()) && call.n_before == 0;
    if is_loader { start_of(path, files, document.content(text)) } else { None }
}

fn start_of(path: &Path, files: &dyn Files, module: &str) -> Option<Location> {
    let module = files.module(path, module).ok()?;
    Some(Location { path: Some(module.path), range: Range::default() })
}
