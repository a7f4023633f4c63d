//! `ci`: runs a Tiltfile until everything has succeeded or something has failed.

use std::process::ExitCode;

use clap::Args;
use engine_cli::{Failure, Printer, is_tilt, values};
use engine_model::GoDuration;

use super::{
    Global,
    start::{self, StartFlags, Terminal},
};
use crate::runtime::Mode;

/// Run the Tiltfile until everything is done and ready, or something fails.
///
/// ARGS are handled as by `up`. At the end, servers stop; deployments stay.
///
/// Exit codes: 0 if all resources that start automatically succeeded or are ready, 1 if something
/// failed or took too long, 70 after an internal error.
#[derive(Debug, Args)]
pub(super) struct CiFlags {
    #[command(flatten)]
    start: StartFlags,
    /// Fail if it takes longer than this; 0 for no limit. `ci_settings` in the Tiltfile takes precedence
    #[arg(long, default_value = "30m", value_name = "DURATION", value_parser = values::duration)]
    timeout: values::GoDuration,
    /// Do not print the summary at the end
    #[arg(long)]
    quiet: bool,
}

pub(super) fn run(flags: &CiFlags, global: &Global, printer: Printer) -> Result<ExitCode, Failure> {
    let is_short = flags.quiet || is_tilt();
    let terminal = if is_short { Terminal::Stream } else { Terminal::StreamAndSummary };
    let timeout = Some(GoDuration(flags.timeout.0));
    start::run(&flags.start, Mode::Ci, timeout, terminal, global, printer)
}
