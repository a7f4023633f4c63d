//! Homes that cannot be used: what is wrong is said, with the file and the way out, and nothing is spoiled.

use std::{fs, io::Write as _, process::Output};

use nix::unistd::Uid;

use crate::support::Project;

/// How a shell says that it may not mount anything.
const NO_MOUNTS: i32 = 99;

const TILTFILE: &str = "local_resource('a', 'touch ran')";

/// Runs `ci` where a shell has prepared the file systems first; nothing if this machine does not allow that. Then
/// prints what is in the folder of kept files.
#[expect(clippy::print_stderr, reason = "who runs the tests is told which did not run")]
fn in_own_mounts(project: &Project, prepare: &str) -> Option<Output> {
    if !Uid::effective().is_root() {
        eprintln!("skipped: needs root, to mount file systems of its own");
        return None;
    }
    let script = format!(
        "mount -t tmpfs none \"$TMPDIR\" || exit {NO_MOUNTS}; set -e; {prepare}; set +e; \"$0\" \"$@\"; code=$?; \
         ls -A \"${{HOME-/}}/.tilt-dev\" 2>/dev/null; exit $code"
    );
    let command = project.command(&["ci"]);
    let mut inner = std::process::Command::new("unshare");
    inner.args(["-m", "sh", "-c", &script]).arg(command.get_program()).args(command.get_args());
    inner.env_clear().current_dir(project.path(""));
    inner.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = inner.output().expect("it starts");
    let has_namespace = !stderr(&output).starts_with("unshare: ");
    if !has_namespace || output.status.code() == Some(NO_MOUNTS) {
        eprintln!("skipped: this machine allows no mounts");
        return None;
    }
    Some(output)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The files of the project, without those of its own that every test has.
fn names(project: &Project) -> Vec<String> {
    let entries = fs::read_dir(project.path("")).expect("it exists").flatten();
    let mut names: Vec<_> =
        entries.map(|it| it.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_full_disk_is_said_with_the_file_and_the_way_out_and_nothing_half_written_stays() {
    let project = Project::new(TILTFILE);
    let full = "mount -t tmpfs -o size=64k none \"$HOME\"; cat /dev/zero > \"$HOME/filler\" 2>/dev/null || true";
    let Some(output) = in_own_mounts(&project, full) else { return };
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let token = project.home().join(".tilt-dev/token");
    let want = format!("Error: cannot write {}: No space left on device", token.display());
    let said = stderr(&output);
    assert!(said.starts_with(&want), "{said}");
    assert!(
        said.contains("; free up space there, or set TILT_DEV_DIR to another directory\n"),
        "{said}"
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "something is left");
}

#[test]
fn a_read_only_home_is_said_with_the_file_and_the_way_out() {
    let project = Project::new(TILTFILE);
    let read_only = "mount -t tmpfs -o ro none \"$HOME\"";
    let Some(output) = in_own_mounts(&project, read_only) else { return };
    let folder = project.home().join(".tilt-dev");
    let said = stderr(&output);
    assert!(
        said.starts_with(&format!("Error: cannot make {}: Read-only", folder.display())),
        "{said}"
    );
    assert!(said.contains("set TILT_DEV_DIR to another directory"), "{said}");

    // The way out is one.
    let elsewhere = format!("{read_only}; export TILT_DEV_DIR={}", project.path("kept").display());
    let output = in_own_mounts(&project, &elsewhere).expect("it went well before");
    assert!(output.status.success(), "{output:?}");
    assert!(project.path("kept/token").exists());
}

#[test]
fn without_a_home_nothing_is_written_into_the_project() {
    let project = Project::new(&format!("load('ext://uibutton', 'cmd_button')\n{TILTFILE}"));
    let passwd = project.path("../passwd");
    // Other sources than the file may know root as well.
    let known = "unset HOME; mount --bind ../passwd /etc/passwd; \
                 if [ -e /etc/nsswitch.conf ]; then mount --bind ../nsswitch /etc/nsswitch.conf; fi";
    fs::write(project.path("../nsswitch"), "passwd: files\n").unwrap();
    // The system knows the home of this user.
    fs::write(&passwd, format!("root:x:0:0::{}:/bin/sh\n", project.home().display())).unwrap();
    let Some(output) = in_own_mounts(&project, known) else { return };
    assert!(output.status.success(), "{output:?}");
    assert_eq!(names(&project), ["Tiltfile", "ran"]);
    assert!(project.home().join(".tilt-dev/token").exists());

    // It does not: there is no place.
    fs::write(&passwd, "somebody:x:7:7::/home/somebody:/bin/sh\n").unwrap();
    let output = in_own_mounts(&project, known).expect("it went well before");
    let said = stderr(&output);
    assert!(
        said.contains("no home directory to keep files in; set HOME or TILT_DEV_DIR"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(names(&project), ["Tiltfile", "ran"]);
}

#[test]
fn a_spoiled_token_is_made_anew() {
    let project = Project::new(TILTFILE);
    let token = project.home().join(".tilt-dev/token");
    fs::create_dir(token.parent().unwrap()).unwrap();
    for spoiled in [&b"\xff\xfe"[..], b"", b"two words", b"nul\0"] {
        fs::write(&token, spoiled).unwrap();
        project.out(&["ci"]);
        let made = fs::read_to_string(&token).unwrap();
        assert_eq!(made.len(), 36, "{made:?}");
        project.out(&["ci"]);
        assert_eq!(fs::read_to_string(&token).unwrap(), made, "a good one stays");
    }
    fs::remove_file(&token).unwrap();
    fs::create_dir(&token).unwrap();
    let said = stderr(&project.engine(&["ci"]));
    assert!(said.contains(&format!("cannot write {}: ", token.display())), "{said}");
    assert!(said.contains("rename what is in its place"), "{said}");
}

#[test]
fn damage_does_not_hide_the_rest_of_the_audit_log() {
    let project = Project::new(TILTFILE);
    let kept = project.home().join(".tilt-dev");
    fs::create_dir(&kept).unwrap();
    let mut log = fs::File::create(kept.join("audit.jsonl")).unwrap();
    log.write_all(b"{\"verb\":\"patch\",\"object\":\"Secret/a\"}\n\xff\n{\"version\":99}\n")
        .unwrap();
    log.write_all(b"{\"verb\":\"delete\",\"object\":\"Secret/b\\u00e4\"}\n").unwrap();
    let output = project.engine(&["audit"]);
    assert!(output.status.success(), "{output:?}");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("patch Secret/a") && shown.contains("delete Secret/bä"), "{shown}");
    let path = kept.join("audit.jsonl");
    let said = |why: &str| format!("Skipped 1 line of {}: {why}\n", path.display());
    let want = said("damaged") + &said("from a newer version");
    assert_eq!(stderr(&output), want);
}

#[test]
fn a_snapshot_that_does_not_fit_is_not_left_half_written() {
    let project = Project::new(TILTFILE);
    let small = "mkdir out; mount -t tmpfs -o size=64k none out; \
                 cat /dev/zero > out/filler 2>/dev/null || true; trap 'ls -A out' EXIT; \
                 set -- \"$@\" --output-snapshot-on-exit out/snapshot";
    let Some(output) = in_own_mounts(&project, small) else { return };
    let said = stderr(&output);
    assert!(
        said.contains("Error: writing snapshot out/snapshot: No space left on device"),
        "{said}"
    );
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!shown.lines().any(|it| it == "snapshot"), "{shown}");
    assert!(project.path("ran").exists());
}
