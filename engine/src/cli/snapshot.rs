//! `snapshot`: keeps what the web page shows in a file.

use std::{fs, time::SystemTime};

use builtins::golang::{json, os_error::PathError};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Printer, client::WebClient, connect::ConnectFlags, failure::Failure};

mod any_key;
mod view;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Write a snapshot of a running instance
    Create(CreateFlags),
    /// Show a snapshot in the browser
    View(view::Flags),
}

/// Write a snapshot of a running instance.
#[derive(Debug, Args)]
pub(super) struct CreateFlags {
    /// The file, standard output by default
    #[arg(value_name = "FILE")]
    file: Option<String>,
    #[command(flatten)]
    connect: ConnectFlags,
}

pub(super) fn run(command: &Command, printer: Printer) -> Result<(), Failure> {
    match command {
        Command::Create(flags) => create(flags, printer),
        Command::View(flags) => view::run(flags, printer),
    }
}

fn create(flags: &CreateFlags, printer: Printer) -> Result<(), Failure> {
    let body = WebClient::new(&flags.connect)?.get("view")?;
    let view: Value = serde_json::from_slice(&body)
        .map_err(|it| Failure::Plain(format!("error reading snapshot from tilt: {it}")))?;
    let now = Timestamp::try_from(SystemTime::now()).unwrap_or_default();
    let snapshot =
        json!({"view": view, "createdAt": now.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()});
    let text = format!("{}\n", json::encode(&snapshot));
    let Some(file) = &flags.file else {
        printer.out(&text);
        return Ok(());
    };
    fs::write(file, text).map_err(|error| {
        let cause = PathError::new("open", file, &error);
        Failure::Plain(format!("error creating {file}: {cause}"))
    })
}
