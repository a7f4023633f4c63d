//! Parts of extensions of the standard library that need more than a Tiltfile can do.
//!
//! Extensions call this program as `sys.executable`, so that nothing else has to be installed. What they say is
//! in the environment and the arguments; none of it is meant for people.

use std::{
    net::{Ipv4Addr, TcpListener},
    process::ExitCode,
};

use clap::Args;

use super::{Printer, failure::Failure};

mod digest;
mod events;
mod helm;
mod live;
mod process;
mod pulumi;
mod release;

/// Do a part of an extension of the standard library
#[derive(Debug, Args)]
pub(super) struct Flags {
    /// The part, and its arguments
    #[arg(value_name = "PART")]
    words: Vec<String>,
}

pub(super) fn run(flags: &Flags, printer: Printer) -> Result<ExitCode, Failure> {
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
        _ => Err(format!("no extension has a part {part:?}")),
    };
    result.map(|()| ExitCode::SUCCESS).map_err(Failure::Command)
}

/// Prints a port if nobody listens there, or another one.
fn free_port(args: &[String], printer: Printer) -> Result<(), String> {
    let wanted = args.first().and_then(|it| it.parse::<u16>().ok()).unwrap_or(0);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted))
        .or_else(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    let address = listener.and_then(|it| it.local_addr()).map_err(|it| it.to_string())?;
    printer.out(&format!("{}\n", address.port()));
    Ok(())
}
