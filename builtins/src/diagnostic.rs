//! Errors for users: Tilt's message, with the location and help.

use std::collections::BTreeMap;

pub use builtins_language::Frame;
use builtins_language::{EvalError, Mistake, RaisedError, raise, raise_with_payload};
pub use engine_model::Place;

mod advice;
mod report;

pub(crate) use advice::{Advice, MissingExtension};

/// What is wrong, in parts. Each may be unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gist {
    /// What kind of problem it is, in a few words.
    pub title: Option<String>,
    /// What is wrong, without its place; Tilt's words if there is nothing better.
    pub brief: Option<String>,
    /// The name that was probably meant.
    pub meant: Option<String>,
}

/// One thing that is wrong, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A stable name for this kind of problem, for programs.
    pub code: &'static str,
    /// Tilt's words.
    pub message: String,
    /// The same for people who see where it is.
    pub gist: Box<Gist>,
    /// The way out, if we know one.
    pub help: Option<String>,
    /// Where it is.
    pub location: Option<Place>,
}

impl Problem {
    /// A problem that is in no particular place.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), gist: Box::default(), help: None, location: None }
    }

    /// The same problem with the way out of it.
    #[must_use]
    pub(crate) fn advise(mut self, advice: Advice) -> Self {
        self.help = Some(advice.text().to_owned());
        self
    }

    /// The same problem with the name that was probably meant, if there is one.
    #[must_use]
    pub(crate) fn suggest(mut self, meant: Option<&str>) -> Self {
        if let Some(meant) = meant {
            self.gist.meant = Some(meant.to_owned());
            self.help = Some(advice::did_you_mean(meant));
        }
        self
    }

    /// The same problem with what is known of an error.
    #[must_use]
    pub(crate) fn advise_on(mut self, error: &EvalError) -> Self {
        self.help = advice::help(error);
        self.gist.meant = advice::meant(error);
        if let Some(missing) = error.payload::<MissingExtension>() {
            self.gist.brief = Some(missing.to_string());
            self.gist.title = Some(missing.to_string());
        }
        self
    }

    /// The same problem at a place.
    #[must_use]
    pub fn at(mut self, location: Place) -> Self {
        self.location = Some(location);
        self
    }

    fn titled(mut self, title: impl Into<String>) -> Self {
        self.gist.title = Some(title.into());
        self
    }

    fn in_brief(mut self, brief: impl Into<String>) -> Self {
        self.gist.brief = Some(brief.into());
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
    /// The directory of the main Tiltfile.
    pub dir: String,
}

impl Failure {
    /// A failure outside of execution.
    pub fn from_problems(problems: Vec<Problem>) -> Self {
        let text = problems.first().map(|it| it.message.clone()).unwrap_or_default();
        Self { text, problems, ..Self::default() }
    }

    /// A failure of execution.
    pub fn from_error(error: &EvalError) -> Self {
        let (text, frames) = (error.to_string(), error.frames.clone());
        let called = frames.iter().rev().find_map(place);
        let message = match (&error.builtin, &called) {
            (Some(builtin), Some(_)) => format!("Error in {builtin}: {}", error.message),
            (None, Some(_)) => format!("Error: {}", error.message),
            (_, None) => error.message.clone(),
        };
        // A file that does not parse may have been loaded by another one.
        let root = error.root();
        let problem = if let Some(place) = root.syntax.as_deref().and_then(place) {
            let is_undefined = matches!(root.payload(), Some(Mistake::Undefined { .. }));
            let title = if is_undefined { "undefined name" } else { "syntax error" };
            let brief = root.message.strip_prefix(&format!("{place}: ")).unwrap_or(&root.message);
            Problem::new("tiltfile::syntax", message).titled(title).in_brief(brief).at(place)
        } else if let Some(place) = called {
            let problem = Problem::new("tiltfile::evaluation", message).at(place);
            match &error.builtin {
                Some(builtin) if error.message.contains(builtin) => {
                    problem.titled(format!("error in {builtin}")).in_brief(&error.message)
                }
                Some(builtin) => {
                    let brief = format!("{builtin}: {}", error.message);
                    problem.titled(format!("error in {builtin}")).in_brief(brief)
                }
                None => problem.titled("evaluation failed").in_brief(&error.message),
            }
        } else {
            Problem::new("tiltfile::load", message)
        };
        let problems = vec![problem.advise_on(error)];
        Self { text, frames, problems, ..Self::default() }
    }

    /// The calls that led to the problem, as Tilt prints them.
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

fn place(frame: &Frame) -> Option<Place> {
    Some(Place { file: frame.path.clone()?, line: frame.line, column: frame.col })
}

/// The error of a builtin, with the way out if there is one.
pub(crate) fn raise_advised(message: String, advice: Option<Advice>) -> RaisedError {
    match advice {
        Some(advice) => raise_with_payload(message, advice),
        None => raise(message),
    }
}
