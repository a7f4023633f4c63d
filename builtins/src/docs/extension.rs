//! The bundled extensions: their README, and their functions with docstrings.

use std::fmt::Write;

use crate::lsp::{Document, SymbolKind, docstring};

/// A function that an extension offers.
#[derive(Clone, Debug)]
pub struct ExtensionFunction {
    /// The extension.
    pub extension: &'static str,
    /// Its name.
    pub name: String,
    /// How it is called.
    pub signature: String,
    /// What it means, as Markdown.
    pub doc: String,
}

impl ExtensionFunction {
    /// The first paragraph of its meaning.
    pub(super) fn summary(&self) -> &str {
        self.doc.split("\n\n").next().unwrap_or_default()
    }

    /// How it is loaded and called, and what it means.
    pub(super) fn markdown(&self) -> String {
        let Self { extension, name, signature, doc } = self;
        let load = format!("load('ext://{extension}', '{name}')");
        format!("```python\n{load}\n{signature}\n```\n\n{doc}\n")
    }
}

/// The file of an extension.
fn file(extension: &stdlib::Extension, name: &str) -> &'static str {
    extension.files.iter().find(|it| it.path == name).map_or("", |it| it.text)
}

/// What the README says first.
pub(super) fn summary(extension: &stdlib::Extension) -> &'static str {
    let mut paragraphs = file(extension, "README.md").split("\n\n");
    paragraphs.find(|it| !it.starts_with('#')).unwrap_or_default()
}

/// The functions that others may use.
pub(super) fn functions(extension: &'static stdlib::Extension) -> Vec<ExtensionFunction> {
    let document = Document::new(file(extension, "Tiltfile").to_owned());
    let symbols = document.outline().symbols.iter();
    let public = symbols.filter(|it| it.parent.is_none() && !it.name.starts_with('_'));
    public
        .filter_map(|it| match &it.kind {
            SymbolKind::Function { doc, .. } => Some(ExtensionFunction {
                extension: extension.name,
                name: it.name.clone(),
                signature: it.signature(),
                doc: docstring::markdown(doc),
            }),
            SymbolKind::Variable => None,
        })
        .collect()
}

/// All of an extension: its README, then its functions.
pub(super) fn markdown(extension: &'static stdlib::Extension) -> String {
    let readme = file(extension, "README.md");
    let body = readme.split_once('\n').map_or("", |(_, rest)| rest);
    let mut out = format!("# ext://{}\n{body}", extension.name);
    for it in functions(extension) {
        let _ = write!(out, "\n## {}\n\n```python\n{}\n```\n\n{}\n", it.name, it.signature, it.doc);
    }
    out
}
