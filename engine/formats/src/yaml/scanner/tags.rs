//! Decides what anchors, aliases, tags and `%` directives look like.

use super::super::Dialect;
use super::super::fault::Mark;
use super::{Scan, Scanner, TokenKind};

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-')
}

fn is_anchor(c: u8) -> bool {
    c.is_ascii_graphic() && !b":[]{},".contains(&c)
}

fn is_uri(c: u8) -> bool {
    is_word(c) || b";/?:@&=+$,.!~*'()[]".contains(&c)
}

impl<'a> Scanner<'a> {
    pub(super) fn fetch_anchor(&mut self, kind: fn(&'a str) -> TokenKind<'a>) -> Scan<()> {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.mark();
        self.cursor.skip_ascii(1);
        let name = self.cursor.take_ascii_while(match self.dialect {
            Dialect::V2 => is_word,
            Dialect::V4 => is_anchor,
        });
        let ended = self.cursor.blank_or_end(0) || b"?:,]}%@`".contains(&self.cursor.byte(0));
        if name.is_empty() || !ended {
            let message = "did not find expected alphabetic or numeric character";
            return Err(self.fault(start, message));
        }
        self.push(kind(name), start);
        Ok(())
    }

    pub(super) fn fetch_tag(&mut self) -> Scan<()> {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.mark();
        let (handle, suffix) = self.scan_tag(start)?;
        if !self.cursor.blank_or_end(0) {
            return Err(self.fault(start, "did not find expected whitespace or line break"));
        }
        self.push(TokenKind::Tag { handle, suffix }, start);
        Ok(())
    }

    fn scan_tag(&mut self, start: Mark) -> Scan<(&'a str, String)> {
        if self.cursor.byte(1) == b'<' {
            self.cursor.skip_ascii(2);
            let suffix = self.scan_tag_uri(start, "")?;
            if self.cursor.byte(0) != b'>' {
                return Err(self.fault(start, "did not find the expected '>'"));
            }
            self.cursor.skip_ascii(1);
            return Ok(("", suffix));
        }
        let handle = self.scan_tag_handle(start)?;
        if handle.len() > 1 && handle.ends_with('!') {
            return Ok((handle, self.scan_tag_uri(start, "")?));
        }
        let suffix = self.scan_tag_uri(start, handle)?;
        // A lone `!` is a tag of its own and needs no handle.
        if suffix.is_empty() { Ok(("", "!".to_owned())) } else { Ok(("!", suffix)) }
    }

    fn scan_tag_handle(&mut self, start: Mark) -> Scan<&'a str> {
        if self.cursor.byte(0) != b'!' {
            return Err(self.fault(start, "did not find expected '!'"));
        }
        let from = self.cursor.pos;
        self.cursor.skip_ascii(1);
        self.cursor.take_ascii_while(is_word);
        if self.cursor.byte(0) == b'!' {
            self.cursor.skip_ascii(1);
        }
        Ok(&self.cursor.text[from..self.cursor.pos])
    }

    /// Scans the rest of a tag; `head` is what was taken for a handle but belongs to it.
    fn scan_tag_uri(&mut self, start: Mark, head: &str) -> Scan<String> {
        let mut uri = head.get(1..).unwrap_or("").as_bytes().to_vec();
        let mut found = !head.is_empty();
        loop {
            let part = self.cursor.take_ascii_while(is_uri);
            found |= !part.is_empty();
            uri.extend_from_slice(part.as_bytes());
            if self.cursor.byte(0) != b'%' {
                break;
            }
            self.scan_uri_escape(start, &mut uri)?;
            found = true;
        }
        if !found {
            return Err(self.fault(start, "did not find expected tag URI"));
        }
        Ok(String::from_utf8_lossy(&uri).into_owned())
    }

    /// Scans one character that is written as `%` escapes, one for each of its bytes.
    fn scan_uri_escape(&mut self, start: Mark, uri: &mut Vec<u8>) -> Scan<()> {
        let mut left = 0;
        loop {
            let digit = |ahead| char::from(self.cursor.byte(ahead)).to_digit(16);
            let octet = match (self.cursor.byte(0), digit(1), digit(2)) {
                (b'%', Some(high), Some(low)) => u8::try_from(high << 4 | low).unwrap_or(u8::MAX),
                _ => return Err(self.fault(start, "did not find URI escaped octet")),
            };
            left = match (left, octet) {
                (0, 0..=0x7f) => 0,
                (0, 0xc0..=0xdf) => 1,
                (0, 0xe0..=0xef) => 2,
                (0, 0xf0..=0xf7) => 3,
                (0, _) => {
                    return Err(self.fault(start, "found an incorrect leading UTF-8 octet"));
                }
                (left, 0x80..=0xbf) => left - 1,
                _ => return Err(self.fault(start, "found an incorrect trailing UTF-8 octet")),
            };
            uri.push(octet);
            self.cursor.skip_ascii(3);
            if left == 0 {
                return Ok(());
            }
        }
    }

    pub(super) fn fetch_directive(&mut self) -> Scan<()> {
        self.unroll_indent(-1, self.mark());
        self.drop_key()?;
        self.key_allowed = false;
        let start = self.mark();
        self.cursor.skip_ascii(1);
        let kind = self.scan_directive(start)?;
        self.push(kind, start);
        self.end_directive_line(start)
    }

    fn scan_directive(&mut self, start: Mark) -> Scan<TokenKind<'a>> {
        let name = self.cursor.take_ascii_while(is_word);
        if name.is_empty() {
            return Err(self.fault(start, "could not find expected directive name"));
        }
        if !self.cursor.blank_or_end(0) {
            return Err(self.fault(start, "found unexpected non-alphabetical character"));
        }
        match name {
            "YAML" => self.scan_version(start),
            "TAG" => self.scan_tag_directive(start),
            _ => Err(self.fault(start, "found unknown directive name")),
        }
    }

    fn scan_version(&mut self, start: Mark) -> Scan<TokenKind<'a>> {
        self.cursor.take_blanks();
        let major = self.scan_version_number(start)?;
        if self.cursor.byte(0) != b'.' {
            return Err(self.fault(start, "did not find expected digit or '.' character"));
        }
        self.cursor.skip_ascii(1);
        let minor = self.scan_version_number(start)?;
        Ok(TokenKind::VersionDirective { major, minor })
    }

    fn scan_version_number(&mut self, start: Mark) -> Scan<u8> {
        let mut digits = 0;
        let mut number = 0;
        while self.cursor.byte(0).is_ascii_digit() {
            digits += 1;
            if digits > 2 {
                return Err(self.fault(start, "found extremely long version number"));
            }
            number = number * 10 + (self.cursor.byte(0) - b'0');
            self.cursor.skip_ascii(1);
        }
        if digits == 0 {
            return Err(self.fault(start, "did not find expected version number"));
        }
        Ok(number)
    }

    fn scan_tag_directive(&mut self, start: Mark) -> Scan<TokenKind<'a>> {
        self.cursor.take_blanks();
        let handle = self.scan_tag_handle(start)?;
        if handle != "!" && !handle.ends_with('!') {
            return Err(self.fault(start, "did not find expected '!'"));
        }
        if !self.cursor.at_blank() {
            return Err(self.fault(start, "did not find expected whitespace"));
        }
        self.cursor.take_blanks();
        let prefix = self.scan_tag_uri(start, "")?;
        if !self.cursor.blank_or_end(0) {
            return Err(self.fault(start, "did not find expected whitespace or line break"));
        }
        Ok(TokenKind::TagDirective { handle, prefix })
    }
}
