//! Decides which literals the crate would read differently, and writes them so that it does not.

use crate::syntax::{token::Token, unquote};

/// The text to write instead of a literal, if it has to be another one.
pub(super) fn adapted(kind: Token, raw: &str) -> Option<String> {
    match kind {
        // The crate takes no leading zeros; other than zero itself, neither does the reference.
        Token::Int if raw.len() > 1 && raw.bytes().all(|byte| byte == b'0') => Some("0".to_owned()),
        // A bytes literal after a comma is not recognized as the start of an expression.
        Token::Bytes => Some(format!("({})", quoted_bytes(raw))),
        Token::String if is_read_differently(raw) => Some(quoted_string(raw)),
        _ => None,
    }
}

/// Whether the crate drops a backslash (raw strings with quotes) or a carriage return.
fn is_read_differently(raw: &str) -> bool {
    let raw_quote = raw.starts_with('r') && (raw.contains("\\\"") || raw.contains("\\'"));
    raw_quote || raw.contains('\r')
}

fn value(raw: &str) -> Vec<u8> {
    let normalized = raw.replace("\r\n", "\n").replace('\r', "\n");
    // The scanner has accepted the literal already.
    unquote(&normalized).map(std::borrow::Cow::into_owned).unwrap_or_default()
}

/// A literal that means `text` to the crate.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\0' => quoted.push_str("\\x00"),
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn quoted_string(raw: &str) -> String {
    quote(&String::from_utf8_lossy(&value(raw)))
}

fn quoted_bytes(raw: &str) -> String {
    let mut quoted = String::from("b\"");
    for byte in value(raw) {
        match byte {
            b'"' => quoted.push_str("\\\""),
            b'\\' => quoted.push_str("\\\\"),
            b' '..=b'~' => quoted.push(char::from(byte)),
            _ => quoted.extend(["\\x".to_owned(), format!("{byte:02x}")]),
        }
    }
    quoted.push('"');
    quoted
}
