//! The only place that writes to the terminal. A closed pipe is not an error.

use std::io::{self, Write};

/// Writes data to stdout and messages to stderr.
#[derive(Debug, Clone, Copy)]
pub struct Printer;

impl Printer {
    /// Writes data.
    pub fn out(self, text: &str) {
        let mut out = io::stdout().lock();
        // The reader may have gone; nobody is left to tell. A question has no end of line, and must be
        // seen nevertheless.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// Writes a small result as one line of JSON.
    pub fn json(self, value: &serde_json::Value) {
        self.out(&format!("{value}\n"));
    }

    /// Writes a message.
    pub fn err(self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Standard output, buffered, for large data.
    pub fn out_stream(self) -> impl Write {
        io::BufWriter::with_capacity(64 * 1024, io::stdout().lock())
    }
}
