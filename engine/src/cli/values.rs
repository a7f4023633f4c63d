//! Values of flags as Go reads them: numbers with a base prefix, durations such as `1m30s`.

use std::time::Duration;

use builtins::golang::quote::quote;

/// An integer, as `strconv.ParseInt(text, 0, 64)` reads it.
pub(super) fn int(text: &str) -> Result<i64, String> {
    let error = |cause: &str| format!("strconv.ParseInt: parsing {}: {cause}", quote(text));
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

/// A duration; negative ones are allowed.
pub(super) fn duration(text: &str) -> Result<GoDuration, String> {
    let parsed = builtins::golang::duration::Duration::parse(text).map_err(|it| it.to_string())?;
    Ok(GoDuration(parsed.0))
}

/// Nanoseconds, perhaps negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GoDuration(pub(super) i64);

impl GoDuration {
    /// The duration if it is not negative.
    pub(super) fn not_negative(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_nanos)
    }
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
            assert_eq!(int(text), want.map_err(str::to_owned), "{text}");
        }
    }
}
