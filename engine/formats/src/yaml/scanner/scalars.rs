//! Decides what unquoted text and block text (`|`, `>`) mean.

use std::borrow::Cow;

use super::super::Dialect;
use super::super::fault::Mark;
use super::{Scan, Scanner, Style, TokenKind};

/// White space between two words of a scalar, which is folded once the next word comes.
#[derive(Default)]
pub(super) struct Gap<'a> {
    pub(super) blanks: &'a str,
    /// What the first line break stands for, once there is one.
    pub(super) first_break: Option<&'static str>,
    pub(super) more_breaks: String,
}

impl Gap<'_> {
    pub(super) fn add_break(&mut self, meaning: &'static str) {
        match self.first_break {
            None => self.first_break = Some(meaning),
            Some(_) => self.more_breaks.push_str(meaning),
        }
    }

    /// Appends what the gap means: one line break is a space, more are line breaks.
    pub(super) fn fold_into(&mut self, value: &mut String) {
        match self.first_break.take() {
            None => value.push_str(self.blanks),
            Some("\n") if self.more_breaks.is_empty() => value.push(' '),
            Some("\n") => value.push_str(&self.more_breaks),
            Some(first) => {
                value.push_str(first);
                value.push_str(&self.more_breaks);
            }
        }
        self.blanks = "";
        self.more_breaks.clear();
    }
}

/// What follows `|` or `>` on its line.
struct BlockHeader {
    keep: Option<bool>,
    increment: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn fetch_plain(&mut self) -> Scan<()> {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.mark();
        let (value, end) = self.scan_plain(start)?;
        self.push_scalar(value, Style::Plain, start, end);
        Ok(())
    }

    fn push_scalar(&mut self, value: Cow<'a, str>, style: Style, start: Mark, end: Mark) {
        let kind = TokenKind::Scalar { value, style };
        self.tokens.push_back(super::Token { kind, start, end });
    }

    fn scan_plain(&mut self, start: Mark) -> Scan<(Cow<'a, str>, Mark)> {
        let first_byte = self.cursor.pos;
        let mut value = Cow::Borrowed("");
        let mut gap = Gap::default();
        let mut end = start;
        while !self.cursor.at_any_document_indicator() && self.cursor.byte(0) != b'#' {
            let word = self.take_plain_word();
            if !word.is_empty() {
                match &mut value {
                    // Words on one line are a slice of the text as they stand.
                    Cow::Borrowed(slice) if gap.first_break.is_none() => {
                        *slice = &self.cursor.text[first_byte..self.cursor.pos];
                        gap.blanks = "";
                    }
                    _ => {
                        let value = value.to_mut();
                        gap.fold_into(value);
                        value.push_str(word);
                    }
                }
                end = self.mark();
            }
            if !self.cursor.at_blank() && !self.cursor.at_break(0) {
                break;
            }
            self.scan_plain_gap(start, &mut gap)?;
            if !self.in_flow() && self.column() <= self.indent {
                break;
            }
        }
        if gap.first_break.is_some() {
            self.key_allowed = true;
        }
        Ok((value, end))
    }

    fn take_plain_word(&mut self) -> &'a str {
        let flow = self.in_flow();
        let v2 = self.dialect == Dialect::V2;
        let mut ahead = 0;
        loop {
            match self.cursor.byte(ahead) {
                b' ' | b'\t' | 0 => break,
                b':' if self.cursor.blank_or_end(ahead + 1) => break,
                b',' | b'[' | b']' | b'{' | b'}' if flow => break,
                b'?' if flow && (v2 || self.cursor.blank_or_end(ahead + 1)) => break,
                b'\r' | b'\n' | 0xc2 | 0xe2 if self.cursor.at_break(ahead) => break,
                _ => ahead += 1,
            }
        }
        self.cursor.take_to(self.cursor.pos + ahead)
    }

    fn scan_plain_gap(&mut self, start: Mark, gap: &mut Gap<'a>) -> Scan<()> {
        loop {
            if gap.first_break.is_none() {
                gap.blanks = self.cursor.take_blanks();
            }
            while self.cursor.at_blank() {
                if self.cursor.byte(0) == b'\t' && self.column() <= self.indent {
                    let message = "found a tab character that violates indentation";
                    return Err(self.fault(start, message));
                }
                self.cursor.skip_ascii(1);
            }
            if !self.cursor.at_break(0) {
                return Ok(());
            }
            gap.add_break(self.cursor.take_break());
        }
    }

    pub(super) fn fetch_block_scalar(&mut self, style: Style) -> Scan<()> {
        self.drop_key()?;
        self.key_allowed = true;
        let start = self.mark();
        self.cursor.skip_ascii(1);
        let header = self.scan_block_header(start)?;
        let (value, end) = self.scan_block_lines(start, style, &header)?;
        self.push_scalar(Cow::Owned(value), style, start, end);
        Ok(())
    }

    fn scan_block_header(&mut self, start: Mark) -> Scan<BlockHeader> {
        let mut header = BlockHeader { keep: None, increment: 0 };
        // The two hints may come in either order.
        for _ in 0..2 {
            match self.cursor.byte(0) {
                hint @ (b'+' | b'-') if header.keep.is_none() => {
                    header.keep = Some(hint == b'+');
                    self.cursor.skip_ascii(1);
                }
                b'0' if header.increment == 0 => {
                    return Err(self.fault(start, "found an indentation indicator equal to 0"));
                }
                digit @ b'1'..=b'9' if header.increment == 0 => {
                    header.increment = usize::from(digit - b'0');
                    self.cursor.skip_ascii(1);
                }
                _ => break,
            }
        }
        self.end_directive_line(start)?;
        Ok(header)
    }

    /// Skips a comment and the line break; anything else on the line is an error.
    pub(super) fn end_directive_line(&mut self, start: Mark) -> Scan<()> {
        self.cursor.take_blanks();
        if self.cursor.byte(0) == b'#' {
            self.cursor.take_line_rest();
        }
        if !self.cursor.break_or_end() {
            return Err(self.fault(start, "did not find expected comment or line break"));
        }
        self.cursor.take_break();
        Ok(())
    }

    fn scan_block_lines(
        &mut self,
        start: Mark,
        style: Style,
        header: &BlockHeader,
    ) -> Scan<(String, Mark)> {
        let mut indent = match header.increment {
            0 => 0,
            increment => increment + self.indent.max(0).cast_unsigned(),
        };
        let mut value = String::new();
        let mut line_break = "";
        let mut breaks = String::new();
        let mut after_blank = false;
        let mut end = self.scan_block_indent(start, &mut indent, &mut breaks)?;
        while self.mark().column == indent && !self.cursor.at_end() {
            let blank = self.cursor.at_blank();
            if style == Style::Folded && line_break == "\n" && !after_blank && !blank {
                if breaks.is_empty() {
                    value.push(' ');
                }
            } else {
                value.push_str(line_break);
            }
            value.push_str(&breaks);
            breaks.clear();
            after_blank = blank;
            value.push_str(self.cursor.take_line_rest());
            line_break = self.cursor.take_break();
            end = self.scan_block_indent(start, &mut indent, &mut breaks)?;
        }
        if header.keep != Some(false) {
            value.push_str(line_break);
        }
        if header.keep == Some(true) {
            value.push_str(&breaks);
        }
        Ok((value, end))
    }

    /// Skips indentation and empty lines; finds the indentation out if it is not known yet.
    fn scan_block_indent(
        &mut self,
        start: Mark,
        indent: &mut usize,
        breaks: &mut String,
    ) -> Scan<Mark> {
        let known = *indent;
        let missing = |column: usize| known == 0 || column < known;
        let mut end = self.mark();
        let mut deepest = 0;
        loop {
            while missing(self.mark().column) && self.cursor.byte(0) == b' ' {
                self.cursor.skip_ascii(1);
            }
            deepest = deepest.max(self.mark().column);
            if missing(self.mark().column) && self.cursor.byte(0) == b'\t' {
                let message = "found a tab character where an indentation space is expected";
                return Err(self.fault(start, message));
            }
            if !self.cursor.at_break(0) {
                break;
            }
            breaks.push_str(self.cursor.take_break());
            end = self.mark();
        }
        if known == 0 {
            *indent = deepest.max((self.indent + 1).max(1).cast_unsigned());
        }
        Ok(end)
    }
}
