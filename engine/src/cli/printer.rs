//! The only place that writes to the terminal. A closed pipe is not an error.

use std::io::{self, Write};

/// Standard output for data, standard error for talk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Printer;

impl Printer {
    /// Writes data.
    #[expect(clippy::unused_self, reason = "printing is a capability that is passed on")]
    pub(super) fn out(self, text: &str) {
        let mut out = io::stdout().lock();
        // The reader may have gone; nobody is left to tell. A question has no end of line, and must be
        // seen nevertheless.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// Writes a small result as one line of JSON.
    pub(super) fn json(self, value: &serde_json::Value) {
        self.out(&format!("{value}\n"));
    }

    /// Writes talk.
    #[expect(clippy::unused_self, reason = "printing is a capability that is passed on")]
    pub(super) fn err(self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Standard output, buffered, for large data.
    #[expect(clippy::unused_self, reason = "printing is a capability that is passed on")]
    pub(super) fn out_stream(self) -> impl Write {
        io::BufWriter::with_capacity(64 * 1024, io::stdout().lock())
    }
}
