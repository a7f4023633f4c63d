//! The reference of the Tiltfile API: every predeclared name with its type, parameters, description and example.
//!
//! The texts in `docs/reference` are the single source for `docs`, for editors and for the stubs of `dump api-docs`;
//! those in `docs/topics` are pages about what belongs together. Tests compare them with what a Tiltfile can really
//! call, and run the examples.

use std::{collections::HashMap, sync::LazyLock};

mod extension;
mod page;
mod parse;
mod print;
mod stubs;

pub use extension::ExtensionFunction;
pub use page::{Page, index, look_up, names, pages, similar, topics};
pub use print::{Layout, markdown, signature};
pub use stubs::python;

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
    /// A part of a Tiltfile that uses it.
    pub example: &'static str,
}

/// A page about what belongs together.
#[derive(Debug)]
pub struct Topic {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it is about, on one line.
    pub title: &'static str,
    /// The page, as Markdown.
    pub text: &'static str,
    /// Names of the API that belong to it.
    pub see: Vec<&'static str>,
}

/// What a name is.
#[derive(Debug, PartialEq)]
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
#[derive(Debug, PartialEq)]
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
    pub fn summary(&self) -> &'static str {
        self.doc.split("\n\n").next().unwrap_or_default()
    }

    /// Its parameters; values have none.
    pub fn params(&self) -> &[Param] {
        match &self.shape {
            Shape::Function { params, .. } => params,
            Shape::Value(_) => &[],
        }
    }
}

impl Param {
    /// Its name without stars.
    pub fn bare_name(&self) -> &'static str {
        self.name.trim_start_matches('*')
    }

    /// Whether it takes all the rest.
    pub fn is_rest(&self) -> bool {
        self.name.starts_with('*')
    }

    /// Whether a call must give it.
    pub fn is_required(&self) -> bool {
        self.default.is_none() && !self.is_rest()
    }

    /// The values it can have, as a Tiltfile writes them, if these are only a few.
    pub fn choices(&self) -> Vec<&'static str> {
        match self.ty {
            "bool" => vec!["True", "False"],
            ty if ty.starts_with('\'') => ty.split(" | ").collect(),
            ty => {
                let is_constant = |it: &&Entry| it.shape == Shape::Value(ty) && is_upper(it.name);
                entries().filter(is_constant).map(|it| it.name).collect()
            }
        }
    }
}

/// Whether a name is that of a constant.
fn is_upper(name: &str) -> bool {
    name.bytes().all(|it| it == b'_' || it.is_ascii_uppercase())
        && name.starts_with(|it: char| it != '_')
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

/// All topics, the first ones first.
pub static TOPICS: LazyLock<Vec<Topic>> = LazyLock::new(|| {
    let texts = [
        include_str!("docs/topics/tiltfile.md"),
        include_str!("docs/topics/resources.md"),
        include_str!("docs/topics/commands.md"),
        include_str!("docs/topics/images.md"),
        include_str!("docs/topics/live_update.md"),
        include_str!("docs/topics/kubernetes.md"),
        include_str!("docs/topics/compose.md"),
        include_str!("docs/topics/registries.md"),
        include_str!("docs/topics/config.md"),
        include_str!("docs/topics/files.md"),
        include_str!("docs/topics/extensions.md"),
        include_str!("docs/topics/buttons.md"),
        include_str!("docs/topics/ci.md"),
        include_str!("docs/topics/editors.md"),
    ];
    texts.into_iter().map(parse::topic).collect()
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
pub fn find(name: &str) -> Option<&'static Entry> {
    BY_NAME.get(name).copied()
}

#[cfg(test)]
mod tests;
