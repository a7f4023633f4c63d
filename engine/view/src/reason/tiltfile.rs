//! Why a Tiltfile is in its state.

use engine_core::tiltfile::{MAIN, Run, Tiltfile};
use engine_model::{Excerpt, Report};

use super::{FirstError, Reason, State, first_line};

pub(super) fn of(tiltfile: &Tiltfile) -> Reason {
    let name = &*tiltfile.name;
    if let Some(run) = &tiltfile.current {
        return Reason::new(name, State::Updating, "loading").since(Some(run.started));
    }
    let Some(run) = &tiltfile.last else {
        return Reason::new(name, State::Waiting, "not loaded yet");
    };
    match (&run.error, &run.report) {
        (None, _) => Reason::new(name, State::Ok, "loaded").since(run.ended),
        (Some(_), Some(report)) => of_report(name, run, report),
        (Some(error), None) => {
            let failed = Reason::new(name, State::Failed, first_line(error)).since(run.ended);
            failed.detail(error.trim_end()).way_out(load_again(name))
        }
    }
}

fn of_report(name: &str, run: &Run, report: &Report) -> Reason {
    let mut failed = Reason::new(name, State::Failed, report.headline.as_str()).since(run.ended);
    failed.detail.clone_from(&report.more);
    if let (Some(excerpt), Some(place)) = (&report.excerpt, &report.place) {
        failed.detail.extend(quoted(excerpt, place.line, place.column));
    }
    failed.detail.extend(report.stack.iter().map(|it| {
        let place = it.place.as_ref().map_or(String::new(), |it| format!(" at {it}"));
        format!("called from {}{place}", it.function)
    }));
    let help = report.help.as_ref().map_or(String::new(), |it| {
        let end = if it.ends_with('?') { "" } else { ";" };
        format!("{it}{end} ")
    });
    failed = failed.way_out(format!("{help}{}", load_again(name)));
    failed.place.clone_from(&report.place);
    let message = failed.headline.clone();
    failed.first_error = report.place.clone().map(|place| FirstError { place, message });
    failed.report = Some(Box::new(report.clone()));
    failed
}

fn load_again(name: &str) -> &'static str {
    if name == MAIN {
        "fix the Tiltfile; saving it loads it again"
    } else {
        "fix the extension; saving it loads it again"
    }
}

/// The lines of an excerpt with their numbers, and below the one that is meant a mark for its place.
fn quoted(excerpt: &Excerpt, line: u32, column: u32) -> Vec<String> {
    let numbers = excerpt.first_line..;
    let width = (excerpt.first_line as usize + excerpt.lines.len()).to_string().len();
    let mut quoted = Vec::new();
    for (number, text) in numbers.zip(&excerpt.lines) {
        quoted.push(format!("{number:>width$} │ {text}").trim_end().to_owned());
        if number == line {
            let before = text.chars().take(column.saturating_sub(1) as usize);
            let blank: String = before.map(|it| if it == '\t' { it } else { ' ' }).collect();
            let mark = "^".repeat(excerpt.width as usize);
            quoted.push(format!("{:>width$} │ {blank}{mark}", ""));
        }
    }
    quoted
}
