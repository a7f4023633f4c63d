//! Decides which type an unquoted scalar has.
//!
//! YAML 1.1 as go-yaml v2 reads it (`yes` and `on` are booleans), and the smaller set of go-yaml
//! v3 and v4. Both read Go's integer literals and leave base-60 numbers alone.

use super::Dialect;
use super::error::Error;
use super::timestamp;

/// What the tags of YAML's own types start with when written in full.
pub(super) const LONG_PREFIX: &str = "tag:yaml.org,2002:";

/// A typed scalar. Text is not repeated here: [`Scalar::Str`] means the text as it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Timestamp,
    Str,
}

impl Scalar {
    /// Returns the short tag of the type.
    pub(super) fn tag(self) -> &'static str {
        match self {
            Self::Null => "!!null",
            Self::Bool(_) => "!!bool",
            Self::Int(_) | Self::Uint(_) => "!!int",
            Self::Float(_) => "!!float",
            Self::Timestamp => "!!timestamp",
            Self::Str => "!!str",
        }
    }
}

/// Resolves a plain scalar that has no tag.
pub(super) fn resolve(dialect: Dialect, text: &str) -> Scalar {
    resolve_as(dialect, text, true)
}

/// Resolves a scalar with one of YAML's own tags, given in its short form.
pub(super) fn resolve_tagged(dialect: Dialect, tag: &str, text: &str) -> Result<Scalar, Error> {
    let wanted = match tag {
        "!!bool" | "!!int" | "!!float" | "!!null" | "!!timestamp" => tag,
        _ => return Ok(Scalar::Str),
    };
    let found = resolve_as(dialect, text, wanted == "!!timestamp");
    match found {
        _ if found.tag() == wanted => Ok(found),
        #[expect(clippy::cast_precision_loss, reason = "Go converts with the same loss")]
        Scalar::Int(int) if wanted == "!!float" => Ok(Scalar::Float(int as f64)),
        _ => {
            let tag = found.tag();
            Err(Error::yaml(format!("cannot decode {tag} `{text}` as a {wanted}")))
        }
    }
}

fn resolve_as(dialect: Dialect, text: &str, timestamps: bool) -> Scalar {
    let Some(first) = text.bytes().next() else { return Scalar::Null };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => {
            word(dialect, text).unwrap_or(Scalar::Str)
        }
        b'.' => special_float(dialect, text)
            .or_else(|| dot_float(text).map(Scalar::Float))
            .unwrap_or(Scalar::Str),
        b'+' | b'-' | b'0'..=b'9' => special_float(dialect, text)
            .or_else(|| (timestamps && timestamp::is_timestamp(text)).then_some(Scalar::Timestamp))
            .or_else(|| number(dialect, text))
            .unwrap_or(Scalar::Str),
        _ => Scalar::Str,
    }
}

fn word(dialect: Dialect, text: &str) -> Option<Scalar> {
    Some(match text {
        "true" | "True" | "TRUE" => Scalar::Bool(true),
        "false" | "False" | "FALSE" => Scalar::Bool(false),
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        _ if dialect == Dialect::V2 => Scalar::Bool(old_bool(text)?),
        _ => return None,
    })
}

/// Reads the booleans that YAML 1.2 has dropped.
pub(super) fn old_bool(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

fn special_float(dialect: Dialect, text: &str) -> Option<Scalar> {
    Some(Scalar::Float(match text {
        ".nan" | ".NaN" | ".NAN" => f64::NAN,
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => f64::INFINITY,
        "-.inf" | "-.Inf" | "-.INF" => f64::NEG_INFINITY,
        "-0" | "-0.0" if dialect == Dialect::V4 => -0.0,
        _ => return None,
    }))
}

fn number(dialect: Dialect, text: &str) -> Option<Scalar> {
    let plain = text.replace('_', "");
    parse_int(&plain)
        .map(Scalar::Int)
        .or_else(|| parse_uint(&plain).map(Scalar::Uint))
        .or_else(|| is_float(&plain).then(|| parse_float(&plain)).flatten().map(Scalar::Float))
        .or_else(|| if dialect == Dialect::V2 { odd_binary(&plain) } else { None })
}

/// Parses an integer as Go's `strconv.ParseInt` does with base 0.
fn parse_int(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = parse_uint(digits)?;
    if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// Parses an integer as Go's `strconv.ParseUint` does with base 0.
fn parse_uint(text: &str) -> Option<u64> {
    let (radix, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (16, &text[2..]),
        [b'0', b'b' | b'B', _, ..] => (2, &text[2..]),
        [b'0', b'o' | b'O', _, ..] => (8, &text[2..]),
        [b'0', _, ..] => (8, &text[1..]),
        _ => (10, text),
    };
    // Rust would accept a sign here, Go does not.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// Reads `0b-11` as -3, a leftover of older Go versions.
fn odd_binary(text: &str) -> Option<Scalar> {
    let digits = text.strip_prefix("0b")?;
    i64::from_str_radix(digits, 2).ok().map(Scalar::Int)
}

/// Says whether the text is a decimal number with an optional fraction and exponent.
fn is_float(text: &str) -> bool {
    let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let whole = digits(text);
    let mut rest = &text[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let width = digits(fraction);
        if whole == 0 && width == 0 {
            return false;
        }
        rest = &fraction[width..];
    } else if whole == 0 {
        return false;
    }
    let Some(exponent) = rest.strip_prefix(['e', 'E']) else { return rest.is_empty() };
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    !exponent.is_empty() && digits(exponent) == exponent.len()
}

/// Parses a number that [`is_float`] accepts; one that is too large is none.
fn parse_float(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|float| float.is_finite())
}

/// Parses a number such as `.5`, in which underscores may stand between digits.
fn dot_float(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let misplaced = |(at, b): (usize, &u8)| *b == b'_' && !(digit(at - 1) && digit(at + 1));
    if bytes.iter().enumerate().skip(1).any(misplaced) {
        return None;
    }
    let plain = text.replace('_', "");
    if is_float(&plain) { parse_float(&plain) } else { None }
}
