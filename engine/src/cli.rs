//! The command line: what can be typed, and which command answers.

use std::{ffi::OsString, process::ExitCode};

use clap::{Args, Parser, Subcommand, error::ErrorKind};

mod interrupt;
mod json;
mod printer;
mod report;
mod tiltfile_result;

use printer::Printer;

/// Exit code for problems outside the Tiltfile.
const FAILURE: u8 = 1;
/// Exit code for problems in the Tiltfile.
const TILTFILE_FAILURE: u8 = 5;
/// Exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// A dev environment engine that runs existing Tiltfiles unchanged.
#[derive(Debug, Parser)]
#[command(name = "engine", version, subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Flags of every command.
#[derive(Debug, Clone, Args)]
struct Global {
    /// Enable verbose logging
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Enable debug logging
    #[arg(short, long, global = true)]
    debug: bool,
    /// Accepted for compatibility; has no effect
    #[arg(long, global = true, hide = true, value_name = "LEVEL")]
    klog: Option<i32>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Commands that are still unstable
    Alpha {
        #[command(subcommand)]
        command: AlphaCommand,
    },
    /// Current version
    Version,
}

#[derive(Debug, Subcommand)]
enum AlphaCommand {
    /// Evaluate the Tiltfile and print the result as JSON
    TiltfileResult(tiltfile_result::Flags),
}

/// Runs the command that the arguments name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let printer = Printer;
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return usage(printer, &error),
    };
    match cli.command {
        Command::Alpha { command: AlphaCommand::TiltfileResult(flags) } => {
            tiltfile_result::run(&flags, &cli.global, printer)
        }
        Command::Version => {
            printer.out(&format!("v{}\n", builtins::COMPATIBLE_VERSION));
            ExitCode::SUCCESS
        }
    }
}

fn usage(printer: Printer, error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            printer.out(&error.render().to_string());
            ExitCode::SUCCESS
        }
        _ => {
            printer.err(&error.render().to_string());
            ExitCode::from(FAILURE)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_command_line_makes_the_parser_panic(
            words in prop::collection::vec(
                prop_oneof![
                    "[ -~]{0,12}",
                    prop::sample::select(vec![
                        "alpha", "tiltfile-result", "version", "--", "-f", "-b", "--json", "-v",
                        "--dur-threshold", "1h", "--klog=x", "--help", "-h", "=", "-",
                    ]).prop_map(str::to_owned),
                ],
                0..8,
            )
        ) {
            let args = std::iter::once("engine".to_owned()).chain(words);
            if let Err(error) = Cli::try_parse_from(args) {
                prop_assert!(!error.render().to_string().is_empty());
            }
        }
    }
}
