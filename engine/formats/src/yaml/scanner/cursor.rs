//! Decides what the next characters are, and counts lines and columns while moving over them.

use super::super::fault::Mark;

/// A place in the text. Reading past the end yields zero bytes, which no valid text contains.
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) pos: usize,
    pub(super) mark: Mark,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, pos: 0, mark: Mark::default() }
    }

    #[inline]
    pub(super) fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.pos + ahead).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn at_end(&self) -> bool {
        self.pos >= self.text.len()
    }

    /// Says whether looking four bytes ahead would reach the end.
    #[inline]
    pub(super) fn is_near_end(&self) -> bool {
        self.pos + 4 > self.text.len()
    }

    /// Says how many bytes the line break takes that starts `ahead` bytes from here.
    #[inline]
    fn break_width(&self, ahead: usize) -> usize {
        match self.byte(ahead) {
            b'\r' if self.byte(ahead + 1) == b'\n' => 2,
            b'\r' | b'\n' => 1,
            0xc2 if self.byte(ahead + 1) == 0x85 => 2,
            0xe2 if self.byte(ahead + 1) == 0x80 && matches!(self.byte(ahead + 2), 0xa8 | 0xa9) => {
                3
            }
            _ => 0,
        }
    }

    #[inline]
    pub(super) fn at_break(&self, ahead: usize) -> bool {
        self.break_width(ahead) > 0
    }

    #[inline]
    pub(super) fn at_blank(&self) -> bool {
        matches!(self.byte(0), b' ' | b'\t')
    }

    /// Says whether a space, a tab, a line break or the end is `ahead` bytes from here.
    #[inline]
    pub(super) fn blank_or_end(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t' | 0) || self.at_break(ahead)
    }

    #[inline]
    pub(super) fn break_or_end(&self) -> bool {
        self.byte(0) == 0 || self.at_break(0)
    }

    /// Says whether `---` or `...`, made of the given character, stands here on its own.
    #[inline]
    pub(super) fn at_document_indicator(&self, c: u8) -> bool {
        self.mark.column == 0 && (0..3).all(|ahead| self.byte(ahead) == c) && self.blank_or_end(3)
    }

    #[inline]
    pub(super) fn at_any_document_indicator(&self) -> bool {
        self.at_document_indicator(b'-') || self.at_document_indicator(b'.')
    }

    #[inline]
    pub(super) fn skip_ascii(&mut self, width: usize) {
        self.pos += width;
        self.mark.index += width;
        self.mark.column += width;
    }

    /// Takes one character that is no line break.
    pub(super) fn take_char(&mut self) -> &'a str {
        let width = match self.byte(0) {
            0..=0xbf => 1,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0.. => 4,
        };
        self.take_to(self.pos + width)
    }

    /// Moves to the byte offset, over characters of the same line, and returns them.
    #[inline]
    pub(super) fn take_to(&mut self, end: usize) -> &'a str {
        let taken = &self.text[self.pos..end];
        let count = taken.bytes().filter(|b| b & 0xc0 != 0x80).count();
        self.pos = end;
        self.mark.index += count;
        self.mark.column += count;
        taken
    }

    /// Takes the ASCII characters for which the test holds.
    pub(super) fn take_ascii_while(&mut self, test: impl Fn(u8) -> bool) -> &'a str {
        let rest = &self.text.as_bytes()[self.pos..];
        let width = rest.iter().position(|b| !b.is_ascii() || !test(*b)).unwrap_or(rest.len());
        self.take_to(self.pos + width)
    }

    /// Takes what is left of the line, without its break.
    pub(super) fn take_line_rest(&mut self) -> &'a str {
        let mut ahead = 0;
        while self.pos + ahead < self.text.len() && !self.at_break(ahead) {
            ahead += 1;
        }
        self.take_to(self.pos + ahead)
    }

    pub(super) fn take_blanks(&mut self) -> &'a str {
        self.take_ascii_while(|b| matches!(b, b' ' | b'\t'))
    }

    /// Moves over a line break and returns what it stands for; nothing if there is none.
    pub(super) fn take_break(&mut self) -> &'static str {
        let width = self.break_width(0);
        let (meaning, chars) = match (self.byte(0), width) {
            (_, 0) => return "",
            (b'\r', 2) => ("\n", 2),
            (_, 3) if self.byte(2) == 0xa8 => ("\u{2028}", 1),
            (_, 3) => ("\u{2029}", 1),
            _ => ("\n", 1),
        };
        self.pos += width;
        self.mark.index += chars;
        self.mark.column = 0;
        self.mark.line += 1;
        meaning
    }

    /// Counts an unfinished last line as finished.
    pub(super) fn end_line(&mut self) {
        if self.mark.column != 0 {
            self.mark.column = 0;
            self.mark.line += 1;
        }
    }

    pub(super) fn skip_byte_order_mark(&mut self) {
        if self.pos == 0 && self.text.starts_with('\u{feff}') {
            self.take_char();
        }
    }
}
