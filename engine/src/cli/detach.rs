//! `up --detach`: starts an engine in the background, and returns when it answers.

use std::{
    env,
    ffi::OsString,
    fs, io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use engine_cli::{
    FAILURE, Failure, Printer,
    connect::{ListenFlags, ListenPort},
    display_name, stop,
};
use engine_files::{dev_dir, private};
use serde_json::json;

use crate::{platform, server::web};

/// How long to wait for an engine to answer; it does not wait for the Tiltfile.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How often to poll whether it answers.
const POLL: Duration = Duration::from_millis(20);

/// Additional flags for the engine in the background; the last of several wins.
const FOR_CHILD: [&str; 3] = ["--detach=false", "--own-session", "--stream"];

/// Starts an engine with the arguments of this command line.
pub(super) fn run(listen: &ListenFlags, json: bool, printer: Printer) -> Result<ExitCode, Failure> {
    if listen.port == ListenPort::Number(0) {
        return Err(Failure::Command("--detach needs a web page: --port must not be 0".to_owned()));
    }
    let failure =
        |error: io::Error| Failure::Command(format!("cannot start in the background: {error}"));
    let logs = log_dir().map_err(failure)?;
    // The log of an instance that has the port already stays where it is.
    let new_log = logs.join(format!("up-{}.{}.log", listen.port, std::process::id()));
    let mut child = spawn(&new_log).map_err(failure)?;
    let deadline = Instant::now() + TIMEOUT;
    let port = loop {
        if let Some(port) = stop::port_of(child.id()) {
            break port;
        }
        if let Some(status) = child.try_wait().map_err(failure)? {
            // What it printed says why.
            printer.err(&fs::read_to_string(&new_log).unwrap_or_default());
            let _ = fs::remove_file(&new_log);
            printer.err(&format!("Error: cannot start in the background: {status}\n"));
            return Ok(ExitCode::from(FAILURE));
        }
        if Instant::now() >= deadline {
            // It has not answered, so nobody uses it yet.
            let _ = child.kill();
            let _ = child.wait();
            let log = new_log.display();
            let text = format!("the new instance does not answer; see its log, {log}");
            return Err(Failure::Command(text));
        }
        thread::sleep(POLL);
    };
    let log = logs.join(format!("up-{port}.log"));
    fs::rename(&new_log, &log).map_err(failure)?;
    let url = format!("http://{}:{}/", web::shown_host(&listen.host), port);
    if json {
        printer.json(&json!({"pid": child.id(), "url": url, "log": log.to_string_lossy()}));
    } else {
        let (pid, log) = (child.id(), log.display());
        let name = display_name();
        printer.out(&format!("{name} started on {url} (process {pid})\nLog: {log}\n"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes this process the leader of a session, so that it survives the terminal.
pub(super) fn leave_terminal() {
    // It leads one already if it was started that way by hand.
    let _ = nix::unistd::setsid();
}

fn log_dir() -> io::Result<PathBuf> {
    let dir = dev_dir::create()?.join("logs");
    private::create_dir(&dir)?;
    Ok(dir)
}

fn spawn(log: &Path) -> io::Result<Child> {
    let mut words = env::args_os();
    let name = words.next().unwrap_or_else(|| "engine".into());
    Command::new(platform::own_program()?)
        .arg0(name)
        .args(for_child(words.collect()))
        .stdin(Stdio::null())
        .stdout(private::append(log)?)
        .stderr(private::append(log)?)
        .spawn()
}

/// The words of the user with ours, which have to stand before the arguments of the Tiltfile.
fn for_child(mut words: Vec<OsString>) -> Vec<OsString> {
    let end = words.iter().position(|it| it == "--").unwrap_or(words.len());
    words.splice(end..end, FOR_CHILD.map(OsString::from));
    words
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
        check(&["up", "--detach", "web"], "up --detach web --detach=false --own-session --stream");
        check(
            &["up", "--detach", "--", "--x"],
            "up --detach --detach=false --own-session --stream -- --x",
        );
    }
}
