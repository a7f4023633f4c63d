//! `why`: explains why a resource last ran or what it waits for, down to the root cause.

use clap::Args;
use engine_formats::golang::quote::quote;
use serde_json::Value;

use super::{
    Printer,
    client::{WebClient, escape},
    connect::ConnectFlags,
    failure::Failure,
    when,
};

/// Say why a resource last ran, or what it waits for.
///
/// The answer is a chain of causes that ends with what happened outside: a file that somebody
/// changed, a trigger, the start.
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
    let name = escape(&flags.resource);
    let found = WebClient::new(&flags.connect)?.find(&format!("explain/{name}"))?;
    let body = found.ok_or_else(|| {
        let name = quote(&flags.resource);
        Failure::Command(format!(
            "there is no resource {name}; `engine get uiresource` lists those that there are"
        ))
    })?;
    let answer: Value = serde_json::from_slice(&body).map_err(|error| {
        Failure::Command(format!("the instance's answer makes no sense: {error}"))
    })?;
    if flags.json {
        printer.out(&format!("{answer:#}\n"));
    } else {
        printer.out(&text(&answer));
    }
    Ok(())
}

/// The answer in words.
fn text(answer: &Value) -> String {
    let mut out = Outline::default();
    let name = str_of(&answer["resource"]);
    let runtime =
        answer["runtimeStatus"].as_str().map_or(String::new(), |it| format!(", runtime {it}"));
    out.line(0, &format!("{name}: update {}{runtime}", str_of(&answer["updateStatus"])));
    out.server(&answer["server"]);
    if let Some(container) = answer["container"]["name"].as_str() {
        let container = &format!("{container} is {}", str_of(&answer["container"]["status"]));
        let health = answer["container"]["health"].as_str();
        let health = health.map_or(String::new(), |it| format!(", and {it}"));
        out.line(1, &format!("container {container}{health}"));
    }
    if let Some(pod) = answer["pod"]["name"].as_str() {
        let restarts = match answer["pod"]["restarts"].as_i64() {
            None | Some(0) => String::new(),
            Some(1) => ", was started again once".to_owned(),
            Some(n) => format!(", was started again {n} times"),
        };
        out.line(1, &format!("pod {pod} is {}{restarts}", str_of(&answer["pod"]["status"])));
        for error in items(&answer["pod"]["errors"]) {
            out.line(2, str_of(error));
        }
    }
    for kept in items(&answer["kept"]) {
        out.line(1, &format!("was changed by others, and stays: {}", str_of(kept)));
    }
    if let Some(error) = answer["runtimeError"].as_str() {
        out.line(1, &format!("does not run: {error}"));
    }
    if answer["disabled"] == true {
        out.line(1, &format!("is disabled; `engine enable {name}` switches it on"));
    }
    if !answer["pending"].is_null() {
        out.pending(&answer["pending"], name);
    }
    if !answer["hold"].is_null() {
        out.hold(1, &answer["hold"]);
    }
    if !answer["lastRun"].is_null() {
        let verb = if answer["running"] == true { "runs since" } else { "last ran at" };
        out.run(1, verb, &answer["lastRun"]);
    } else if answer["disabled"] != true && answer["pending"].is_null() {
        out.line(1, &format!("has never run; `engine trigger {name}` runs it"));
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

    fn server(&mut self, server: &Value) {
        if let Some(probe) = server["probeError"].as_str() {
            let says = probe.lines().next().map_or(String::new(), |it| format!(": {it}"));
            self.line(1, &format!("server is not ready: its readiness probe fails{says}"));
        }
        let Some(code) = server["exitCode"].as_i64() else { return };
        let how = match str_of(&server["reason"]) {
            "" => format!("exit status {code}"),
            reason => reason.to_owned(),
        };
        #[expect(clippy::cast_precision_loss, reason = "nobody needs the microseconds")]
        let after = server["ranForMicros"]
            .as_i64()
            .map_or(String::new(), |it| format!(" after {:.1} s", it as f64 / 1e6));
        self.line(1, &format!("server exited{after}: {how}"));
        if let Some(line) = server["lastLine"].as_str().filter(|it| !it.is_empty()) {
            self.line(2, &format!("last output: {line}"));
        }
    }

    fn run(&mut self, depth: usize, verb: &str, run: &Value) {
        let error = run["error"].as_str().map_or(String::new(), |it| format!(", and failed: {it}"));
        let reason = str_of(&run["reason"]);
        self.line(
            depth,
            &format!("{verb} {}: {reason}{error}", when::when(str_of(&run["startedAt"]))),
        );
        self.causes(depth + 1, run);
    }

    fn causes(&mut self, depth: usize, run: &Value) {
        for file in items(&run["configFiles"]) {
            self.line(depth, &format!("because {} changed what the Tiltfile says", str_of(file)));
        }
        if let Some(more) = run["moreConfigFiles"].as_u64() {
            self.line(depth, &format!("because {more} more files changed what the Tiltfile says"));
        }
        for file in items(&run["files"]) {
            // The Tiltfile's own runs list plain paths.
            let path = file.as_str().unwrap_or_else(|| str_of(&file["path"]));
            self.line(depth, &format!("because {path} changed"));
            let during = &file["during"];
            if let Some(resource) = during["resource"].as_str() {
                self.line(depth + 1, &format!("while {resource} was updating"));
                if !during["lastRun"].is_null() {
                    self.run(depth + 2, "which ran at", &during["lastRun"]);
                }
            }
        }
        if let Some(more) = run["moreFiles"].as_u64() {
            self.line(depth, &format!("because {more} more files changed"));
        }
        let dep = &run["waitedFor"];
        if let Some(resource) = dep["resource"].as_str() {
            self.line(depth, &format!("after {resource} became ready"));
            if !dep["lastRun"].is_null() {
                self.run(depth + 1, "which ran at", &dep["lastRun"]);
            }
        }
    }

    fn pending(&mut self, pending: &Value, name: &str) {
        self.line(1, &format!("wants to run: {}", str_of(&pending["reason"])));
        self.causes(2, pending);
        if pending["needsTrigger"] == true {
            self.line(2, &format!("is updated by hand; `engine trigger {name}` applies it"));
        }
    }

    fn hold(&mut self, depth: usize, hold: &Value) {
        let words = match str_of(&hold["reason"]) {
            "waiting-for-dep" => "waits for a dependency to be ready".to_owned(),
            "waiting-for-local" => "waits for a local resource that runs alone".to_owned(),
            "is-unparallelizable-local" => {
                "runs alone, and waits for the updates that are running".to_owned()
            }
            "tiltfile-reload" => "waits for the Tiltfile to be loaded".to_owned(),
            "waiting-for-cluster" => "waits for a cluster that can be used".to_owned(),
            "rebuild-loop" => format!(
                "is held, because its updates keep causing each other: {} changes each time; any other change, or a trigger, lifts this",
                str_of(&hold["file"])
            ),
            other => format!("waits: {other}"),
        };
        self.line(depth, &words);
        for on in items(&hold["on"]) {
            let name = ["resource", "image", "cluster"].iter().find_map(|it| on[*it].as_str());
            let Some(name) = name else { continue };
            let status =
                on["updateStatus"].as_str().map_or(String::new(), |it| format!(" (update {it})"));
            self.line(depth + 1, &format!("{name}{status}"));
            if let Some(error) = on["error"].as_str() {
                let words = if on["cluster"].is_null() { "last failed: " } else { "" };
                self.line(depth + 2, &format!("{words}{error}"));
            }
            if on["disabled"] == true {
                self.line(
                    depth + 2,
                    &format!("is disabled; `engine enable {name}` switches it on"),
                );
            } else if on["needsTrigger"] == true {
                self.line(
                    depth + 2,
                    &format!(
                        "never ran, and runs only when triggered; `engine trigger {name}` runs it"
                    ),
                );
            }
            if !on["hold"].is_null() {
                self.hold(depth + 2, &on["hold"]);
            }
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
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_chain_of_causes_ends_with_the_file_that_changed() {
        let answer = json!({
            "resource": "app", "updateStatus": "ok", "runtimeStatus": "ok",
            "lastRun": {
                "startedAt": "T3", "reason": "Changed Files",
                "files": [{"path": "/w/gen.go", "during": {"resource": "gen", "lastRun": {
                    "startedAt": "T2", "reason": "Changed Files", "files": [{"path": "/w/api.proto"}],
                }}}],
            },
        });
        expect![[r#"
            app: update ok, runtime ok
              last ran at T3: Changed Files
                because /w/gen.go changed
                  while gen was updating
                    which ran at T2: Changed Files
                      because /w/api.proto changed
        "#]]
        .assert_eq(&text(&answer));
    }

    #[test]
    fn a_server_that_does_not_serve_says_why() {
        let answer = json!({
            "resource": "web", "updateStatus": "not_applicable", "runtimeStatus": "error",
            "server": {
                "exitCode": 2, "reason": "exit status 2", "ranForMicros": 1_040_000,
                "lastLine": "panic: cannot bind",
            },
            "lastRun": {"startedAt": "T", "reason": "Initial Build"},
        });
        expect![[r#"
            web: update not_applicable, runtime error
              server exited after 1.0 s: exit status 2
                last output: panic: cannot bind
              last ran at T: Initial Build
        "#]]
        .assert_eq(&text(&answer));
        let answer = json!({
            "resource": "web", "updateStatus": "not_applicable", "runtimeStatus": "pending",
            "server": {"probeError": "dial tcp 127.0.0.1:80: connect: connection refused"},
        });
        expect![[r#"
            web: update not_applicable, runtime pending
              server is not ready: its readiness probe fails: dial tcp 127.0.0.1:80: connect: connection refused
              has never run; `engine trigger web` runs it
        "#]].assert_eq(&text(&answer));
    }

    #[test]
    fn files_that_are_not_listed_are_counted() {
        let answer = json!({
            "resource": "app", "updateStatus": "ok",
            "lastRun": {
                "startedAt": "T", "reason": "Changed Files",
                "files": [{"path": "/w/a"}], "moreFiles": 99_000,
            },
        });
        expect![[r#"
            app: update ok
              last ran at T: Changed Files
                because /w/a changed
                because 99000 more files changed
        "#]]
        .assert_eq(&text(&answer));
    }

    #[test]
    fn a_service_says_how_its_container_does_and_what_docker_lacks() {
        let answer = json!({
            "resource": "db", "updateStatus": "pending", "runtimeStatus": "error",
            "container": {"name": "shop-db-1", "status": "exited", "health": null},
            "runtimeError": "Container abc exited with 3",
            "pending": {"reason": "Changed Files", "files": [{"path": "/w/a"}]},
            "hold": {"reason": "waiting-for-cluster", "on": [
                {"cluster": "docker", "error": "Docker is not running at unix:///s"},
            ]},
        });
        expect![[r#"
            db: update pending, runtime error
              container shop-db-1 is exited
              does not run: Container abc exited with 3
              wants to run: Changed Files
                because /w/a changed
              waits for a cluster that can be used
                docker
                  Docker is not running at unix:///s
        "#]]
        .assert_eq(&text(&answer));
    }

    #[test]
    fn a_pod_says_how_it_does_and_what_others_changed() {
        let answer = json!({
            "resource": "api", "updateStatus": "ok", "runtimeStatus": "pending",
            "pod": {
                "name": "api-1", "status": "CrashLoopBackOff", "restarts": 2,
                "errors": ["back-off 10s restarting failed container"],
            },
            "kept": ["Deployment/api in shop spec.replicas: is 3, the Tiltfile says 1"],
            "lastRun": {"startedAt": "T", "reason": "Initial Build"},
        });
        expect![[r#"
            api: update ok, runtime pending
              pod api-1 is CrashLoopBackOff, was started again 2 times
                back-off 10s restarting failed container
              was changed by others, and stays: Deployment/api in shop spec.replicas: is 3, the Tiltfile says 1
              last ran at T: Initial Build
        "#]]
        .assert_eq(&text(&answer));
    }

    #[test]
    fn what_it_waits_for_is_followed_to_what_can_be_done() {
        let answer = json!({
            "resource": "e2e", "updateStatus": "pending",
            "pending": {"reason": "CLI Trigger", "needsTrigger": false},
            "hold": {"reason": "waiting-for-dep", "on": [
                {"resource": "install", "updateStatus": "none", "needsTrigger": true},
            ]},
        });
        expect![[r#"
            e2e: update pending
              wants to run: CLI Trigger
              waits for a dependency to be ready
                install (update none)
                  never ran, and runs only when triggered; `engine trigger install` runs it
        "#]]
        .assert_eq(&text(&answer));
    }
}
