//! `lsp`: starts the language server for editors.

use clap::{Args, Subcommand};
use engine_cli::Failure;

/// Run the Tiltfile language server for editors.
#[derive(Debug, Subcommand)]
pub(super) enum LspCommand {
    /// Start the language server
    Start(LspFlags),
}

/// Start the language server.
#[derive(Debug, Args)]
pub(super) struct LspFlags {
    /// Address (host:port) to listen on instead of using standard input and output
    #[arg(long, value_name = "ADDRESS", default_value = "", hide_default_value = true)]
    address: String,
}

pub(super) fn run(command: &LspCommand) -> Result<(), Failure> {
    let LspCommand::Start(LspFlags { address }) = command;
    // `:8080` means every address of this machine, as in Go.
    let address = match address.strip_prefix(':') {
        Some(port) => format!("0.0.0.0:{port}"),
        None => address.clone(),
    };
    let address = (!address.is_empty()).then_some(address.as_str());
    crate::lsp::serve(address).map_err(|error| Failure::Command(error.to_string()))
}
