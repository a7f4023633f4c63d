//! Errors of Tiltfiles: terminals show the lines around them with the way out; the log, and who calls `tilt`, get Tilt's
//! words only.

use std::{
    os::unix::process::CommandExt as _,
    process::{Command, Output},
};

use nix::sys::signal::Signal;

use crate::support::{Project, until};

const TILTFILE: &str = "# the servers\nlocal_resorce('web', serve_cmd='true')\n";

/// What the terminal shows below Tilt's words.
const EXCERPT: [&str; 4] = [
    "\n\ntiltfile::syntax\n\n  × undefined name\n",
    "\n 1 │ # the servers\n 2 │ local_resorce('web', serve_cmd='true')\n",
    "/Tiltfile:2:1]\n",
    "  help: did you mean `local_resource`?\n",
];

/// The same command, called through a link named `tilt`.
fn as_tilt(mut command: Command) -> Command {
    command.arg0("tilt");
    command
}

fn words(project: &Project) -> String {
    format!("{}:2:1: undefined: local_resorce\n", project.path("Tiltfile").display())
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it)).concat()
}

#[test]
fn ci_and_down_show_the_lines_around_an_error_unless_they_stand_in_for_tilt() {
    let project = Project::new(TILTFILE);
    for args in [["ci"], ["down"]] {
        let output = project.engine(&args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let shown = said(&output);
        assert!(shown.contains(&words(&project)), "{shown}");
        for part in EXCERPT {
            assert!(shown.contains(part), "{args:?} does not say {part:?}:\n{shown}");
        }
        let output = as_tilt(project.command(&args)).output().expect("it starts");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let shown = said(&output);
        assert!(shown.contains(&words(&project)), "{shown}");
        assert!(!shown.contains('×') && !shown.contains("did you mean"), "{shown}");
    }
}

#[test]
fn up_shows_the_lines_around_an_error_and_its_log_does_not() {
    let project = Project::new(TILTFILE);
    let instance = project.up();
    until("the excerpt", || project.log().contains(EXCERPT[3]).then_some(()));
    let shown = project.log();
    assert!(shown.contains(&format!("ERROR: {}", words(&project))), "{shown}");
    for part in EXCERPT {
        assert!(shown.contains(part), "{part:?} is not in:\n{shown}");
    }
    let logs = project.out(&["logs"]);
    assert!(logs.contains(&format!("ERROR: {}", words(&project))), "{logs}");
    assert!(!logs.contains('×') && !logs.contains("did you mean"), "{logs}");

    let why = project.json(&["why", "(Tiltfile)", "--json"]);
    let reason = &why["reason"];
    let headline = "Tiltfile:2:1: undefined: local_resorce (did you mean local_resource?)";
    assert_eq!(reason["headline"], headline);
    let file = project.path("Tiltfile").display().to_string();
    let place = serde_json::json!({"file": file, "line": 2, "column": 1});
    assert_eq!(reason["place"], place);
    assert_eq!(reason["firstError"]["line"], 2);
    assert_eq!(reason["firstError"]["message"], headline);
    let lines =
        ["1 │ # the servers", "2 │ local_resorce('web', serve_cmd='true')", "  │ ^^^^^^^^^^^^^"];
    assert_eq!(reason["detail"], serde_json::json!(lines));
    assert_eq!(reason["report"]["code"], "tiltfile::syntax");
    assert_eq!(
        project.json(&["get", "tiltfile", "(Tiltfile)", "-o", "json"])["status"]["terminated"]["error"],
        words(&project).trim_end()
    );
    let why = project.out(&["why", "(Tiltfile)"]);
    for part in [headline, lines[2], "to do: did you mean `local_resource`?"] {
        assert!(why.contains(part), "{part:?} is not in:\n{why}");
    }
    instance.signal(Signal::SIGTERM);
    assert!(instance.wait().success(), "{}", project.log());

    let instance = project.up_with(as_tilt(project.command(&["up", "--stream"])));
    until("the words", || project.log().contains(&words(&project)).then_some(()));
    instance.signal(Signal::SIGTERM);
    assert!(instance.wait().success(), "{}", project.log());
    assert!(!project.log().contains('×'), "{}", project.log());
}
