//! Prints the reference as Python stubs for editors.

use std::fmt::Write;

use super::{Entry, Param, Shape, print::param};

/// Types that have no other name in Python.
const TYPES: [(&str, &str); 9] = [
    ("Blob", "Content, where a string would be a path."),
    ("CustomBuild", "An image built by a command."),
    ("LiveUpdateStep", "A step of a live update."),
    ("Link", "A link on the web page."),
    ("PortForward", "A port forward to a pod."),
    ("Probe", "A readiness check of a server."),
    ("Repo", "A local Git repository."),
    ("TriggerMode", "When a resource updates."),
    ("Module", "A group of names."),
];

/// The members of a module as a file of Python; those without a module if `module` is empty.
pub fn python(module: &str) -> String {
    let doc =
        super::find(module).map_or("Names that are available in every Tiltfile.", Entry::summary);
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
