//! Completion: names, members of modules, parameters, files, extensions.

use std::path::Path;

use super::{
    Files, SymbolKind,
    context::{Call, KEYWORDS, call_at},
    docstring,
    document::{Document, Range},
    outline::Symbol,
    scope::{self, Meaning},
    tokens::TokenKind,
    types, values,
};
use crate::docs;

/// Something that can stand at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What is shown, and written unless `insert` says otherwise.
    pub label: String,
    /// What it is.
    pub kind: CompletionKind,
    /// How it is called, or its type.
    pub detail: String,
    /// What it means, as Markdown.
    pub doc: String,
    /// What it stands in for, if that is not the word before the place.
    pub replaces: Option<Range>,
}

/// What a completion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    /// A function.
    Function,
    /// A method of a value.
    Method,
    /// A variable.
    Variable,
    /// A parameter of the call around the place.
    Parameter,
    /// A module.
    Module,
    /// A word of the language.
    Keyword,
    /// A value of the parameter at the place.
    Value,
    /// A file or an extension.
    File,
    /// A folder.
    Folder,
}

/// Functions whose texts are paths.
const TAKE_PATHS: [&str; 17] = [
    "docker_build",
    "docker_compose",
    "custom_build",
    "fall_back_on",
    "helm",
    "include",
    "k8s_yaml",
    "kustomize",
    "listdir",
    "load_dynamic",
    "local_resource",
    "read_file",
    "read_json",
    "read_yaml",
    "read_yaml_stream",
    "sync",
    "watch_file",
];

/// What can stand at a place.
pub fn complete(
    document: &Document,
    path: &Path,
    files: &dyn Files,
    offset: usize,
) -> Vec<Completion> {
    let call = call_at(document, offset);
    let inside = document.tokens.iter().find(|it| {
        it.kind == TokenKind::Text && it.content.start <= offset && offset <= it.content.end
    });
    if let Some(text) = inside {
        let typed = document.text().get(text.content.start..offset).unwrap_or_default();
        let mut found = in_text(document, path, files, call.as_ref(), typed, text.range.start);
        // Editors take slashes and dots for the ends of words.
        let of_segment = found.iter().all(|it| !it.label.starts_with("ext://"));
        let segment = if of_segment { typed.rfind('/').map_or(0, |it| it + 1) } else { 0 };
        let replaces = document.range(&(text.content.start + segment..offset));
        for it in &mut found {
            it.replaces = Some(replaces);
        }
        return found;
    }
    let last = document.tokens.iter().rposition(|it| it.range.start < offset);
    let typed = match last {
        Some(at)
            if document.tokens[at].kind == TokenKind::Name
                && document.tokens[at].range.end >= offset =>
        {
            Some(at)
        }
        _ => None,
    };
    let prefix = typed
        .and_then(|at| document.text().get(document.tokens[at].range.start..offset))
        .unwrap_or_default();
    let dot = match typed {
        Some(at) => at.checked_sub(1),
        None => last,
    };
    let mut found = match dot.filter(|at| document.tokens[*at].is(b'.')) {
        Some(dot) => members(document, dot),
        None => {
            let before = match typed {
                Some(at) => at.checked_sub(1),
                None => last,
            };
            let values = values::outside_text(document, path, files, call.as_ref(), before, prefix);
            if !values.is_empty() {
                return values;
            }
            names(document, path, files, call.as_ref(), offset)
        }
    };
    let prefix = prefix.to_lowercase();
    found.retain(|it| it.label.to_lowercase().starts_with(&prefix));
    found
}

/// What stands behind a dot.
fn members(document: &Document, dot: usize) -> Vec<Completion> {
    let Some(before) = dot.checked_sub(1).map(|it| &document.tokens[it]) else { return Vec::new() };
    if before.kind == TokenKind::Name {
        let mut path = document.receivers(dot - 1);
        path.push(document.word(before));
        let module = format!("{}.", path.join("."));
        let of_module: Vec<Completion> = docs::entries()
            .filter_map(|it| Some((it, it.name.strip_prefix(&module)?)))
            .filter(|(_, name)| !name.contains('.'))
            .map(|(entry, name)| Completion { label: name.to_owned(), ..of_entry(entry) })
            .collect();
        if !of_module.is_empty() {
            return of_module;
        }
    }
    let ty = types::before(document, dot);
    let methods = builtins_language::method_names(ty);
    methods.into_iter().map(|name| simple(name, CompletionKind::Method)).collect()
}

/// Names that can be used at a place.
fn names(
    document: &Document,
    path: &Path,
    files: &dyn Files,
    call: Option<&Call>,
    offset: usize,
) -> Vec<Completion> {
    let mut found = Vec::new();
    if let Some(call) = call.filter(|it| it.is_innermost && it.keyword.is_none()) {
        found.extend(parameters(document, path, files, call, offset));
    }
    for symbol in scope::visible(document.outline(), offset) {
        found.push(of_symbol(symbol));
    }
    for load in &document.outline().loads {
        let module = files.module(path, &load.module).ok();
        for name in &load.names {
            let symbol =
                module.as_ref().and_then(|it| it.document.outline().global(&name.exported));
            let completion =
                symbol.map_or_else(|| simple(&name.local, CompletionKind::Variable), of_symbol);
            found.push(Completion { label: name.local.clone(), ..completion });
        }
    }
    found.extend(docs::entries().filter(|it| !it.name.contains('.')).map(of_entry));
    found.extend(
        KEYWORDS
            .iter()
            .chain(&["None", "True", "False"])
            .map(|it| simple(it, CompletionKind::Keyword)),
    );
    let mut seen = std::collections::HashSet::new();
    found.retain(|it| seen.insert((it.label.clone(), it.kind == CompletionKind::Parameter)));
    found
}

/// Parameters of a call that were not given yet.
fn parameters(
    document: &Document,
    path: &Path,
    files: &dyn Files,
    call: &Call,
    offset: usize,
) -> Vec<Completion> {
    let parameter = |name: &str, detail: String, doc: String| Completion {
        label: format!("{name}="),
        kind: CompletionKind::Parameter,
        detail,
        doc,
        replaces: None,
    };
    let Some(meaning) = scope::meaning(document, path, files, &call.callee, offset) else {
        return Vec::new();
    };
    let positional = call.n_before.saturating_sub(call.given.len());
    let is_open =
        |at: usize, name: &str| at >= positional && call.given.iter().all(|it| it != name);
    let of_params = |params: &[String], doc: &str| {
        let plain = params.iter().filter(|it| !it.starts_with('*')).enumerate();
        let names = plain.map(|(at, it)| (at, it.split('=').next().unwrap_or_default().trim(), it));
        names
            .filter(|(at, name, _)| is_open(*at, name))
            .map(|(_, name, whole)| parameter(name, whole.clone(), docstring::parameter(doc, name)))
            .collect()
    };
    match &meaning {
        Meaning::Builtin(entry) => {
            let plain = entry.params().iter().enumerate().filter(|(_, it)| !it.is_rest());
            plain
                .filter(|(at, it)| is_open(*at, it.name))
                .map(|(_, it)| parameter(it.name, it.ty.to_owned(), it.doc.to_owned()))
                .collect()
        }
        Meaning::Own(Symbol { kind: SymbolKind::Function { params, doc }, .. }) => {
            of_params(params, doc)
        }
        Meaning::Own(_) => Vec::new(),
        Meaning::Loaded(..) => match meaning.loaded_symbol() {
            Some((_, Symbol { kind: SymbolKind::Function { params, doc }, .. })) => {
                of_params(params, doc)
            }
            _ => Vec::new(),
        },
    }
}

/// What can stand in a text: names of files, of extensions, and of what a file exports.
fn in_text(
    document: &Document,
    path: &Path,
    files: &dyn Files,
    call: Option<&Call>,
    typed: &str,
    offset: usize,
) -> Vec<Completion> {
    let Some(call) = call else { return Vec::new() };
    let loads = matches!(call.callee.as_str(), "load" | "load_dynamic" | "include");
    let values = values::inside_text(document, path, files, call, typed);
    if !values.is_empty() {
        return values;
    }
    if call.callee == "load" && call.n_before > 0 {
        return exported(document, path, files, typed, offset);
    }
    if loads && ("ext://".starts_with(typed) || typed.starts_with("ext://")) && !typed.is_empty() {
        let names = stdlib::all().map(|it| format!("ext://{}", it.name));
        let matching = names.filter(|it| it.starts_with(typed));
        return matching.map(|it| simple(&it, CompletionKind::File)).collect();
    }
    if loads || TAKE_PATHS.contains(&call.callee.as_str()) {
        paths(path, files, typed)
    } else {
        Vec::new()
    }
}

/// Names that the file of the `load` statement around a place exports.
fn exported(
    document: &Document,
    path: &Path,
    files: &dyn Files,
    typed: &str,
    offset: usize,
) -> Vec<Completion> {
    let load = document.outline().loads.iter().rfind(|it| it.module_range.start < offset);
    let Some(module) = load.and_then(|it| files.module(path, &it.module).ok()) else {
        return Vec::new();
    };
    let globals = module.document.outline().symbols.iter().filter(|it| it.parent.is_none());
    globals
        .filter(|it| !it.name.starts_with('_') && it.name.starts_with(typed))
        .map(of_symbol)
        .collect()
}

fn paths(from: &Path, files: &dyn Files, typed: &str) -> Vec<Completion> {
    let (dir, start) = typed.rsplit_once('/').map_or(("", typed), |(dir, start)| (dir, start));
    let folder = if typed.starts_with('/') {
        Path::new("/").join(dir)
    } else {
        from.parent().unwrap_or(Path::new("/")).join(dir)
    };
    let is_hidden = |name: &str| name.starts_with('.') && !start.starts_with('.');
    let names =
        files.list(&folder).into_iter().filter(|it| it.starts_with(start) && !is_hidden(it));
    let kind = |name: &str| {
        if name.ends_with('/') { CompletionKind::Folder } else { CompletionKind::File }
    };
    names.map(|it| simple(&it, kind(&it))).collect()
}

fn of_entry(entry: &'static docs::Entry) -> Completion {
    let kind = match entry.shape {
        docs::Shape::Function { .. } => CompletionKind::Function,
        docs::Shape::Value("module") => CompletionKind::Module,
        docs::Shape::Value(_) => CompletionKind::Variable,
    };
    Completion {
        detail: docs::signature(entry),
        doc: entry.doc.to_owned(),
        ..simple(entry.name, kind)
    }
}

fn of_symbol(symbol: &Symbol) -> Completion {
    match &symbol.kind {
        SymbolKind::Function { doc, .. } => Completion {
            detail: symbol.signature(),
            doc: docstring::markdown(doc),
            ..simple(&symbol.name, CompletionKind::Function)
        },
        SymbolKind::Variable => simple(&symbol.name, CompletionKind::Variable),
    }
}

pub(super) fn simple(label: &str, kind: CompletionKind) -> Completion {
    Completion {
        label: label.to_owned(),
        kind,
        detail: String::new(),
        doc: String::new(),
        replaces: None,
    }
}
