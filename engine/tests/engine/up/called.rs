//! The program says the name it was called by, and through a link named `tilt` no other one.

use std::{os::unix::process::CommandExt, process::Output};

use crate::support::Project;

/// What stays Tilt's under any name: names of files, variables, annotations and of what this program works like.
const TILTS: [&str; 10] = [
    "found: tilt-",
    "Tiltfile",
    "tiltfile",
    "TILT_",
    "tilt.dev",
    "tilt-extensions",
    "tilt_modules",
    "compatible with Tilt",
    "choice for Tilt",
    "from Tilt",
];

/// What says `engine` under any name: a command of Tilt, and variables.
const OWN: [&str; 4] = ["dump engine", "help for engine", "  engine           Print", "ENGINE_"];

fn run(project: &Project, name: &str, args: &[&str]) -> Output {
    project.command(args).arg0(name).output().expect("it starts")
}

fn text(output: &Output) -> String {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// The words of all commands that help lists, found as people find them.
fn commands(project: &Project, path: &[String], all: &mut Vec<Vec<String>>) {
    let mut args: Vec<&str> = path.iter().map(String::as_str).collect();
    args.push("--help");
    let help = text(&run(project, "foo", &args));
    all.push(path.to_vec());
    let Some((_, list)) = help.split_once("Available Commands:\n") else { return };
    for line in list.lines().take_while(|it| !it.is_empty()) {
        let name = line.split_whitespace().next().unwrap_or_default();
        if line.starts_with("  ") && !line.starts_with("   ") {
            commands(project, &[path, &[name.to_owned()]].concat(), all);
        }
    }
}

fn check(name: &str, what: &[&str], said: &str) {
    let (allowed, wrong) = if name == "tilt" {
        (OWN.as_slice(), ["engine", "Engine"])
    } else {
        (TILTS.as_slice(), ["tilt", "Tilt"])
    };
    let rest = allowed.iter().fold(said.to_owned(), |text, it| text.replace(it, ""));
    let found = rest.lines().find(|line| wrong.iter().any(|it| line.contains(it)));
    assert!(found.is_none(), "{name} {what:?}: {found:?}");
}

#[test]
fn every_help_text_and_error_names_the_program_as_it_was_called() {
    let project = Project::new("");
    let mut all = Vec::new();
    commands(&project, &[], &mut all);
    assert!(all.len() > 50, "{all:?}");
    let mut lines: Vec<Vec<&str>> = all
        .iter()
        .map(|path| path.iter().map(String::as_str).chain(["--help"]).collect())
        .collect();
    lines.extend([
        vec!["upp"],
        vec!["up", "--bogus"],
        vec!["help", "nosuch"],
        vec!["completion", "bash", "x"],
        vec!["completion", "bash"],
        vec!["completion", "zsh"],
        vec!["completion", "fish"],
        vec!["completion", "powershell"],
        vec!["trigger", "a"],
        vec!["args", "a"],
        vec!["snapshot", "create"],
        vec!["logs"],
        vec!["open"],
        vec!["status"],
    ]);
    for line in &lines {
        for name in ["foo", "tilt"] {
            check(name, line, &text(&run(&project, name, line)));
        }
    }
}

#[test]
fn the_version_and_the_first_line_name_the_program() {
    let project = Project::new("local_resource('a', 'true')");
    let version = env!("CARGO_PKG_VERSION");
    let first = |name: &str, args: &[&str]| {
        let output = run(&project, name, args);
        assert!(output.status.success(), "{output:?}");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        check(name, args, &stdout);
        stdout.lines().next().unwrap_or_default().to_owned()
    };
    let banner = |name: &str| format!("{name} {version} (compatible with Tilt v0.37.6)");
    for name in ["engine", "foo", "/somewhere/foo"] {
        let shown = name.rsplit('/').next().unwrap();
        assert_eq!(first(name, &["version"]), banner(shown));
        let line = first(name, &["ci"]);
        assert!(line.starts_with(&format!("{} on http://localhost:", banner(shown))), "{line}");
    }
    let doctor = text(&run(&project, "foo", &["doctor"]));
    let head = format!("foo: {version} (compatible with Tilt v0.37.6)\nSystem: ");
    assert!(
        doctor.starts_with(&head) && doctor.contains("\nKubernetes: no kubeconfig: "),
        "{doctor}"
    );
    assert!(text(&run(&project, "tilt", &["doctor"])).starts_with("Tilt: v0.37.6, built "));
    assert!(first("tilt", &["version"]).starts_with("v0.37.6, built "));
    assert!(first("tilt", &["ci"]).starts_with("Tilt started on http://localhost:"));
}
