//! Every extension of the standard library loads, by itself and without a network.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{Arc, Mutex},
};

use builtins::{Request, diagnostic::Failure, extension, host::OsHost};

/// Loading it fails, as it is only the folder of others.
const NO_EXTENSION: &str = "tests";
/// It downloads what it deploys when it is loaded.
const DOWNLOADS: &str = "coreos_prometheus";

#[test]
fn every_extension_loads_without_a_network() {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("bin");
    fs::create_dir(&bin).unwrap();
    program(&bin.join("rsync"), "echo 'rsync  version 3.2.7  protocol version 31'");
    for name in extension::standard_library().filter(|it| ![NO_EXTENSION, DOWNLOADS].contains(it)) {
        let failure = failure_of(dir.path(), &format!("include('ext://{name}')\n"));
        assert_eq!(failure, None, "{name}");
    }
}

#[test]
fn an_extension_that_is_only_a_folder_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let failure = failure_of(dir.path(), "include('ext://tests')\n").unwrap();
    assert!(failure.contains(r#"Module "tests" cannot be included directly"#), "{failure}");
}

#[test]
fn the_public_repository_wins_only_if_it_is_declared() {
    let dir = tempfile::tempdir().unwrap();
    let public = "home/.local/share/tilt-dev/tilt_modules/github.com/tilt-dev/tilt-extensions";
    let other = dir.path().join(public).join("hello_world");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("Tiltfile"), "fail('the public one')\n").unwrap();
    let load = "load('ext://hello_world', 'hi')\n";
    assert_eq!(failure_of(dir.path(), load), None);
    let url = "https://github.com/tilt-dev/tilt-extensions";
    let declared = format!("v1alpha1.extension_repo(name='default', url='{url}')\n{load}");
    assert!(failure_of(dir.path(), &declared).unwrap().contains("the public one"));
}

#[test]
fn the_standard_library_stands_in_for_a_public_repository_that_cannot_be_had() {
    let dir = tempfile::tempdir().unwrap();
    let url = "https://github.com/tilt-dev/tilt-extensions";
    for reference in ["", ", ref='v1'"] {
        let text = format!(
            "v1alpha1.extension_repo(name='default', url='{url}'{reference})\nload('ext://hello_world', 'hi')\n"
        );
        assert_eq!(failure_of(dir.path(), &text), None, "{reference}");
    }
    let text = "v1alpha1.extension_repo(name='team', url='https://github.com/team/ext', load_host='team')\n\
                include('ext://team/hello_world')\n";
    assert!(failure_of(dir.path(), text).unwrap().contains("loading extension repo team"));
}

#[test]
fn a_copy_beside_the_tiltfile_is_used_without_git() {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("work/tilt_modules/github.com/team/ext/tool");
    fs::create_dir_all(&copy).unwrap();
    fs::write(copy.join("Tiltfile"), "fail('the copy')\n").unwrap();
    let text = "v1alpha1.extension_repo(name='team', url='https://github.com/team/ext', load_host='team')\n\
                include('ext://team/tool')\n";
    assert!(failure_of(dir.path(), text).unwrap().contains("the copy"));
}

fn program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn an_extension_that_nobody_has_is_compared_with_those_that_are_bundled() {
    let dir = tempfile::tempdir().unwrap();
    let offline = "The public repository could not be reached to look there";
    for (name, meant, help) in [
        (
            "restart_proces",
            " (did you mean restart_process?)",
            format!("did you mean `restart_process`? {offline}"),
        ),
        ("nothing_like_it", "", offline.to_owned()),
    ] {
        let (log, failure) = outcome_of(dir.path(), &format!("load('ext://{name}', 'x')\n"));
        let failure = failure.unwrap();
        let words = format!(
            "cannot load ext://{name}: loading extension repo default: download error: \
             waiting 5s before retrying. Original error: exit status 128"
        );
        assert!(failure.text.ends_with(&words), "{}", failure.text);
        assert!(!log.contains("stands in"), "{log}");
        let report = failure.report();
        let headline =
            format!("Tiltfile:1:1: There is no extension \"{name}\" in the bundled library{meant}");
        assert_eq!((report.headline, report.help), (headline, Some(help)));
    }
}

/// Why a Tiltfile fails where nothing can be downloaded.
fn failure_of(dir: &Path, text: &str) -> Option<String> {
    outcome_of(dir, text).1.map(|it| it.text)
}

/// Evaluates a Tiltfile where nothing can be downloaded.
fn outcome_of(dir: &Path, text: &str) -> (String, Option<Failure>) {
    let (work, home) = (dir.join("work"), dir.join("home"));
    fs::create_dir_all(&work).unwrap();
    fs::create_dir_all(&home).unwrap();
    fs::write(work.join("Tiltfile"), text).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let env = [
        ("PATH", format!("{}:{path}", dir.join("bin").display())),
        ("HOME", home.display().to_string()),
        ("KUBECONFIG", dir.join("none").display().to_string()),
        ("GIT_ALLOW_PROTOCOL", "file".to_owned()),
    ];
    let env = env.map(|(name, value)| (name.to_owned(), value));
    let log = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&log);
    let show = move |_, text: &str| sink.lock().unwrap().push_str(text);
    let host = OsHost::new(env, Box::new(show)).in_dir(work);
    let request = Request::new("Tiltfile", "alpha tiltfile-result");
    let failure = builtins::evaluate(&request, Arc::new(host)).failure;
    let log = log.lock().unwrap().clone();
    (log, failure)
}
