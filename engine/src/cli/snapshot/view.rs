//! `snapshot view`: serves a snapshot on the web page until a key is pressed.

use std::{
    fs,
    io::{self, Read},
};

use clap::Args;
use engine_api::go_syntax;
use engine_cli::{Failure, Printer, browser, connect, values};
use engine_formats::golang::os_error::PathError;
use serde_json::{Map, Value};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

use super::any_key::AnyKey;
use crate::server::web;

/// View a snapshot in the browser.
///
/// FILE is a snapshot from `snapshot create`, from --output-snapshot-on-exit or from Tilt; - reads
/// standard input.
#[derive(Debug, Args)]
pub(in crate::cli) struct SnapshotViewFlags {
    /// The file, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    file: String,
    /// Print the address without opening a browser
    #[arg(long)]
    no_open: bool,
    /// Port of the page; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value = "0", value_parser = values::int)]
    port: i64,
    /// Address to listen on. Overrides `TILT_HOST`
    #[arg(long, value_name = "HOST", default_value_t = connect::default_host())]
    host: String,
}

pub(in crate::cli) fn run(flags: &SnapshotViewFlags, printer: Printer) -> Result<(), Failure> {
    let snapshot = read(&flags.file).map_err(Failure::kubectl)?;
    check(&snapshot).map_err(Failure::kubectl)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::kubectl)?;
    let result = runtime.block_on(serve(flags, snapshot, printer));
    // A key that nobody presses is not waited for.
    runtime.shutdown_background();
    result.map_err(Failure::kubectl)
}

/// What is wrong with a snapshot, in the words of Go.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum SnapshotError {
    #[error("EOF")]
    Empty,
    #[error("unexpected EOF")]
    Truncated,
    #[error("json: cannot unmarshal {0} into Go value of type map[string]interface {{}}")]
    NotAnObject(&'static str),
    #[error("{0}")]
    Syntax(String),
}

fn check(snapshot: &[u8]) -> Result<(), SnapshotError> {
    let values = serde_json::Deserializer::from_slice(snapshot);
    // Go reads the first value and looks no further.
    match values.into_iter::<Option<Map<String, Value>>>().next() {
        None => Err(SnapshotError::Empty),
        Some(Ok(_)) => Ok(()),
        Some(Err(error)) if error.is_eof() => Err(SnapshotError::Truncated),
        Some(Err(error)) if error.is_data() => Err(SnapshotError::NotAnObject(
            match snapshot.iter().find(|it| !it.is_ascii_whitespace()) {
                Some(b'[') => "array",
                Some(b'"') => "string",
                Some(b't' | b'f') => "bool",
                _ => "number",
            },
        )),
        Some(Err(error)) => Err(SnapshotError::Syntax(go_syntax(snapshot, &error))),
    }
}

fn read(file: &str) -> io::Result<Vec<u8>> {
    if file == "-" {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    fs::read(file)
        .map_err(|error| io::Error::other(PathError::new("open", file, &error).to_string()))
}

async fn serve(flags: &SnapshotViewFlags, snapshot: Vec<u8>, printer: Printer) -> io::Result<()> {
    let refused =
        |error: io::Error| io::Error::other(format!("could not get a free port: {error}"));
    let port = connect::tcp_port(flags.port, "listen").map_err(refused)?;
    let listener = TcpListener::bind((flags.host.as_str(), port)).await.map_err(refused)?;
    let port = listener.local_addr()?.port();
    let url = format!("http://{}:{port}/snapshot/local", web::shown_host(&flags.host));
    printer.out(&format!("Serving snapshot at {url}\n"));
    let app = web::snapshot_app(&flags.host, snapshot);
    let served = axum::serve(listener, app);
    if !flags.no_open && browser::open(&url).is_err() {
        printer.err("Could not open a browser; open the address above.\n");
    }
    tokio::select! {
        result = served => result,
        result = end(printer) => result,
    }
}

/// Waits for a key or for a signal that asks us to end.
async fn end(printer: Printer) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    // Without a terminal, as in a script, the page stays until somebody ends it.
    let keys = AnyKey::new();
    printer.out(if keys.is_ok() { "Press any key to exit\n" } else { "Press Ctrl-C to exit\n" });
    let key = async {
        match keys {
            Ok(mut keys) => keys.pressed().await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = key => {}
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_snapshot_is_refused_as_tilt_does() {
        for (file, expected) in [
            ("local_resource('a')", "invalid character 'l' looking for beginning of value"),
            ("[1]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
            ("7", "json: cannot unmarshal number into Go value of type map[string]interface {}"),
            ("", "EOF"),
            (r#"{"view":{}"#, "unexpected EOF"),
        ] {
            assert_eq!(check(file.as_bytes()).unwrap_err().to_string(), expected, "{file}");
        }
        assert_eq!(check(br#"{"view":{}}"#), Ok(()));
    }
}
