//! `up`: runs a Tiltfile and keeps it up to date.

use std::{io::IsTerminal, process::ExitCode};

use clap::Args;
use engine_cli::{Failure, Printer};
use engine_formats::golang::quote::quote;

use super::{
    Global, detach,
    start::{self, StartFlags, Terminal},
    starter,
};
use crate::runtime::Mode;

/// How images may be updated.
const UPDATE_MODES: [&str; 4] = ["auto", "image", "container", "exec"];

/// Run the Tiltfile and keep everything up to date until Ctrl-C.
///
/// ARGS are the resources to run, along with their dependencies. If the Tiltfile parses its own
/// arguments (config.parse), they go there instead; put flags for the Tiltfile after --.
#[derive(Debug, Args)]
pub(super) struct UpFlags {
    #[command(flatten)]
    start: StartFlags,
    /// Stream the log instead of showing the menu
    #[arg(long)]
    stream: bool,
    /// Accepted for compatibility; the log is shown instead
    #[arg(hide = true, long)]
    legacy: bool,
    /// How to update images: auto, image, container or exec
    #[arg(long, default_value = "auto", value_name = "MODE")]
    update_mode: String,
    /// Do not open port forwards
    #[arg(long)]
    disable_port_forwards: bool,
    /// Start in the background and return once the web page answers; `stop` stops it
    #[arg(long)]
    detach: bool,
    /// With --detach, print process, address and log file as JSON
    #[arg(long)]
    json: bool,
    /// What --detach starts: leave the terminal
    #[arg(long, hide = true)]
    own_session: bool,
}

pub(super) fn run(flags: &UpFlags, global: &Global, printer: Printer) -> Result<ExitCode, Failure> {
    if !UPDATE_MODES.contains(&flags.update_mode.as_str()) {
        return Err(Failure::Command(format!(
            "unknown update mode {}. Valid Values: [{}]",
            quote(&flags.update_mode),
            UPDATE_MODES.join(" ")
        )));
    }
    if starter::offer(&flags.start.tiltfile(), flags.start.file(), printer)?
        == starter::StarterChoice::Leave
    {
        return Ok(ExitCode::SUCCESS);
    }
    if flags.detach {
        return detach::run(flags.start.listen(), flags.json, printer);
    }
    let start = flags.start.with_forwards(!flags.disable_port_forwards);
    if flags.own_session {
        detach::leave_terminal();
        return start::run(&start, Mode::Up, None, Terminal::LogFile, global, printer);
    }
    let is_terminal = std::io::stdout().is_terminal();
    let terminal = if is_terminal && !flags.stream && !flags.legacy {
        Terminal::Prompt
    } else {
        Terminal::Stream
    };
    if flags.legacy && is_terminal {
        printer.err("The full-screen view is not available; showing the log instead.\n");
    }
    start::run(&start, Mode::Up, None, terminal, global, printer)
}
