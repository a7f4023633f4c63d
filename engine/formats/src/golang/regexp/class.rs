//! Reads character classes and escape sequences.

use super::parse::consumed;
use super::{Problem, RegexpError};

/// A class that matches no character.
pub(super) const NOTHING: &str = r"[^\x{0}-\x{10FFFF}]";

const DIGIT: &str = "0-9";
const SPACE: &str = r"\t\n\x0C\r\x20";
const WORD: &str = "0-9A-Za-z_";
const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// What a backslash sequence stands for.
pub(super) enum Escape {
    /// Items of a character class, to be put between brackets.
    Class(String),
    /// One character, or a number that is none.
    CodePoint(u32),
}

fn fail<T>(problem: Problem, part: &str) -> Result<T, RegexpError> {
    Err(RegexpError::new(problem, part))
}

/// A character that stands for itself, inside and outside of classes.
pub(super) fn escaped(c: char) -> String {
    if c.is_ascii_alphanumeric() || c == '_' {
        c.to_string()
    } else {
        format!(r"\x{{{:X}}}", u32::from(c))
    }
}

/// Puts class items between brackets.
pub(super) fn bracketed(items: &str, negated: bool, fold_case: bool) -> String {
    let class = match (items.is_empty(), negated) {
        (true, false) => NOTHING.to_owned(),
        (true, true) => "(?s:.)".to_owned(),
        (false, false) => format!("[{items}]"),
        (false, true) => format!("[^{items}]"),
    };
    if fold_case { format!("(?i:{class})") } else { class }
}

/// Reads a class that starts with `[`, and returns its translation and what follows.
pub(super) fn parse_brackets(start: &str, fold_case: bool) -> Result<(String, &str), RegexpError> {
    let mut rest = &start[1..];
    let negated = rest.starts_with('^');
    if negated {
        rest = &rest[1..];
    }
    let mut items = String::new();
    let mut first = true;
    while first || !rest.starts_with(']') {
        first = false;
        if let Some((item, after)) = parse_posix(rest)? {
            items.push_str(&item);
            rest = after;
            continue;
        }
        if rest.starts_with('\\')
            && let Some((item, after)) = parse_class_escape(rest)?
        {
            items.push_str(&item);
            rest = after;
            continue;
        }
        let range = rest;
        let (low, after) = parse_member(rest, start)?;
        rest = after;
        let mut high = low;
        if rest.starts_with('-') && rest.len() >= 2 && !rest.starts_with("-]") {
            (high, rest) = parse_member(&rest[1..], start)?;
            if high < low {
                return fail(Problem::CharRange, consumed(range, rest));
            }
        }
        push_range(&mut items, low, high);
    }
    Ok((bracketed(&items, negated, fold_case), &rest[1..]))
}

/// Adds a range without the surrogates in it, which are no characters.
fn push_range(items: &mut String, low: u32, high: u32) {
    let low = char::from_u32(low).unwrap_or('\u{e000}');
    let high = char::from_u32(high).unwrap_or('\u{d7ff}');
    if low < high {
        items.extend([escaped(low), "-".to_owned(), escaped(high)]);
    } else if low == high {
        items.push_str(&escaped(low));
    }
}

/// Reads one character of a class.
fn parse_member<'a>(text: &'a str, whole: &str) -> Result<(u32, &'a str), RegexpError> {
    match text.chars().next() {
        None => fail(Problem::MissingBracket, whole),
        Some('\\') => parse_char_escape(text),
        Some(c) => Ok((u32::from(c), &text[c.len_utf8()..])),
    }
}

/// Reads a named class such as `[:alpha:]`.
fn parse_posix(text: &str) -> Result<Option<(String, &str)>, RegexpError> {
    let Some(end) = text.strip_prefix("[:").and_then(|inner| inner.find(":]")) else {
        return Ok(None);
    };
    let (class, rest) = text.split_at(end + 4);
    let name = class[2..class.len() - 2].trim_start_matches('^');
    let carets = class.len() - 4 - name.len();
    if carets > 1 || !POSIX.contains(&name) {
        return fail(Problem::CharRange, class);
    }
    Ok(Some((class.to_owned(), rest)))
}

/// Reads any backslash sequence that is neither an anchor nor a quotation.
pub(super) fn parse_escape(text: &str) -> Result<(Escape, &str), RegexpError> {
    if let Some((items, rest)) = parse_class_escape(text)? {
        return Ok((Escape::Class(items), rest));
    }
    let (code, rest) = parse_char_escape(text)?;
    Ok((Escape::CodePoint(code), rest))
}

/// Reads a backslash sequence that stands for a class: `\d`, `\pL`, `\p{Greek}`.
fn parse_class_escape(text: &str) -> Result<Option<(String, &str)>, RegexpError> {
    let items = match text.as_bytes().get(1) {
        Some(b'd') => DIGIT.to_owned(),
        Some(b's') => SPACE.to_owned(),
        Some(b'w') => WORD.to_owned(),
        Some(b'D') => format!("[^{DIGIT}]"),
        Some(b'S') => format!("[^{SPACE}]"),
        Some(b'W') => format!("[^{WORD}]"),
        Some(b'p' | b'P') => return parse_unicode_class(text).map(Some),
        _ => return Ok(None),
    };
    Ok(Some((items, &text[2..])))
}

fn parse_unicode_class(text: &str) -> Result<(String, &str), RegexpError> {
    let mut negated = text.as_bytes()[1] == b'P';
    let (sequence, mut name) = match text[2..].chars().next() {
        Some('{') => {
            let Some(end) = text.find('}') else {
                return fail(Problem::CharRange, text);
            };
            (&text[..=end], &text[3..end])
        }
        c => {
            let end = 2 + c.map_or(0, char::len_utf8);
            (&text[..end], &text[2..end])
        }
    };
    if let Some(positive) = name.strip_prefix('^') {
        negated = !negated;
        name = positive;
    }
    let Some(class) = unicode_class(name) else {
        return fail(Problem::CharRange, sequence);
    };
    let sign = if negated { 'P' } else { 'p' };
    Ok((format!(r"\{sign}{{{class}}}"), &text[sequence.len()..]))
}

/// The name of a category or script for the `regex` crate.
fn unicode_class(name: &str) -> Option<String> {
    let loose: String = name.chars().filter(|c| !"_- ".contains(*c)).collect();
    if loose.is_empty() || !loose.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let loose = loose.to_lowercase();
    match loose.as_str() {
        "any" | "assigned" | "ascii" => return Some(loose),
        _ => {}
    }
    [format!("gc={loose}"), format!("sc={loose}")]
        .into_iter()
        .find(|class| regex_syntax::parse(&format!(r"\p{{{class}}}")).is_ok())
}

/// Reads a backslash sequence that stands for one character.
fn parse_char_escape(start: &str) -> Result<(u32, &str), RegexpError> {
    let Some(c) = start[1..].chars().next() else {
        return fail(Problem::TrailingBackslash, "");
    };
    let rest = &start[1 + c.len_utf8()..];
    let octal = |text: &str| text.starts_with(|c: char| ('0'..='7').contains(&c));
    let simple = match c {
        '0' => return Ok(parse_octal(&start[1..])),
        '1'..='7' if octal(rest) => return Ok(parse_octal(&start[1..])),
        'x' => return parse_hex(start, rest),
        'a' => 0x07,
        'f' => 0x0c,
        'n' => 0x0a,
        'r' => 0x0d,
        't' => 0x09,
        'v' => 0x0b,
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => u32::from(c),
        _ => return fail(Problem::Escape, consumed(start, rest)),
    };
    Ok((simple, rest))
}

fn parse_octal(digits: &str) -> (u32, &str) {
    let length = digits.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    let (digits, rest) = digits.split_at(length);
    (digits.bytes().fold(0, |value, byte| value * 8 + u32::from(byte - b'0')), rest)
}

/// Reads what follows `\x`: two digits, or any number of them in braces.
fn parse_hex<'a>(start: &'a str, after: &'a str) -> Result<(u32, &'a str), RegexpError> {
    let mut chars = after.chars();
    if after.is_empty() {
        return fail(Problem::Escape, start);
    }
    if !after.starts_with('{') {
        let high = chars.next().and_then(|c| c.to_digit(16));
        let low = chars.next().and_then(|c| c.to_digit(16));
        return match (high, low) {
            (Some(high), Some(low)) => Ok((high * 16 + low, chars.as_str())),
            _ => fail(Problem::Escape, consumed(start, chars.as_str())),
        };
    }
    chars.next();
    let mut value = None;
    for c in chars.by_ref() {
        if c == '}' {
            break;
        }
        value = c.to_digit(16).map(|digit| value.unwrap_or(0) * 16 + digit);
        if value.is_none_or(|value| value > 0x10_ffff) {
            value = None;
            break;
        }
    }
    let rest = chars.as_str();
    match value {
        Some(value) if consumed(start, rest).ends_with('}') => Ok((value, rest)),
        _ => fail(Problem::Escape, consumed(start, rest)),
    }
}
