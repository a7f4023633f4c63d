//! What no Tiltfile may do to the engine: crash it, hang it, or leave processes behind.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// Longer than anything here takes, even on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(2);

fn engine(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_engine"));
    command.args(["alpha", "tiltfile-result"]).current_dir(dir).stdin(Stdio::null());
    command.env("ENGINE_MAX_HEAP_MB", "512").env("KUBECONFIG", dir.join("kubeconfig"));
    command
}

fn evaluate(tiltfile: &str) -> Output {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("Tiltfile"), tiltfile).expect("it can be written");
    engine(dir.path()).output().expect("it starts")
}

/// The Tiltfile fails as Tiltfiles do, with these words, at this line.
fn fails(tiltfile: &str, words: &str, line: usize) {
    let output = evaluate(tiltfile);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{tiltfile}\n{text}");
    assert!(text.contains(words), "{tiltfile}\n{text}");
    assert!(text.contains(&format!("Tiltfile:{line}:")), "{tiltfile}\n{text}");
}

#[test]
fn endless_recursion_ends_at_its_line_and_names_the_limit() {
    let words = "calls nest too deeply: more than 100000; ENGINE_MAX_CALL_DEPTH sets the limit";
    for tiltfile in [
        "def f(x):\n  return f(x + 1)\nf(1)\n",
        "def f(x):\n  return g(x)\ndef g(x):\n  return f(x)\nf(1)\n",
        "f = lambda x: g(x)\ng = lambda x: f(x)\nf(1)\n",
        "def f(x):\n  return sorted([x], key=f)\nf(1)\n",
        "def f(x):\n  return [max([1], key=f) for _ in [1]]\nf(1)\n",
        "s = struct(get=lambda x:\n  s.get(x))\ns.get(1)\n",
    ] {
        fails(tiltfile, words, 2);
    }
}

#[test]
fn calls_nest_as_deep_as_in_tilt_and_deeper_if_asked_to() {
    let dir = tempfile::tempdir().expect("a directory");
    for (depth, limit) in [("50000", ""), ("99000", ""), ("150000", "160000")] {
        let tiltfile = format!("def f(n):\n  return f(n - 1) if n else 0\nf({depth})\n");
        fs::write(dir.path().join("Tiltfile"), tiltfile).expect("it can be written");
        let output = engine(dir.path()).env("ENGINE_MAX_CALL_DEPTH", limit).output();
        let output = output.expect("it starts");
        assert!(output.status.success(), "{depth}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn memory_ends_in_an_error_at_its_line_that_names_the_limit() {
    let words = "out of memory: more than 512 MB are needed; ENGINE_MAX_HEAP_MB sets the limit";
    for tiltfile in [
        "\nx = 'x' * 1000000000\n",
        "\nx = [1] * 100000000\n",
        "\nx = list(range(2000000000))\n",
        "\nx = sorted(range(9000000000000000000))\n",
        "\nx = [i for i in range(2000000000)]\n",
        "\nx = {i: i for i in range(2000000000)}\n",
        "x = 'x'\nfor i in range(64): x = x + x\n",
        "x = [1]\nfor i in range(64): x = x + x\n",
        "x = []\nfor i in range(2000000000): x.append('%d' % i)\n",
        "x = ['x' * 10000000] * 100\ny = ''.join(x)\n",
        "x = 'x' * 10000000\ny = x.replace('x', 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy')\n",
        "def f(*args): return 0\nf(*range(2000000000))\n",
        "x = [1]\nfor i in range(40): x = [x, x] if i else ['x' * 10]\nprint(x)\n",
    ] {
        let line = if tiltfile.ends_with("print(x)\n") { 3 } else { 2 };
        fails(tiltfile, words, line);
    }
}

#[test]
fn deep_values_and_deep_code_neither_crash_nor_hang() {
    for tiltfile in [
        "x = []\nfor i in range(300000): x = [x]\nprint(x)\n".to_owned(),
        "x = ()\nfor i in range(300000): x = (x,)\ny = {x: 1}\n".to_owned(),
        "x = {}\nfor i in range(300000): x = {'a': x}\nprint(encode_yaml(x))\n".to_owned(),
        "x = decode_json('[' * 300000)\n".to_owned(),
        "x = decode_yaml('[' * 300000)\n".to_owned(),
        format!("x = {}{}\n", "(".repeat(50_000), ")".repeat(50_000)),
        format!("x = {}1\n", "not ".repeat(50_000)),
        format!("x = 1{}\n", " + 1".repeat(50_000)),
        "\0\u{1}\u{7f}".to_owned(),
    ] {
        let output = evaluate(&tiltfile);
        let start: String = tiltfile.chars().take(80).collect();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 5)), "{start}: {:?} {text}", output.status);
        assert!(!text.contains("internal error"), "{start}: {text}");
    }
}

#[test]
fn a_named_pipe_that_nobody_writes_to_is_an_error() {
    let dir = tempfile::tempdir().expect("a directory");
    nix::unistd::mkfifo(&dir.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    fs::write(dir.path().join("Tiltfile"), "\nread_file('pipe')\n").expect("it can be written");
    let output = engine(dir.path()).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{text}");
    assert!(text.contains("nobody writes to this named pipe"), "{text}");
}

/// Starts an evaluation that does not end, and waits until it has printed `ready`.
fn start(dir: &Path, tiltfile: &str) -> Child {
    fs::write(dir.join("Tiltfile"), tiltfile).expect("it can be written");
    let mut command = engine(dir);
    command.arg("-v").stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let stderr = child.stderr.take().expect("it is piped");
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.ends_with("ready")), "{tiltfile}");
    // Somebody has to read on, or the child may block.
    std::thread::spawn(move || lines.count());
    child
}

/// The exit code, once it has ended.
fn wait(mut child: Child) -> Option<i32> {
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait()));
    ended.recv_timeout(TIMEOUT).expect("it stops").expect("it is our child").code()
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(child.id().try_into().expect("a process id"))
}

#[test]
fn a_signal_stops_the_evaluation_wherever_it_is() {
    let big = "x = [str(i) for i in range(100000)]\n";
    for tiltfile in [
        "print('ready')\nwhile True:\n  pass\n".to_owned(),
        "print('ready')\nx = [i for i in range(2000000000) if i < 0]\n".to_owned(),
        format!("{big}print('ready')\nwhile True:\n  sorted(x, key=lambda y: y)\n"),
        "print('ready')\nlocal('sleep 1000')\n".to_owned(),
        // This one does not notice by itself.
        "x = '9' * 100000000\nprint('ready')\nint(x)\n".to_owned(),
    ] {
        for signal in [Signal::SIGINT, Signal::SIGTERM] {
            let dir = tempfile::tempdir().expect("a directory");
            let child = start(dir.path(), &tiltfile);
            kill(pid_of(&child), signal).expect("it runs");
            assert_eq!(wait(child), Some(130), "{tiltfile}");
        }
    }
}

#[test]
fn a_signal_ends_the_whole_process_group_of_a_command() {
    let dir = tempfile::tempdir().expect("a directory");
    let script = "sleep 1000 & echo $! > pid; echo ready; wait";
    let child = start(dir.path(), &format!("local('{script}')\n"));
    let pid = fs::read_to_string(dir.path().join("pid")).expect("it was written before `ready`");
    let grandchild = Pid::from_raw(pid.trim().parse().expect("a process id"));
    kill(pid_of(&child), Signal::SIGINT).expect("it runs");
    assert_eq!(wait(child), Some(130));
    let started = Instant::now();
    while !is_gone(grandchild) {
        assert!(started.elapsed() < TIMEOUT, "the grandchild is still there");
        std::thread::yield_now();
    }
}

/// Whether a process has ended; one that nobody has waited for has, too.
fn is_gone(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    kill(process, None) == Err(Errno::ESRCH) || stat.contains(") Z ")
}
