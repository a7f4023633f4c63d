//! Decides how numbers behave: unbounded integers, floored division, exact comparison of
//! integers with floats, and the printed forms of floats.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_traits::{FromPrimitive, Signed, ToPrimitive, Zero};
use starlark::values::{Heap, UnpackValue, Value, float::StarlarkFloat};

/// An integer of any size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Int {
    /// One of 64 bits.
    Small(i64),
    /// A larger one.
    Big(BigInt),
}

/// A number as the language sees it.
#[derive(Debug, Clone)]
pub(crate) enum Num {
    Int(Int),
    Float(f64),
}

impl Num {
    /// The number in a value; booleans are not numbers.
    #[inline]
    pub(crate) fn of(value: Value) -> Option<Num> {
        if let Some(i) = value.unpack_i32() {
            return Some(Num::Int(Int::Small(i64::from(i))));
        }
        if let Ok(Some(f)) = StarlarkFloat::unpack_value(value) {
            return Some(Num::Float(f.0));
        }
        Int::of(value).map(Num::Int)
    }
}

impl From<BigInt> for Int {
    fn from(big: BigInt) -> Self {
        big.to_i64().map_or(Int::Big(big), Int::Small)
    }
}

impl std::fmt::Display for Int {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Int::Small(i) => i.fmt(f),
            Int::Big(b) => b.fmt(f),
        }
    }
}

impl Int {
    /// The integer in a value.
    #[inline]
    pub fn of(value: Value) -> Option<Int> {
        if let Some(i) = value.unpack_i32() {
            return Some(Int::Small(i64::from(i)));
        }
        if value.get_type() != "int" {
            return None;
        }
        BigInt::unpack_value(value).ok().flatten().map(Int::from)
    }

    pub(crate) fn alloc(self, heap: Heap<'_>) -> Value<'_> {
        match self {
            Int::Small(i) => heap.alloc(i),
            Int::Big(b) => heap.alloc(b),
        }
    }

    pub(crate) fn big(&self) -> BigInt {
        match self {
            Int::Small(i) => BigInt::from(*i),
            Int::Big(b) => b.clone(),
        }
    }

    /// The lowest 64 bits, as Go's `big.Int.Int64` gives them.
    pub fn wrapping_i64(&self) -> i64 {
        match self {
            Int::Small(i) => *i,
            Int::Big(b) => {
                let magnitude = b.iter_u64_digits().next().unwrap_or_default().cast_signed();
                if b.sign() == num_bigint::Sign::Minus {
                    magnitude.wrapping_neg()
                } else {
                    magnitude
                }
            }
        }
    }

    /// The integer, if it has 64 bits.
    pub fn to_i64(&self) -> Option<i64> {
        match self {
            Int::Small(i) => Some(*i),
            Int::Big(_) => None,
        }
    }

    /// The reference keeps integers within 32 bits apart; indexes and counts must be such.
    pub(crate) fn to_i32(&self) -> Option<i32> {
        self.to_i64().and_then(|i| i32::try_from(i).ok())
    }

    pub(crate) fn is_zero(&self) -> bool {
        matches!(self, Int::Small(0))
    }

    pub(crate) fn is_negative(&self) -> bool {
        match self {
            Int::Small(i) => *i < 0,
            Int::Big(b) => b.is_negative(),
        }
    }

    /// The nearest float, possibly infinite.
    #[expect(clippy::cast_precision_loss, reason = "rounding to the nearest float is the point")]
    pub(crate) fn to_f64(&self) -> f64 {
        match self {
            Int::Small(i) => *i as f64,
            Int::Big(b) => b.to_f64().unwrap_or(match b.sign() {
                Sign::Minus => f64::NEG_INFINITY,
                _ => f64::INFINITY,
            }),
        }
    }

    /// The nearest float, unless the integer is too large for one.
    pub(crate) fn finite_f64(&self) -> Result<f64, String> {
        let f = self.to_f64();
        if f.is_finite() { Ok(f) } else { Err("int too large to convert to float".to_owned()) }
    }

    /// The integral part of a finite float.
    pub(crate) fn truncate(f: f64) -> Int {
        BigInt::from_f64(f.trunc()).map_or(Int::Small(0), Int::from)
    }

    fn binary(
        &self,
        other: &Int,
        small: impl FnOnce(i64, i64) -> Option<i64>,
        big: impl FnOnce(BigInt, BigInt) -> BigInt,
    ) -> Int {
        if let (Int::Small(a), Int::Small(b)) = (self, other)
            && let Some(c) = small(*a, *b)
        {
            return Int::Small(c);
        }
        Int::from(big(self.big(), other.big()))
    }

    pub(crate) fn add(&self, other: &Int) -> Int {
        self.binary(other, i64::checked_add, |a, b| a + b)
    }

    pub(crate) fn sub(&self, other: &Int) -> Int {
        self.binary(other, i64::checked_sub, |a, b| a - b)
    }

    pub(crate) fn mul(&self, other: &Int) -> Int {
        self.binary(other, i64::checked_mul, |a, b| a * b)
    }

    pub(crate) fn and(&self, other: &Int) -> Int {
        self.binary(other, |a, b| Some(a & b), |a, b| a & b)
    }

    pub(crate) fn or(&self, other: &Int) -> Int {
        self.binary(other, |a, b| Some(a | b), |a, b| a | b)
    }

    pub(crate) fn xor(&self, other: &Int) -> Int {
        self.binary(other, |a, b| Some(a ^ b), |a, b| a ^ b)
    }

    /// Division rounded toward negative infinity; the divisor is not zero.
    pub(crate) fn floor_div(&self, other: &Int) -> Int {
        self.binary(
            other,
            |a, b| {
                let quotient = a.checked_div(b)?;
                Some(if (a < 0) != (b < 0) && a % b != 0 { quotient - 1 } else { quotient })
            },
            |a, b| {
                let quotient = &a / &b;
                let exact = (&a % &b).is_zero();
                if a.is_negative() != b.is_negative() && !exact { quotient - 1 } else { quotient }
            },
        )
    }

    /// Remainder with the sign of the divisor, which is not zero.
    pub(crate) fn floor_mod(&self, other: &Int) -> Int {
        self.binary(
            other,
            |a, b| {
                let rest = a.checked_rem(b)?;
                Some(if (a < 0) != (b < 0) && rest != 0 { rest + b } else { rest })
            },
            |a, b| {
                let rest = &a % &b;
                if a.is_negative() != b.is_negative() && !rest.is_zero() { rest + b } else { rest }
            },
        )
    }

    pub(crate) fn shift_left(&self, by: u32) -> Int {
        Int::from(self.big() << by)
    }

    pub(crate) fn shift_right(&self, by: u32) -> Int {
        match self {
            Int::Small(i) => Int::Small(i >> by.min(63)),
            Int::Big(b) => Int::from(b >> by),
        }
    }

    pub(crate) fn negate(&self) -> Int {
        Int::Small(0).sub(self)
    }

    pub(crate) fn invert(&self) -> Int {
        Int::Small(-1).sub(self)
    }

    pub(crate) fn compare(&self, other: &Int) -> Ordering {
        match (self, other) {
            (Int::Small(a), Int::Small(b)) => a.cmp(b),
            _ => self.big().cmp(&other.big()),
        }
    }

    /// Exact comparison with a float; NaN is greater than every number.
    pub(crate) fn compare_float(&self, f: f64) -> Ordering {
        if f.is_nan() || f == f64::INFINITY {
            Ordering::Less
        } else if f == f64::NEG_INFINITY {
            Ordering::Greater
        } else {
            let whole = f.floor();
            self.compare(&Int::truncate(whole)).then(if f > whole {
                Ordering::Less
            } else {
                Ordering::Equal
            })
        }
    }

    /// Digits in base 8 or 16, with a sign but no prefix.
    pub(crate) fn to_radix(&self, radix: u32) -> String {
        self.big().to_str_radix(radix)
    }
}

/// Total order of floats, in which NaN equals itself and is greater than every number.
pub(crate) fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Remainder of floats with the sign of the divisor.
pub(crate) fn float_mod(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if (a < 0.0) != (b < 0.0) && rest != 0.0 { rest + b } else { rest }
}

/// A float as `str()` and the conversions `%e %f %g` and their upper-case forms print it.
pub(crate) fn format_float(f: f64, conversion: char) -> String {
    if f.is_nan() {
        return "nan".to_owned();
    }
    if f.is_infinite() {
        return if f > 0.0 { "+inf" } else { "-inf" }.to_owned();
    }
    match conversion {
        'e' | 'E' => with_exponent(&format!("{f:.6e}"), conversion),
        'f' => format!("{f:.6}"),
        // The reference passes this one to a formatter that does not know it.
        'F' => "%F".to_owned(),
        _ => shortest(f, if conversion == 'G' { 'E' } else { 'e' }),
    }
}

/// The fewest digits that give the same float again, always with a point or an exponent.
fn shortest(f: f64, exponent_char: char) -> String {
    let scientific = format!("{f:e}");
    let exponent: i32 =
        scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or_default();
    if f != 0.0 && !(-4..6).contains(&exponent) {
        return with_exponent(&scientific, exponent_char);
    }
    let plain = format!("{f}");
    if plain.contains('.') { plain } else { plain + ".0" }
}

/// Rewrites `1.5e7` to `1.5e+07`.
fn with_exponent(scientific: &str, exponent_char: char) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}{exponent_char}{sign}{digits:0>2}")
}

/// Parses what `int(text, base)` accepts; `None` if it is not such a literal.
pub(crate) fn parse_int(text: &str, base: u32) -> Option<Int> {
    let (negative, mut digits) = match text.as_bytes().first() {
        Some(b'+') => (false, &text[1..]),
        Some(b'-') => (true, &text[1..]),
        _ => (false, text),
    };
    let mut base = base;
    let bytes = digits.as_bytes();
    if bytes.len() > 1 && bytes[0] == b'0' {
        let prefix = match bytes[1] {
            b'o' | b'O' if bytes.len() > 2 => 8,
            b'x' | b'X' if bytes.len() > 2 => 16,
            b'b' | b'B' if bytes.len() > 2 => 2,
            _ => 0,
        };
        if prefix != 0 {
            if base == 0 || prefix == base {
                base = prefix;
                digits = &digits[2..];
            }
        } else if base == 0 {
            return bytes.iter().all(|b| *b == b'0').then_some(Int::Small(0));
        }
    }
    let base = if base == 0 { 10 } else { base };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(base)) {
        return None;
    }
    let int = match i64::from_str_radix(digits, base) {
        Ok(small) => Int::Small(small),
        Err(_) => Int::from(BigInt::parse_bytes(digits.as_bytes(), base)?),
    };
    Some(if negative { int.negate() } else { int })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_with_the_fewest_digits_and_a_point_or_exponent() {
        for (f, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (123_456.0, "123456.0"),
            (1_000_000.0, "1e+06"),
            (123_456_789.123, "1.23456789123e+08"),
            (1e21, "1e+21"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-1.5e-7, "-1.5e-07"),
            (1e300, "1e+300"),
            (f64::INFINITY, "+inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(format_float(f, 'g'), expected);
        }
    }

    #[test]
    fn conversions_use_six_digits() {
        assert_eq!(format_float(12345.678, 'e'), "1.234568e+04");
        assert_eq!(format_float(12345.678, 'f'), "12345.678000");
        assert_eq!(format_float(0.00001, 'E'), "1.000000E-05");
        assert_eq!(format_float(1e-10, 'G'), "1E-10");
    }

    #[test]
    fn int_literals_follow_the_base_rules() {
        for (text, base, expected) in [
            ("42", 10, Some("42")),
            ("-42", 10, Some("-42")),
            ("+7", 10, Some("7")),
            ("0xff", 16, Some("255")),
            ("0xff", 0, Some("255")),
            ("0o17", 0, Some("15")),
            ("0755", 0, None),
            ("000", 0, Some("0")),
            ("0x", 16, None),
            ("z", 36, Some("35")),
            ("1_000", 10, None),
            ("", 10, None),
            ("--1", 10, None),
            ("123456789012345678901234567890", 10, Some("123456789012345678901234567890")),
        ] {
            assert_eq!(parse_int(text, base).map(|i| i.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn division_rounds_down_and_survives_the_smallest_integer() {
        let int = Int::Small;
        assert_eq!(int(-7).floor_div(&int(2)), int(-4));
        assert_eq!(int(-7).floor_mod(&int(3)), int(2));
        assert_eq!(int(i64::MIN).floor_div(&int(-1)).to_string(), "9223372036854775808");
        assert_eq!(int(i64::MIN).floor_mod(&int(-1)), int(0));
        assert_eq!(int(1).shift_left(100).to_string(), "1267650600228229401496703205376");
    }
}
