//! What the prompt says.

use crate::server::PageAddress;

/// What the menu shows.
#[derive(Clone, Debug, Default)]
pub struct Menu {
    /// The first line: where the engine is.
    pub greeting: String,
    /// The version.
    pub version: String,
    /// What was logged while the engine started; the first two lines may be among it.
    pub notes: String,
    /// The web page, if there is one.
    pub page: Option<PageAddress>,
}

impl Menu {
    /// The whole menu.
    pub(super) fn render(&self, is_colored: bool) -> String {
        let (green, plain) = if is_colored { ("\x1b[32m", "\x1b[0m") } else { ("", "") };
        let mut out = format!("{green}{}{plain}\n{}\n\n", self.greeting, self.version);
        let is_known = |it: &str| it.starts_with(&self.greeting) || it.starts_with(&self.version);
        let notes: Vec<&str> =
            self.notes.trim_end_matches('\n').lines().filter(|it| !is_known(it)).collect();
        for note in &notes {
            out.push_str(note);
            out.push('\n');
        }
        if !notes.is_empty() {
            out.push('\n');
        }
        if self.page.is_some() {
            out.push_str("(space) to open the browser\n");
        }
        out.push_str("(s) to stream logs (--stream=true)\n");
        out.push_str("(t) to open legacy terminal mode (--legacy=true)\n");
        out.push_str("(ctrl-c) to exit\n");
        out
    }
}

/// How many resources are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Up to date and running.
    pub ok: usize,
    /// Not yet.
    pub pending: usize,
    /// Failed.
    pub error: usize,
}

impl Status {
    /// One line; nothing if there are no resources.
    pub(super) fn render(self) -> String {
        let parts = [(self.ok, "ok"), (self.pending, "pending"), (self.error, "error")];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        parts.join(" · ")
    }
}
