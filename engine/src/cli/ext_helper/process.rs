//! Commands that parts of extensions run, and what they said.

use std::{
    io::Write,
    process::{Child, Command, Stdio},
    thread,
};

use builtins::golang::quote::command_line;

use crate::cli::Printer;

/// Says that a command runs.
pub(super) fn announce(argv: &[String], printer: Printer) {
    printer.err(&format!("Running cmd: {}\n", command_line(argv)));
}

/// Runs a command whose output is for people.
pub(super) fn run(argv: &[String], printer: Printer) -> Result<(), String> {
    announce(argv, printer);
    let status = start_for_people(argv)?.wait().map_err(|it| failed(argv, &it.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed(argv, &status.to_string())) }
}

/// Starts a command whose output is for people: standard output is for objects alone.
pub(super) fn start_for_people(argv: &[String]) -> Result<Child, String> {
    let mut command = command(argv)?;
    command.stdin(Stdio::null()).stdout(std::io::stderr());
    command.spawn().map_err(|it| failed(argv, &it.to_string()))
}

/// What a command prints; what it says beside that is for people.
pub(super) fn output(argv: &[String], input: Option<&str>) -> Result<String, String> {
    let mut command = command(argv)?;
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped());
    finish(argv, command, input)
}

/// What a command prints, if it succeeds; nobody is told if not.
pub(super) fn quiet_output(argv: &[String]) -> Option<String> {
    let mut command = command(argv).ok()?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    finish(argv, command, None).ok()
}

fn finish(argv: &[String], mut command: Command, input: Option<&str>) -> Result<String, String> {
    let mut child = command.spawn().map_err(|it| failed(argv, &it.to_string()))?;
    // A thread writes, as the command may print before it has read everything.
    let stdin = child.stdin.take();
    let done = thread::scope(|scope| {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // Who does not read to the end says why by the exit code.
            scope.spawn(move || stdin.write_all(input.as_bytes()));
        }
        child.wait_with_output()
    });
    let done = done.map_err(|it| failed(argv, &it.to_string()))?;
    if !done.status.success() {
        return Err(failed(argv, &done.status.to_string()));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

fn command(argv: &[String]) -> Result<Command, String> {
    let (program, args) = argv.split_first().ok_or("no command")?;
    let mut command = Command::new(program);
    command.args(args);
    Ok(command)
}

fn failed(argv: &[String], why: &str) -> String {
    format!("{}: {why}", command_line(argv))
}

/// Words as arguments.
pub(super) fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}
