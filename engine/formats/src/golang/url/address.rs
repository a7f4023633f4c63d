//! Decides whether the text between the brackets of a URL's host is an IP address, with the words
//! of Go's `net/netip` for what is not.

use crate::golang::quote::quote;

/// The family of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressFamily {
    /// Four decimal numbers.
    V4,
    /// Up to eight hexadecimal groups.
    V6,
}

/// Checks an address and tells its family.
pub(super) fn check(text: &str) -> Result<AddressFamily, String> {
    match text.bytes().find(|byte| b".:%".contains(byte)) {
        Some(b'.') => check_v4(text, text).map(|()| AddressFamily::V4),
        Some(b':') => check_v6(text).map(|()| AddressFamily::V6),
        Some(_) => Err(problem(text, "missing IPv6 address", "")),
        None => Err(problem(text, "unable to parse IP", "")),
    }
}

fn problem(text: &str, message: &str, at: &str) -> String {
    let at = if at.is_empty() { String::new() } else { format!(" (at {})", quote(at)) };
    format!("ParseAddr({}): {message}{at}", quote(text))
}

/// Checks the dotted numbers `part` at the end of `text`.
fn check_v4(text: &str, part: &str) -> Result<(), String> {
    let bytes = part.as_bytes();
    let (mut value, mut fields, mut digits) = (0_u32, 0, 0);
    for (i, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(problem(text, "IPv4 field has octet with leading zero", ""));
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(problem(text, "IPv4 field has value >255", ""));
                }
            }
            b'.' => {
                if i == 0 || i == bytes.len() - 1 || bytes[i - 1] == b'.' {
                    let message = "IPv4 field must have at least one digit";
                    return Err(problem(text, message, &part[i..]));
                }
                if fields == 3 {
                    return Err(problem(text, "IPv4 address too long", ""));
                }
                fields += 1;
                (value, digits) = (0, 0);
            }
            _ => return Err(problem(text, "unexpected character", &part[i..])),
        }
    }
    if fields < 3 { Err(problem(text, "IPv4 address too short", "")) } else { Ok(()) }
}

fn check_v6(text: &str) -> Result<(), String> {
    let mut rest = match text.split_once('%') {
        Some((_, "")) => return Err(problem(text, "zone must be a non-empty string", "")),
        Some((address, _)) => address,
        None => text,
    };
    let mut ellipsis = false;
    if let Some(after) = rest.strip_prefix("::") {
        if after.is_empty() {
            return Ok(());
        }
        (ellipsis, rest) = (true, after);
    }
    let mut filled = 0;
    while filled < 16 {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 4 {
            return Err(problem(text, "each group must have 4 or less digits", rest));
        }
        if digits == 0 {
            let message = "each colon-separated field must have at least one digit";
            return Err(problem(text, message, rest));
        }
        if rest[digits..].starts_with('.') {
            check_embedded_v4(text, rest, filled, ellipsis)?;
            (filled, rest) = (filled + 4, "");
            break;
        }
        filled += 2;
        rest = &rest[digits..];
        if rest.is_empty() {
            break;
        }
        let Some(after) = rest.strip_prefix(':') else {
            return Err(problem(text, "unexpected character, want colon", rest));
        };
        if after.is_empty() {
            return Err(problem(text, "colon must be followed by more characters", rest));
        }
        rest = after;
        if let Some(after) = rest.strip_prefix(':') {
            if ellipsis {
                return Err(problem(text, "multiple :: in address", rest));
            }
            (ellipsis, rest) = (true, after);
            if rest.is_empty() {
                break;
            }
        }
    }
    match (rest, filled < 16, ellipsis) {
        ("", true, true) | ("", false, false) => Ok(()),
        ("", true, false) => Err(problem(text, "address string too short", "")),
        ("", false, true) => {
            Err(problem(text, "the :: must expand to at least one field of zeros", ""))
        }
        (rest, _, _) => Err(problem(text, "trailing garbage after address", rest)),
    }
}

fn check_embedded_v4(text: &str, rest: &str, filled: u32, ellipsis: bool) -> Result<(), String> {
    if !ellipsis && filled != 12 {
        let message = "embedded IPv4 address must replace the final 2 fields of the address";
        return Err(problem(text, message, rest));
    }
    if filled + 4 > 16 {
        let message = "too many hex fields to fit an embedded IPv4 at the end of the address";
        return Err(problem(text, message, rest));
    }
    check_v4(text, rest)
}
