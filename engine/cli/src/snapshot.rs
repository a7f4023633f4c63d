//! `snapshot create`: saves the state of the web page to a file.

use clap::Args;
use engine_formats::golang::os_error::PathError;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{
    Printer, client::WebClient, connect::ConnectFlags, failure::Failure, is_tilt, output_file,
    program,
};

/// Save a snapshot of the web page.
///
/// Prints it to standard output unless FILE is given. `snapshot view` shows it later, on any machine.
#[derive(Debug, Args)]
pub struct SnapshotFlags {
    /// The file, standard output by default
    #[arg(value_name = "FILE")]
    file: Option<String>,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &SnapshotFlags, printer: Printer) -> Result<(), Failure> {
    let mut client = WebClient::new(&flags.connect)?;
    let body = client.get("view")?;
    // It is kept as it came, whatever version of the view this is.
    let view = str::from_utf8(&body).ok().filter(|it| is_object(it));
    let Some(view) = view else {
        let text = format!("error reading snapshot from {}: not a view", program());
        return Err(Failure::Plain(text));
    };
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ");
    let reasons = if is_tilt() { None } else { client.get("reasons").ok() };
    let reasons = reasons.and_then(|it| reasons_of(&it)).unwrap_or_default();
    let view = view.trim();
    let text = format!("{{\"view\":{view},{reasons}\"createdAt\":\"{now}\"}}\n");
    let Some(file) = &flags.file else {
        printer.out(&text);
        return Ok(());
    };
    output_file::write(file.as_ref(), text.as_bytes()).map_err(|error| {
        let cause = PathError::new("open", file, &error);
        Failure::Plain(format!("error creating {file}: {cause}"))
    })?;
    if !is_tilt() {
        printer.out(&format!("Wrote a snapshot to {file}.\n"));
    }
    Ok(())
}

fn is_object(text: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(text).is_ok()
}

/// Why each resource is in its state, as a field; Tilt does not know.
fn reasons_of(body: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    answer["reasons"].is_array().then(|| format!("\"reasons\":{},", answer["reasons"]))
}
