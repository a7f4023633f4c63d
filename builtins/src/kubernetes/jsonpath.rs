//! Decides what a JSON path in Kubernetes template syntax, such as `{.spec.image}`, means and which values of an object
//! it leads to.
//!
//! Built-in kinds are walked as the Go structs they are: fields that a manifest leaves out are there with their zero
//! value, and Go field names work as well as JSON names.

mod eval;
mod matched;
mod parser;

pub use matched::Match;
pub use parser::PathSyntaxError;

use super::object::Object;

/// A JSON path template that has been read.
#[derive(Clone, Debug)]
pub struct JsonPath {
    text: String,
    nodes: Vec<Node>,
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
enum Node {
    /// What is inside braces, or inside brackets of a union or filter.
    List(Vec<Node>),
    Text(String),
    Field(String),
    Wildcard,
    Recursive,
    Array([Param; 3]),
    Filter {
        left: Vec<Node>,
        right: Vec<Node>,
        operator: String,
    },
    Union(Vec<Vec<Node>>),
    Int(i64),
    Float(f64),
    Bool(bool),
    Identifier(String),
}

/// Start, end or step of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Param {
    value: i64,
    known: bool,
    /// Whether an end was made up for a single index.
    derived: bool,
}

impl JsonPath {
    /// Reads a template.
    pub fn parse(text: &str) -> Result<Self, PathSyntaxError> {
        Ok(Self { text: text.to_owned(), nodes: parser::parse(text)? })
    }

    /// The template as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Everything the path leads to.
    pub fn find<'a>(&'a self, object: &'a Object) -> Result<Vec<Match<'a>>, JsonPathError> {
        eval::find(&self.nodes, Match::root(object))
    }
}
