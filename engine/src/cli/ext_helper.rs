//! Helpers for extensions of the standard library that need more than a Tiltfile can do.
//!
//! Extensions call this program as `sys.executable`, so that users need not install anything else. Input comes from
//! the environment and the arguments; the command is not meant for people.

use std::{
    io,
    net::{Ipv4Addr, TcpListener},
    process::{ExitCode, ExitStatus},
};

use clap::Args;
use engine_cli::{Failure, Printer};
use engine_formats::{golang::quote::command_line, yaml};

mod digest;
mod events;
mod helm;
mod live;
mod process;
mod pulumi;
mod release;

pub(crate) use release::forget_old as forget_old_releases;

/// Why a part of an extension fails.
#[derive(Debug, thiserror::Error)]
enum HelperError {
    #[error("no extension has a part {0:?}")]
    UnknownPart(String),
    #[error("{0} is not set")]
    NotSet(String),
    #[error("{}: {source}", command_line(.argv))]
    Run { argv: Vec<String>, source: io::Error },
    #[error("{}: {status}", command_line(.argv))]
    Exit { argv: Vec<String>, status: ExitStatus },
    #[error("helm upgrade of release {0} failed")]
    Upgrade(String),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Yaml(#[from] yaml::Error),
}

/// Run part of a bundled extension
#[derive(Debug, Args)]
pub(super) struct ExtHelperFlags {
    /// The part, and its arguments
    #[arg(value_name = "PART")]
    words: Vec<String>,
}

pub(super) fn run(flags: &ExtHelperFlags, printer: Printer) -> Result<ExitCode, Failure> {
    let (part, args) = match flags.words.split_first() {
        Some((part, args)) => (part.as_str(), args),
        None => ("", &[][..]),
    };
    let result = match part {
        "free-port" => free_port(args, printer),
        "helm-apply" => helm::apply(args, printer),
        "helm-delete" => helm::delete(args, printer),
        "honeycomb-events" => events::print(args.first().map(String::as_str), printer),
        "pulumi-apply" => pulumi::apply(args, printer),
        _ => Err(HelperError::UnknownPart(part.to_owned())),
    };
    result.map(|()| ExitCode::SUCCESS).map_err(Failure::command)
}

/// Prints a port if nobody listens there, or another one.
fn free_port(args: &[String], printer: Printer) -> Result<(), HelperError> {
    let wanted = args.first().and_then(|it| it.parse::<u16>().ok()).unwrap_or(0);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted))
        .or_else(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    let address = listener.and_then(|it| it.local_addr())?;
    printer.out(&format!("{}\n", address.port()));
    Ok(())
}
