//! `open`: opens the page of a running instance, and prints a link with the token for other browsers.

use clap::Args;

use super::{
    Printer, browser, client::WebClient, connect::ConnectFlags, failure::Failure,
    instances::nothing_runs,
};

/// Open the web page of a running instance.
///
/// Your own browsers on this machine need no key. For any other browser, use the printed link: it
/// works once.
#[derive(Debug, Args)]
pub struct OpenFlags {
    /// Print the link without opening a browser
    #[arg(long)]
    no_open: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &OpenFlags, printer: Printer) -> Result<(), Failure> {
    let answer = WebClient::new(&flags.connect)?.work_out("key", "open")?;
    let answer = answer.ok_or_else(|| nothing_runs(&flags.connect))?;
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    printer.out(&format!("{}\n", text("link")));
    if !flags.no_open {
        printer.err(if is_opened(&text("open")) {
            "Opened the page in your browser. The link above lets one other browser in.\n"
        } else {
            "Could not open a browser. The link above lets one in.\n"
        });
    }
    Ok(())
}

fn is_opened(url: &str) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.is_ok_and(|it| it.block_on(async { browser::open(url) }).is_ok())
}
