//! `ci`: runs a Tiltfile until everything has succeeded or something has failed.

use std::process::ExitCode;

use clap::Args;
use engine_cli::{Failure, Printer, values};
use engine_model::GoDuration;

use super::{
    Global,
    start::{self, StartFlags, Terminal},
};
use crate::runtime::Mode;

/// Run the Tiltfile until everything is done and ready, or something fails.
///
/// Exit code 0: all resources that start by themselves succeeded or are ready.
/// Exit code 1: something failed, or took too long. Servers are stopped; deployments stay.
/// Exit code 70: the engine itself has a defect, which it names. Servers are stopped.
#[derive(Debug, Args)]
pub(super) struct CiFlags {
    #[command(flatten)]
    start: StartFlags,
    /// Fail if it takes longer, for example 10m; 0 is no limit. `ci_settings` in the Tiltfile wins
    #[arg(long, default_value = "30m", value_name = "DURATION", value_parser = values::duration)]
    timeout: values::GoDuration,
}

pub(super) fn run(flags: &CiFlags, global: &Global, printer: Printer) -> Result<ExitCode, Failure> {
    start::run(
        &flags.start,
        Mode::Ci,
        Some(GoDuration(flags.timeout.0)),
        Terminal::Stream,
        global,
        printer,
    )
}
