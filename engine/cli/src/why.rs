//! `why`: explains why a resource last ran or what it waits for, down to the root cause.

use clap::Args;
use serde_json::Value;

use super::{
    Printer,
    client::{WebClient, escape},
    connect::ConnectFlags,
    failure::Failure,
    names, when,
};

/// Explain why a resource ran, is waiting, or is failing.
///
/// The first line says what state the resource is in, and why. Below is the chain of causes, down to
/// its origin: a changed file, a trigger, or the start.
#[derive(Debug, Args)]
pub struct WhyFlags {
    /// The resource
    #[arg(required = true, value_name = "RESOURCE")]
    resource: String,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &WhyFlags, printer: Printer) -> Result<(), Failure> {
    let path = format!("explain/{}", escape(&flags.resource));
    let found = WebClient::new(&flags.connect)?.find(&path, "why")?;
    let answer = found.ok_or_else(|| names::not_known(&flags.resource, &flags.connect))?;
    if flags.json {
        printer.out(&format!("{answer:#}\n"));
    } else {
        printer.out(&text(&answer));
    }
    Ok(())
}

/// The answer in words: the reason first, then what led to the last run and to the next one.
fn text(answer: &Value) -> String {
    let kept = items(&answer["kept"]).iter();
    let kept = kept.map(|it| format!("changed by others, kept as is: {}", str_of(it)));
    let mut out = Outline(reason_text(&answer["resource"], &answer["reason"], kept));
    if !answer["pending"].is_null() {
        out.line(1, &format!("wants to run: {}", str_of(&answer["pending"]["reason"])));
        out.causes(2, &answer["pending"]);
    }
    if !answer["lastRun"].is_null() {
        let verb = if answer["running"] == true { "running since" } else { "last ran at" };
        out.run(1, verb, &answer["lastRun"]);
    }
    out.0
}

/// The reason of a resource, if an engine has one.
pub(crate) fn read(resource: &str, connect: &ConnectFlags) -> Option<Value> {
    let mut answer = WebClient::new(connect).ok()?.read("reasons", "reasons").ok()??;
    let reasons = answer["reasons"].as_array_mut()?;
    let at = reasons.iter().position(|it| it["resource"] == resource)?;
    Some(reasons.swap_remove(at))
}

/// A reason in words, with more details: the headline after the name of the resource, and a line for all the rest each.
pub(crate) fn reason_text(
    resource: &Value,
    reason: &Value,
    more: impl Iterator<Item = String>,
) -> String {
    let mut out = Outline::default();
    out.line(0, &format!("{}: {}", str_of(resource), str_of(&reason["headline"])));
    let details = items(&reason["detail"]).iter().map(|it| str_of(it).to_owned());
    let since = reason["since"].as_str().map(|it| format!("since {}", when::when(it)));
    let way_out = reason["wayOut"].as_str().map(|it| format!("to do: {it}"));
    for line in details.chain(more).chain(since).chain(way_out) {
        out.line(1, &line);
    }
    out.0
}

/// Lines that are indented by what they explain.
#[derive(Default)]
struct Outline(String);

impl Outline {
    fn line(&mut self, depth: usize, text: &str) {
        self.0.push_str(&format!("{}{text}\n", "  ".repeat(depth)));
    }

    fn run(&mut self, depth: usize, verb: &str, run: &Value) {
        let error = match run["error"].as_str().map(str::trim) {
            None => String::new(),
            // The reason says it.
            Some(it) if it.contains('\n') => ", and failed".to_owned(),
            Some(it) => format!(", and failed: {it}"),
        };
        let (at, reason) = (when::when(str_of(&run["startedAt"])), str_of(&run["reason"]));
        self.line(depth, &format!("{verb} {at}: {reason}{error}"));
        self.causes(depth + 1, run);
    }

    /// What led to a run. It ran because of something only if nothing else asked for it.
    fn causes(&mut self, depth: usize, run: &Value) {
        let because = if run["isOnlyReason"] == false { "also: " } else { "because " };
        for file in items(&run["configFiles"]) {
            self.line(depth, &format!("{because}{} changed the Tiltfile's result", str_of(file)));
        }
        if let Some(more) = run["moreConfigFiles"].as_u64() {
            let more = format!("{because}{more} more files changed the Tiltfile's result");
            self.line(depth, &more);
        }
        for file in items(&run["files"]) {
            // The Tiltfile's own runs list plain paths.
            let path = file.as_str().unwrap_or_else(|| str_of(&file["path"]));
            self.line(depth, &format!("{because}{path} changed"));
            self.during(depth + 1, items(&file["during"]));
        }
        if let Some(more) = run["moreFiles"].as_u64() {
            self.line(depth, &format!("{because}{more} more files changed"));
        }
        let dep = &run["waitedFor"];
        if let Some(resource) = dep["resource"].as_str() {
            self.line(depth, &format!("after {resource} became ready"));
            if !dep["run"].is_null() {
                self.run(depth + 1, &format!("{resource} ran at"), &dep["run"]);
            }
        }
    }

    /// The updates that were running when a file changed.
    fn during(&mut self, depth: usize, updates: &[Value]) {
        let names: Vec<&str> = updates.iter().map(|it| str_of(&it["resource"])).collect();
        match names.as_slice() {
            [] => return,
            [name] => self.line(depth, &format!("while {name} was updating")),
            [first @ .., last] => {
                let first = first.join(", ");
                self.line(depth, &format!("while {first} and {last} were updating"));
            }
        }
        for update in updates.iter().filter(|it| !it["run"].is_null()) {
            let verb = format!("{} ran at", str_of(&update["resource"]));
            self.run(depth + 1, &verb, &update["run"]);
        }
    }
}

fn str_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(answer: &Value, expected: &Expect) {
        expected.assert_eq(&text(answer));
    }

    #[test]
    fn a_chain_of_causes_ends_with_the_file_that_changed() {
        check(
            &json!({
                "resource": "app", "reason": {"headline": "ready"},
                "lastRun": {
                    "startedAt": "T3", "reason": "Changed Files", "isOnlyReason": true,
                    "files": [{"path": "/w/gen.go", "during": [{"resource": "gen", "run": {
                        "startedAt": "T2", "reason": "Changed Files", "isOnlyReason": true,
                        "files": [{"path": "/w/api.proto", "during": []}],
                    }}]}],
                },
            }),
            &expect![[r#"
                app: ready
                  last ran at T3: Changed Files
                    because /w/gen.go changed
                      while gen was updating
                        gen ran at T2: Changed Files
                          because /w/api.proto changed
            "#]],
        );
    }

    #[test]
    fn the_reason_comes_first_with_what_to_do() {
        check(
            &json!({
                "resource": "web",
                "reason": {
                    "headline": "server exited after 1.0 s: exit status 2", "since": "T",
                    "detail": ["last output: panic: cannot bind"],
                    "wayOut": "`engine trigger web` starts it again",
                },
                "kept": ["Deployment/api in shop spec.replicas: is 3, the Tiltfile says 1"],
                "lastRun": {"startedAt": "T", "reason": "Initial Build", "isOnlyReason": true},
            }),
            &expect![[r#"
                web: server exited after 1.0 s: exit status 2
                  last output: panic: cannot bind
                  changed by others, kept as is: Deployment/api in shop spec.replicas: is 3, the Tiltfile says 1
                  since T
                  to do: `engine trigger web` starts it again
                  last ran at T: Initial Build
            "#]],
        );
    }

    #[test]
    fn files_that_are_not_listed_are_counted() {
        check(
            &json!({
                "resource": "app", "reason": {"headline": "ready"},
                "lastRun": {
                    "startedAt": "T", "reason": "Changed Files", "isOnlyReason": true,
                    "files": [{"path": "/w/a"}], "moreFiles": 99_000,
                },
            }),
            &expect![[r#"
                app: ready
                  last ran at T: Changed Files
                    because /w/a changed
                    because 99000 more files changed
            "#]],
        );
    }

    #[test]
    fn nothing_is_the_cause_of_a_run_that_something_else_asked_for() {
        check(
            &json!({
                "resource": "tests",
                "reason": {"headline": "waiting for db: server is not ready"},
                "pending": {
                    "reason": "Changed Files | CLI Trigger", "isOnlyReason": false,
                    "files": [{"path": "/w/a", "during": [
                        {"resource": "gen", "run": null}, {"resource": "lib", "run": null},
                    ]}],
                },
                "lastRun": {
                    "startedAt": "T2", "reason": "Initial Build", "isOnlyReason": true,
                    "waitedFor": {"resource": "db", "update": 1, "run": {
                        "startedAt": "T1", "reason": "Initial Build", "isOnlyReason": true,
                    }},
                },
            }),
            &expect![[r#"
                tests: waiting for db: server is not ready
                  wants to run: Changed Files | CLI Trigger
                    also: /w/a changed
                      while gen and lib were updating
                  last ran at T2: Initial Build
                    after db became ready
                      db ran at T1: Initial Build
            "#]],
        );
    }
}
