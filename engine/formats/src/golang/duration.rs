//! Decides what a duration such as `1h30m` means, and how one is shown.

use std::fmt::{self, Write as _};

/// A span of time in nanoseconds, like Go's `time.Duration`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub i64);

/// A text that is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// The text as a whole is malformed or out of range.
    #[error("time: invalid duration {}", shown(.0))]
    Invalid(String),
    /// A number has no unit.
    #[error("time: missing unit in duration {}", shown(.0))]
    MissingUnit(String),
    /// A unit does not exist.
    #[error("time: unknown unit {} in duration {}", shown(unit), shown(text))]
    UnknownUnit {
        /// What stands where a unit should.
        unit: String,
        /// The whole duration.
        text: String,
    },
}

/// Quotes a text like Go's `time` package, which shows everything but ASCII byte by byte.
fn shown(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=0x7f => out.push(char::from(byte)),
            _ => write!(out, "\\x{byte:02x}").expect("writing to a String cannot fail"),
        }
    }
    out.push('"');
    out
}

const SECOND: u64 = 1_000_000_000;
/// The magnitude of the most negative duration.
const LIMIT: u64 = 1 << 63;

impl Duration {
    /// Reads a possibly signed sequence of decimal numbers with units.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        Self::parse_with(text, &[])
    }

    /// Reads a duration in which more units than Go's may stand, each with its nanoseconds.
    pub(crate) fn parse_with(text: &str, more: &[(&str, u64)]) -> Result<Self, DurationError> {
        let invalid = || DurationError::Invalid(text.to_owned());
        let (negative, mut rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (value, after) = component(rest, text, more)?;
            total = total.checked_add(value).filter(|sum| *sum <= LIMIT).ok_or_else(invalid)?;
            rest = after;
        }
        match i64::try_from(total) {
            Ok(total) => Ok(Self(if negative { -total } else { total })),
            Err(_) if negative => Ok(Self(i64::MIN)),
            Err(_) => Err(invalid()),
        }
    }
}

/// Reads one number with its unit and returns its nanoseconds and what follows.
fn component<'a>(
    rest: &'a str,
    text: &str,
    more: &[(&str, u64)],
) -> Result<(u64, &'a str), DurationError> {
    let invalid = || DurationError::Invalid(text.to_owned());
    let (whole, after) = split_digits(rest);
    let mut value: u64 = 0;
    for digit in whole.bytes() {
        value = value
            .checked_mul(10)
            .and_then(|v| v.checked_add(u64::from(digit - b'0')))
            .filter(|v| *v <= LIMIT)
            .ok_or_else(invalid)?;
    }
    let (fraction, after) = match after.strip_prefix('.') {
        Some(after) => split_digits(after),
        None => ("", after),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(invalid());
    }
    let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
    let (unit, after) = after.split_at(end);
    let scale = match unit {
        "" => return Err(DurationError::MissingUnit(text.to_owned())),
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3600 * SECOND,
        unit => {
            let known = more.iter().find(|(name, _)| *name == unit);
            let (unit, text) = (unit.to_owned(), text.to_owned());
            known.ok_or(DurationError::UnknownUnit { unit, text })?.1
        }
    };
    let whole = value.checked_mul(scale).filter(|v| *v <= LIMIT).ok_or_else(invalid)?;
    let total = whole + fraction_of(fraction, scale);
    if total > LIMIT { Err(invalid()) } else { Ok((total, after)) }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// The nanoseconds of a decimal fraction of a unit; digits beyond 63 bits are dropped.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the reference computes the fraction in floating point, and rounds the same way"
)]
fn fraction_of(digits: &str, scale: u64) -> u64 {
    let mut value: u64 = 0;
    let mut divisor = 1.0;
    for digit in digits.bytes() {
        if value > (LIMIT - 1) / 10 {
            break;
        }
        let next = value * 10 + u64::from(digit - b'0');
        if next > LIMIT {
            break;
        }
        value = next;
        divisor *= 10.0;
    }
    (value as f64 * (scale as f64 / divisor)) as u64
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        engine_model::GoDuration(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests;
