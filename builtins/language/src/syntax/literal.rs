//! Decides what a quoted literal means: escapes, raw strings, bytes.

use std::borrow::Cow;

use crate::error::{Complaint, Mistake};

/// The value of a string or bytes literal with its prefix and quotes, or what is wrong with it.
///
/// Line endings must already be `\n`.
pub fn unquote(quoted: &str) -> Result<Cow<'_, [u8]>, Complaint> {
    let (raw, rest) = strip(quoted, 'r');
    let (is_bytes, rest) = strip(rest, 'b');
    let triple = rest.len() >= 6 && (rest.starts_with("\"\"\"") || rest.starts_with("'''"));
    let width = if triple { 3 } else { 1 };
    let Some(body) = rest.get(width..rest.len().saturating_sub(width)) else {
        return Err("string literal too short".to_owned().into());
    };
    if raw || !body.contains('\\') {
        return Ok(Cow::Borrowed(body.as_bytes()));
    }
    let mut value = Vec::with_capacity(body.len());
    let mut rest = body.as_bytes();
    while let Some(at) = rest.iter().position(|&byte| byte == b'\\') {
        value.extend_from_slice(&rest[..at]);
        rest = escape(&rest[at..], is_bytes, &mut value)?;
    }
    value.extend_from_slice(rest);
    Ok(Cow::Owned(value))
}

fn invalid_escape(message: String) -> Complaint {
    Complaint::new(message, Some(Mistake::InvalidEscape))
}

fn strip(text: &str, prefix: char) -> (bool, &str) {
    text.strip_prefix(prefix).map_or((false, text), |rest| (true, rest))
}

/// Reads one escape sequence at the start of `text` and returns what follows it.
fn escape<'a>(text: &'a [u8], is_bytes: bool, value: &mut Vec<u8>) -> Result<&'a [u8], Complaint> {
    let Some(&kind) = text.get(1) else {
        return Err(r"truncated escape sequence \".to_owned().into());
    };
    let simple = match kind {
        b'\n' => return Ok(&text[2..]),
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0C,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0B,
        b'\\' | b'\'' | b'"' => kind,
        b'0'..=b'7' => return octal(text, is_bytes, value),
        b'x' => return hex(text, is_bytes, value),
        b'u' => return unicode(text, 6, value),
        b'U' => return unicode(text, 10, value),
        _ => return Err(invalid_escape(format!("invalid escape sequence \\{}", char::from(kind)))),
    };
    value.push(simple);
    Ok(&text[2..])
}

fn octal<'a>(text: &'a [u8], is_bytes: bool, value: &mut Vec<u8>) -> Result<&'a [u8], Complaint> {
    let digits = text[1..].iter().take(3).take_while(|&&d| (b'0'..=b'7').contains(&d)).count();
    let code = text[1..=digits].iter().fold(0_u32, |n, &digit| n * 8 + u32::from(digit - b'0'));
    if !is_bytes && code > 127 {
        return Err(format!(
            r"non-ASCII octal escape \{code:o} (use \u{code:04X} for the UTF-8 encoding of U+{code:04X})"
        ).into());
    }
    match u8::try_from(code) {
        Ok(byte) => value.push(byte),
        Err(_) => return Err(invalid_escape(format!(r"invalid escape sequence \{code:03o}"))),
    }
    Ok(&text[1 + digits..])
}

fn hex<'a>(text: &'a [u8], is_bytes: bool, value: &mut Vec<u8>) -> Result<&'a [u8], Complaint> {
    let (code, rest) = hex_digits(text, 4)?;
    if !is_bytes && code > 127 {
        let escape = lossy(&text[..4]);
        return Err(format!(
            r"non-ASCII hex escape {escape} (use \u{code:04X} for the UTF-8 encoding of U+{code:04X})"
        ).into());
    }
    value.push(u8::try_from(code).expect("two hex digits fit a byte"));
    Ok(rest)
}

fn unicode<'a>(text: &'a [u8], size: usize, value: &mut Vec<u8>) -> Result<&'a [u8], Complaint> {
    let (code, rest) = hex_digits(text, size)?;
    if code > 0x10_FFFF {
        let escape = lossy(&text[..size]);
        // The reference shows the value itself where it means the maximum.
        return Err(format!(r"code point out of range: {escape} (max \U{code:08x})").into());
    }
    let Some(c) = char::from_u32(code) else {
        return Err(format!("invalid Unicode code point U+{code:04X}").into());
    };
    value.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    Ok(rest)
}

/// The number in an escape of `size` bytes, backslash and letter included.
fn hex_digits(text: &[u8], size: usize) -> Result<(u32, &[u8]), Complaint> {
    let Some((escape, rest)) = text.split_at_checked(size) else {
        return Err(format!("truncated escape sequence {}", lossy(text)).into());
    };
    let digits = &escape[2..];
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(invalid_escape(format!("invalid escape sequence {}", lossy(escape))));
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or_default();
    Ok((digits.iter().fold(0, |n, &byte| n * 16 + digit(byte)), rest))
}

fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_mean_what_starlark_go_reads() {
        let check = |quoted: &str, expected: &[u8]| {
            assert_eq!(unquote(quoted).as_deref(), Ok(expected), "{quoted}");
        };
        check(r#""a\tb""#, b"a\tb");
        check(r#"r"a\"b""#, br#"a\"b"#);
        check("'''a'b'''", b"a'b");
        check(r#""\101\x41\u00e9\U0001F600""#, "AA\u{e9}\u{1f600}".as_bytes());
        check("\"a\\\nb\"", b"ab");
        check(r#"b"\377\xff""#, b"\xff\xff");
        check(r#"rb"\xff""#, br"\xff");
        check(r#""\0""#, b"\0");
        check("''", b"");
        check("\"\"\"\"\"\"", b"");
    }

    #[test]
    fn bad_escapes_are_named() {
        let check = |quoted: &str, expected: &str| {
            assert_eq!(unquote(quoted).expect_err(quoted).message, expected);
        };
        check(r#""\q""#, r"invalid escape sequence \q");
        check("\"\\é\"", "invalid escape sequence \\Ã");
        check(r#""\xzz""#, r"invalid escape sequence \xzz");
        check(r#""\x1""#, r"truncated escape sequence \x1");
        check(
            r#""\xff""#,
            r"non-ASCII hex escape \xff (use \u00FF for the UTF-8 encoding of U+00FF)",
        );
        check(
            r#""\200""#,
            r"non-ASCII octal escape \200 (use \u0080 for the UTF-8 encoding of U+0080)",
        );
        check(r#"b"\777""#, r"invalid escape sequence \777");
        check(r#""\ud800""#, "invalid Unicode code point U+D800");
        check(r#""\U00110000""#, r"code point out of range: \U00110000 (max \U00110000)");
        check(r#""\u12""#, r"truncated escape sequence \u12");
    }
}
