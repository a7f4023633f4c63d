//! `snapshot`: keeps what the web page shows in a file.

use std::fs;

use builtins::golang::os_error::PathError;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::{Map, Value};

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
    // It is kept as it came, whatever version of the view this is.
    let view = str::from_utf8(&body).ok().filter(|it| is_object(it));
    let Some(view) = view else {
        return Err(Failure::Plain("error reading snapshot from tilt: not a view".to_owned()));
    };
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ");
    let text = format!("{{\"view\":{},\"createdAt\":\"{now}\"}}\n", view.trim());
    let Some(file) = &flags.file else {
        printer.out(&text);
        return Ok(());
    };
    fs::write(file, text).map_err(|error| {
        let cause = PathError::new("open", file, &error);
        Failure::Plain(format!("error creating {file}: {cause}"))
    })
}

fn is_object(text: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(text).is_ok()
}
