//! Checkouts of git repositories: those of the extension `git_resource` are brought up to date, and nothing of what is
//! only in them is lost; those of extensions are shown.

use std::{fs, path::Path, process::Command};

use crate::support::Project;

const TILTFILE: &str = "
load('ext://git_resource', 'git_checkout')
git_checkout(os.path.abspath('origin') + '#main', 'copy')
local_resource('done', 'true')
";

fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=somebody", "-c", "user.email=somebody@example.com"])
        .args(args)
        .current_dir(dir)
        .output()
        .expect("git starts");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Writes a file of a repository, and commits it.
fn commit(project: &Project, repository: &str, file: &str, text: &str) -> String {
    project.write(format!("{repository}/{file}"), text);
    let dir = project.path(repository);
    git(&dir, &["add", file]);
    git(&dir, &["commit", "--quiet", "--message", text]);
    git(&dir, &["rev-parse", "HEAD"])
}

#[test]
fn a_checkout_follows_its_branch_and_keeps_what_only_it_has() {
    let project = Project::new(TILTFILE);
    git(&project.path(""), &["init", "--quiet", "--initial-branch=main", "origin"]);
    commit(&project, "origin", "file", "one");
    project.out(&["ci"]);
    assert_eq!(project.read("copy/file"), "one");

    commit(&project, "origin", "file", "two");
    project.out(&["ci"]);
    assert_eq!(project.read("copy/file"), "two");

    let own = commit(&project, "copy", "own", "mine");
    commit(&project, "origin", "file", "three");
    project.out(&["ci"]);
    assert_eq!(project.read("copy/file"), "three");
    let branches = git(&project.path("copy"), &["branch", "--contains", &own]);
    assert!(branches.contains("kept-"), "{branches}");

    // Neither a file that git does not know nor a change of one that it knows is written over.
    commit(&project, "origin", "other", "theirs");
    for (file, text) in [("other", "unknown"), ("file", "changed")] {
        project.write(format!("copy/{file}"), text);
        assert!(!project.engine(&["ci"]).status.success());
        assert_eq!(project.read(&format!("copy/{file}")), text);
    }
}

const LOADING: &str = "
v1alpha1.extension_repo(name='folder', url='file://' + os.path.abspath('github/team/ext'))
v1alpha1.extension_repo(name='git', url='https://github.com/team/ext')
v1alpha1.extension(name='from-folder', repo_name='folder', repo_path='hello')
v1alpha1.extension(name='from-git', repo_name='git', repo_path='hello')
load('ext://from-folder', one='greeting')
load('ext://from-git', two='greeting')
local_resource('done', 'touch ' + one + two)
";

#[test]
fn extensions_that_a_tiltfile_loads_say_where_they_are() {
    let project = Project::new(LOADING);
    let published = project.path("github/team/ext");
    fs::create_dir_all(published.join("hello")).expect("it can be made");
    git(&published, &["init", "--quiet", "--initial-branch=main"]);
    commit(&project, "github/team/ext", "hello/Tiltfile", "greeting = 'hi'");

    let mut up = project.command(&["up", "--stream"]);
    let instead = format!("url.file://{}/.insteadOf", project.path("github").display());
    up.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", instead);
    up.env("GIT_CONFIG_VALUE_0", "https://github.com/");
    let up = project.up_with(up);
    project.wait_for("hihi");
    let list = project.json(&["get", "extension", "-o", "json"]);
    let tiltfiles = project.out(&["get", "tiltfile", "-o", "name"]);
    project.out(&["stop"]);
    assert!(up.wait().success());

    let paths: Vec<&str> =
        (0..2).map(|at| list["items"][at]["status"]["path"].as_str().unwrap_or_default()).collect();
    assert_eq!(paths[0], published.join("hello/Tiltfile").to_string_lossy(), "{list}");
    let checkout = "/home/.local/share/tilt-dev/tilt_modules/github.com/team/ext/hello/Tiltfile";
    assert!(paths[1].ends_with(checkout), "{list}");
    // What is loaded is no Tiltfile of its own.
    assert_eq!(tiltfiles, "tiltfile.tilt.dev/(Tiltfile)\n");
}
