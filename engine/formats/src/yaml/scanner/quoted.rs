//! Decides what text in single or double quotes means.

use std::borrow::Cow;

use super::super::Dialect;
use super::super::fault::Mark;
use super::scalars::Gap;
use super::{Scan, Scanner, Style, TokenKind};

impl<'a> Scanner<'a> {
    pub(super) fn fetch_quoted(&mut self, style: Style) -> Scan<()> {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.mark();
        self.cursor.skip_ascii(1);
        let quote = if style == Style::SingleQuoted { b'\'' } else { b'"' };
        let value = match self.take_simple_quoted(quote) {
            Some(slice) => Cow::Borrowed(slice),
            None => Cow::Owned(self.scan_quoted(start, quote)?),
        };
        self.cursor.skip_ascii(1);
        self.push(TokenKind::Scalar { value, style }, start);
        Ok(())
    }

    /// Takes the text up to the closing quote if it means itself: one line, no escapes.
    fn take_simple_quoted(&mut self, quote: u8) -> Option<&'a str> {
        let rest = &self.cursor.text.as_bytes()[self.cursor.pos..];
        let ends = |b: &u8| *b == quote || matches!(b, b'\\' | b'\n' | b'\r' | 0xc2 | 0xe2);
        let width = rest.iter().position(ends)?;
        let doubled = quote == b'\'' && rest.get(width + 1) == Some(&quote);
        (rest[width] == quote && !doubled).then(|| self.cursor.take_to(self.cursor.pos + width))
    }

    fn scan_quoted(&mut self, start: Mark, quote: u8) -> Scan<String> {
        let mut value = String::new();
        loop {
            if self.cursor.at_any_document_indicator() {
                return Err(self.fault(start, "found unexpected document indicator"));
            }
            if self.cursor.at_end() {
                return Err(self.fault(start, "found unexpected end of stream"));
            }
            let mut gap = Gap::default();
            self.scan_quoted_word(start, quote, &mut value, &mut gap)?;
            if self.cursor.byte(0) == quote {
                return Ok(value);
            }
            self.scan_quoted_gap(&mut gap);
            gap.fold_into(&mut value);
        }
    }

    /// Takes characters up to white space, the closing quote or an escaped line break.
    fn scan_quoted_word(
        &mut self,
        start: Mark,
        quote: u8,
        value: &mut String,
        gap: &mut Gap<'a>,
    ) -> Scan<()> {
        while !self.cursor.blank_or_end(0) {
            match (self.cursor.byte(0), self.cursor.byte(1)) {
                (b'\'', b'\'') if quote == b'\'' => {
                    value.push('\'');
                    self.cursor.skip_ascii(2);
                }
                (c, _) if c == quote => return Ok(()),
                (b'\\', _) if quote == b'"' && self.cursor.at_break(1) => {
                    self.cursor.skip_ascii(1);
                    self.cursor.take_break();
                    gap.add_break("");
                    return Ok(());
                }
                (b'\\', escape) if quote == b'"' => self.scan_escape(start, escape, value)?,
                _ => value.push_str(self.cursor.take_char()),
            }
        }
        Ok(())
    }

    fn scan_quoted_gap(&mut self, gap: &mut Gap<'a>) {
        loop {
            let blanks = self.cursor.take_blanks();
            if !blanks.is_empty() {
                gap.blanks = blanks;
            }
            if !self.cursor.at_break(0) {
                return;
            }
            gap.add_break(self.cursor.take_break());
        }
    }

    fn scan_escape(&mut self, start: Mark, escape: u8, value: &mut String) -> Scan<()> {
        let digits = match escape {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            _ => 0,
        };
        if digits > 0 {
            self.cursor.skip_ascii(2);
            return self.scan_code_point(start, digits, value);
        }
        value.push(match escape {
            b'0' => '\0',
            b'a' => '\u{7}',
            b'b' => '\u{8}',
            b't' | b'\t' => '\t',
            b'n' => '\n',
            b'v' => '\u{b}',
            b'f' => '\u{c}',
            b'r' => '\r',
            b'e' => '\u{1b}',
            b' ' | b'"' | b'\'' | b'\\' => char::from(escape),
            b'N' => '\u{85}',
            b'_' => '\u{a0}',
            b'L' => '\u{2028}',
            b'P' => '\u{2029}',
            _ => return Err(self.fault(start, "found unknown escape character")),
        });
        self.cursor.skip_ascii(2);
        Ok(())
    }

    fn scan_code_point(&mut self, start: Mark, digits: usize, value: &mut String) -> Scan<()> {
        let mut code = 0u32;
        for ahead in 0..digits {
            let Some(digit) = char::from(self.cursor.byte(ahead)).to_digit(16) else {
                let message = match self.dialect {
                    Dialect::V2 => "did not find expected hexdecimal number",
                    Dialect::V4 => "did not find expected hexadecimal number",
                };
                return Err(self.fault(start, message));
            };
            code = code << 4 | digit;
        }
        let Some(c) = char::from_u32(code) else {
            return Err(self.fault(start, "found invalid Unicode character escape code"));
        };
        value.push(c);
        self.cursor.skip_ascii(digits);
        Ok(())
    }
}
