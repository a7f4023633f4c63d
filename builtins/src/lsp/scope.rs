//! Resolves a name at a position of a file.

use std::path::Path;

use super::{
    Files, Module,
    document::Document,
    outline::{LoadedName, Outline, Symbol},
};
use crate::docs::{self, Entry};

/// What a name means.
#[derive(Debug)]
pub(super) enum Meaning<'a> {
    /// Something that the file defines.
    Own(&'a Symbol),
    /// Something that is loaded; the file it comes from, unless that cannot be had.
    Loaded(&'a LoadedName, Option<Module>),
    /// Something that every Tiltfile has.
    Builtin(&'static Entry),
}

/// The meaning of a name with its path (`os.path.join`) at a place.
pub(super) fn meaning<'a>(
    document: &'a Document,
    path: &Path,
    files: &dyn Files,
    name: &str,
    offset: usize,
) -> Option<Meaning<'a>> {
    if let Some(symbol) = own(document.outline(), name, offset) {
        return Some(Meaning::Own(symbol));
    }
    if let Some((load, loaded)) = document.outline().loaded(name) {
        return Some(Meaning::Loaded(loaded, files.module(path, &load.module).ok()));
    }
    docs::find(name).map(Meaning::Builtin)
}

/// What a name means that the file defines: the innermost function comes first.
fn own<'a>(outline: &'a Outline, name: &str, offset: usize) -> Option<&'a Symbol> {
    own_all(outline, name, offset).first().copied()
}

/// All definitions of a name in the innermost function that has one.
pub(super) fn own_all<'a>(outline: &'a Outline, name: &str, offset: usize) -> Vec<&'a Symbol> {
    let mut scope = outline.function_at(offset);
    loop {
        let symbols = outline.symbols.iter();
        let found: Vec<_> = symbols.filter(|it| it.parent == scope && it.name == name).collect();
        match scope {
            Some(function) if found.is_empty() => scope = outline.symbols[function].parent,
            _ => return found,
        }
    }
}

/// All names of a file that can be used at a place: those of the functions around it, then those of the file.
pub(super) fn visible(outline: &Outline, offset: usize) -> Vec<&Symbol> {
    let mut found: Vec<&Symbol> = Vec::new();
    let mut scope = outline.function_at(offset);
    loop {
        for symbol in outline.symbols.iter().filter(|it| it.parent == scope) {
            if found.iter().all(|it| it.name != symbol.name) {
                found.push(symbol);
            }
        }
        match scope {
            Some(at) => scope = outline.symbols[at].parent,
            None => return found,
        }
    }
}

impl Meaning<'_> {
    /// The symbol in the file that a loaded name comes from.
    pub(super) fn loaded_symbol(&self) -> Option<(&Module, &Symbol)> {
        let Self::Loaded(name, Some(module)) = self else { return None };
        Some((module, module.document.outline().global(&name.exported)?))
    }
}
