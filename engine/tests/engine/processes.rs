//! What becomes of processes: of a command and all it has started, when it ends, is stopped, or the
//! engine is killed.
//!
//! The engine's part is played by this test binary, started once more ([`stand_in`]): it can be
//! killed, and each has its own form of guards.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    time::{Duration, Instant},
};

use engine::{
    exec::{self, Event, Lifetime, Run},
    guard,
    platform::Form,
};
use engine_model::{ExecAction, Probe};
use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than anything here takes, even on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);

const FORMS: [Form; 2] = [Form::NATIVE, Form::Posix];

/// The variable that makes this binary an engine, and tells what to run.
const SCENE: &str = "STAND_IN_SCENE";

/// A script that starts processes of all kinds, each of which writes its id to a file.
const FAMILY: &str = "
sh -c 'echo $$ > group.new; mv group.new group.pid; exec sleep 1000' &
setsid sh -c 'echo $$ > session.new; mv session.new session.pid; exec sleep 1000' &
(setsid sh -c 'echo $$ > orphan.new; mv orphan.new orphan.pid; exec sleep 1000' &)
(sh -c 'echo $$ > group-orphan.new; mv group-orphan.new group-orphan.pid; exec sleep 1000' &)
until test -e group.pid -a -e session.pid -a -e orphan.pid -a -e group-orphan.pid; do sleep 0.01; done
echo $$ > main.new; mv main.new main.pid
";

/// Plays the engine if it is asked to; a test like all others, and no test otherwise.
#[test]
fn stand_in() {
    let Ok(scene) = std::env::var(SCENE) else { return };
    let scene: Value = serde_json::from_str(&scene).expect("it is JSON");
    let form = Form::parse(scene["form"].as_str().expect("a name")).expect("a form");
    guard::use_program(PathBuf::from(env!("CARGO_BIN_EXE_engine")), form);
    tokio::runtime::Runtime::new().expect("a runtime").block_on(play(&scene));
}

async fn play(scene: &Value) {
    let texts = |it: &Value| -> Vec<String> {
        it.as_array()
            .into_iter()
            .flatten()
            .filter_map(|it| it.as_str().map(str::to_owned))
            .collect()
    };
    let probe = scene["probe"].is_array().then(|| Probe {
        exec: Some(ExecAction { command: texts(&scene["probe"]) }),
        period_seconds: 1000,
        timeout_seconds: scene["timeout"].as_i64().and_then(|it| it.try_into().ok()).unwrap_or(0),
        ..Probe::default()
    });
    let run = Run {
        argv: texts(&scene["argv"]),
        dir: PathBuf::from(scene["dir"].as_str().expect("a path")),
        env: std::env::vars().filter(|(name, _)| name != SCENE).collect(),
        path: std::env::var("PATH").unwrap_or_default(),
        probe,
        lifetime: match scene["lifetime"].as_str() {
            Some("server") => Lifetime::Server,
            _ => Lifetime::Task,
        },
        is_silent: false,
    };
    let tell = |text: String| std::io::stderr().write_all(text.as_bytes()).unwrap_or_default();
    let log = move |level, text: &str| tell(format!("{}\n", json!([format!("{level:?}"), text])));
    let handle = exec::command::start_with(run, log, move |event| {
        tell(format!(
            "{}\n",
            match event {
                Event::Started { pid, .. } => json!(["started", pid]),
                Event::Ready(is_ready) => json!(["ready", is_ready]),
                Event::ProbeFailed(_) => return,
                Event::Ended(it) => json!(["ended", it.exit_code, it.reason, it.stopped, it.pid]),
            }
        ));
    });
    let mut handle = Some(handle);
    let mut lines =
        tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(tokio::io::stdin()));
    while let Ok(Some(line)) = lines.next_line().await {
        match (line.as_str(), &handle) {
            ("stop", Some(handle)) => handle.stop(),
            ("kill", Some(handle)) => handle.kill(),
            ("stop all", Some(it)) => drop(exec::stop_all([it], Duration::from_millis(300)).await),
            ("gone", Some(handle)) => handle.gone().await,
            _ => handle = None,
        }
        tell(format!("{}\n", json!(["done", line])));
    }
}

/// An engine that runs one command.
struct Engine {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<Value>,
    dir: TempDir,
}

impl Engine {
    fn start(form: Form, lifetime: &str, argv: &[&str], more: &Value) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let mut scene = json!({
            "form": form.name(), "lifetime": lifetime, "argv": argv, "dir": dir.path().to_str(),
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            scene[key] = value.clone();
        }
        let mut child = Command::new(std::env::current_exe().expect("it runs"))
            .args(["--exact", "processes::stand_in", "--nocapture"])
            .env(SCENE, scene.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let stderr = child.stderr.take().expect("it is piped");
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap_or(Value::String(line)));
            }
        });
        let stdin = child.stdin.take().expect("it is piped");
        Self { child, stdin, lines, dir }
    }

    fn shell(form: Form, lifetime: &str, script: &str) -> Self {
        Self::start(form, lifetime, &["sh", "-c", script], &Value::Null)
    }

    /// Starts the script, and waits until all processes of the family run.
    fn family(form: Form, lifetime: &str, script: &str) -> (Self, BTreeMap<&'static str, Pid>) {
        let engine = Self::shell(form, lifetime, &format!("{FAMILY}\n{script}"));
        let pids = ["group", "session", "orphan", "group-orphan", "main"]
            .map(|name| (name, engine.pid_in(&format!("{name}.pid"))));
        (engine, pids.into_iter().collect())
    }

    /// The process id in a file that a process writes.
    fn pid_in(&self, file: &str) -> Pid {
        let path = self.dir.path().join(file);
        until(&format!("{file} is written"), || path.exists());
        read_pid(&path)
    }

    fn say(&mut self, order: &str) {
        writeln!(self.stdin, "{order}").expect("it listens");
    }

    /// The next line that begins with this word; all before it are left out.
    fn next(&self, word: &str) -> Value {
        let started = Instant::now();
        while let Some(left) = TIMEOUT.checked_sub(started.elapsed()) {
            let line = self.lines.recv_timeout(left).expect("another line");
            if line[0] == word {
                return line;
            }
        }
        panic!("no {word} came");
    }

    /// All that was logged up to the end, and the end.
    fn to_end(&self) -> (Vec<(String, String)>, Value) {
        let mut log = Vec::new();
        loop {
            let line = self.lines.recv_timeout(TIMEOUT).expect("another line");
            match (line[0].as_str(), line[1].as_str()) {
                (Some("ended"), _) => return (log, line),
                (Some(level), Some(text)) => log.push((level.to_owned(), text.to_owned())),
                _ => {}
            }
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().try_into().expect("a process id"))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // It may have been killed already; all below it goes with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_pid(path: &Path) -> Pid {
    let text = fs::read_to_string(path).expect("it is written");
    Pid::from_raw(text.trim().parse().expect("a process id"))
}

fn until(what: &str, test: impl Fn() -> bool) {
    let started = Instant::now();
    while !test() {
        assert!(started.elapsed() < TIMEOUT, "it never came that {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a process has ended; one that nobody has waited for has, too.
fn is_gone(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    kill(process, None) == Err(Errno::ESRCH) || stat.contains(") Z ")
}

/// All of these end; where orphans cannot be found, those in their own session may live.
fn all_end(form: Form, what: &str, pids: &BTreeMap<&'static str, Pid>) {
    for (name, pid) in pids {
        if *name == "orphan" && form == Form::Posix {
            let _ = kill(*pid, Signal::SIGKILL);
        }
        until(&format!("{name} ends after {what} ({form:?})"), || is_gone(*pid));
    }
}

#[test]
fn a_stopped_command_leaves_nothing_behind() {
    for form in FORMS {
        for lifetime in ["server", "task"] {
            let (mut engine, pids) = Engine::family(form, lifetime, "exec sleep 1000");
            engine.say("stop");
            let main = pids["main"].as_raw();
            assert_eq!(engine.next("ended"), json!(["ended", 137, "killed", true, main]));
            all_end(form, "a stop", &pids);
        }
    }
}

#[test]
fn a_killed_engine_leaves_nothing_behind() {
    for form in FORMS {
        for (lifetime, script) in [("server", "exec sleep 1000"), ("task", "sleep 1000; true")] {
            let (mut engine, pids) = Engine::family(form, lifetime, script);
            engine.child.kill().expect("it runs");
            all_end(form, "a kill of the engine", &pids);
        }
    }
}

#[test]
fn an_engine_that_is_killed_takes_along_what_ignores_signals() {
    let script =
        "trap '' TERM INT HUP\nsetsid sh -c 'echo $$ > a.new; mv a.new a.pid; sleep 1000 & wait' &
        echo $$ > b.new; mv b.new b.pid; while true; do sleep 1; done";
    let mut engine = Engine::shell(Form::NATIVE, "server", script);
    let pids = [engine.pid_in("a.pid"), engine.pid_in("b.pid")];
    engine.child.kill().expect("it runs");
    let killed = Instant::now();
    until("both end", || pids.into_iter().all(is_gone));
    // They got their second; a slow machine may need some more.
    assert!(killed.elapsed() < Duration::from_secs(10), "{:?}", killed.elapsed());
}

#[test]
fn what_ignores_the_request_to_end_is_killed_when_nothing_else_helps() {
    for form in FORMS {
        let script = "trap '' TERM; echo $$ > a.new; mv a.new a.pid; while true; do sleep 1; done";
        for order in ["kill", "stop all"] {
            let mut engine = Engine::shell(form, "server", script);
            let pid = engine.pid_in("a.pid");
            engine.say(order);
            assert_eq!(engine.next("ended"), json!(["ended", 137, "killed", true, pid.as_raw()]));
            until("it has gone", || is_gone(pid));
        }
    }
}

#[test]
fn a_finished_task_leaves_only_what_has_a_session_of_its_own() {
    for form in FORMS {
        let (mut engine, mut pids) = Engine::family(form, "task", "exit 3");
        let main = pids["main"].as_raw();
        assert_eq!(engine.next("ended"), json!(["ended", 3, "exit status 3", false, main]));
        engine.say("gone");
        engine.next("done");
        let daemons = [pids.remove("session"), pids.remove("orphan")].map(|it| it.expect("a name"));
        for (name, pid) in &pids {
            until(&format!("{name} ends with the group ({form:?})"), || is_gone(*pid));
        }
        engine.say("drop");
        engine.next("done");
        engine.child.kill().expect("it runs");
        engine.child.wait().expect("it is our child");
        for daemon in daemons {
            assert!(!is_gone(daemon), "{form:?}");
            kill(daemon, Signal::SIGKILL).expect("it runs");
        }
    }
}

#[test]
fn what_a_finished_task_leaves_behind_can_still_print() {
    let script =
        "setsid sh -c 'echo ready > ready; until test -e go; do sleep 0.01; done; echo late' &
        until test -e ready; do sleep 0.01; done; echo early";
    let engine = Engine::shell(Form::NATIVE, "task", script);
    let (log, ended) = engine.to_end();
    assert_eq!(ended[1], 0);
    assert!(log.contains(&("Info".to_owned(), "early\n".to_owned())), "{log:?}");
    fs::write(engine.dir.path().join("go"), "").expect("it can be written");
    assert_eq!(engine.next("Info"), json!(["Info", "late\n"]));
}

#[test]
fn what_an_ended_server_leaves_behind_lives_until_the_server_is_stopped() {
    for form in FORMS {
        for order in ["stop", "kill", "drop"] {
            let script = format!("{FAMILY}\nexit 0");
            let mut engine = Engine::shell(form, "server", &script);
            let (_, ended) = engine.to_end();
            assert_eq!(ended[1], 0);
            let daemon =
                engine.pid_in(if form == Form::NATIVE { "orphan.pid" } else { "main.pid" });
            assert_eq!(is_gone(daemon), form == Form::Posix);
            engine.say(order);
            until("it ends", || is_gone(daemon));
            let orphans = ["orphan.pid", "session.pid"].map(|it| engine.pid_in(it));
            if form == Form::Posix {
                // Nothing tells the portable form whose these are.
                for orphan in orphans {
                    kill(orphan, Signal::SIGKILL).expect("it runs");
                }
            }
            until("orphans end", || orphans.into_iter().all(is_gone));
        }
    }
}

#[test]
fn a_probe_leaves_nothing_behind() {
    for form in FORMS {
        for (script, timeout) in [("true", 60), ("sleep 1000", 5)] {
            let probe = format!("{FAMILY}\n{script}");
            let dir = tempfile::tempdir().expect("a directory");
            let probe = format!("cd '{}'; {probe}", dir.path().display());
            let more = json!({ "probe": ["sh", "-c", probe], "timeout": timeout });
            let engine = Engine::start(form, "server", &["sleep", "1000"], &more);
            let pids = ["group", "session", "orphan", "group-orphan", "main"];
            let pids = pids.map(|name| {
                let path = dir.path().join(format!("{name}.pid"));
                until(&format!("{name} starts"), || path.exists());
                (name, read_pid(&path))
            });
            let mut pids: BTreeMap<_, _> = pids.into_iter().collect();
            if script == "true" {
                assert_eq!(engine.next("ready"), json!(["ready", true]));
                if form == Form::Posix {
                    // With its parent, the portable form has lost it.
                    let session = pids.remove("session").expect("a name");
                    kill(session, Signal::SIGKILL).expect("it runs");
                }
            }
            all_end(form, "a probe", &pids);
        }
    }
}

#[test]
fn ends_are_told_in_the_words_of_tilt() {
    let not_found = "exec: \"no-such-program\": executable file not found in $PATH";
    let sh = ["/usr/bin/sh", "/bin/sh"];
    let sh = sh.into_iter().find(|it| Path::new(it).exists()).expect("a shell");
    let invalid = format!("fork/exec {sh}: invalid argument");
    let missing = format!("fork/exec {sh}: no such file or directory");
    let none = Value::Null;
    for (argv, more, code, reason) in [
        (&["sh", "-c", "exit 0"][..], none.clone(), 0, String::new()),
        (&["sh", "-c", "exit 7"], none.clone(), 7, "exit status 7".to_owned()),
        (&["sh", "-c", "kill -9 $$"], none.clone(), -1, "signal: killed".to_owned()),
        (&["sh", "-c", "kill -34 $$"], none.clone(), -1, "signal: signal 34".to_owned()),
        (&["no-such-program"], none.clone(), 1, format!("failed to start: {not_found}")),
        (&["sh", "-c", "a\0b"], none.clone(), 1, format!("failed to start: {invalid}")),
        (&["sh", "-c", ""], json!({"dir": "/no/such"}), 1, format!("failed to start: {missing}")),
        (
            &["/dev/null"],
            none.clone(),
            1,
            "failed to start: fork/exec /dev/null: permission denied".to_owned(),
        ),
        (&[""], none.clone(), 1, "failed to start: exec: no command".to_owned()),
        (&[], none, 1, "invalid cmd: empty cmd".to_owned()),
    ] {
        let engine = Engine::start(Form::NATIVE, "task", argv, &more);
        let (log, ended) = engine.to_end();
        assert_eq!((&ended[1], &ended[2]), (&json!(code), &json!(reason)), "{argv:?}");
        assert_eq!(ended[4] == 0, code == 1, "{argv:?}");
        if code == 1 {
            assert_eq!(log.last().expect("lines").0, "Error", "{argv:?}");
        }
    }
}

#[test]
fn a_script_without_a_shell_line_is_not_run_by_a_shell() {
    let dir = tempfile::tempdir().expect("a directory");
    let script = dir.path().join("script");
    fs::write(&script, "true\n").expect("it can be written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&script, mode).expect("it is ours");
    let more = json!({ "dir": dir.path().to_str() });
    let engine = Engine::start(Form::NATIVE, "task", &["./script"], &more);
    let reason = "failed to start: fork/exec ./script: exec format error";
    assert_eq!(engine.next("ended"), json!(["ended", 1, reason, false, 0]));
}

#[test]
fn all_output_comes_in_order_before_the_end() {
    let script = "i=0; while test $i -lt 20000; do echo out-$i; echo err-$i >&2; i=$((i+1)); done; printf 'ende: \\303\\237'";
    let engine = Engine::shell(Form::NATIVE, "task", script);
    let (log, _) = engine.to_end();
    let text: String = log.into_iter().skip(1).map(|(_, text)| text).collect();
    let expected: Vec<String> = (0..20000).map(|i| format!("out-{i}\nerr-{i}\n")).collect();
    assert_eq!(text, expected.concat() + "ende: ß");
}

#[test]
fn a_command_gets_what_it_would_get_without_a_guard() {
    let script = "cat; pwd; ls /proc/self/fd; ulimit -n";
    let engine = Engine::shell(Form::NATIVE, "task", &format!("{script}; ps -o pgid=,sid= -p $$"));
    let pid = engine.next("started")[1].to_string();
    let (log, _) = engine.to_end();
    let text: String = log.into_iter().map(|(_, text)| text).collect();
    let mut plain = Command::new("sh");
    plain.args(["-c", script]).current_dir(engine.dir.path()).stdin(Stdio::null());
    let expected = plain.output().expect("it starts").stdout;
    let expected = String::from_utf8(expected).expect("it is text");
    let (before, ids) = text.split_at(expected.len());
    assert_eq!(before, expected);
    assert_eq!(ids.split_whitespace().collect::<Vec<_>>(), [&pid, &pid]);
}

/// The guard of a command, which is its parent.
fn guard_of(pid: Pid) -> Pid {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let fields = stat.rsplit_once(") ").expect("a name").1;
    Pid::from_raw(fields.split(' ').nth(1).expect("a parent").parse().expect("a process id"))
}

/// The launcher of a command, which is the parent of its guard.
fn launcher_of(pid: Pid) -> Pid {
    guard_of(guard_of(pid))
}

/// What is said of a command whose guard was killed.
const GUARD_KILLED: &str =
    "its guard was killed (signal 9), as the kernel does when memory runs out";

#[test]
fn nothing_of_a_command_survives_its_guard() {
    for form in FORMS {
        for lifetime in ["server", "task"] {
            let (engine, mut pids) = Engine::family(form, lifetime, "exec sleep 1000");
            kill(guard_of(pids["main"]), Signal::SIGKILL).expect("it runs");
            let main = pids["main"].as_raw();
            assert_eq!(engine.next("ended"), json!(["ended", 137, GUARD_KILLED, false, main]));
            if form == Form::Posix {
                // With its parent, the portable form has lost it.
                let session = pids.remove("session").expect("a name");
                kill(session, Signal::SIGKILL).expect("it runs");
            }
            all_end(form, "a kill of its guard", &pids);
        }
    }
}

#[test]
fn what_an_ended_server_has_left_does_not_survive_its_guard() {
    let script = format!("{FAMILY}\nexit 0");
    let mut engine = Engine::shell(Form::NATIVE, "server", &script);
    let (_, ended) = engine.to_end();
    assert_eq!(ended[1], 0);
    let orphans = ["orphan.pid", "session.pid"].map(|it| engine.pid_in(it));
    kill(guard_of(orphans[0]), Signal::SIGKILL).expect("it runs");
    engine.say("gone");
    engine.next("done");
    assert!(orphans.into_iter().all(is_gone));
}

#[test]
fn what_forks_without_end_does_not_survive_its_guard() {
    // Each starts the next one, in a session of its own, and ends.
    let script = "echo 'setsid sh \"$0\" &' > moving-$$.sh; sh moving-$$.sh
        echo $$ > a.new; mv a.new a.pid; exec sleep 1000";
    let mut engine = Engine::shell(Form::NATIVE, "server", script);
    let main = engine.pid_in("a.pid");
    let file = format!("moving-{main}.sh");
    until("they run", || n_processes_with(&file) > 0);
    kill(guard_of(main), Signal::SIGKILL).expect("it runs");
    assert_eq!(engine.next("ended")[2], GUARD_KILLED);
    engine.say("gone");
    engine.next("done");
    assert_eq!(n_processes_with(&file), 0);
}

/// How many processes have this in their command line.
fn n_processes_with(text: &str) -> usize {
    let dirs = fs::read_dir("/proc").expect("Linux").flatten();
    let lines = dirs.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
    lines.filter(|it| String::from_utf8_lossy(it).contains(text)).count()
}

#[test]
fn what_a_finished_task_has_left_survives_the_guard_that_stays_with_it() {
    let (mut engine, pids) = Engine::family(Form::NATIVE, "task", "exit 0");
    engine.say("gone");
    engine.next("done");
    let guard = guard_of(pids["orphan"]);
    kill(guard, Signal::SIGKILL).expect("it runs");
    until("the launcher has it", || guard_of(pids["orphan"]) != guard);
    let launcher = guard_of(pids["orphan"]);
    kill(launcher, Signal::SIGKILL).expect("it runs");
    until("the launcher ends", || is_gone(launcher));
    for daemon in ["session", "orphan"] {
        assert!(!is_gone(pids[daemon]), "{daemon}");
        kill(pids[daemon], Signal::SIGKILL).expect("it runs");
    }
}

#[test]
fn nothing_survives_the_launcher() {
    for form in FORMS {
        for lifetime in ["server", "task"] {
            let (engine, pids) = Engine::family(form, lifetime, "exec sleep 1000");
            let launcher = launcher_of(pids["main"]);
            assert_eq!(guard_of(launcher), engine.pid());
            kill(launcher, Signal::SIGKILL).expect("it runs");
            let reason = "the process that starts commands was killed, as the kernel does when memory runs out";
            let main = pids["main"].as_raw();
            assert_eq!(engine.next("ended"), json!(["ended", -1, reason, false, main]));
            all_end(form, "a kill of the launcher", &pids);
        }
    }
}

#[test]
fn a_probe_runs_where_the_engine_does() {
    let dir = tempfile::tempdir().expect("a directory");
    let script = format!("cd {0}; echo $OLDPWD $HOME > new; mv new done", dir.path().display());
    let more = json!({ "probe": ["sh", "-c", script], "timeout": 60 });
    let engine = Engine::start(Form::NATIVE, "server", &["sleep", "1000"], &more);
    assert_eq!(engine.next("ready"), json!(["ready", true]));
    let here = std::env::current_dir().expect("it exists");
    let home = std::env::var("HOME").unwrap_or_default();
    let expected = format!("{} {home}", here.display());
    let found = fs::read_to_string(dir.path().join("done")).expect("it is written");
    assert_eq!(found.trim(), expected.trim());
}

#[test]
fn a_guard_that_is_asked_to_end_ends_with_all_it_guards() {
    for form in FORMS {
        let (engine, pids) = Engine::family(form, "server", "exec sleep 1000");
        let guard = guard_of(pids["main"]);
        kill(guard, Signal::SIGTERM).expect("it runs");
        assert_eq!(engine.next("ended")[1], -1);
        all_end(form, "a request to its guard", &pids);
        until("the guard ends", || is_gone(guard));
    }
}

#[test]
fn a_signal_to_the_engines_group_does_not_reach_guards() {
    let (engine, pids) = Engine::family(Form::NATIVE, "server", "exec sleep 1000");
    let guard = guard_of(pids["main"]);
    let group = |pid| nix::unistd::getpgid(Some(pid)).expect("it runs");
    assert_ne!(group(guard), group(engine.pid()));
    assert_ne!(group(guard), pids["main"]);
    let name = fs::read_to_string(format!("/proc/{guard}/comm")).expect("it runs");
    let line = fs::read_to_string(format!("/proc/{guard}/cmdline")).expect("it runs");
    assert_eq!((name.trim(), line.as_str()), ("cmd-guard", "cmd-guard\0linux\0"));
}

mod tiltfile {
    //! Commands of Tiltfiles, run by the real binary.

    use super::*;

    fn command(dir: &Path, tiltfile: &str) -> Command {
        fs::write(dir.join("Tiltfile"), tiltfile).expect("it can be written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_engine"));
        command.args(["alpha", "tiltfile-result"]).current_dir(dir).stdin(Stdio::null());
        command.env("KUBECONFIG", dir.join("kubeconfig")).stdout(Stdio::null());
        command
    }

    fn evaluate(dir: &Path, tiltfile: &str) -> Child {
        command(dir, tiltfile).stderr(Stdio::null()).spawn().expect("it starts")
    }

    #[test]
    fn a_local_call_whose_guard_is_killed_fails_with_that_reason() {
        let dir = tempfile::tempdir().expect("a directory");
        let script = "setsid sh -c 'echo $$ > a.new; mv a.new a.pid; exec sleep 1000' & wait";
        let mut command = command(dir.path(), &format!("local(\"{script}\")"));
        let engine = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let path = dir.path().join("a.pid");
        until("it starts", || path.exists());
        let sleeper = read_pid(&path);
        kill(guard_of(guard_of(sleeper)), Signal::SIGKILL).expect("it runs");
        let output = engine.wait_with_output().expect("it is our child");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(&format!("error: {GUARD_KILLED}")), "{text}");
        assert!(is_gone(sleeper));
    }

    /// The flag of a process that has not become another program since it was forked.
    const FORKED_ONLY: u64 = 0x40;

    #[test]
    fn calls_start_no_process_but_their_command() {
        let dir = tempfile::tempdir().expect("a directory");
        let tiltfile = "[local('cat /proc/$PPID/stat >> guards') for _ in range(5)]";
        assert!(evaluate(dir.path(), tiltfile).wait().expect("it is our child").success());
        let guards = fs::read_to_string(dir.path().join("guards")).expect("it is written");
        let guards: Vec<(&str, bool)> = guards.lines().map(guard).collect();
        assert_eq!(guards, [(guards[0].0, true); 5], "one guard, which is a copy of the launcher");
    }

    /// The id of a guard, and whether it is a copy of another process.
    fn guard(stat: &str) -> (&str, bool) {
        let (pid, _) = stat.split_once(' ').expect("an id");
        let (_, fields) = stat.rsplit_once(") ").expect("a name");
        let flags: u64 = fields.split(' ').nth(6).expect("flags").parse().expect("a number");
        (pid, flags & FORKED_ONLY != 0)
    }

    #[test]
    fn a_call_finds_nothing_of_the_one_before() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir(dir.path().join("sub")).expect("it is new");
        let look = "pwd; echo $X; cat; ulimit -n; ls /proc/self/fd";
        let tiltfile = format!(
            "local('pwd; echo $X', dir='sub', env={{'X': '1'}}, stdin='text')
local('exit 0', dir='sub', env={{'X': '2'}})
local('no-such-program-here || true')
if str(local('{look}')) != str(local('{look}')): fail('not the same')
if str(local('pwd; echo $X', dir='sub', env={{'X': '3'}})) != os.getcwd() + '/sub\\n3\\n': fail('not its own')
if str(local('pwd; echo $X; cat')) != os.getcwd() + '\\n\\n': fail('of another')
"
        );
        let output = command(dir.path(), &tiltfile).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    #[test]
    fn a_running_local_call_ends_with_the_engine_or_the_evaluation() {
        for signal in [Signal::SIGKILL, Signal::SIGINT] {
            let dir = tempfile::tempdir().expect("a directory");
            let script = "setsid sh -c 'echo $$ > a.new; mv a.new a.pid; exec sleep 1000' & wait";
            let mut engine = evaluate(dir.path(), &format!("local(\"{script}\")"));
            let path = dir.path().join("a.pid");
            until("it starts", || path.exists());
            let pid = Pid::from_raw(engine.id().try_into().expect("a process id"));
            kill(pid, signal).expect("it runs");
            engine.wait().expect("it is our child");
            until("it ends", || is_gone(read_pid(&path)));
        }
    }

    #[test]
    fn what_a_finished_local_call_leaves_behind_lives_on() {
        let dir = tempfile::tempdir().expect("a directory");
        let start = |name: &str, prefix: &str| {
            let script = format!("echo $$ > {name}.new; mv {name}.new {name}.pid; exec sleep 1000");
            let run = format!("{prefix} sh -c '{script}' >/dev/null 2>&1 &");
            format!("local(\"{run} until test -e {name}.pid; do sleep 0.01; done\")\n")
        };
        let tiltfile = start("own", "setsid") + &start("same", "");
        let mut engine = evaluate(dir.path(), &tiltfile);
        assert!(engine.wait().expect("it is our child").success());
        for name in ["own.pid", "same.pid"] {
            let pid = read_pid(&dir.path().join(name));
            assert!(!is_gone(pid), "{name}");
            kill(pid, Signal::SIGKILL).expect("it runs");
        }
    }

    #[test]
    fn input_reaches_the_command_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        let tiltfile = "
text = 'line\\n' * 500000
if str(local('cat', stdin=text, quiet=True)) != text: fail('changed')
if str(local('head -n 1', stdin=text, quiet=True)) != 'line\\n': fail('not the first line')
";
        assert!(evaluate(dir.path(), tiltfile).wait().expect("it is our child").success());
    }
}
