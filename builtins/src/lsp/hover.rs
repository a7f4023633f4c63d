//! Hover and signature help: the meaning of a name, and the parameter at a position.

use std::path::Path;

use super::{
    Files, SymbolKind,
    context::call_at,
    docstring,
    document::{Document, Range},
    outline::Symbol,
    scope::{self, Meaning},
};
use crate::docs;

/// The hover text of a name.
#[derive(Debug, PartialEq, Eq)]
pub struct Hover {
    /// The meaning, as Markdown.
    pub markdown: String,
    /// Where the name is.
    pub range: Range,
}

/// How the function around a place is called.
#[derive(Debug, PartialEq, Eq)]
pub struct SignatureHelp {
    /// The function and its parameters.
    pub label: String,
    /// What it means.
    pub doc: String,
    /// The parameters: as they stand in the label, and what they mean.
    pub params: Vec<(String, String)>,
    /// Which of them is being written.
    pub active: Option<usize>,
}

/// What a name means.
pub fn hover(document: &Document, path: &Path, files: &dyn Files, offset: usize) -> Option<Hover> {
    let dotted = document.dotted_at(offset)?;
    let token = &document.tokens[dotted.token];
    let range = document.range(&token.range);
    let is_keyword = document.tokens.get(dotted.token + 1).is_some_and(|it| it.is(b'='))
        && !document.tokens.get(dotted.token + 2).is_some_and(|it| it.is(b'='));
    if let Some(call) = call_at(document, token.range.start).filter(|_| is_keyword)
        && let Some(Meaning::Builtin(entry)) =
            scope::meaning(document, path, files, &call.callee, offset)
        && let Some(param) = entry.params().iter().find(|it| it.bare_name() == dotted.name)
    {
        let default = param.default.map_or(String::new(), |it| format!(" = {it}"));
        let markdown =
            format!("```python\n{}: {}{default}\n```\n\n{}\n", param.name, param.ty, param.doc);
        return Some(Hover { markdown, range });
    }
    let meaning = scope::meaning(document, path, files, &dotted.full(), offset)?;
    let markdown = match &meaning {
        Meaning::Builtin(entry) => docs::markdown(entry),
        Meaning::Own(symbol) => of_symbol(symbol),
        Meaning::Loaded(name, module) => {
            let from =
                module.as_ref().map_or(String::new(), |it| format!("\nfrom `{}`\n", it.path));
            let symbol = meaning.loaded_symbol().map(|(_, symbol)| of_symbol(symbol));
            format!(
                "{}{from}",
                symbol.unwrap_or_else(|| format!("```python\n{}\n```\n", name.exported))
            )
        }
    };
    Some(Hover { markdown, range })
}

fn of_symbol(symbol: &Symbol) -> String {
    match &symbol.kind {
        SymbolKind::Function { doc, .. } if doc.is_empty() => {
            format!("```python\ndef {}\n```\n", symbol.signature())
        }
        SymbolKind::Function { doc, .. } => {
            let doc = docstring::markdown(doc);
            format!("```python\ndef {}\n```\n\n{doc}\n", symbol.signature())
        }
        SymbolKind::Variable => format!("```python\n{}\n```\n", symbol.name),
    }
}

/// How the function around a place is called.
pub fn signature_help(
    document: &Document,
    path: &Path,
    files: &dyn Files,
    offset: usize,
) -> Option<SignatureHelp> {
    let call = call_at(document, offset)?;
    let meaning = scope::meaning(document, path, files, &call.callee, offset)?;
    let (label, doc, params) = match &meaning {
        Meaning::Builtin(entry) => {
            let params = entry.params().iter();
            let shown = params.map(|it| (it.name.to_owned(), it.doc.to_owned())).collect();
            (docs::signature(entry), entry.doc.to_owned(), shown)
        }
        Meaning::Own(symbol) => of_function(symbol)?,
        Meaning::Loaded(..) => of_function(meaning.loaded_symbol()?.1)?,
    };
    let bare = |it: &str| {
        it.trim_start_matches('*').split(['=', ':']).next().unwrap_or_default().trim().to_owned()
    };
    let active = match &call.keyword {
        Some(name) => params
            .iter()
            .position(|(it, _)| bare(it) == *name)
            .or_else(|| params.iter().position(|(it, _)| it.starts_with("**"))),
        None => {
            let rest = params.iter().position(|(it, _)| it.starts_with('*'));
            (call.n_before < params.len()).then_some(call.n_before).or(rest)
        }
    };
    Some(SignatureHelp { label, doc, params, active })
}

fn of_function(symbol: &Symbol) -> Option<(String, String, Vec<(String, String)>)> {
    let SymbolKind::Function { params, doc } = &symbol.kind else { return None };
    let name = |it: &str| it.split('=').next().unwrap_or_default().trim().to_owned();
    let shown = params.iter().map(|it| (it.clone(), docstring::parameter(doc, &name(it))));
    Some((symbol.signature(), docstring::markdown(doc), shown.collect()))
}
