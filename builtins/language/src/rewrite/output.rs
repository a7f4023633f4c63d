//! Decides how rewritten text is put together, and records where each part came from.

use crate::{source_map::Segment, syntax::position::offset};

/// The text so far, and a cursor in the source.
pub(super) struct Output<'a> {
    source: &'a str,
    text: String,
    segments: Vec<Segment>,
    cursor: usize,
    /// The source offset that would continue the last copied segment.
    next: Option<usize>,
    changed: bool,
    /// Whether the source has tabs or carriage returns, which the crate reads differently.
    has_odd_blanks: bool,
}

impl<'a> Output<'a> {
    pub(super) fn new(source: &'a str) -> Output<'a> {
        let has_odd_blanks = source.bytes().any(|byte| matches!(byte, b'\t' | b'\r'));
        Output {
            source,
            text: String::with_capacity(source.len() + source.len() / 8),
            segments: Vec::new(),
            cursor: 0,
            next: None,
            changed: false,
            has_odd_blanks,
        }
    }

    /// The text and its segments; no segments if the text is the source.
    pub(super) fn finish(self) -> (String, Vec<Segment>) {
        let changed = self.changed || self.text.len() != self.source.len();
        (self.text, if changed { self.segments } else { Vec::new() })
    }

    /// Where the next byte goes.
    pub(super) fn len(&self) -> u32 {
        offset(self.text.len())
    }

    /// Goes on copying from `source_offset`.
    pub(super) fn jump(&mut self, source_offset: u32) {
        self.changed |= self.cursor != source_offset as usize;
        self.cursor = source_offset as usize;
    }

    /// Writes text that the source does not have, standing for `anchor`; returns where it starts.
    pub(super) fn insert(&mut self, text: &str, anchor: u32) -> u32 {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let joins = self.text.as_bytes().last().is_some_and(is_word)
            && text.as_bytes().first().is_some_and(is_word);
        self.segment(anchor as usize, false);
        if joins {
            self.text.push(' ');
        }
        let begin = self.len();
        self.text.push_str(text);
        self.next = None;
        self.changed = true;
        begin
    }

    /// Copies a token up to `end` as it is.
    pub(super) fn copy_token(&mut self, end: u32) {
        let source = self.source;
        self.push(&source[self.cursor..end as usize], self.cursor);
        self.cursor = end as usize;
    }

    /// Copies blanks, comments and punctuation up to `end`, as the crate wants them.
    pub(super) fn copy_to(&mut self, end: usize) {
        if self.cursor >= end {
            return;
        }
        if self.has_odd_blanks {
            self.copy_odd_blanks(end);
        } else {
            let source = self.source;
            self.push(&source[self.cursor..end], self.cursor);
        }
        self.cursor = end;
    }

    /// Copies blanks with tabs and carriage returns: tabs at the start of a line become spaces up
    /// to where the reference sees them end, other tabs one space, a lone `\r` a line feed.
    fn copy_odd_blanks(&mut self, end: usize) {
        let source = self.source;
        let bytes = source.as_bytes();
        let mut at = self.cursor;
        while at < end {
            let line_start = at == 0 || matches!(bytes[at - 1], b'\n' | b'\r');
            if line_start && matches!(bytes[at], b' ' | b'\t') {
                at = self.copy_indent(at, end);
                continue;
            }
            let odd = |byte: &u8| matches!(byte, b'\t' | b'\r' | b'\n' | b'#');
            let stop = bytes[at..end].iter().position(odd).map_or(end, |length| at + length);
            self.push(&source[at..stop], at);
            at = match bytes[..end].get(stop) {
                None => end,
                Some(b'#') => self.copy_comment(stop, end),
                Some(_) => self.copy_blank(stop),
            };
        }
    }

    fn copy_comment(&mut self, at: usize, end: usize) -> usize {
        let source = self.source;
        let rest = &source.as_bytes()[at..end];
        let length = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let stop = at + length.unwrap_or(rest.len());
        self.push(&source[at..stop], at);
        stop
    }

    /// Copies one tab or line ending and returns the offset after it.
    fn copy_blank(&mut self, at: usize) -> usize {
        let bytes = self.source.as_bytes();
        let (text, length) = match (bytes[at], bytes.get(at + 1)) {
            (b'\t', _) => (" ", 1),
            (b'\r', Some(b'\n')) => ("\r\n", 2),
            _ => ("\n", 1),
        };
        self.changed |= text != &self.source[at..at + length];
        self.push(text, at);
        at + length
    }

    fn copy_indent(&mut self, line: usize, end: usize) -> usize {
        let source = self.source;
        let blanks = &source.as_bytes()[line..end];
        let length = blanks.iter().position(|byte| !matches!(byte, b' ' | b'\t'));
        let length = length.unwrap_or(blanks.len());
        let mut width = 0;
        for (column, &byte) in blanks[..length].iter().enumerate() {
            width += if byte == b'\t' { 8 - column % 8 } else { 1 };
        }
        if width == length && !blanks[..length].contains(&b'\t') {
            self.push(&source[line..line + length], line);
        } else {
            self.segment(line + length, false);
            self.text.extend(std::iter::repeat_n(' ', width));
            self.next = None;
            self.changed = true;
        }
        line + length
    }

    /// Appends text that stands for as many bytes of the source from `from` on.
    fn push(&mut self, text: &str, from: usize) {
        if text.is_empty() {
            return;
        }
        if self.next != Some(from) {
            self.segment(from, true);
        }
        self.text.push_str(text);
        self.next = Some(from + text.len());
    }

    fn segment(&mut self, source: usize, verbatim: bool) {
        self.segments.push(Segment { out: self.len(), source: offset(source), verbatim });
    }
}
