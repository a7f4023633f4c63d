//! Checkouts of the extension `git_resource`: brought up to date, and nothing of what is only in them is lost.

use std::{path::Path, process::Command};

use crate::instance::Project;

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
    project.write(&format!("{repository}/{file}"), text);
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
        project.write(&format!("copy/{file}"), text);
        assert!(!project.engine(&["ci"]).status.success());
        assert_eq!(project.read(&format!("copy/{file}")), text);
    }
}
