//! Why a Tiltfile failed, as data beside Tilt's words, for whoever shows it.

use std::fmt;

use serde::Serialize;

/// A place in a file; lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Place {
    /// The absolute path.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Some lines of a file around a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Excerpt {
    /// The number of the first line.
    pub first_line: u32,
    /// The lines.
    pub lines: Vec<String>,
    /// How many characters are meant, from the column of the place on.
    pub width: u32,
}

/// A call that led to a problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Caller {
    /// Where the call is; calls of functions inside builtins have no place.
    pub place: Option<Place>,
    /// The function that it is in.
    pub function: String,
}

/// Why a Tiltfile failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Tilt's words: traceback and message.
    pub text: String,
    /// The problem in one line that begins with its place and ends with the name that was probably meant. The path is
    /// relative to the directory of the main Tiltfile.
    pub headline: String,
    /// The other lines of the message.
    pub more: Vec<String>,
    /// A stable name for this kind of problem.
    pub code: String,
    /// Where the problem is.
    pub place: Option<Place>,
    /// The lines around the place.
    pub excerpt: Option<Excerpt>,
    /// The calls that led to the place, innermost first.
    pub stack: Vec<Caller>,
    /// The way out.
    pub help: Option<String>,
}

impl Report {
    /// The same with every text that people read as `edit` leaves it.
    #[must_use]
    pub fn edited(mut self, edit: &dyn Fn(&str) -> String) -> Self {
        let excerpt = self.excerpt.iter_mut().flat_map(|it| &mut it.lines);
        let texts = [&mut self.text, &mut self.headline].into_iter().chain(&mut self.more);
        for text in texts.chain(excerpt).chain(&mut self.help) {
            *text = edit(text);
        }
        self
    }
}

/// A text that says everything.
impl From<&str> for Report {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), headline: brief(text).0, ..Self::default() }
    }
}

/// What is wrong in one line, and the lines that are left. Below a traceback the last line says it, else the first one;
/// how a command ended is on the line after that.
pub fn brief(error: &str) -> (String, Vec<String>) {
    let mut lines: Vec<&str> = error.trim().lines().map(str::trim_end).collect();
    if error.trim_start().starts_with("Traceback") {
        lines.rotate_right(1);
    }
    let mut lines = lines.into_iter().peekable();
    let first = lines.next().unwrap_or_default().trim();
    let how = lines.next_if(|it| first.ends_with(" failed.") && it.starts_with("error: "));
    let headline = match how.and_then(|it| it.strip_prefix("error: ")) {
        Some(how) => format!("{}: {how}", first.trim_end_matches('.')),
        None => first.to_owned(),
    };
    (headline, lines.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headline_says_what_is_wrong_and_how_a_command_ended() {
        for (error, headline, n_more) in [
            ("no such file\n", "no such file", 0),
            ("one\ntwo\nthree", "one", 2),
            ("Traceback (most recent call last):\n  f:1:1: in x\nError: boom", "Error: boom", 2),
            (
                "command \"exit 5\" failed.\nerror: exit status 5\nstdout: x\n",
                "command \"exit 5\" failed: exit status 5",
                1,
            ),
            ("", "", 0),
        ] {
            let (brief, more) = brief(error);
            assert_eq!((brief.as_str(), more.len()), (headline, n_more), "{error:?}");
        }
    }
}
