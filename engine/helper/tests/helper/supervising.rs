//! The first process of a container: restarts, signals, exit codes, orphans.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::client::{folder, program};

/// A supervisor, and what its program prints.
struct Supervisor {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Supervisor {
    fn start(args: &[&str], script: &str) -> Self {
        let mut command = Command::new(program());
        command.arg("run").args(args).args(["--", "sh", "-c", script]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    fn end(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // Unlike a kill, this also ends what it has started.
            self.signal("TERM");
            let _ = self.child.wait();
        }
    }
}

fn touch(path: &Path) {
    assert!(Command::new(program()).arg("touch").arg(path).status().unwrap().success());
}

fn flag(path: &Path) -> String {
    format!("--watch-file={}", path.display())
}

#[test]
fn a_touched_file_restarts_the_program_however_it_is_touched() {
    let dir = folder();
    let file = dir.path().join("restart");
    let script = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done";
    let mut supervisor = Supervisor::start(&[&flag(&file)], script);
    assert_eq!(supervisor.line(), "up");
    assert!(file.exists(), "it is made if there is none");
    let ways: [&dyn Fn(); 3] = [&|| touch(&file), &|| fs::write(&file, "now").unwrap(), &|| {
        fs::write(dir.path().join("new"), "moved").unwrap();
        fs::rename(dir.path().join("new"), &file).unwrap();
    }];
    for way in ways {
        way();
        assert_eq!(supervisor.line(), "bye");
        assert_eq!(supervisor.line(), "up");
    }
    supervisor.signal("TERM");
    assert_eq!(supervisor.line(), "bye");
    assert_eq!(supervisor.end(), Some(0));
}

#[test]
fn the_code_of_the_program_is_that_of_the_supervisor() {
    assert_eq!(Supervisor::start(&[], "exit 7").end(), Some(7));
    assert_eq!(Supervisor::start(&[], "kill -9 $$").end(), Some(137));
    let mut command = Command::new(program());
    command.args(["run", "no-such-program"]).stderr(Stdio::null());
    assert_eq!(command.status().unwrap().code(), Some(127));
}

#[test]
fn signals_reach_the_whole_group_of_the_program() {
    let script = "trap 'echo usr1' USR1; trap 'echo term; exit 5' TERM; echo up; while :; do sleep 0.01; done";
    let mut supervisor = Supervisor::start(&[], script);
    assert_eq!(supervisor.line(), "up");
    supervisor.signal("USR1");
    assert_eq!(supervisor.line(), "usr1");
    supervisor.signal("TERM");
    assert_eq!(supervisor.line(), "term");
    assert_eq!(supervisor.end(), Some(5));
}

#[test]
fn a_program_that_ended_is_started_again_by_a_touch_if_that_is_wanted() {
    let dir = folder();
    let file = dir.path().join("restart");
    let mut supervisor = Supervisor::start(&[&flag(&file), "--on-exit=wait"], "echo $$; exit 1");
    let first = supervisor.line();
    // Its number is free once it has been reaped; only then is a touch sure to find it ended.
    wait_until_gone(&first);
    touch(&file);
    let second = supervisor.line();
    wait_until_gone(&second);
    assert_ne!(first, second);
    supervisor.signal("INT");
    assert_eq!(supervisor.end(), Some(130));
}

#[test]
fn a_restart_waits_for_all_that_the_program_left() {
    let dir = folder();
    let file = dir.path().join("restart");
    // The shell ends at once, the one below it has something to finish first.
    let script = "sh -c 'trap \"echo finished; exit\" TERM; echo below; while :; do sleep 0.01; done' & wait";
    let mut supervisor = Supervisor::start(&[&flag(&file)], script);
    assert_eq!(supervisor.line(), "below");
    touch(&file);
    assert_eq!(supervisor.line(), "finished");
    assert_eq!(supervisor.line(), "below");
}

#[test]
fn orphans_are_reaped() {
    let script = "( sh -c 'echo $$' & ) ; exec sleep 1000";
    let mut supervisor = Supervisor::start(&[], script);
    let orphan = supervisor.line();
    wait_until_gone(&orphan);
}

/// Waits until a process is not even a zombie any more.
fn wait_until_gone(pid: &str) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while Path::new("/proc").join(pid).exists() {
        assert!(Instant::now() < deadline, "process {pid} was not reaped");
        thread::sleep(Duration::from_millis(2));
    }
}
