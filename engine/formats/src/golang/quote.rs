//! Decides how strings are quoted in messages: Go's `%q`, and the way commands are shown.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;

/// Characters that are younger than Go's Unicode tables count as not printable.
static PRINTABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A[[\p{L}\p{M}\p{N}\p{P}\p{S}]&&\p{age=15.0}]\z")
        .expect("the pattern is a constant")
});

/// Quotes a string the way `%q` and `strconv.Quote` do.
#[must_use]
pub fn quote(text: &str) -> String {
    quote_with(text, '"')
}

/// Quotes one character the way `%q` does: `'s'`.
#[must_use]
pub fn quote_char(c: char) -> String {
    quote_with(c.encode_utf8(&mut [0; 4]), '\'')
}

/// Quotes every string of a list the way `%q` shows a slice: `["a" "b"]`.
#[must_use]
pub fn quote_list<S: AsRef<str>>(items: &[S]) -> String {
    let quoted: Vec<String> = items.iter().map(|item| quote(item.as_ref())).collect();
    format!("[{}]", quoted.join(" "))
}

/// Whether a command is a one-line shell script, which is shown without its `sh -c`.
#[must_use]
pub fn is_shell_standard_form<S: AsRef<str>>(argv: &[S]) -> bool {
    matches!(argv, [sh, dash_c, script]
        if sh.as_ref() == "sh" && dash_c.as_ref() == "-c" && !script.as_ref().contains('\n'))
}

/// Renders a command for messages: shell scripts as they were written, otherwise the arguments
/// with those that contain a space quoted.
#[must_use]
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
#[must_use]
pub fn is_print(c: char) -> bool {
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    PRINTABLE.is_match(c.encode_utf8(&mut [0; 4]))
}

fn quote_with(text: &str, mark: char) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(mark);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            c if c == mark => {
                out.push('\\');
                out.push(c);
            }
            c if is_print(c) => out.push(c),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            c => push_code_point(&mut out, u32::from(c)),
        }
    }
    out.push(mark);
    out
}

fn push_code_point(out: &mut String, code: u32) {
    let written = match code {
        0..0x20 | 0x7f => write!(out, "\\x{code:02x}"),
        0..0x1_0000 => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
    written.expect("writing to a String cannot fail");
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
            ("'", r#""'""#),
        ] {
            assert_eq!(quote(text), expected);
        }
        assert_eq!(quote_char('s'), "'s'");
        assert_eq!(quote_char('\''), r"'\''");
        assert_eq!(quote_list(&["a", "b c"]), r#"["a" "b c"]"#);
        assert_eq!(quote_list::<&str>(&[]), "[]");
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
