//! `status`: all resources by label, with why each is in its state; failures first.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
    thread,
    time::Duration,
};

use clap::Args;

use super::{Printer, connect::ConnectFlags, failure::Failure, has_colors};

mod board;

use board::Board;

/// Exit code if no instance answers.
const NOT_RUNNING: u8 = 7;

/// How often `--watch` looks.
const INTERVAL: Duration = Duration::from_millis(500);

/// Without lines that are too long for the screen, which would push others out of it.
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";
const CLEAR: &str = "\x1b[2J\x1b[H";

/// Show all resources and the reason for the state of each.
///
/// Resources are grouped by label; failures come first.
///
/// Exit codes: 0 if all is well, 1 if something failed, 3 if something is not ready yet, 7 if no
/// instance is running.
#[derive(Debug, Args)]
pub struct StatusFlags {
    /// Resources to show; all if none is named
    #[arg(value_name = "RESOURCE")]
    names: Vec<String>,
    /// Show only resources that have any of these labels
    #[arg(short, long, value_delimiter = ',', value_name = "LABELS")]
    labels: Vec<String>,
    /// Show the state again whenever it changes, until Ctrl-C or until the instance ends
    #[arg(short, long)]
    watch: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &StatusFlags, printer: Printer) -> Result<ExitCode, Failure> {
    let shown = if flags.watch { watch(flags, printer) } else { once(flags, printer) };
    shown.or_else(|failure| {
        if !failure.is_unreachable() {
            return Err(failure);
        }
        let _ = failure.report(printer);
        Ok(ExitCode::from(NOT_RUNNING))
    })
}

fn once(flags: &StatusFlags, printer: Printer) -> Result<ExitCode, Failure> {
    let board = Board::read(&flags.connect, &flags.names, &flags.labels)?;
    printer.out(&if flags.json {
        format!("{:#}\n", board.json())
    } else {
        board.text(has_colors(), true)
    });
    Ok(board.exit_code())
}

/// Shows what changes until the engine ends: on a screen in the same place, elsewhere one after another.
fn watch(flags: &StatusFlags, printer: Printer) -> Result<ExitCode, Failure> {
    let is_screen = io::stdout().is_terminal() && !flags.json;
    let mut last = String::new();
    let mut is_again = false;
    loop {
        let board = match Board::read(&flags.connect, &flags.names, &flags.labels) {
            Ok(board) => board,
            // An engine that ends, or loads, may not have all answers; the next look tells.
            Err(_) if !last.is_empty() && !is_again => {
                is_again = true;
                thread::sleep(INTERVAL);
                continue;
            }
            Err(failure) => return Err(failure),
        };
        is_again = false;
        // Ages change all the time, which is worth a look but no new line.
        let text =
            if flags.json { board.json().to_string() } else { board.text(has_colors(), is_screen) };
        if text != last {
            let mut out = printer.out_stream();
            let shown = if is_screen { on_screen(&text) } else { format!("{text}\n") };
            if out.write_all(shown.as_bytes()).and_then(|()| out.flush()).is_err() {
                // Who does not read anymore has seen enough.
                return Ok(ExitCode::SUCCESS);
            }
            last = text;
        }
        thread::sleep(INTERVAL);
    }
}

/// As many lines as fit, the first ones.
fn on_screen(text: &str) -> String {
    let height = terminal_size::terminal_size().map_or(usize::MAX, |(_, it)| usize::from(it.0));
    let lines: Vec<&str> = text.lines().collect();
    let kept = if lines.len() < height { lines.len() } else { height.saturating_sub(2) };
    let mut screen = format!("{CLEAR}{NO_WRAP}{}\n", lines[..kept].join("\n"));
    if kept < lines.len() {
        screen.push_str(&format!("… {} more lines\n", lines.len() - kept));
    }
    screen.push_str(WRAP);
    screen
}
