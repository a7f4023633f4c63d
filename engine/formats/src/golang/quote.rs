//! Decides how strings are quoted in messages and what quoted strings mean: Go's `%q` and `strconv`, and the way
//! commands are shown.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;

/// Characters that are younger than Go's Unicode tables count as not printable.
static PRINTABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A[[\p{L}\p{M}\p{N}\p{P}\p{S}]&&\p{age=15.0}]\z")
        .expect("the pattern is a constant")
});

/// Quotes a string the way `%q` and `strconv.Quote` do.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote_into(&mut out, text);
    out
}

/// Writes a string the way [`quote`] quotes it.
pub fn quote_into(out: &mut String, text: &str) {
    quote_with(out, text.as_bytes(), '"');
}

/// Quotes bytes as [`quote`] quotes text; those that are not UTF-8 show as numbers.
pub fn quote_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    quote_with(&mut out, bytes, '"');
    out
}

/// Quotes one character the way `%q` does: `'s'`.
pub fn quote_char(c: char) -> String {
    let mut out = String::with_capacity(6);
    quote_with(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes(), '\'');
    out
}

/// Quotes every string of a list, with `separator` between them.
pub fn quote_joined<S: AsRef<str>>(items: &[S], separator: &str) -> String {
    items.iter().map(|item| quote(item.as_ref())).collect::<Vec<_>>().join(separator)
}

/// Whether a command is a one-line shell script, which is shown without its `sh -c`.
pub fn is_shell_standard_form<S: AsRef<str>>(argv: &[S]) -> bool {
    matches!(argv, [sh, dash_c, script]
        if sh.as_ref() == "sh" && dash_c.as_ref() == "-c" && !script.as_ref().contains('\n'))
}

/// Renders a command for messages: shell scripts as they were written, otherwise the arguments
/// with those that contain a space quoted.
pub fn command_line<S: AsRef<str>>(argv: &[S]) -> String {
    if is_shell_standard_form(argv) {
        return argv[2].as_ref().to_owned();
    }
    if let [cmd, s, c, script] = argv
        && (cmd.as_ref(), s.as_ref(), c.as_ref()) == ("cmd", "/S", "/C")
    {
        return script.as_ref().to_owned();
    }
    let shown: Vec<String> = argv
        .iter()
        .map(AsRef::as_ref)
        .map(|arg: &str| if arg.contains(' ') { quote(arg) } else { arg.to_owned() })
        .collect();
    shown.join(" ")
}

/// Whether Go considers a character printable: letters, marks, numbers, punctuation, symbols and
/// the ASCII space.
pub fn is_print(c: char) -> bool {
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    PRINTABLE.is_match(c.encode_utf8(&mut [0; 4]))
}

fn quote_with(out: &mut String, bytes: &[u8], mark: char) {
    out.push(mark);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            push_quoted(out, c, mark);
        }
        for byte in chunk.invalid() {
            write!(out, "\\x{byte:02x}").expect("writing to a String cannot fail");
        }
    }
    out.push(mark);
}

fn push_quoted(out: &mut String, c: char, mark: char) {
    match c {
        '\\' => out.push_str("\\\\"),
        c if c == mark => out.extend(['\\', c]),
        c if is_print(c) => out.push(c),
        '\x07' => out.push_str("\\a"),
        '\x08' => out.push_str("\\b"),
        '\x0c' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\x0b' => out.push_str("\\v"),
        c => push_code_point(out, u32::from(c)),
    }
}

fn push_code_point(out: &mut String, code: u32) {
    let written = match code {
        0..0x20 | 0x7f => write!(out, "\\x{code:02x}"),
        0..0x1_0000 => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
    written.expect("writing to a String cannot fail");
}

/// The text that stood between quotes with the escapes of Go's literals resolved, or `None` if one is not valid.
pub fn unquote(text: &str, quote: char) -> Option<String> {
    if !text.contains(['\\', quote]) {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == quote {
            return None;
        }
        if letter == '\\' {
            unescape(letters.next()?, quote, &mut letters, &mut bytes)?;
        } else {
            push(letter, &mut bytes);
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn unescape(
    letter: char,
    quote: char,
    letters: &mut std::str::Chars<'_>,
    bytes: &mut Vec<u8>,
) -> Option<()> {
    match letter {
        'a' => bytes.push(0x07),
        'b' => bytes.push(0x08),
        'f' => bytes.push(0x0c),
        'n' => bytes.push(b'\n'),
        'r' => bytes.push(b'\r'),
        't' => bytes.push(b'\t'),
        'v' => bytes.push(0x0b),
        '\\' => bytes.push(b'\\'),
        'x' => bytes.push(u8::try_from(digits(letters, 2, 16)?).ok()?),
        'u' => push(char::from_u32(digits(letters, 4, 16)?)?, bytes),
        'U' => push(char::from_u32(digits(letters, 8, 16)?)?, bytes),
        '0'..='7' => {
            let first = letter.to_digit(8)?;
            bytes.push(u8::try_from(first * 64 + digits(letters, 2, 8)?).ok()?);
        }
        '\'' | '"' if letter == quote => bytes.push(u8::try_from(letter).ok()?),
        _ => return None,
    }
    Some(())
}

fn digits(letters: &mut std::str::Chars<'_>, count: usize, base: u32) -> Option<u32> {
    (0..count).try_fold(0u32, |value, _| {
        Some(value.wrapping_mul(base).wrapping_add(letters.next()?.to_digit(base)?))
    })
}

fn push(letter: char, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted_like_go_does() {
        for (text, expected) in [
            ("", r#""""#),
            ("a b", r#""a b""#),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("\x07\x08\x0c\n\r\t\x0b", r#""\a\b\f\n\r\t\v""#),
            ("\0\x1b\x7f", r#""\x00\x1b\x7f""#),
            ("é世🎉", r#""é世🎉""#),
            ("\u{a0}\u{200b}\u{feff}\u{e000}", r#""\u00a0\u200b\ufeff\ue000""#),
            ("\u{e0001}\u{10ffff}", r#""\U000e0001\U0010ffff""#),
            ("\u{80}\u{85}\u{ad}\u{2028}", r#""\u0080\u0085\u00ad\u2028""#),
            ("e\u{301}\u{301}", "\"e\u{301}\u{301}\""),
            ("'", r#""'""#),
        ] {
            assert_eq!(quote(text), expected);
        }
        assert_eq!(quote_bytes(b"\"a\"\xc3\xff\x07"), r#""\"a\"\xc3\xff\a""#);
        assert_eq!(quote_char('s'), "'s'");
        assert_eq!(quote_char('"'), "'\"'");
        assert_eq!(quote_char('\u{85}'), r"'\u0085'");
        assert_eq!(quote_char('\u{e0001}'), r"'\U000e0001'");
        assert_eq!(quote_char('\''), r"'\''");
    }

    #[test]
    fn escapes_mean_what_go_reads() {
        for (text, expected) in [
            (r"plain '", Some("plain '")),
            (r#"\a\b\f\n\r\t\v\\\""#, Some("\x07\x08\x0c\n\r\t\x0b\\\"")),
            (r"\x41\101\u200b\U0001F600", Some("AA\u{200b}\u{1f600}")),
            (r"\xc3\xa9\xff", Some("\u{e9}\u{fffd}")),
            (r"\'", None),
            (r#"a"b"#, None),
            (r"\x4", None),
            (r"\u12", None),
            (r"\ud800", None),
            (r"\400", None),
            (r"\q", None),
            ("\\", None),
        ] {
            assert_eq!(unquote(text, '"').as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn commands_are_shown_as_they_were_written() {
        for (argv, expected) in [
            (&["sh", "-c", "echo  a"][..], "echo  a"),
            (&["sh", "-c", "a\nb c"], r#"sh -c "a\nb c""#),
            (&["sh", "-c", "a\nb"], "sh -c a\nb"),
            (&["cmd", "/S", "/C", "dir x"], "dir x"),
            (&["echo", "a b", "c\"d", ""], r#"echo "a b" c"d "#),
            (&[], ""),
        ] {
            assert_eq!(command_line(argv), expected);
        }
    }
}
