//! Decides which scalar styles can express a string.

use super::super::Dialect;

/// What a string allows.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent property")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Analysis {
    pub(super) multiline: bool,
    pub(super) plain: bool,
    pub(super) single_quoted: bool,
    pub(super) block: bool,
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Says whether go-yaml writes the character as it is. It escapes all beyond the basic plane.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && c != '\u{feff}'
}

/// Says whether the string would be taken for YAML syntax in a block collection.
fn has_indicators(text: &str) -> bool {
    if text.starts_with("---") || text.starts_with("...") {
        return true;
    }
    let bytes = text.as_bytes();
    let spaced = |at: usize| matches!(bytes.get(at + 1), None | Some(b' ' | b'\t'));
    let first = match bytes[0] {
        b'#' | b',' | b'[' | b']' | b'{' | b'}' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\''
        | b'"' | b'%' | b'@' | b'`' => true,
        b'?' | b':' | b'-' => spaced(0),
        _ => false,
    };
    let later = |(at, c): (usize, &u8)| match c {
        b':' => spaced(at),
        // A line break before it counts too, but such strings are never plain.
        b'#' => matches!(bytes[at - 1], b' ' | b'\t' | b'\n' | b'\r'),
        _ => false,
    };
    first || bytes.iter().enumerate().skip(1).any(later)
}

pub(super) fn analyze(text: &str, dialect: Dialect) -> Analysis {
    if text.is_empty() {
        return Analysis { multiline: false, plain: true, single_quoted: true, block: false };
    }
    let mut line_breaks = false;
    let mut special = false;
    let mut tabs = false;
    let mut space_break = false;
    let mut break_space = false;
    let mut previous = '\0';
    for c in text.chars() {
        match c {
            '\t' if dialect == Dialect::V4 => tabs = true,
            c => special |= !is_printable(c),
        }
        line_breaks |= is_break(c);
        space_break |= is_break(c) && previous == ' ';
        break_space |= c == ' ' && is_break(previous);
        previous = c;
    }
    let edge = |c: char| c == ' ' || is_break(c);
    let trailing_space = previous == ' ';
    let quoting_needed = break_space || space_break || special || tabs;
    Analysis {
        multiline: line_breaks,
        plain: !(quoting_needed
            || line_breaks
            || text.starts_with(edge)
            || edge(previous)
            || has_indicators(text)),
        single_quoted: !quoting_needed,
        block: !(trailing_space || space_break || special),
    }
}
