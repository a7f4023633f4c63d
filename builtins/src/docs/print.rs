//! Prints the reference: for terminals, as Markdown, and as Python stubs for editors.

use std::fmt::Write;

use super::{Entry, Param, Shape};

/// How a function is called, or what a value is, on one line.
#[must_use]
pub fn signature(entry: &Entry) -> String {
    match &entry.shape {
        Shape::Function { params, returns } => {
            let params: Vec<String> = params.iter().map(param).collect();
            format!("{}({}) -> {returns}", entry.name, params.join(", "))
        }
        Shape::Value(ty) => format!("{}: {ty}", entry.name),
    }
}

/// A parameter as it stands in a signature.
fn param(param: &Param) -> String {
    match param.default {
        Some(default) => format!("{}: {} = {default}", param.name, param.ty),
        None => format!("{}: {}", param.name, param.ty),
    }
}

/// An entry as Markdown: how it is called, what it means, what its parameters mean.
#[must_use]
pub fn markdown(entry: &Entry) -> String {
    let mut out = format!("```python\n{}\n```\n", wrapped_signature(entry));
    let _ = write!(out, "\n{}\n", entry.doc);
    let documented = entry.params().iter().filter(|it| !it.doc.is_empty());
    for (at, it) in documented.enumerate() {
        let start = if at == 0 { "\n" } else { "" };
        let _ = writeln!(out, "{start}- `{}`: {}", it.bare_name(), it.doc);
    }
    out
}

/// An entry as plain text.
#[must_use]
pub fn text(entry: &Entry) -> String {
    let mut out = format!("{}\n", wrapped_signature(entry));
    for line in entry.doc.lines() {
        let start = if line.is_empty() { "" } else { "    " };
        let _ = writeln!(out, "{start}{line}");
    }
    let documented = || entry.params().iter().filter(|it| !it.doc.is_empty());
    let width = documented().map(|it| it.bare_name().len()).max().unwrap_or_default();
    for (at, it) in documented().enumerate() {
        let start = if at == 0 { "\n" } else { "" };
        let _ = writeln!(out, "{start}    {:width$}  {}", it.bare_name(), it.doc);
    }
    out
}

/// A signature that takes a line for each parameter if one line would be too long.
fn wrapped_signature(entry: &Entry) -> String {
    let line = signature(entry);
    let Shape::Function { params, returns } = &entry.shape else { return line };
    if line.len() <= 100 {
        return line;
    }
    let mut out = format!("{}(\n", entry.name);
    for it in params {
        let _ = writeln!(out, "    {},", param(it));
    }
    let _ = write!(out, ") -> {returns}");
    out
}

/// Types that have no other name in Python.
const TYPES: [(&str, &str); 9] = [
    ("Blob", "A text that is content and no path."),
    ("CustomBuild", "An image that a command builds."),
    ("LiveUpdateStep", "A step of a live update."),
    ("Link", "A link that the page shows."),
    ("PortForward", "A port of a pod that can be reached on this machine."),
    ("Probe", "How to find out whether a server is ready."),
    ("Repo", "A folder with a Git repository."),
    ("TriggerMode", "When a resource updates."),
    ("Module", "Names that belong together."),
];

/// The members of a module as a file of Python; those without a module if `module` is empty.
#[must_use]
pub fn python(module: &str) -> String {
    let doc = super::find(module).map_or("What every Tiltfile can use.", Entry::summary);
    let mut out = format!(
        "\"\"\"{doc}\"\"\"\n\nfrom __future__ import annotations\n\n\
         from typing import Any, Callable, Iterable\n"
    );
    for (name, doc) in TYPES.iter().filter(|_| module.is_empty()) {
        let _ = write!(out, "\n\nclass {name}:\n    \"\"\"{doc}\"\"\"\n");
    }
    let is_member = |it: &&Entry| {
        let path = it.name.rsplit_once('.').map_or("", |(path, _)| path);
        // What the language has, Python has itself.
        path == module && !super::is_of_language(it.name)
    };
    for entry in super::entries().filter(is_member) {
        let name = entry.name.rsplit('.').next().unwrap_or_default();
        match &entry.shape {
            Shape::Value("module") => {
                let _ = write!(out, "\n\nfrom . import {name}\n");
            }
            Shape::Value(ty) => {
                let _ = write!(out, "\n\n{name}: {ty}\n\"\"\"{}\"\"\"\n", entry.doc);
            }
            Shape::Function { params, returns } => {
                python_function(&mut out, name, entry, params, returns);
            }
        }
    }
    out
}

fn python_function(out: &mut String, name: &str, entry: &Entry, params: &[Param], returns: &str) {
    let _ = write!(out, "\n\ndef {name}(");
    for it in params {
        let _ = write!(out, "\n    {},", param(it));
    }
    if !params.is_empty() {
        out.push('\n');
    }
    let _ = write!(out, ") -> {returns}:\n    \"\"\"{}\n", entry.doc.replace('\n', "\n    "));
    if params.iter().any(|it| !it.doc.is_empty()) {
        out.push_str("\n    Args:\n");
    }
    for it in params.iter().filter(|it| !it.doc.is_empty()) {
        let _ = writeln!(out, "      {}: {}", it.bare_name(), it.doc);
    }
    out.push_str("    \"\"\"\n");
}
