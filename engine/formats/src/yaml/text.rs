//! Decides which bytes are YAML text at all: encodings, byte order marks and forbidden characters.
//!
//! go-yaml reads its input in blocks of 512 bytes and complains about a bad character as soon as
//! the block that holds it is needed, so an earlier mistake in an earlier block is reported first.
//! [`Text`] keeps the offset of that block to let the scanner do the same.

use std::borrow::Cow;

const BLOCK: usize = 512;

/// Input that is known to hold only characters that YAML allows, up to a possible defect.
pub(super) struct Text<'a> {
    /// The characters that may be scanned.
    pub(super) chars: Cow<'a, str>,
    /// What is wrong with the character that ended the text too early.
    pub(super) defect: Option<&'static str>,
}

impl<'a> Text<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        match bytes {
            [0xff, 0xfe, rest @ ..] => Self::from_utf16(rest, u16::from_le_bytes),
            [0xfe, 0xff, rest @ ..] => Self::from_utf16(rest, u16::from_be_bytes),
            _ => {
                let (chars, defect) = checked(bytes);
                Self { chars: Cow::Borrowed(chars), defect }
            }
        }
    }

    fn from_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Self {
        let (pairs, rest) = bytes.as_chunks::<2>();
        let mut chars = String::with_capacity(pairs.len());
        let mut defect = (!rest.is_empty()).then_some("incomplete UTF-16 character");
        for decoded in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
            let problem = match decoded {
                Ok(c) if is_allowed(c) => {
                    chars.push(c);
                    continue;
                }
                Ok(_) => "control characters are not allowed",
                Err(e) if e.unpaired_surrogate() >= 0xdc00 => "unexpected low surrogate area",
                Err(_) => "expected low surrogate area",
            };
            defect = Some(problem);
            break;
        }
        Self { chars: Cow::Owned(chars), defect }
    }
}

/// Returns the part of UTF-8 text that may be scanned, and what is wrong after it.
pub(super) fn checked(bytes: &[u8]) -> (&str, Option<&'static str>) {
    let (bytes, first_block) = match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => (rest, BLOCK - 3),
        None => (bytes, BLOCK),
    };
    let (valid, mut defect) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            let valid = std::str::from_utf8(valid).expect("from_utf8 said it is valid up to here");
            (valid, Some(utf8_defect(rest)))
        }
    };
    let mut end = valid.len();
    if let Some(at) = first_forbidden(valid) {
        (end, defect) = (at, Some("control characters are not allowed"));
    }
    match defect {
        Some(_) => (&valid[..block_start(valid, end, first_block)], defect),
        None => (valid, None),
    }
}

/// Says what go-yaml says about bytes that are no UTF-8.
fn utf8_defect(rest: &[u8]) -> &'static str {
    let width = match rest.first() {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => return "invalid leading UTF-8 octet",
    };
    if rest.len() < width {
        return "incomplete UTF-8 octet sequence";
    }
    if rest[1..width].iter().any(|octet| octet & 0xc0 != 0x80) {
        return "invalid trailing UTF-8 octet";
    }
    match (rest[0], rest[1]) {
        (0xc0 | 0xc1, _) | (0xe0, ..=0x9f) | (0xf0, ..=0x8f) => {
            "invalid length of a UTF-8 sequence"
        }
        _ => "invalid Unicode character",
    }
}

fn first_forbidden(text: &str) -> Option<usize> {
    // Almost every text is plain ASCII without control characters, so look at bytes first.
    let suspicious = |b: &u8| *b >= 0x7f || (*b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r'));
    let start = text.as_bytes().iter().position(suspicious)?;
    text[start..].char_indices().find(|(_, c)| !is_allowed(*c)).map(|(at, _)| start + at)
}

fn is_allowed(c: char) -> bool {
    matches!(c,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}'
        | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Finds where the block of input that holds the byte `at` starts.
///
/// A character that a block boundary would cut belongs to the next block.
fn block_start(text: &str, at: usize, first_block: usize) -> usize {
    let mut start = 0;
    let mut size = first_block;
    loop {
        let mut end = start + size;
        if end > at || end > text.len() {
            return start;
        }
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        start = end;
        size = BLOCK;
    }
}
