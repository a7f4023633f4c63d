//! Finds mistakes in calls: parameters, files that do not exist, resources that exist already.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use super::{Diagnostic, Severity, hint};
use crate::{
    docs::{self, Shape},
    lsp::{
        Files, Module,
        calls::CallSite,
        document::Document,
        outline::{LoadedName, Symbol, SymbolKind},
        resources,
    },
};

/// Names that are loaded, with the files that they come from.
pub(super) type Loaded<'a> = HashMap<&'a str, (&'a LoadedName, Module)>;

/// Parameters that name files that must exist.
const FILES: [(&str, &str); 13] = [
    ("docker_build", "context"),
    ("docker_build", "dockerfile"),
    ("docker_compose", "configPaths"),
    ("helm", "paths"),
    ("include", "path"),
    ("k8s_yaml", "yaml"),
    ("kustomize", "paths"),
    ("listdir", "dir"),
    ("load_dynamic", "path"),
    ("read_file", "paths"),
    ("read_json", "paths"),
    ("read_yaml", "paths"),
    ("read_yaml_stream", "paths"),
];

/// A parameter of whatever is called.
struct Parameter<'a> {
    name: &'a str,
    is_required: bool,
}

/// How a function can be called.
struct Callable<'a> {
    /// How errors call it.
    title: String,
    params: Vec<Parameter<'a>>,
    takes_any_name: bool,
    takes_any_number: bool,
}

/// Arguments that a function does not have, and those that it needs.
pub(super) fn of_calls(document: &Document, loaded: &Loaded<'_>) -> Vec<Diagnostic> {
    let mut own: HashMap<&str, Vec<&Symbol>> = HashMap::new();
    for symbol in &document.outline().symbols {
        own.entry(&symbol.name).or_default().push(symbol);
    }
    let mut found = Vec::new();
    for call in &document.calls {
        if let Some(callable) = callable(&call.callee, &own, loaded) {
            found.extend(unknown_arguments(document, call, &callable));
            found.extend(missing_arguments(document, call, &callable));
        }
    }
    found
}

/// What a name means; nothing if it may mean several things.
fn callable<'a>(
    callee: &'a str,
    own: &HashMap<&str, Vec<&'a Symbol>>,
    loaded: &'a Loaded<'_>,
) -> Option<Callable<'a>> {
    let first = callee.split('.').next().unwrap_or_default();
    if let Some(symbols) = own.get(first) {
        let [only] = symbols.as_slice() else { return None };
        return of_symbol(only).filter(|_| first == callee && only.parent.is_none());
    }
    if let Some((name, module)) = loaded.get(first) {
        let all = &module.document.outline().symbols;
        let mut meant = all.iter().filter(|it| it.parent.is_none() && it.name == name.exported);
        let (only, None) = (meant.next()?, meant.next()) else { return None };
        return of_symbol(only).filter(|_| first == callee);
    }
    let entry = docs::find(callee)?;
    let Shape::Function { params, .. } = &entry.shape else { return None };
    let plain = params.iter().filter(|it| !it.is_rest());
    Some(Callable {
        title: callee.to_owned(),
        params: plain
            .map(|it| Parameter { name: it.name, is_required: it.is_required() })
            .collect(),
        takes_any_name: params.iter().any(|it| it.name.starts_with("**")),
        takes_any_number: params.iter().any(docs::Param::is_rest),
    })
}

fn of_symbol<'a>(symbol: &'a Symbol) -> Option<Callable<'a>> {
    let SymbolKind::Function { params, .. } = &symbol.kind else { return None };
    let plain = params.iter().filter(|it| !it.starts_with('*'));
    let parameter = |it: &'a String| match it.split_once('=') {
        Some((name, _)) => Parameter { name: name.trim_end(), is_required: false },
        None => Parameter { name: it, is_required: true },
    };
    Some(Callable {
        title: format!("function {}", symbol.name),
        params: plain.map(parameter).collect(),
        takes_any_name: params.iter().any(|it| it.starts_with("**")),
        takes_any_number: params.iter().any(|it| it.starts_with('*')),
    })
}

fn unknown_arguments(
    document: &Document,
    call: &CallSite,
    callable: &Callable<'_>,
) -> Vec<Diagnostic> {
    let names = || callable.params.iter().map(|it| it.name);
    let given = call.args.iter().filter_map(|it| it.name).filter(|_| !callable.takes_any_name);
    given
        .filter(|it| !names().any(|name| name == document.word_at(*it)))
        .map(|token| {
            let name = document.word_at(token);
            let hint = hint(name, names());
            let message = format!("{}: unexpected keyword argument {name:?}{hint}", callable.title);
            Diagnostic::new(document, &document.tokens[token].range, Severity::Warning, message)
        })
        .collect()
}

fn missing_arguments(
    document: &Document,
    call: &CallSite,
    callable: &Callable<'_>,
) -> Option<Diagnostic> {
    // What is still being typed lacks everything.
    call.end?;
    if callable.takes_any_number || call.args.iter().any(|it| it.is_spread(document)) {
        return None;
    }
    let n_positional = call.args.iter().filter(|it| it.name.is_none()).count();
    let given: HashSet<&str> =
        call.args.iter().filter_map(|it| Some(document.word_at(it.name?))).collect();
    let open = callable.params.iter().skip(n_positional);
    let missing = open.filter(|it| it.is_required && !given.contains(it.name));
    let names: Vec<&str> = missing.map(|it| it.name).collect();
    let message = format!("{}: missing argument for {}", callable.title, names.join(", "));
    let at = &document.tokens[call.name].range;
    (!names.is_empty()).then(|| Diagnostic::new(document, at, Severity::Warning, message))
}

/// Files and folders that certainly have to exist, but do not. Those that `local` might make are not looked for.
pub(super) fn unknown_files(
    document: &Document,
    path: &Path,
    files: &dyn Files,
) -> Vec<Diagnostic> {
    let of_others = |it: &&CallSite| it.callee != "local";
    let certain = document.calls.iter().take_while(of_others).filter(|it| it.is_certain);
    let mut found = Vec::new();
    for call in certain {
        // With a default, a file need not exist.
        let has_default = call.callee.starts_with("read_") && call.args.len() > 1;
        let params = FILES.iter().filter(|it| it.0 == call.callee && !has_default);
        for (_, param) in params {
            let at = docs::find(&call.callee)
                .and_then(|it| it.params().iter().position(|it| it.name == *param));
            let argument = call.argument(document, param, at);
            let texts = argument.map(|it| it.literals(document)).unwrap_or_default();
            for token in texts.into_iter().map(|it| &document.tokens[it]) {
                let name = document.content(token);
                // What has a scheme, or begins in a variable, is somewhere else.
                let is_elsewhere = name.is_empty() || name.contains(':') || name.starts_with('~');
                if is_elsewhere || files.exists(&path.with_file_name(name)) {
                    continue;
                }
                let message = format!("there is no file or directory {name:?}");
                found.push(Diagnostic::new(document, &token.content, Severity::Warning, message));
            }
        }
    }
    found
}

/// Resources that are declared a second time.
pub(super) fn declared_twice(document: &Document) -> Vec<Diagnostic> {
    let found = resources::duplicates(document).into_iter();
    found
        .map(|(second, first)| {
            let line = document.position(first.name_range.start).line + 1;
            let message = format!("resource {:?} is already declared on line {line}", second.name);
            Diagnostic::new(document, &second.name_range, Severity::Error, message)
        })
        .collect()
}
