//! `open`: opens the page of a running instance, and prints a link with the token for other browsers.

use clap::Args;

use super::{Printer, browser, client::WebClient, connect::ConnectFlags, failure::Failure};

/// Open the page of a running instance.
///
/// Browsers of this user on this machine get in by themselves. The link that is printed lets any
/// other one in, once.
#[derive(Debug, Args)]
pub struct OpenFlags {
    /// Only print the link
    #[arg(long)]
    no_open: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &OpenFlags, printer: Printer) -> Result<(), Failure> {
    let answer = WebClient::new(&flags.connect)?.work_out("key")?.ok_or_else(|| {
        let address = flags.connect.address();
        Failure::Command(format!("no instance is running at {address}; `engine up` starts one"))
    })?;
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    printer.out(&format!("{}\n", text("link")));
    if !flags.no_open {
        printer.err(if is_opened(&text("open")) {
            "The page was opened in your browser; the link above lets another one in, once.\n"
        } else {
            "No browser could be opened; the link above lets one in, once.\n"
        });
    }
    Ok(())
}

fn is_opened(url: &str) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.is_ok_and(|it| it.block_on(async { browser::open(url) }).is_ok())
}
