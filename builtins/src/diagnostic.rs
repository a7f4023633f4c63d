//! Problems worded for the user: Tilt's words, with the place and the way out beside them.

use std::{collections::BTreeMap, fmt};

use crate::dialect::{EvalError, Frame};

mod advice;

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
        let message = message.into();
        let help = advice::help(&message);
        Self { code, message, help, location: None }
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
        } else {
            syntax_problem(&error.message)
        };
        Self { text, frames, problems: vec![problem], sources: BTreeMap::new() }
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

/// A syntax error names its own position: `PATH:LINE:COL: MESSAGE`.
fn syntax_problem(message: &str) -> Problem {
    let problem = Problem::new("tiltfile::syntax", message);
    match split_position(message) {
        Some(place) => problem.at(place),
        None => Problem { code: "tiltfile::load", ..problem },
    }
}

fn split_position(message: &str) -> Option<Position> {
    let first_line = message.lines().next()?;
    let (before, _) = first_line.split_once(": ")?;
    let (rest, column) = before.rsplit_once(':')?;
    let (path, line) = rest.rsplit_once(':')?;
    Some(Position { path: path.to_owned(), line: line.parse().ok()?, column: column.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_syntax_error_has_its_position_from_its_message() {
        let problem = syntax_problem("/a/Tiltfile:2:7: undefined: foo");
        assert_eq!(problem.location.map(|it| it.to_string()), Some("/a/Tiltfile:2:7".to_owned()));
        assert_eq!(problem.code, "tiltfile::syntax");
        assert_eq!(syntax_problem("Circular load: /a").location, None);
    }
}
