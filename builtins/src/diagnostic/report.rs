//! Puts a failure into plain data for those who are not told by a terminal.

use engine_model::{Caller, Excerpt, Place, Report, report};

use super::{Failure, Problem, place};

/// So many lines are shown before and after the one that is meant.
const CONTEXT: u32 = 2;

/// Files with longer lines among those to show are not quoted.
const MAX_LINE: usize = 500;

/// So many callers are named.
const MAX_CALLERS: usize = 8;

impl Failure {
    /// The failure as data.
    pub fn report(&self) -> Report {
        let text = self.text.clone();
        let Some(problem) = self.problems.first() else {
            return Report { text, ..Report::default() };
        };
        let at = problem.location.clone();
        let callers = self.frames.iter().rev().map(|it| (place(it), it));
        // The innermost call is the place itself.
        let callers = callers.filter(|(place, _)| place.is_some() && *place != at);
        let callers = callers.map(|(place, it)| Caller { place, function: it.function.clone() });
        let stack = callers.take(MAX_CALLERS).collect();
        let (first, more) = report::brief(brief(problem));
        Report {
            text,
            headline: self.headline(problem, &first),
            more,
            code: problem.code.to_owned(),
            excerpt: at.as_ref().and_then(|it| excerpt(self.sources.get(&it.file)?, it)),
            place: at,
            stack,
            help: problem.help.clone(),
        }
    }

    fn headline(&self, problem: &Problem, first: &str) -> String {
        let meant = problem.gist.meant.as_deref();
        let meant = meant.map_or(String::new(), |it| format!(" (did you mean {it}?)"));
        let place = problem.location.as_ref().map_or(String::new(), |it| {
            let inside = it.file.strip_prefix(&self.dir).and_then(|it| it.strip_prefix('/'));
            format!("{}:{}:{}: ", inside.unwrap_or(&it.file), it.line, it.column)
        });
        format!("{place}{first}{meant}")
    }
}

/// What is wrong, without the words of Tilt's own suggestion.
fn brief(problem: &Problem) -> &str {
    let brief = problem.gist.brief.as_ref().unwrap_or(&problem.message).trim();
    let hint = brief.rfind(" (did you mean ").filter(|_| problem.gist.meant.is_some());
    hint.map_or(brief, |at| &brief[..at])
}

/// The lines around a place.
fn excerpt(source: &str, at: &Place) -> Option<Excerpt> {
    let first_line = at.line.saturating_sub(CONTEXT).max(1);
    let lines = source.split('\n').map(|it| it.trim_end_matches('\r'));
    let shown = lines.skip(first_line as usize - 1);
    let nth = (at.line - first_line) as usize;
    let mut shown: Vec<&str> = shown.take(nth + CONTEXT as usize + 1).collect();
    let meant = *shown.get(nth)?;
    // What is after the last line end is shown only if it is meant.
    while shown.len() > nth + 1 && shown.last().is_some_and(|it| it.is_empty()) {
        shown.pop();
    }
    if shown.iter().any(|it| it.len() > MAX_LINE) {
        return None;
    }
    let rest = meant.chars().skip(at.column.saturating_sub(1) as usize);
    let word = rest.take_while(|it| it.is_alphanumeric() || *it == '_').count();
    let width = u32::try_from(word).unwrap_or(u32::MAX).max(1);
    let lines = shown.into_iter().map(str::to_owned).collect();
    Some(Excerpt { first_line, lines, width })
}
