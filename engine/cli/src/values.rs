//! Parses flag values as Go does: integers with a base prefix, durations such as `1m30s`.

use std::time::Duration;

use engine_api::log::Filter;
use engine_formats::golang::{
    duration::{self, DurationError},
    quote::quote,
};

use super::is_tilt;

/// A text that is no integer, in the words of Go's `strconv`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("strconv.ParseInt: parsing {}: {cause}", quote(.text))]
pub struct IntError {
    text: String,
    cause: &'static str,
}

/// Parses an integer as `strconv.ParseInt(text, 0, 64)` does.
pub fn int(text: &str) -> Result<i64, IntError> {
    let error = |cause| IntError { text: text.to_owned(), cause };
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let (base, digits) = match digits.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (16, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        _ if digits.len() > 1 && digits.starts_with('0') => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.chars().all(|it| it.is_digit(base)) {
        return Err(error("invalid syntax"));
    }
    let value = i128::from_str_radix(digits, base).map_err(|_| error("value out of range"))?;
    i64::try_from(sign * value).map_err(|_| error("value out of range"))
}

/// Parses a duration, which may be negative.
pub fn duration(text: &str) -> Result<GoDuration, DurationError> {
    duration::Duration::parse(text).map(|it| GoDuration(it.0))
}

/// Nanoseconds, perhaps negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoDuration(pub i64);

impl GoDuration {
    /// The duration if it is not negative.
    pub fn not_negative(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_nanos)
    }
}

/// A text that is none of those that are valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotOneOf(&'static str);

/// The level that lines of the log must have. Tilt takes every text, and shows all lines.
pub fn log_level(text: &str) -> Result<String, NotOneOf> {
    let is_valid = text.is_empty() || Filter::level_from_flag(text).is_some();
    if is_valid || is_tilt() { Ok(text.to_owned()) } else { Err(NotOneOf("warn or error")) }
}

/// Where lines of the log must come from. Tilt takes every text, and shows all lines.
pub fn log_source(text: &str) -> Result<String, NotOneOf> {
    let is_valid = ["", "all", "build", "runtime"].contains(&text);
    if is_valid || is_tilt() { Ok(text.to_owned()) } else { Err(NotOneOf("all, build or runtime")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_in_go() {
        let cases = [
            ("10350", Ok(10350)),
            ("0x10", Ok(16)),
            ("-017", Ok(-15)),
            ("abc", Err("strconv.ParseInt: parsing \"abc\": invalid syntax")),
            ("", Err("strconv.ParseInt: parsing \"\": invalid syntax")),
            ("1é", Err("strconv.ParseInt: parsing \"1é\": invalid syntax")),
            (
                "9223372036854775808",
                Err("strconv.ParseInt: parsing \"9223372036854775808\": value out of range"),
            ),
        ];
        for (text, want) in cases {
            assert_eq!(
                int(text).map_err(|it| it.to_string()),
                want.map_err(str::to_owned),
                "{text}"
            );
        }
    }
}
