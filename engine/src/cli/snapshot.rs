//! `snapshot`: saves the state of the web page to a file, and displays such a file.

use clap::Subcommand;
use engine_cli::{Failure, Printer, snapshot};

mod any_key;
mod view;

#[derive(Debug, Subcommand)]
pub(super) enum SnapshotCommand {
    /// Save a snapshot of the web page
    Create(snapshot::SnapshotFlags),
    /// View a snapshot in the browser
    View(view::SnapshotViewFlags),
}

pub(super) fn run(command: &SnapshotCommand, printer: Printer) -> Result<(), Failure> {
    match command {
        SnapshotCommand::Create(flags) => snapshot::run(flags, printer),
        SnapshotCommand::View(flags) => view::run(flags, printer),
    }
}
