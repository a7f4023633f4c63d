//! Mistakes of the engine itself: it ends, says where the mistake is, and leaves nothing behind.

use std::{
    fs::File,
    future::poll_fn,
    io::Read,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    task::Poll,
    thread::{self, JoinHandle},
};

use engine::{cli, guard, platform::Form};
use nix::{
    pty::openpty,
    sys::termios::{LocalFlags, tcgetattr},
};

use crate::support::{Project, until};

/// Tells this program that it stands in for the engine: the words of its command line.
const WORDS: &str = "ENGINE_TEST_WORDS";

/// One process that is easily found, one that hides from its group, and a file that tells of both.
const TILTFILE: &str = "
local_resource('server', serve_cmd='setsid sleep 1000 & touch running; sleep 1000',
    readiness_probe=probe(exec=exec_action(['false'])))
";

/// The real engine, with a loop that panics as soon as there is a file `defect`.
#[test]
fn stand_in() {
    let Ok(words) = std::env::var(WORDS) else { return };
    guard::use_program(PathBuf::from(env!("CARGO_BIN_EXE_engine")), Form::NATIVE);
    let mut look = Box::pin(async {
        while !Path::new("defect").exists() {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    });
    cli::end_when(poll_fn(move |context| match look.as_mut().poll(context) {
        Poll::Ready(()) => panic!("injected"),
        Poll::Pending => Poll::Pending,
    }));
    let words = ["engine"].into_iter().chain(words.split(' '));
    let code = number(cli::run(words.map(Into::into)));
    #[expect(clippy::exit, reason = "the code of a test that fails is another one")]
    std::process::exit(code)
}

fn number(code: ExitCode) -> i32 {
    let is_it = |it: &u8| format!("{:?}", ExitCode::from(*it)) == format!("{code:?}");
    (0..=u8::MAX).find(is_it).expect("there are no others").into()
}

/// The stand-in with these words, below something that gives it a terminal of its own.
fn stand_in_for(project: &Project, below: &[&str], words: &str) -> Command {
    let this = std::env::current_exe().expect("it runs");
    let like = project.command(&[]);
    let mut line = below.iter().map(PathBuf::from).chain([this]);
    let mut command = Command::new(line.next().expect("it is not empty"));
    command.args(line).args(["--exact", "up::defects::stand_in", "--nocapture"]).env_clear();
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
        .env(WORDS, words)
        .env("TILT_PORT", "auto")
        .env("TERM", "xterm")
        .current_dir(project.path(""));
    command
}

/// What is printed, once all of it is there.
fn read(mut from: File) -> JoinHandle<String> {
    thread::spawn(move || {
        let (mut text, mut bytes) = (Vec::new(), [0; 4096]);
        // A terminal that nobody writes to any more is an error.
        while let Ok(n_bytes @ 1..) = from.read(&mut bytes) {
            text.extend_from_slice(&bytes[..n_bytes]);
        }
        String::from_utf8_lossy(&text).into_owned()
    })
}

fn check_words(printed: &str) {
    let sentence =
        "Error: internal error: the main loop panicked at engine/tests/engine/up/defects.rs:";
    assert!(printed.contains(sentence), "{printed}");
    assert!(printed.contains(": injected"), "{printed}");
}

#[test]
fn a_panic_of_the_loop_gives_the_terminal_back_and_ends_all_processes() {
    let project = Project::new(TILTFILE);
    let pty = openpty(None, None).expect("a terminal");
    let before = tcgetattr(&pty.slave).expect("it is one");
    let end = |fd: &OwnedFd| Stdio::from(fd.try_clone().expect("it is open"));
    let mut command = stand_in_for(&project, &["setsid", "--ctty", "--wait"], "up");
    command.stdin(end(&pty.slave)).stdout(end(&pty.slave)).stderr(end(&pty.slave));
    let mut child = command.spawn().expect("it starts");
    drop(command);
    let printed = read(File::from(pty.master));
    project.wait_for("running");
    until("keys to be read", || {
        let now = tcgetattr(&pty.slave).expect("it is a terminal");
        (!now.local_flags.contains(LocalFlags::ICANON)).then_some(())
    });

    project.write("defect", "");
    let status = until("the end", || child.try_wait().expect("it is a child"));
    let after = tcgetattr(&pty.slave).expect("it is a terminal");
    drop(pty.slave);
    let printed = printed.join().expect("it was read");
    assert_eq!(status.code(), Some(70), "{printed}");
    assert_eq!(after.local_flags, before.local_flags);
    assert_eq!(after.control_chars, before.control_chars);
    check_words(&printed);
    project.wait_until_all_are_gone("a panic of the loop");
}

#[test]
fn a_panic_of_the_loop_ends_ci_and_an_engine_in_the_background_alike() {
    for words in ["ci", "up --own-session --stream"] {
        let project = Project::new(TILTFILE);
        let mut command = stand_in_for(&project, &[], words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let printed = read(File::from(OwnedFd::from(child.stderr.take().expect("it is piped"))));
        project.wait_for("running");
        project.write("defect", "");
        let status = until("the end", || child.try_wait().expect("it is a child"));
        project.wait_until_all_are_gone(words);
        let printed = printed.join().expect("it was read");
        assert_eq!(status.code(), Some(70), "{words}: {printed}");
        check_words(&printed);
    }
}
