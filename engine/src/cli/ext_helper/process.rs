//! Runs the commands of extension helpers.

use std::{
    io::{self, Write},
    process::{Child, Command, Stdio},
    thread,
};

use engine_cli::Printer;
use engine_formats::golang::quote::command_line;

use super::HelperError;

/// Prints the command line of a command.
pub(super) fn announce(argv: &[String], printer: Printer) {
    printer.err(&format!("Running cmd: {}\n", command_line(argv)));
}

/// Runs a command whose output is for people.
pub(super) fn run(argv: &[String], printer: Printer) -> Result<(), HelperError> {
    announce(argv, printer);
    let status = start_for_people(argv)?.wait().map_err(|it| failed(argv, it))?;
    if status.success() { Ok(()) } else { Err(HelperError::Exit { argv: argv.to_vec(), status }) }
}

/// Starts a command whose output is for people, and goes to stderr: stdout is for objects only.
pub(super) fn start_for_people(argv: &[String]) -> Result<Child, HelperError> {
    let mut command = command(argv);
    command.stdin(Stdio::null()).stdout(std::io::stderr());
    command.spawn().map_err(|it| failed(argv, it))
}

/// The stdout of a command; its stderr is passed on.
pub(super) fn output(argv: &[String], input: Option<&str>) -> Result<String, HelperError> {
    let mut command = command(argv);
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped());
    finish(argv, command, input)
}

/// The stdout of a command if it succeeds; errors are ignored.
pub(super) fn quiet_output(argv: &[String]) -> Option<String> {
    let mut command = command(argv);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    finish(argv, command, None).ok()
}

fn finish(
    argv: &[String],
    mut command: Command,
    input: Option<&str>,
) -> Result<String, HelperError> {
    let mut child = command.spawn().map_err(|it| failed(argv, it))?;
    // A thread writes, as the command may print before it has read everything.
    let stdin = child.stdin.take();
    let done = thread::scope(|scope| {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // Who does not read to the end says why by the exit code.
            scope.spawn(move || stdin.write_all(input.as_bytes()));
        }
        child.wait_with_output()
    });
    let done = done.map_err(|it| failed(argv, it))?;
    if !done.status.success() {
        return Err(HelperError::Exit { argv: argv.to_vec(), status: done.status });
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

fn command(argv: &[String]) -> Command {
    let (program, args) = argv.split_first().expect("every command line names a program");
    let mut command = Command::new(program);
    command.args(args);
    command
}

fn failed(argv: &[String], source: io::Error) -> HelperError {
    HelperError::Run { argv: argv.to_vec(), source }
}

/// Words as arguments.
pub(super) fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}
