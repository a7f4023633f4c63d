//! What `ci` says in the end: what failed and with which last lines, what took longest, and how many are well.

use std::{env, path::Path};

use engine_api::{Kind, Store};
use engine_core::Time;
use engine_view::reason::{Reason, State, duration};
use jiff::Timestamp;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::{
    logs::{self, LogStore},
    runtime::{self, ReasonTable},
};

/// So many resources are explained.
const MAX_RESOURCES: usize = 20;
/// So many of its last lines are shown for each.
const MAX_LINES: usize = 10;
/// So many of the slowest updates are listed.
const MAX_SLOW: usize = 5;

/// How everything was when `ci` ended.
pub(super) struct Summary {
    reasons: Vec<Reason>,
    /// How long the last update of each resource took, in microseconds.
    updates: Vec<(String, i64)>,
    /// How long all of it took.
    took: i64,
}

impl Summary {
    /// What can be said now.
    pub(super) fn new(table: &ReasonTable, store: &Store, started: Time) -> Self {
        let objects = store.list(Kind::UiResource);
        let took = |it: &Value| Some(micros(&it["finishTime"])? - micros(&it["startTime"])?);
        let updates = objects
            .iter()
            .filter_map(|it| Some((it.name().to_owned(), took(&it.status()["buildHistory"][0])?)));
        Self {
            reasons: table.all(),
            updates: updates.collect(),
            took: runtime::now().micros_since(started),
        }
    }

    /// The text for the terminal; the log has the last lines.
    pub(super) fn text(&self, logs: &LogStore, is_colored: bool) -> String {
        let mut text = self.render(&|name| logs::last_lines(logs, name, MAX_LINES), is_colored);
        if env::var("GITHUB_ACTIONS").is_ok_and(|it| it == "true") {
            let root = env::var("GITHUB_WORKSPACE").unwrap_or_default();
            text.extend(self.culprits().iter().filter_map(|it| annotation(it, &root)));
        }
        text
    }

    fn render(&self, last_lines: &dyn Fn(&str) -> Vec<String>, is_colored: bool) -> String {
        let mut out = "\n".to_owned();
        let culprits = self.culprits();
        for reason in culprits.iter().take(MAX_RESOURCES) {
            let (sign, color) =
                if reason.state == State::Failed { ("✖", 31) } else { ("…", 33) };
            let Reason { resource, headline, .. } = reason;
            let name = format!("{sign} {resource}");
            let name = if is_colored { format!("\x1b[{color}m{name}\x1b[0m") } else { name };
            out.push_str(&format!("{name}: {headline}\n"));
            for line in lines_of(reason, last_lines).iter().filter(|it| *it != headline) {
                out.push_str(format!("    {line}").trim_end());
                out.push('\n');
            }
        }
        if culprits.len() > MAX_RESOURCES {
            out.push_str(&format!("and {} more\n", culprits.len() - MAX_RESOURCES));
        }
        out.push_str(&self.slowest());
        out.push_str(&self.totals());
        out
    }

    /// What has failed; if nothing has, whatever is not done.
    fn culprits(&self) -> Vec<&Reason> {
        let of = |is: fn(State) -> bool| self.reasons.iter().filter(move |it| is(it.state));
        let failed: Vec<&Reason> = of(|it| it == State::Failed).collect();
        if failed.is_empty() { of(State::is_open).collect() } else { failed }
    }

    fn slowest(&self) -> String {
        let mut updates: Vec<&(String, i64)> = self.updates.iter().collect();
        updates.sort_by_key(|(name, took)| (std::cmp::Reverse(*took), name));
        updates.truncate(MAX_SLOW);
        let rows: Vec<(String, &str)> =
            updates.iter().map(|(name, took)| (duration(*took), name.as_str())).collect();
        let width = rows.iter().map(|it| it.0.width()).max().unwrap_or_default();
        let rows = rows.iter().map(|(took, name)| format!("  {took:>width$}  {name}\n"));
        if updates.is_empty() {
            String::new()
        } else {
            format!("Slowest updates\n{}", rows.collect::<String>())
        }
    }

    /// How many are in which state. A Tiltfile counts only if it failed.
    fn totals(&self) -> String {
        let groups: [(&str, fn(State) -> bool); 5] = [
            ("failed", |it| it == State::Failed),
            ("pending", |it| it != State::Failed && it.is_open()),
            ("ok", |it| it == State::Ok),
            ("not started", |it| it == State::Idle),
            ("disabled", |it| it == State::Disabled),
        ];
        let counted = self.reasons.iter().filter(|it| !it.is_tiltfile || it.state == State::Failed);
        let states: Vec<State> = counted.map(|it| it.state).collect();
        let count = |is: fn(State) -> bool| states.iter().filter(|it| is(**it)).count();
        let groups = groups.map(|(word, is)| (count(is), word));
        let mut parts: Vec<String> =
            groups.iter().filter(|it| it.0 > 0).map(|(n, word)| format!("{n} {word}")).collect();
        parts.push(duration(self.took));
        format!("{}\n", parts.join(" · "))
    }
}

/// A failure with a place, so that GitHub shows it there.
fn annotation(reason: &Reason, root: &str) -> Option<String> {
    let place = reason.place.as_ref()?;
    let message = format!("{}: {}", reason.resource, reason.headline);
    Some(github_error(Path::new(&place.file), place.line.into(), &message, root))
}

/// An error in GitHub's words; paths are relative to the root of the repository.
fn github_error(file: &Path, line: u64, message: &str, root: &str) -> String {
    let escaped = |it: &str| it.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let file = escaped(&file.strip_prefix(root).unwrap_or(file).to_string_lossy());
    let file = file.replace(':', "%3A").replace(',', "%2C");
    format!("::error file={file},line={line}::{}\n", escaped(message))
}

/// A time of the API, in microseconds.
fn micros(time: &Value) -> Option<i64> {
    Some(time.as_str()?.parse::<Timestamp>().ok()?.as_microsecond())
}

/// What explains a reason further: what was printed last, or what is known. A Tiltfile prints before it fails.
fn lines_of(reason: &Reason, last_lines: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
    let lines = match reason.state {
        State::Failed | State::NotReady if !reason.is_tiltfile => last_lines(&reason.resource),
        _ => Vec::new(),
    };
    if lines.is_empty() { reason.detail.clone() } else { lines }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn summary(reasons: &[(&str, State, &str)], updates: &[(&str, i64)]) -> Summary {
        Summary {
            reasons: reasons.iter().map(|it| Reason::new(it.0, it.1, it.2)).collect(),
            updates: updates.iter().map(|it| (it.0.to_owned(), it.1)).collect(),
            took: 14_200_000,
        }
    }

    fn check(summary: &Summary, is_colored: bool, expected: &Expect) {
        let lines = |name: &str| vec![format!("--- FAIL: {name}"), "FAIL".to_owned()];
        expected.assert_eq(&summary.render(&lines, is_colored));
    }

    #[test]
    fn failures_come_with_their_last_lines_and_then_the_slowest_updates() {
        let failing = summary(
            &[
                ("lint", State::Ok, "up to date"),
                ("tests", State::Failed, "`go test` failed: exit status 1"),
                ("e2e", State::Waiting, "waiting for tests: `go test` failed: exit status 1"),
                ("load", State::Idle, "not started: starts when it is triggered"),
                ("old", State::Disabled, "disabled"),
            ],
            &[
                ("a", 1_000),
                ("b", 61_000_000),
                ("c", 5),
                ("d", 9_900_000),
                ("e", 2_000),
                ("f", 2_000),
            ],
        );
        check(
            &failing,
            false,
            &expect![[r"

            ✖ tests: `go test` failed: exit status 1
                --- FAIL: tests
                FAIL
            Slowest updates
              1 min 1 s  b
                  9.9 s  d
                   2 ms  e
                   2 ms  f
                   1 ms  a
            1 failed · 1 pending · 1 ok · 1 not started · 1 disabled · 14.2 s
        "]],
        );
        let colored = summary(&[("tests", State::Failed, "no")], &[]).render(&|_| Vec::new(), true);
        assert_eq!(colored, "\n\u{1b}[31m✖ tests\u{1b}[0m: no\n1 failed · 14.2 s\n");
    }

    #[test]
    fn what_is_not_done_is_to_blame_if_nothing_failed() {
        let late = [
            (
                "db",
                State::NotReady,
                "server is not ready: its readiness probe (TCP port 1) fails: no",
            ),
            ("web", State::Waiting, "waiting for db"),
        ];
        check(
            &summary(&late, &[]),
            false,
            &expect![[r"

            … db: server is not ready: its readiness probe (TCP port 1) fails: no
                --- FAIL: db
                FAIL
            … web: waiting for db
            2 pending · 14.2 s
        "]],
        );
        check(
            &summary(&[("web", State::Ok, "ready")], &[("web", 900)]),
            false,
            &expect![[r"

            Slowest updates
              0 ms  web
            1 ok · 14.2 s
        "]],
        );
    }

    #[test]
    fn errors_for_github_name_files_of_the_repository_and_escape_what_has_a_meaning() {
        for (file, root, expected) in [
            ("/repo/a/Tiltfile", "/repo", "::error file=a/Tiltfile,line=7::web: 100%25 wrong\n"),
            ("/else/a,b:c", "/repo", "::error file=/else/a%2Cb%3Ac,line=7::web: 100%25 wrong\n"),
        ] {
            assert_eq!(github_error(Path::new(file), 7, "web: 100% wrong", root), expected);
        }
    }

    #[test]
    fn many_failures_are_counted_and_a_tiltfile_explains_itself() {
        let names: Vec<String> = (0..22).map(|it| format!("r{it}")).collect();
        let many: Vec<_> = names.iter().map(|it| (it.as_str(), State::Failed, "no")).collect();
        assert!(summary(&many, &[]).render(&|_| Vec::new(), false).contains("\nand 2 more\n"));
        let mut broken = summary(&[("(Tiltfile)", State::Failed, "undefined: x")], &[]);
        broken.reasons[0].is_tiltfile = true;
        broken.reasons[0].detail = vec!["Tiltfile:1:1: undefined: x".to_owned()];
        check(
            &broken,
            false,
            &expect![[r"

            ✖ (Tiltfile): undefined: x
                Tiltfile:1:1: undefined: x
            1 failed · 14.2 s
        "]],
        );
    }
}
