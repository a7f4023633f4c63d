//! `ci`: runs a Tiltfile to a verdict.

use std::process::ExitCode;

use clap::Args;
use engine_model::GoDuration;

use super::{
    Global, Printer,
    failure::Failure,
    start::{self, StartFlags, Terminal},
    values,
};
use crate::runtime::Mode;

/// Run the Tiltfile until everything is done and ready, or something fails.
///
/// Exit code 0: all resources that start by themselves succeeded or are ready.
/// Exit code 1: something failed, or took too long. Servers are stopped; deployments stay.
#[derive(Debug, Args)]
pub(super) struct Flags {
    #[command(flatten)]
    start: StartFlags,
    /// Fail if it takes longer, for example 10m; 0 is no limit. `ci_settings` in the Tiltfile wins
    #[arg(long, default_value = "30m", value_name = "DURATION", value_parser = values::duration)]
    timeout: values::GoDuration,
}

pub(super) fn run(flags: &Flags, global: &Global, printer: Printer) -> Result<ExitCode, Failure> {
    start::run(
        &flags.start,
        Mode::Ci,
        Some(GoDuration(flags.timeout.0)),
        Terminal::Stream,
        global,
        printer,
    )
}
