//! The reference of the Tiltfile API: every predeclared name with its type, parameters and description.
//!
//! The texts in `docs/reference` are the single source for `docs`, for editors and for the stubs of `dump api-docs`.
//! Tests compare them with what a Tiltfile can really call.

use std::{collections::HashMap, sync::LazyLock};

mod parse;
mod print;

pub use print::{markdown, python, signature, text};

/// A chapter of the reference.
#[derive(Debug)]
pub struct Chapter {
    /// What it is about.
    pub title: &'static str,
    /// Its names, in the order in which they are explained.
    pub entries: Vec<Entry>,
}

/// A predeclared name.
#[derive(Debug)]
pub struct Entry {
    /// The name, with those of its modules: `os.path.join`.
    pub name: &'static str,
    /// What it is.
    pub shape: Shape,
    /// What it means; the first paragraph is a summary.
    pub doc: &'static str,
}

/// What a name is.
#[derive(Debug)]
pub enum Shape {
    /// A function.
    Function {
        /// Its parameters, in order.
        params: Vec<Param>,
        /// The type of its result.
        returns: &'static str,
    },
    /// A value of a type; the type of a module is `module`.
    Value(&'static str),
}

/// A parameter of a function.
#[derive(Debug)]
pub struct Param {
    /// Its name, with the stars of one that takes all the rest.
    pub name: &'static str,
    /// Its type.
    pub ty: &'static str,
    /// Its value if it is not given; nothing if it must be.
    pub default: Option<&'static str>,
    /// What it means.
    pub doc: &'static str,
}

impl Entry {
    /// The first paragraph of its meaning.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        self.doc.split("\n\n").next().unwrap_or_default()
    }

    /// Its parameters; values have none.
    #[must_use]
    pub fn params(&self) -> &[Param] {
        match &self.shape {
            Shape::Function { params, .. } => params,
            Shape::Value(_) => &[],
        }
    }
}

impl Param {
    /// Its name without stars.
    #[must_use]
    pub fn bare_name(&self) -> &'static str {
        self.name.trim_start_matches('*')
    }

    /// Whether it takes all the rest.
    #[must_use]
    pub fn is_rest(&self) -> bool {
        self.name.starts_with('*')
    }
}

/// The whole reference.
pub static REFERENCE: LazyLock<Vec<Chapter>> = LazyLock::new(|| {
    let texts = [
        include_str!("docs/reference/images.md"),
        include_str!("docs/reference/live_update.md"),
        include_str!("docs/reference/kubernetes.md"),
        include_str!("docs/reference/compose.md"),
        include_str!("docs/reference/local.md"),
        include_str!("docs/reference/files.md"),
        include_str!("docs/reference/modules.md"),
        include_str!("docs/reference/settings.md"),
        include_str!("docs/reference/v1alpha1.md"),
        include_str!("docs/reference/language.md"),
    ];
    texts.into_iter().map(parse::chapter).collect()
});

/// All names, chapter by chapter.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    REFERENCE.iter().flat_map(|it| &it.entries)
}

/// Whether a name belongs to the language, and not to the API.
fn is_of_language(name: &str) -> bool {
    let language = REFERENCE.iter().find(|it| it.title == "The language");
    language.is_some_and(|it| it.entries.iter().any(|it| it.name == name))
}

static BY_NAME: LazyLock<HashMap<&'static str, &'static Entry>> =
    LazyLock::new(|| entries().map(|it| (it.name, it)).collect());

/// The entry of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    BY_NAME.get(name).copied()
}

#[cfg(test)]
mod tests;
