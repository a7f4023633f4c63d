//! Decides how Go prints floating-point numbers.
//!
//! Go and Rust agree on the shortest digits that identify a float, but not on when to use an
//! exponent and how to write it.

use std::fmt::LowerExp;
use std::str::FromStr;

/// The digits of a finite float, without sign, and the position of its decimal point.
struct Decimal {
    negative: bool,
    digits: String,
    /// How many of the digits stand before the point; negative for leading zeros after it.
    point: i32,
}

impl Decimal {
    /// Finds the shortest digits that identify the float.
    ///
    /// Where two decimals of that length are equally near, Rust takes the larger one and Go the
    /// even one, which is also what rounding to that length gives.
    fn shortest<F: LowerExp + FromStr + PartialEq>(f: &F) -> Self {
        let text = format!("{f:e}");
        let shortest = Self::from_exponent_form(&text);
        let decimals = shortest.digits.len() - 1;
        let rounded = format!("{f:.decimals$e}");
        if rounded != text && rounded.parse::<F>().is_ok_and(|read| read == *f) {
            return Self::from_exponent_form(&rounded);
        }
        shortest
    }

    /// Takes the parts out of Rust's exponent form, such as `-1.25e-7`.
    fn from_exponent_form(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let negative = mantissa.starts_with('-');
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        let exponent: i32 = exponent.parse().unwrap_or(0);
        Self { negative, digits, point: exponent + 1 }
    }

    fn sign(&self) -> &'static str {
        if self.negative { "-" } else { "" }
    }

    /// Writes one digit, the others after a point, and an exponent of at least two digits.
    fn exponent_form(&self) -> String {
        let (first, rest) = self.digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let exponent = self.point - 1;
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}{first}{point}{rest}e{sign}{:02}", self.sign(), exponent.abs())
    }

    /// Writes all zeros instead of an exponent.
    fn plain_form(&self) -> String {
        let (sign, digits) = (self.sign(), &self.digits);
        let Ok(point) = usize::try_from(self.point) else {
            let zeros = "0".repeat(self.point.unsigned_abs() as usize);
            return format!("{sign}0.{zeros}{digits}");
        };
        if point >= digits.len() {
            return format!("{sign}{digits:0<point$}");
        }
        let (whole, fraction) = digits.split_at(point);
        format!("{sign}{}.{fraction}", if whole.is_empty() { "0" } else { whole })
    }

    fn general_form(&self) -> String {
        let exponent = self.point - 1;
        if (-4..GENERAL_PRECISION).contains(&exponent) {
            self.plain_form()
        } else {
            self.exponent_form()
        }
    }
}

/// Go's `%g` changes to an exponent at this many digits if it prints the shortest form.
const GENERAL_PRECISION: i32 = 6;

fn not_finite(f: f64) -> Option<String> {
    let text = match f {
        f64::INFINITY => "+Inf",
        f64::NEG_INFINITY => "-Inf",
        f if f.is_nan() => "NaN",
        _ => return None,
    };
    Some(text.to_owned())
}

/// Prints as `strconv.FormatFloat(f, 'g', -1, 64)` does: `1e+06`, `0.25`, `+Inf`.
pub fn shortest_g(f: f64) -> String {
    not_finite(f).unwrap_or_else(|| Decimal::shortest(&f).general_form())
}

/// Prints as `strconv.FormatFloat(f, 'g', -1, 32)` does.
pub fn shortest_g32(f: f32) -> String {
    not_finite(f64::from(f)).unwrap_or_else(|| Decimal::shortest(&f).general_form())
}

/// Prints as `strconv.FormatFloat(f, 'e', -1, 64)` does: `1e+06`, `2.5e-01`.
pub fn shortest_e(f: f64) -> String {
    not_finite(f).unwrap_or_else(|| Decimal::shortest(&f).exponent_form())
}

/// Prints as `strconv.FormatFloat(f, 'f', -1, 64)` does: `1000000`, `0.25`.
pub fn shortest_f(f: f64) -> String {
    not_finite(f).unwrap_or_else(|| Decimal::shortest(&f).plain_form())
}

/// Prints as `encoding/json` does: plain from 1e-6 up to 1e21, otherwise `1e-7` or `1e+21`.
///
/// JSON has no infinities and no NaN; they print as Go names them in its error.
pub fn json(f: f64) -> String {
    let magnitude = f.abs();
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        return shortest_f(f);
    }
    let text = shortest_e(f);
    // A one-digit negative exponent loses its leading zero, a positive one never has one here.
    match text.strip_suffix(|c: char| c.is_ascii_digit()) {
        Some(head) if head.ends_with("e-0") => text.replacen("e-0", "e-", 1),
        _ => text,
    }
}

/// Prints as Starlark's `str` and `repr` do: like [`shortest_g`], but never like an integer.
pub fn starlark(f: f64) -> String {
    if !f.is_finite() {
        return starlark_not_finite(f).to_owned();
    }
    let mut text = shortest_g(f);
    if !text.contains(['e', '.']) {
        text.push_str(".0");
    }
    text
}

/// Names infinities and NaN as Starlark does; the result is `nan` for every other value.
pub fn starlark_not_finite(f: f64) -> &'static str {
    match f {
        f64::INFINITY => "+inf",
        f64::NEG_INFINITY => "-inf",
        _ => "nan",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_go_prints_them() {
        // Recorded from Go: 'g', 'e', 'f' and JSON.
        for (f, g, e, plain, json_text) in [
            (0.0, "0", "0e+00", "0", "0"),
            (-0.0, "-0", "-0e+00", "-0", "-0"),
            (1.0, "1", "1e+00", "1", "1"),
            (100_000.0, "100000", "1e+05", "100000", "100000"),
            (1e6, "1e+06", "1e+06", "1000000", "1000000"),
            (1_234_567.5, "1.2345675e+06", "1.2345675e+06", "1234567.5", "1234567.5"),
            (0.0001, "0.0001", "1e-04", "0.0001", "0.0001"),
            (0.000_012, "1.2e-05", "1.2e-05", "0.000012", "0.000012"),
            (1e-7, "1e-07", "1e-07", "0.0000001", "1e-7"),
            (1.5e-10, "1.5e-10", "1.5e-10", "0.00000000015", "1.5e-10"),
            (
                178_528_139_516_406.13,
                "1.7852813951640612e+14",
                "1.7852813951640612e+14",
                "178528139516406.12",
                "178528139516406.12",
            ),
            (1e20, "1e+20", "1e+20", "100000000000000000000", "100000000000000000000"),
            (1e21, "1e+21", "1e+21", "1000000000000000000000", "1e+21"),
            (
                0.1 + 0.2,
                "0.30000000000000004",
                "3.0000000000000004e-01",
                "0.30000000000000004",
                "0.30000000000000004",
            ),
        ] {
            let printed = [shortest_g(f), shortest_e(f), shortest_f(f), json(f)];
            assert_eq!(printed, [g, e, plain, json_text], "{f:e}");
        }
    }

    #[test]
    fn starlark_floats_never_look_like_integers() {
        let printed =
            [3.0, 1e6, 1e21, 1e-5, 0.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(starlark);
        assert_eq!(printed, ["3.0", "1e+06", "1e+21", "1e-05", "0.5", "+inf", "-inf", "nan"]);
    }
}
