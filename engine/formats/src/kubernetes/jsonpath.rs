//! Decides what a JSON path in Kubernetes template syntax, such as `{.spec.image}`, means and which values of an object
//! it leads to.
//!
//! [`parse`] reads a template for whoever walks through values in another way.
//!
//! Built-in kinds are walked as the Go structs they are: fields that a manifest leaves out are there with their zero
//! value, and Go field names work as well as JSON names.

mod eval;
mod matched;
mod parser;

pub use matched::Match;
pub use parser::{PathSyntaxError, parse};

use super::object::Object;

/// A JSON path template that has been read.
#[derive(Clone, Debug)]
pub struct JsonPath {
    text: String,
    nodes: Vec<PathNode>,
}

/// Why a path leads nowhere in an object, in the words of the Kubernetes library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JsonPathError {
    message: String,
    /// Whether the step that failed passes on what it was given, which is enough for a test of existence.
    keeps_input: bool,
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum PathNode {
    /// What is inside braces: each step works on the results of the one before.
    List(Vec<PathNode>),
    /// Text outside of braces, or in quotes.
    Text(String),
    /// The field or entry of a name.
    Field(String),
    /// Everything inside.
    Wildcard,
    /// Everything inside, however deep.
    Recursive,
    /// Some items of a list.
    Slice(Slice),
    /// Those items for which a comparison holds.
    Filter {
        /// What is compared.
        left: Vec<PathNode>,
        /// How, or `exists`.
        operator: String,
        /// What it is compared with.
        right: Vec<PathNode>,
    },
    /// What any of several paths leads to.
    Union(Vec<Vec<PathNode>>),
    /// An integer.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// `range`, `end`, or a word that means nothing.
    Identifier(String),
}

/// `[from:to:step]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// The first item; negative numbers count from the end.
    pub from: Option<i64>,
    /// The item that is no longer meant.
    pub to: Option<i64>,
    /// Whether `to` follows from a single index.
    pub is_index: bool,
    /// How many items to go on.
    pub step: Option<i64>,
}

/// Why a slice cannot be taken of a list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SliceError {
    /// It reaches beyond the list.
    #[error("array index out of bounds: index {index}, length {length}")]
    OutOfBounds {
        /// Where it reaches to.
        index: i64,
        /// How many items there are.
        length: i64,
    },
    /// It ends before it starts.
    #[error("starting index {from} is greater than ending index {to}")]
    Reversed {
        /// The first item.
        from: i64,
        /// The item that is no longer meant.
        to: i64,
    },
    /// It does not go on.
    #[error("step must be > 0")]
    Step,
}

impl Slice {
    /// The items that are meant; none if the slice is empty.
    pub fn take<T>(self, items: Vec<T>) -> Result<Option<impl Iterator<Item = T>>, SliceError> {
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let from = self.from.unwrap_or(0);
        let from = if from < 0 { from.saturating_add(length) } else { from };
        let to = self.to.unwrap_or(length);
        let wraps = to < 0 || (to == 0 && self.is_index);
        let to = if wraps { to.saturating_add(length) } else { to };
        if from == to {
            return Ok(None);
        }
        if from >= length || from < 0 {
            return Err(SliceError::OutOfBounds { index: from, length });
        }
        if to > length || to < 0 {
            return Err(SliceError::OutOfBounds { index: to.saturating_sub(1), length });
        }
        if from > to {
            return Err(SliceError::Reversed { from, to });
        }
        let step = usize::try_from(self.step.unwrap_or(1)).ok().filter(|step| *step > 0);
        let step = step.ok_or(SliceError::Step)?;
        let (from, to) = (usize::try_from(from).unwrap_or(0), usize::try_from(to).unwrap_or(0));
        Ok(Some(items.into_iter().take(to).skip(from).step_by(step)))
    }
}

impl JsonPath {
    /// Reads a template.
    pub fn parse(text: &str) -> Result<Self, PathSyntaxError> {
        Ok(Self { text: text.to_owned(), nodes: parser::parse(text)? })
    }

    /// The template as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Everything the path leads to.
    pub fn find<'a>(&'a self, object: &'a Object) -> Result<Vec<Match<'a>>, JsonPathError> {
        eval::find(&self.nodes, Match::root(object))
    }
}
