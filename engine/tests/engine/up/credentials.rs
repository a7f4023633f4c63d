//! Kubeconfigs that commands get: however the program ends, no copy with credentials stays behind.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nix::sys::signal::Signal;

use crate::support::{Project, until};

const CREDENTIAL: &str = "not-for-everybody";

const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
current-context: kind-nowhere
clusters: [{name: kind-nowhere, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: somebody, user: {token: not-for-everybody}}]
contexts: [{name: kind-nowhere, context: {cluster: kind-nowhere, user: somebody}}]
";

/// A Tiltfile whose command sees a kubeconfig, and says which.
const LOOKS: &str = "
local('cat \"$KUBECONFIG\" >> seen; echo \"$KUBECONFIG\" > place')
local_resource('a', 'echo \"$KUBECONFIG\" > pinned; cat \"$KUBECONFIG\" >> seen')
";

/// The same, but it does not end.
const STAYS: &str =
    "local('cat \"$KUBECONFIG\" >> seen; echo \"$KUBECONFIG\" > place; touch started; sleep 1000')";

/// Commands that evaluate the Tiltfile.
const COMMANDS: [&[&str]; 6] =
    [&["plan"], &["graph"], &["down"], &["ext", "list"], &["alpha", "tiltfile-result"], &["ci"]];

fn project(tiltfile: &str) -> Project {
    let project = Project::new(tiltfile);
    project.write_kubeconfig(KUBECONFIG);
    project
}

/// All files below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|it| it.path());
    entries.flat_map(|it| if it.is_dir() { files(&it) } else { vec![it] }).collect()
}

/// Nothing is among the temporary files, and nothing that is kept has a credential; though there was one to see.
fn assert_nothing_is_left(project: &Project, scene: &str) {
    assert!(project.read("seen").contains(CREDENTIAL), "{scene}: nothing was there");
    let left: Vec<_> =
        fs::read_dir(project.temp()).expect("it exists").flatten().map(|it| it.path()).collect();
    assert_eq!(left, Vec::<PathBuf>::new(), "{scene}");
    for file in files(&project.home()) {
        let content = String::from_utf8_lossy(&fs::read(&file).expect("it is ours")).into_owned();
        assert!(!content.contains(CREDENTIAL), "{scene}: {}", file.display());
    }
    assert!(!Path::new(project.read("place").trim()).exists(), "{scene}");
}

#[test]
fn commands_that_evaluate_leave_no_kubeconfig() {
    let project = project(LOOKS);
    for command in COMMANDS {
        project.write("seen", "");
        project.out(command);
        assert_nothing_is_left(&project, &command.join(" "));
    }
}

#[test]
fn a_tiltfile_that_fails_leaves_no_kubeconfig() {
    let project = project("local('cat \"$KUBECONFIG\" >> seen')\nfail('enough')");
    for command in &COMMANDS[..5] {
        project.write("seen", "");
        assert!(!project.engine(command).status.success(), "{command:?}");
        assert_nothing_is_left(&project, &command.join(" "));
    }
}

#[test]
fn commands_that_are_ended_leave_no_kubeconfig() {
    let up: &[&str] = &["up", "--stream"];
    for command in COMMANDS.into_iter().chain([up]) {
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            let project = project(STAYS);
            let instance = project.start(project.command(command));
            project.wait_for("started");
            instance.signal(signal);
            instance.wait();
            assert_nothing_is_left(&project, &format!("{} {signal}", command.join(" ")));
        }
    }
}

#[test]
fn what_a_killed_command_leaves_goes_with_the_next_start() {
    let up: &[&str] = &["up", "--stream"];
    for command in COMMANDS.into_iter().chain([up]) {
        let project = project(STAYS);
        let instance = project.start(project.command(command));
        project.wait_for("started");
        instance.kill();
        assert!(Path::new(project.read("place").trim()).exists(), "{command:?}: nothing was left");

        project.write("Tiltfile", "local_resource('next', 'true')");
        project.out(&["plan"]);
        assert_nothing_is_left(&project, &command.join(" "));
    }
}

#[test]
fn the_kubeconfig_of_an_instance_goes_with_it() {
    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        let project = project(LOOKS);
        let instance = project.up();
        until("the command", || (project.lines("pinned") == 1).then_some(()));
        let pinned = PathBuf::from(project.read("pinned").trim());
        assert!(pinned.starts_with(project.home().join(".local/state/tilt-dev")), "{pinned:?}");
        instance.wait_for_update("a", "ok");

        // Another start takes nothing from those who run.
        project.out(&["graph"]);
        project.out(&["alpha", "tiltfile-result"]);
        assert!(pinned.exists() && fs::read_dir(project.temp()).unwrap().count() > 0);

        instance.signal(signal);
        instance.wait();
        if signal == Signal::SIGKILL {
            assert!(pinned.exists(), "nothing was left");
            project.out(&["plan"]);
        }
        assert!(!project.home().join(".local/state/tilt-dev").exists(), "{signal}");
        assert_nothing_is_left(&project, signal.as_str());
    }
}

#[test]
fn two_instances_of_one_name_do_not_share_a_kubeconfig() {
    let project = project(LOOKS);
    let _first = project.up();
    until("the command", || (project.lines("pinned") == 1).then_some(()));
    let first = project.read("pinned");
    // An address of its own makes room for the same port.
    project.out(&["ci", "--host", "127.0.0.2", "--port", &project.port()]);
    let second = project.read("pinned");
    assert_ne!(first, second);
    assert!(Path::new(first.trim()).exists() && !Path::new(second.trim()).exists());
}
