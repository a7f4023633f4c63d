//! What the program keeps for itself: nobody else may read it, whatever the mask of the process is.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::Command,
};

use nix::sys::signal::Signal;

use crate::support::Project;

/// Everything that the program keeps files about: extensions, charts, commands with a cluster, much output.
const TILTFILE: &str = "
load('ext://uibutton', 'cmd_button')
local('true')
k8s_yaml(helm('chart'))
local_resource('loud', 'seq 1000000')
local_resource('late', 'echo \"$KUBECONFIG\" > pinned', resource_deps=['loud'])
local_resource('server', serve_cmd='touch serving; exec sleep 1000')
";

const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
current-context: kind-nowhere
clusters: [{name: kind-nowhere, cluster: {server: 'https://127.0.0.1:1'}}]
contexts: [{name: kind-nowhere, context: {cluster: kind-nowhere}}]
";

/// The same command with files open to everybody, as far as the program lets them.
fn without_mask(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 0; exec \"$0\" \"$@\""]).arg(command.get_program());
    shell.args(command.get_args()).env_clear();
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir(command.get_current_dir().expect("it has one"));
    shell
}

/// Paths below a directory that others may use, and how many there are altogether.
fn look(dir: &Path, open: &mut Vec<String>) -> usize {
    let mut n_seen = 0;
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, metadata) = (entry.path(), entry.metadata().expect("it is there"));
        // A link has no mode of its own.
        if !metadata.is_symlink() && metadata.mode() & 0o077 != 0 {
            open.push(format!("{:o} {}", metadata.mode() & 0o7777, path.display()));
        }
        n_seen += 1;
        // Others cannot get there; the modes of these files are what they have in images.
        if metadata.is_dir() && dir.file_name() != Some("restart-helper".as_ref()) {
            n_seen += look(&path, open);
        }
    }
    n_seen
}

/// Everything that the program keeps is closed to others.
fn assert_private(project: &Project, want: &[&str]) {
    let mut open = Vec::new();
    let places = [".tilt-dev", ".local/state/tilt-dev", ".cache/tilt-dev", ".local/share/engine"];
    for place in places.map(|it| project.home().join(it)) {
        look(&place, &mut open);
        let mode = fs::metadata(&place).map_or(0, |it| it.mode());
        assert_eq!(mode & 0o077, 0, "{}", place.display());
    }
    look(&project.temp(), &mut open);
    assert_eq!(open, Vec::<String>::new());
    for file in want {
        assert!(project.home().join(file).exists(), "{file} is not there");
    }
}

fn run(project: &Project, args: &[&str]) {
    let output = without_mask(&project.command(args)).output().expect("it starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stderr}");
}

#[test]
fn whatever_is_kept_is_closed_to_others_with_any_mask() {
    let project = Project::new(TILTFILE);
    project.write_kubeconfig(KUBECONFIG);
    fs::create_dir_all(project.path("chart/templates")).unwrap();
    project.write("chart/Chart.yaml", "apiVersion: v2\nname: app\nversion: 0.1.0\n");
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: words}\n";
    project.write("chart/templates/words.yaml", object);

    run(&project, &["analytics", "opt", "out"]);
    run(&project, &["ext", "list"]);
    run(&project, &["graph"]);
    let instance = project.up_with(without_mask(&project.command(&["up", "--stream"])));
    instance.wait_for_update("late", "ok");
    project.wait_for("serving");
    for args in [
        &["get", "uiresources"][..],
        &["snapshot", "create", "snapshot.json"],
        &["logs"],
        &["audit"],
        &["plan"],
        &["trigger", "--wait", "late"],
    ] {
        run(&project, args);
    }
    let kept = [
        ".tilt-dev/token",
        ".tilt-dev/config",
        ".tilt-dev/audit.jsonl",
        ".tilt-dev/analytics/user/choice.txt",
        ".cache/tilt-dev/engine",
        ".local/share/engine/stdlib",
    ];
    assert_private(&project, &kept);
    let pinned = project.read("pinned");
    assert!(Path::new(pinned.trim()).starts_with(project.home().join(".local/state")), "{pinned}");
    instance.signal(Signal::SIGINT);
    instance.wait();

    project.write("Tiltfile", "local_resource('a', serve_cmd='exec sleep 1000')");
    run(&project, &["up", "--detach"]);
    assert_private(&project, &[".tilt-dev/logs"]);
    run(&project, &["stop", "--all"]);
    project.write("Tiltfile", "local_resource('a', 'true')");
    run(&project, &["ci"]);
    assert_private(&project, &kept);
}

#[test]
fn what_earlier_versions_left_open_is_closed_and_secrets_of_releases_are_gone() {
    let project = Project::new("local_resource('a', 'true')");
    let kept = project.home().join(".tilt-dev");
    let releases = kept.join("helm-releases");
    fs::create_dir_all(&releases).unwrap();
    fs::create_dir_all(kept.join("logs")).unwrap();
    let newer = r#"{"version": 99, "objects": {}}"#;
    for (file, text) in [
        (
            "helm-releases/1.json",
            r#"{"digest":"","secret":"","objects":"hunter2","has_hooks":false}"#,
        ),
        ("helm-releases/2.77.partial", "hunter2"),
        ("helm-releases/3.json", newer),
        ("token", "an-old-token"),
        ("audit.jsonl", ""),
        ("logs/up-1.log", ""),
        ("somebody-elses", ""),
    ] {
        fs::write(kept.join(file), text).unwrap();
        fs::set_permissions(kept.join(file), fs::Permissions::from_mode(0o644)).unwrap();
    }
    for dir in [&kept, &releases, &kept.join("logs")] {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    }
    project.out(&["ci"]);
    let names: Vec<_> =
        fs::read_dir(&releases).unwrap().flatten().map(|it| it.file_name()).collect();
    assert_eq!(names, ["3.json"]);
    assert_eq!(fs::read_to_string(releases.join("3.json")).unwrap(), newer);
    assert_eq!(fs::read_to_string(kept.join("token")).unwrap(), "an-old-token");
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&kept), 0o700);
    assert_eq!(mode(&kept.join("somebody-elses")), 0o644, "not ours");
    fs::remove_file(kept.join("somebody-elses")).unwrap();
    let mut open = Vec::new();
    assert!(look(&kept, &mut open) > 5);
    assert_eq!(open, Vec::<String>::new());
}

#[test]
fn a_chosen_folder_keeps_its_own_mode() {
    let project = Project::new("local_resource('a', 'true')");
    let chosen = project.path("chosen");
    fs::create_dir(&chosen).unwrap();
    fs::set_permissions(&chosen, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = project.command(&["ci"]);
    assert!(command.env("TILT_DEV_DIR", &chosen).status().unwrap().success());
    assert_eq!(fs::metadata(&chosen).unwrap().mode() & 0o777, 0o755);
    assert_eq!(fs::metadata(chosen.join("token")).unwrap().mode() & 0o777, 0o600);
    assert!(!project.home().join(".tilt-dev").exists());
}
