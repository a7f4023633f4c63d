//! Decides how resource quantities such as `500m` or `1Gi` are read and written.
//!
//! A quantity that is already in its canonical form keeps its text. Everything else is computed with decimal digits of
//! any length, since manifests may say `1e30` or have more digits than a machine word.

use std::cmp::Ordering;

/// A quantity that could not be read, in the words of the Kubernetes library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QuantityError {
    #[error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    #[error("unable to parse quantity's suffix")]
    Suffix,
    #[error("unable to parse numeric part of quantity")]
    Number,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    DecimalExponent,
    BinarySi,
    DecimalSi,
}

const DECIMAL_SUFFIXES: [(&str, i64); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
const BINARY_SUFFIXES: [(&str, u32); 6] =
    [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
/// The smallest fraction that is kept is a billionth.
const NANO: i64 = -9;

/// The canonical form, or `None` if the text already has it.
pub(crate) fn canonicalize(text: &str) -> Result<Option<String>, QuantityError> {
    if text == "0" {
        return Ok(None);
    }
    let parts = split(text)?;
    let (exponent, format) = interpret(parts.suffix).ok_or(QuantityError::Suffix)?;
    let small = is_small(&parts, exponent, format);
    if small && looks_canonical(&parts, exponent, format) {
        return Ok(None);
    }
    if !small && parts.without_digits {
        return Err(QuantityError::Number);
    }
    let mut amount = Decimal::new(parts.number, parts.fraction);
    let mut format = format;
    if format == Format::BinarySi {
        amount.double(exponent);
    } else {
        amount.exponent += exponent;
    }
    amount.round_up(NANO);
    if format == Format::BinarySi {
        amount.cap();
        if amount.compare(1) == Ordering::Less {
            format = Format::DecimalSi;
        }
    }
    Ok(Some(amount.print(parts.negative, format)))
}

struct Parts<'a> {
    negative: bool,
    /// Whether there is no digit at all, which only some forms of numbers forgive.
    without_digits: bool,
    /// Without leading zeros, but at least one digit.
    number: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

fn split(text: &str) -> Result<Parts<'_>, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Format);
    }
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let trimmed = unsigned.trim_start_matches('0');
    let (number, rest) = take_digits(trimmed);
    let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), take_digits);
    let letters =
        suffix.trim_start_matches(['e', 'E', 'i', 'n', 'u', 'm', 'k', 'K', 'M', 'G', 'T', 'P']);
    let exponent = letters.strip_prefix(['-', '+']).unwrap_or(letters);
    if !exponent.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(QuantityError::Format);
    }
    let without_digits =
        trimmed.len() == unsigned.len() && number.is_empty() && fraction.is_empty();
    let number = if number.is_empty() { "0" } else { number };
    Ok(Parts { negative, without_digits, number, fraction, suffix })
}

fn take_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

fn interpret(suffix: &str) -> Option<(i64, Format)> {
    if let Some((_, exponent)) = DECIMAL_SUFFIXES.iter().find(|(name, _)| *name == suffix) {
        return Some((*exponent, Format::DecimalSi));
    }
    if let Some((_, exponent)) = BINARY_SUFFIXES.iter().find(|(name, _)| *name == suffix) {
        return Some((i64::from(*exponent), Format::BinarySi));
    }
    let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    // The library keeps 32 bits of the exponent.
    #[expect(clippy::cast_possible_truncation)]
    let exponent = exponent as i32;
    Some((i64::from(exponent), Format::DecimalExponent))
}

/// Whether the library computes with a machine word instead of digits.
fn is_small(parts: &Parts<'_>, exponent: i64, format: Format) -> bool {
    let digits = length(parts.number) + length(parts.fraction);
    if format != Format::BinarySi {
        return digits <= 18 && exponent - length(parts.fraction) >= NANO;
    }
    let factor = 1i64.checked_shl(u32::try_from(exponent).unwrap_or(0)).unwrap_or(0);
    parts.fraction.is_empty()
        && 15 - digits - exponent * 3 / 10 > 0
        && parts.number.parse::<i64>().is_ok_and(|value| value.checked_mul(factor).is_some())
}

/// Whether the library remembers the text of a small number, which it does if it looks canonical at a glance.
fn looks_canonical(parts: &Parts<'_>, exponent: i64, format: Format) -> bool {
    if format == Format::BinarySi {
        return parts.number.parse::<i64>().is_ok_and(|value| value & 7 != 0);
    }
    let zeros = parts
        .number
        .bytes()
        .chain(parts.fraction.bytes())
        .rev()
        .take_while(|digit| *digit == b'0')
        .count();
    (exponent - length(parts.fraction)) % 3 == 0 && zeros < 3 && !parts.number.starts_with('0')
}

fn length(digits: &str) -> i64 {
    i64::try_from(digits.len()).unwrap_or(i64::MAX)
}

/// A non-negative decimal number: its digits, without leading zeros, times a power of ten.
struct Decimal {
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    fn new(number: &str, fraction: &str) -> Self {
        let digits = number
            .bytes()
            .chain(fraction.bytes())
            .map(|byte| byte - b'0')
            .skip_while(|digit| *digit == 0);
        let exponent = -length(fraction);
        Self { digits: digits.collect(), exponent }
    }

    fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Multiplies by a power of two.
    fn double(&mut self, times: i64) {
        let factor = 1u64 << times.clamp(0, 60);
        let mut carry = 0u64;
        let mut product = Vec::with_capacity(self.digits.len() + 19);
        for digit in self.digits.iter().rev() {
            let sum = u128::from(*digit) * u128::from(factor) + u128::from(carry);
            product.push(u8::try_from(sum % 10).unwrap_or(0));
            carry = u64::try_from(sum / 10).unwrap_or(0);
        }
        while carry > 0 {
            product.push(u8::try_from(carry % 10).unwrap_or(0));
            carry /= 10;
        }
        product.reverse();
        self.digits = product;
    }

    /// Drops digits below a power of ten, rounding away from zero.
    fn round_up(&mut self, exponent: i64) {
        let Ok(dropped) = usize::try_from(exponent - self.exponent) else { return };
        if dropped == 0 || self.is_zero() {
            return;
        }
        let kept = self.digits.len().saturating_sub(dropped);
        let lost = self.digits[kept..].iter().any(|digit| *digit != 0);
        self.digits.truncate(kept);
        self.exponent = exponent;
        if lost {
            self.increment();
        }
    }

    fn increment(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        self.digits.insert(0, 1);
    }

    /// The whole number this is, if it is one that fits.
    fn to_integer(&self) -> Option<u128> {
        let zeros = self.digits.iter().rev().take_while(|digit| **digit == 0).count();
        let digits = &self.digits[..self.digits.len() - zeros];
        let exponent = self.exponent.checked_add(i64::try_from(zeros).ok()?)?;
        let exponent = u32::try_from(exponent).ok().or(digits.is_empty().then_some(0))?;
        if digits.len() + exponent as usize > 38 {
            return None;
        }
        let value = digits.iter().fold(0u128, |value, digit| value * 10 + u128::from(*digit));
        Some(value * 10u128.pow(exponent))
    }

    /// Compares with a whole number.
    fn compare(&self, other: u64) -> Ordering {
        if self.is_zero() {
            return 0.cmp(&other);
        }
        let magnitude =
            self.exponent.saturating_add(i64::try_from(self.digits.len()).unwrap_or(i64::MAX));
        if magnitude > 38 {
            return Ordering::Greater;
        }
        if magnitude <= 0 {
            return if other == 0 { Ordering::Greater } else { Ordering::Less };
        }
        let whole = usize::try_from(magnitude).unwrap_or(0);
        let digit = |index: usize| self.digits.get(index).copied().unwrap_or(0);
        let floor = (0..whole).fold(0u128, |value, index| value * 10 + u128::from(digit(index)));
        let fraction = (whole..self.digits.len()).any(|index| digit(index) != 0);
        floor.cmp(&u128::from(other)).then(if fraction {
            Ordering::Greater
        } else {
            Ordering::Equal
        })
    }

    /// Binary quantities end at the largest 64-bit integer.
    fn cap(&mut self) {
        if self.compare(i64::MAX as u64) == Ordering::Greater {
            self.digits = i64::MAX.to_string().bytes().map(|byte| byte - b'0').collect();
            self.exponent = 0;
        }
    }

    fn print(mut self, negative: bool, format: Format) -> String {
        if self.is_zero() {
            return "0".to_owned();
        }
        let sign = if negative { "-" } else { "" };
        if format == Format::BinarySi
            && self.compare(1024) != Ordering::Less
            && let Some(mut value) = self.to_integer()
        {
            let mut thousands = 0;
            while value % 1024 == 0 && value >= 1024 {
                value /= 1024;
                thousands += 1;
            }
            let suffix = BINARY_SUFFIXES.get(thousands.max(1) - 1).map_or("", |(name, _)| name);
            return format!("{sign}{value}{}", if thousands == 0 { "" } else { suffix });
        }
        while self.digits.last() == Some(&0) {
            self.digits.pop();
            self.exponent += 1;
        }
        while self.exponent % 3 != 0 {
            self.digits.push(0);
            self.exponent -= 1;
        }
        let digits: String = self.digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        match (format, self.exponent) {
            (_, 0) => format!("{sign}{digits}"),
            (Format::DecimalExponent, exponent) => format!("{sign}{digits}e{exponent}"),
            (_, exponent) => {
                // The library knows no suffix beyond E and then writes none.
                let suffix = DECIMAL_SUFFIXES
                    .iter()
                    .find(|(_, own)| *own == exponent)
                    .map_or("", |(name, _)| name);
                format!("{sign}{digits}{suffix}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let result = canonicalize(text);
        let shown = match &result {
            Ok(None) => text.to_owned(),
            Ok(Some(canonical)) => canonical.clone(),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected, "quantity {text:?}");
    }

    #[test]
    fn quantities_are_written_canonically() {
        let cases = [
            ("1", "1"),
            ("1000m", "1"),
            ("100m", "100m"),
            ("0.5", "500m"),
            ("1.5", "1500m"),
            ("1024Mi", "1Gi"),
            ("1025Ki", "1025Ki"),
            ("8Ki", "8Ki"),
            ("0.5Gi", "512Mi"),
            ("1.5Ki", "1536"),
            ("0.1Ki", "102400m"),
            ("1e3", "1e3"),
            ("1000e3", "1e6"),
            ("12E", "12E"),
            ("1000E", "1"),
            ("0", "0"),
            ("0m", "0"),
            ("-5Ki", "-5Ki"),
            ("+5Ki", "+5Ki"),
            ("-1000m", "-1"),
            ("0.0000000001", "1n"),
            ("1.500", "1.500"),
            ("2000", "2k"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("16Ei", "9223372036854775807"),
            ("100000000000000000000Ki", "9223372036854775807"),
            (".", "0"),
            ("m", "0"),
        ];
        for (text, expected) in cases {
            check(text, expected);
        }
    }

    #[test]
    fn unreadable_quantities_are_errors() {
        let format = QuantityError::Format.to_string();
        for text in ["", "abc", "1.2.3", "1 Gi", "true", "{}"] {
            check(text, &format);
        }
        for text in ["1i", "1Kii", "1e", "1mm"] {
            check(text, "unable to parse quantity's suffix");
        }
        check("Ei", "unable to parse numeric part of quantity");
    }
}
