//! Prints why a Tiltfile failed: as a report with source lines for people, as JSON for programs.
//!
//! Tilt's message and traceback stand on lines of their own, never wrapped, so that scripts can search for them.

use std::{
    fmt::{self, Write},
    io::IsTerminal,
};

use builtins::diagnostic::{Failure, Problem};
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError,
    MietteSpanContents, NamedSource, SourceCode, SourceSpan, SpanContents,
};
use serde_json::{Value, json};

/// Sources with longer lines are not quoted.
const MAX_LINE: usize = 2_000;

/// The report as text for stderr: Tilt's message, then the location and help, then further errors.
pub(crate) fn for_people(failure: &Failure) -> String {
    format!("{}\n{}", failure.text, excerpts_for_stderr(failure))
}

/// What the report has to say on stderr after Tilt's message.
pub(crate) fn excerpts_for_stderr(failure: &Failure) -> String {
    let is_colored = std::env::var_os("NO_COLOR").is_none() && std::io::stderr().is_terminal();
    excerpts(failure, is_colored)
}

/// What the report has to say after Tilt's message: the location and help, then further errors.
pub(crate) fn excerpts(failure: &Failure, is_colored: bool) -> String {
    let theme =
        if is_colored { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_wrap_lines(false)
        .with_context_lines(2)
        .without_syntax_highlighting();
    let mut text = String::new();
    for (index, problem) in failure.problems.iter().enumerate() {
        let view = View::new(failure, problem, index == 0);
        if view.says_nothing_new() {
            continue;
        }
        text.push('\n');
        if handler.render_report(&mut text, &view).is_err() {
            let _ = writeln!(text, "{}", problem.message);
        }
    }
    text
}

/// The report as JSON.
pub(crate) fn machine_readable(failure: &Failure) -> Value {
    let problems: Vec<Value> = failure
        .problems
        .iter()
        .map(|problem| {
            json!({
                "code": problem.code,
                "message": problem.message,
                "help": problem.help,
                "location": problem.location.as_ref().map(|at| json!({
                    "path": at.file, "line": at.line, "column": at.column,
                })),
            })
        })
        .collect();
    let frames: Vec<Value> = failure
        .frames
        .iter()
        .map(|it| json!({"path": it.path, "line": it.line, "column": it.col, "function": it.function}))
        .collect();
    json!({"Error": {"text": failure.text, "problems": problems, "frames": frames}})
}

/// A problem as miette wants to see it.
#[derive(Debug)]
struct View<'a> {
    problem: &'a Problem,
    /// Whether the message was printed already.
    is_first: bool,
    source: Option<Source>,
    labels: Vec<LabeledSpan>,
}

impl<'a> View<'a> {
    fn new(failure: &Failure, problem: &'a Problem, is_first: bool) -> Self {
        let mut view = Self { problem, is_first, source: None, labels: Vec::new() };
        let Some(at) = &problem.location else { return view };
        let Some(text) = failure.sources.get(&at.file) else { return view };
        if text.lines().any(|line| line.len() > MAX_LINE) {
            return view;
        }
        view.source = Some(Source(NamedSource::new(&at.file, text.clone())));
        view.labels.push(LabeledSpan::new_primary_with_span(
            Some("here".to_owned()),
            offset(text, at.line, at.column),
        ));
        let callers =
            failure.frames.iter().rev().skip(1).filter(|it| it.path.as_ref() == Some(&at.file));
        for caller in callers.take(8).filter(|it| it.line != at.line) {
            view.labels.push(LabeledSpan::new_with_span(
                Some(format!("called from {}", caller.function)),
                offset(text, caller.line, caller.col),
            ));
        }
        view
    }

    /// Whether there is neither a place nor advice beside a message that was printed already.
    fn says_nothing_new(&self) -> bool {
        self.is_first && self.source.is_none() && self.problem.help.is_none()
    }
}

/// A file of which places far from each other are shown apart.
///
/// Places are shown together if the lines around them touch. miette's own sources count these lines from the beginning of
/// the file, and so it would show all that is between a function and its caller.
#[derive(Debug)]
struct Source(NamedSource<String>);

impl SourceCode for Source {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let read = self.0.read_span(span, before, after)?;
        let lines = String::from_utf8_lossy(read.data()).lines().count();
        Ok(Box::new(MietteSpanContents::new_named(
            self.0.name().to_owned(),
            read.data(),
            *read.span(),
            read.line(),
            read.column(),
            lines,
        )))
    }
}

/// The byte offset of a position; columns count characters.
fn offset(text: &str, line: u32, column: u32) -> usize {
    let mut start = 0;
    for _ in 1..line {
        match text[start..].find('\n') {
            Some(at) => start += at + 1,
            None => return text.len(),
        }
    }
    let rest = text[start..].split('\n').next().unwrap_or_default();
    let chars = (column as usize).saturating_sub(1);
    start + rest.char_indices().nth(chars).map_or(rest.len(), |(at, _)| at)
}

impl fmt::Display for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.problem.gist.title {
            _ if !self.is_first => &self.problem.message,
            Some(title) => title,
            None if self.source.is_some() => "this call is the cause",
            None => "the Tiltfile has a problem",
        })
    }
}

impl std::error::Error for View<'_> {}

impl Diagnostic for View<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.problem.code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.problem.help.as_ref().map(|it| Box::new(it) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|it| it as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        (!self.labels.is_empty())
            .then(|| Box::new(self.labels.iter().cloned()) as Box<dyn Iterator<Item = LabeledSpan>>)
    }
}

#[cfg(test)]
mod tests {
    use builtins::diagnostic::{Failure, Place, Problem};

    use super::{for_people, offset};

    #[test]
    fn positions_become_byte_offsets() {
        let text = "a = 1\né = b(\n";
        for (line, column, want) in
            [(1, 1, 0), (1, 5, 4), (2, 1, 6), (2, 2, 8), (2, 99, 13), (9, 1, 14)]
        {
            assert_eq!(offset(text, line, column), want, "{line}:{column}");
        }
    }
    #[test]
    fn what_is_between_a_function_and_its_caller_is_not_shown() {
        let mut lines: Vec<String> = (1..=90).map(|line| format!("x = {line}")).collect();
        lines[49] = "    fail('no')".to_owned();
        lines[84] = "f()".to_owned();
        let frame = |line, col, function: &str| builtins::diagnostic::Frame {
            path: Some("/Tiltfile".to_owned()),
            line,
            col,
            function: function.to_owned(),
        };
        let at = Place { file: "/Tiltfile".to_owned(), line: 50, column: 9 };
        let failure = Failure {
            text: "no".to_owned(),
            frames: vec![frame(85, 2, "<toplevel>"), frame(50, 9, "f")],
            problems: vec![Problem::new("tiltfile::evaluation", "no").at(at)],
            sources: [("/Tiltfile".to_owned(), lines.join("\n"))].into(),
            dir: "/".to_owned(),
        };
        let text = for_people(&failure);
        for (part, shown) in [
            ("/Tiltfile:50:9]", true),
            ("/Tiltfile:85:2]", true),
            ("called from <toplevel>", true),
            ("x = 52", true),
            ("x = 53", false),
            ("x = 82", false),
            ("x = 83", true),
        ] {
            assert_eq!(text.contains(part), shown, "{part} in\n{text}");
        }
    }
}
