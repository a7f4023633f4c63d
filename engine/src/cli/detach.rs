//! `up --detach`: starts an engine in a session of its own, and returns when it answers.

use std::{
    env,
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io,
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    FAILURE, Printer, client::ApiClient, connect::ConnectFlags, failure::Failure, resource_type,
    stop,
};
use crate::{dev_dir, platform, server::web};

/// How long an engine may take to answer; the Tiltfile is not waited for.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How often to ask whether it answers.
const POLL: Duration = Duration::from_millis(20);

/// What the engine in the background is told besides the words of the user; of several, the last counts.
const FOR_CHILD: [&str; 3] = ["--detach=false", "--own-session", "--stream"];

/// Starts an engine with the words of this command line.
pub(super) fn run(
    connect: &ConnectFlags,
    json: bool,
    printer: Printer,
) -> Result<ExitCode, Failure> {
    if connect.port == 0 {
        return Err(Failure::Command(
            "--detach needs a --port by which it can be found".to_owned(),
        ));
    }
    let failure =
        |error: io::Error| Failure::Command(format!("cannot start in the background: {error}"));
    let log = log_path(connect.port).map_err(failure)?;
    // The log of an instance that has the port already stays where it is.
    let new_log = log.with_extension(format!("{}.log", std::process::id()));
    let mut child = spawn(&new_log).map_err(failure)?;
    let deadline = Instant::now() + TIMEOUT;
    while !answers(connect, child.id()) {
        if let Some(status) = child.try_wait().map_err(failure)? {
            // What it printed says why.
            printer.err(&fs::read_to_string(&new_log).unwrap_or_default());
            let _ = fs::remove_file(&new_log);
            printer.err(&format!("Error: the engine did not start: {status}\n"));
            return Ok(ExitCode::from(FAILURE));
        }
        if Instant::now() >= deadline {
            // It has not answered, so nobody uses it yet.
            let _ = child.kill();
            let _ = child.wait();
            let log = new_log.display();
            return Err(Failure::Command(format!("the engine does not answer; its log is {log}")));
        }
        thread::sleep(POLL);
    }
    fs::rename(&new_log, &log).map_err(failure)?;
    let url = format!("http://{}:{}/", web::shown_host(&connect.host), connect.port);
    if json {
        printer.json(&json!({"pid": child.id(), "url": url, "log": log}));
    } else {
        let (pid, log) = (child.id(), log.display());
        printer.out(&format!("Tilt started on {url} (process {pid})\nLog: {log}\n"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes this process the leader of a session, so that it survives the terminal.
pub(super) fn leave_terminal() {
    // It leads one already if it was started that way by hand.
    let _ = nix::unistd::setsid();
}

fn log_path(port: i64) -> io::Result<PathBuf> {
    let dir = dev_dir::create()?.join("logs");
    fs::create_dir_all(&dir)?;
    Ok(dir.join(format!("up-{port}.log")))
}

fn spawn(log: &Path) -> io::Result<Child> {
    let open = || -> io::Result<File> {
        OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(log)
    };
    let mut words = env::args_os();
    let name = words.next().unwrap_or_else(|| "engine".into());
    Command::new(platform::own_program()?)
        .arg0(name)
        .args(for_child(words.collect()))
        .stdin(Stdio::null())
        .stdout(open()?)
        .stderr(open()?)
        .spawn()
}

/// The words of the user with ours, which have to stand before the arguments of the Tiltfile.
fn for_child(mut words: Vec<OsString>) -> Vec<OsString> {
    let end = words.iter().position(|it| it == "--").unwrap_or(words.len());
    words.splice(end..end, FOR_CHILD.map(OsString::from));
    words
}

/// Whether the process is the instance that clients find.
fn answers(connect: &ConnectFlags, pid: u32) -> bool {
    let session =
        ApiClient::new(connect).and_then(|it| it.get(resource_type::named("Session"), "Tiltfile"));
    let found = session.ok().and_then(|it| stop::process_of(&it));
    found.is_some_and(|it| u32::try_from(it.as_raw()) == Ok(pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_the_tiltfile_stay_at_the_end() {
        let check = |words: &[&str], want: &str| {
            let words = for_child(words.iter().map(OsString::from).collect());
            let words: Vec<_> = words.iter().map(|it| it.to_string_lossy()).collect();
            assert_eq!(words.join(" "), want);
        };
        check(&["up", "-d", "web"], "up -d web --detach=false --own-session --stream");
        check(&["up", "-d", "--", "--x"], "up -d --detach=false --own-session --stream -- --x");
    }
}
