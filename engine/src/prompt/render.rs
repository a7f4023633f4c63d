//! What the prompt says.

use engine_view::reason::{Reason, State};
use unicode_width::UnicodeWidthStr;

use crate::{logs::Checkpoint, runtime::ReasonTable, server::PageAddress};

/// So many reasons are shown below the counts.
const MAX_REASONS: usize = 5;

/// What the menu shows.
#[derive(Clone, Debug, Default)]
pub struct Menu {
    /// The first lines: the version, and where the page is.
    pub banner: String,
    /// Where the log goes on after what the banner says.
    pub seen: Checkpoint,
    /// What else there is to know at the start.
    pub notes: String,
    /// The web page, if there is one.
    pub page: Option<PageAddress>,
}

impl Menu {
    /// The whole menu; through a link named `tilt`, in the words of Tilt.
    pub(super) fn render(&self, is_colored: bool, is_tilt: bool) -> String {
        let (green, plain) = if is_colored { ("\x1b[32m", "\x1b[0m") } else { ("", "") };
        let (first, rest) = self.banner.split_once('\n').unwrap_or((&self.banner, ""));
        let mut out = format!("{green}{first}{plain}\n{rest}\n");
        if !self.notes.is_empty() {
            out.push_str(&self.notes);
            out.push_str("\n\n");
        }
        if self.page.is_some() {
            out.push_str("(space) to open the browser\n");
        }
        out.push_str("(s) to stream logs (--stream=true)\n");
        out.push_str(if is_tilt {
            "(t) to open legacy terminal mode (--legacy=true)\n"
        } else {
            "(?) to show help\n"
        });
        out.push_str("(ctrl-c) to exit\n\n");
        out
    }
}

/// What `?` prints.
pub(super) fn help(program: &str) -> String {
    format!(
        "Keys\n\
         \x20 space   open the page in a browser\n\
         \x20 s       show or hide the log\n\
         \x20 ?       show this help\n\
         \x20 ctrl-c  exit and stop everything that runs locally\n\
         In another terminal\n\
         \x20 {program} status           all resources, failures first\n\
         \x20 {program} why RESOURCE     why it ran, waits or failed\n\
         \x20 {program} logs RESOURCE    its log\n\
         \x20 {program} trigger RESOURCE update it now\n"
    )
}

/// The counts, and the reasons of what needs attention.
pub(super) fn block(table: &ReasonTable, program: &str, is_colored: bool) -> Vec<String> {
    let counts = table.counts();
    let errors = if counts.failed == 1 { "error" } else { "errors" };
    let counts = [(counts.ok, "ok"), (counts.pending, "pending"), (counts.failed, errors)];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, name)| format!("{count} {name}")).collect();
    if counts.is_empty() {
        return Vec::new();
    }
    let open = table.open();
    let shown = open.iter().take(MAX_REASONS).filter_map(|it| table.find(&it.resource));
    let shown: Vec<Reason> = shown.collect();
    let width = shown.iter().map(|it| it.resource.width()).max().unwrap_or_default();
    let mut lines = vec![counts.join(" · ")];
    lines.extend(shown.iter().map(|it| line(it, width, is_colored)));
    if open.len() > shown.len() {
        lines.push(format!("and {} more: {program} status", open.len() - shown.len()));
    }
    lines
}

fn line(reason: &Reason, width: usize, is_colored: bool) -> String {
    let (sign, color) = if reason.state == State::Failed { ("✖", 31) } else { ("…", 33) };
    let name = &reason.resource;
    let pad = " ".repeat(width.saturating_sub(name.width()));
    let text = format!("{pad}  {}", reason.headline);
    if is_colored {
        format!("\x1b[{color}m{sign} {name}\x1b[0m{text}")
    } else {
        format!("{sign} {name}{text}")
    }
}
