//! Errors for users: Tilt's message, with the location and help.

use std::{collections::BTreeMap, fmt};

pub use builtins_language::Frame;
use builtins_language::{EvalError, RaisedError, raise, raise_with_payload};

mod advice;

pub(crate) use advice::Advice;

/// A place in a file; lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// The absolute path.
    pub path: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.path, self.line, self.column)
    }
}

/// One thing that is wrong, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A stable name for this kind of problem, for programs.
    pub code: &'static str,
    /// Tilt's words.
    pub message: String,
    /// The way out, if we know one.
    pub help: Option<String>,
    /// Where it is.
    pub location: Option<Position>,
}

impl Problem {
    /// A problem that is in no particular place.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: None, location: None }
    }

    /// The same problem with the way out of it.
    #[must_use]
    pub(crate) fn advise(mut self, advice: Advice) -> Self {
        self.help = Some(advice.text().to_owned());
        self
    }

    /// The same problem with the way out of an error, if there is one.
    #[must_use]
    pub(crate) fn advise_on(mut self, error: &EvalError) -> Self {
        self.help = advice::help(error);
        self
    }

    /// The same problem at a place.
    #[must_use]
    pub fn at(mut self, location: Position) -> Self {
        self.location = Some(location);
        self
    }
}

/// Why an evaluation failed: the problem Tilt reports first, and all others that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// What Tilt prints: traceback and message.
    pub text: String,
    /// The calls that led to the problem, outermost first; none for problems found after execution.
    pub frames: Vec<Frame>,
    /// All problems, Tilt's first.
    pub problems: Vec<Problem>,
    /// The text of the files that are mentioned.
    pub sources: BTreeMap<String, String>,
}

impl Failure {
    /// A failure outside of execution.
    #[must_use]
    pub fn from_problems(problems: Vec<Problem>) -> Self {
        let text = problems.first().map(|it| it.message.clone()).unwrap_or_default();
        Self { text, problems, ..Self::default() }
    }

    /// A failure of execution.
    #[must_use]
    pub fn from_error(error: &EvalError) -> Self {
        let text = error.to_string();
        let frames = error.frames.clone();
        let problem = if let Some(place) = frames.iter().rev().find_map(position) {
            let message = match &error.builtin {
                Some(builtin) => format!("Error in {builtin}: {}", error.message),
                None => format!("Error: {}", error.message),
            };
            Problem::new("tiltfile::evaluation", message).at(place)
        } else if let Some(place) = error.syntax.as_deref().and_then(position) {
            Problem::new("tiltfile::syntax", &error.message).at(place)
        } else {
            Problem::new("tiltfile::load", &error.message)
        };
        let problems = vec![problem.advise_on(error)];
        Self { text, frames, problems, sources: BTreeMap::new() }
    }

    /// The calls that led to the problem, as Tilt prints them.
    #[must_use]
    pub fn traceback(&self) -> Option<String> {
        if self.frames.is_empty() {
            return None;
        }
        let mut text = "Traceback (most recent call last):\n".to_owned();
        for frame in &self.frames {
            text.push_str(&format!("  {frame}\n"));
        }
        Some(text)
    }
}

fn position(frame: &Frame) -> Option<Position> {
    Some(Position { path: frame.path.clone()?, line: frame.line, column: frame.col })
}

/// The error of a builtin, with the way out if there is one.
#[must_use]
pub(crate) fn raise_advised(message: String, advice: Option<Advice>) -> RaisedError {
    match advice {
        Some(advice) => raise_with_payload(message, advice),
        None => raise(message),
    }
}
