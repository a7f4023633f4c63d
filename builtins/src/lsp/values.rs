//! Completes the value of an argument where only a few make sense: constants, fixed strings, names of resources.

use std::path::Path;

use super::{
    Files,
    complete::{Completion, CompletionKind, simple},
    context::Call,
    document::Document,
    resources,
};
use crate::docs::{self, Param};

/// Parameters that name a resource.
const NAME_RESOURCES: [(&str, &str); 4] = [
    ("", "resource_deps"),
    ("config.set_enabled_resources", "resources"),
    ("k8s_resource", "workload"),
    ("dc_resource", "name"),
];

/// What can stand in a string.
pub(super) fn inside_text(
    document: &Document,
    path: &Path,
    files: &dyn Files,
    call: &Call,
    typed: &str,
) -> Vec<Completion> {
    let mut found = resource_names(document, path, files, call);
    let choices = parameter(call).map(Param::choices).unwrap_or_default();
    let texts = choices.iter().filter_map(|it| it.strip_prefix('\'')?.strip_suffix('\''));
    found.extend(texts.map(|it| simple(it, CompletionKind::Value)));
    found.retain(|it| it.label.starts_with(typed));
    found
}

/// What can stand where a value begins, behind the token `before`.
pub(super) fn outside_text(
    document: &Document,
    path: &Path,
    files: &dyn Files,
    call: Option<&Call>,
    before: Option<usize>,
    typed: &str,
) -> Vec<Completion> {
    let (Some(call), Some(before)) = (call, before.and_then(|it| document.tokens.get(it))) else {
        return Vec::new();
    };
    if before.is(b'[') || (before.is(b',') && !call.is_innermost) {
        let names = resource_names(document, path, files, call);
        let quoted =
            names.into_iter().map(|it| Completion { label: format!("'{}'", it.label), ..it });
        return quoted.filter(|_| typed.is_empty()).collect();
    }
    // Behind a bracket or a comma, the name of a parameter can stand as well.
    if !before.is(b'=') || !call.is_innermost {
        return Vec::new();
    }
    let choices = parameter(call).map(Param::choices).unwrap_or_default();
    let prefix = typed.to_lowercase();
    let matching = choices.into_iter().filter(|it| it.to_lowercase().starts_with(&prefix));
    matching.map(|it| Completion { doc: about(it), ..simple(it, CompletionKind::Value) }).collect()
}

fn about(name: &str) -> String {
    docs::find(name).map_or(String::new(), |it| it.doc.to_owned())
}

/// The parameter of a builtin that is given.
fn parameter(call: &Call) -> Option<&'static Param> {
    let params = docs::find(&call.callee)?.params();
    match &call.keyword {
        Some(name) => params.iter().find(|it| it.name == name),
        None => params.get(call.n_before),
    }
}

fn resource_names(
    document: &Document,
    path: &Path,
    files: &dyn Files,
    call: &Call,
) -> Vec<Completion> {
    let name = call.keyword.as_deref().or_else(|| parameter(call).map(|it| it.name));
    let is_meant = NAME_RESOURCES.iter().any(|(callee, param)| {
        name == Some(*param) && (callee.is_empty() || *callee == call.callee)
    });
    if !is_meant {
        return Vec::new();
    }
    let names = resources::names(document, path, files).into_iter();
    names
        .map(|(name, origin)| Completion { detail: origin, ..simple(&name, CompletionKind::Value) })
        .collect()
}
