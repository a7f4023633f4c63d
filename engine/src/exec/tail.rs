//! The last line that a command printed, for people who want to know why it failed.

/// No more of a line is kept.
const MAX_BYTES: usize = 400;

/// What a command printed last.
#[derive(Debug, Default)]
pub(super) struct Tail {
    /// The last whole line that is not empty.
    line: String,
    /// What it has printed of the next one.
    rest: String,
}

impl Tail {
    /// Takes in a part of the output. Of all but the last lines nothing is copied.
    pub(super) fn add(&mut self, text: &str) {
        let Some((whole, rest)) = text.rsplit_once('\n') else { return keep(&mut self.rest, text) };
        let (first, others) = whole.split_once('\n').map_or((whole, ""), |(it, rest)| (it, rest));
        if let Some(line) = others.rsplit('\n').find(|it| !it.trim().is_empty()) {
            self.rest.clear();
            keep(&mut self.rest, line);
        } else {
            keep(&mut self.rest, first);
        }
        if !self.rest.trim().is_empty() {
            std::mem::swap(&mut self.line, &mut self.rest);
        }
        self.rest.clear();
        keep(&mut self.rest, rest);
    }

    /// The last line, without the white space around it and without colors.
    pub(super) fn last_line(&self) -> String {
        let line = if self.rest.trim().is_empty() { &self.line } else { &self.rest };
        without_escapes(line).trim().to_owned()
    }
}

/// Adds text to a line, up to the limit.
fn keep(line: &mut String, text: &str) {
    let room = MAX_BYTES.saturating_sub(line.len());
    line.push_str(&text[..text.floor_char_boundary(room)]);
}

/// A text without escape sequences and other control characters.
pub(crate) fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(it) = chars.next() {
        if it == '\x1b' {
            // A sequence ends with its first letter.
            if chars.next() == Some('[') {
                chars.by_ref().find(|it| ('@'..='~').contains(it));
            }
        } else if !it.is_control() || it == '\t' {
            plain.push(it);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_line(parts: &[&str]) -> String {
        let mut tail = Tail::default();
        for part in parts {
            tail.add(part);
        }
        tail.last_line()
    }

    #[test]
    fn the_last_line_with_something_in_it_counts_however_it_is_cut() {
        for (parts, want) in [
            (&["one\ntwo\n"][..], "two"),
            (&["one\ntw", "o\n"], "two"),
            (&["one\n", "two"], "two"),
            (&["one\n", "\n", "  \n\n"], "one"),
            (&["one\ntwo\n\n", "\n"], "two"),
            (&["on", "e", "\n\n"], "one"),
            (&["\x1b[31mred\x1b[0m\r\n"], "red"),
            (&[], ""),
        ] {
            assert_eq!(last_line(parts), want, "{parts:?}");
        }
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let line = "ä".repeat(1000);
        assert_eq!(last_line(&[&line, &line, "\n"]).len(), MAX_BYTES);
    }
}
