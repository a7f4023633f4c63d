//! Decides how points in time are read and written in Kubernetes objects: as Go's `time.Parse` reads them, in UTC when
//! written.

use std::fmt::Write as _;

/// How precise a time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Seconds,
    Micros,
}

/// The time in UTC, or `None` for Go's zero time, which is written as null.
pub(crate) fn canonicalize(text: &str, precision: Precision) -> Result<Option<String>, TimeError> {
    let time = Parser { text, rest: text, precision }.parse()?;
    Ok(time.print(precision))
}

/// A time that could not be read, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parsing time {value}{message}")]
pub(crate) struct TimeError {
    value: String,
    message: String,
}

struct Time {
    /// Seconds since the year 1.
    seconds: i64,
    nanos: u32,
}

/// Reads the layout `2006-01-02T15:04:05[.000000]Z07:00`.
struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    precision: Precision,
}

impl Parser<'_> {
    fn parse(mut self) -> Result<Time, TimeError> {
        let year = self.year()?;
        self.literal("-")?;
        let month = self.number("01", true, 1..=12, "month")?;
        self.literal("-")?;
        let day = self.number("02", true, 0..=99, "day")?;
        self.literal("T")?;
        let hour = self.number("15", false, 0..=23, "hour")?;
        self.literal(":")?;
        let minute = self.number("04", true, 0..=59, "minute")?;
        self.literal(":")?;
        let second = self.number("05", true, 0..=59, "second")?;
        let nanos = self.fraction()?;
        let offset = self.zone()?;
        if !self.rest.is_empty() {
            return Err(self.error(format!(": extra text: {}", quote(self.rest))));
        }
        if day < 1 || day > days_in(month, year) {
            return Err(self.error(": day out of range".to_owned()));
        }
        let days = days_since_year_one(year, month, day);
        Ok(Time { seconds: days * 86_400 + hour * 3_600 + minute * 60 + second - offset, nanos })
    }

    fn year(&mut self) -> Result<i64, TimeError> {
        let digits =
            self.rest.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(year) = digits.and_then(|digits| digits.parse().ok()) else {
            return Err(self.mismatch("2006"));
        };
        self.rest = &self.rest[4..];
        Ok(year)
    }

    fn literal(&mut self, literal: &str) -> Result<(), TimeError> {
        self.rest = self.rest.strip_prefix(literal).ok_or_else(|| self.mismatch(literal))?;
        Ok(())
    }

    fn number(
        &mut self,
        element: &str,
        two_digits: bool,
        range: std::ops::RangeInclusive<i64>,
        name: &str,
    ) -> Result<i64, TimeError> {
        let length = self.rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
        if length == 0 || (two_digits && length == 1) {
            return Err(self.mismatch(element));
        }
        let (digits, rest) = self.rest.split_at(length);
        let value = digits.parse().unwrap_or(0);
        if !range.contains(&value) {
            return Err(self.error(format!(": {name} out of range")));
        }
        self.rest = rest;
        Ok(value)
    }

    /// The part after the seconds: optional when the layout has none, six digits when it has.
    fn fraction(&mut self) -> Result<u32, TimeError> {
        let digits = self.rest.bytes().skip(1).take_while(u8::is_ascii_digit).count();
        let pointed = self.rest.starts_with(['.', ',']);
        let length = match self.precision {
            Precision::Seconds if pointed && digits > 0 => digits,
            Precision::Seconds => return Ok(0),
            Precision::Micros if pointed && digits >= 6 => 6,
            Precision::Micros => return Err(self.mismatch(".000000")),
        };
        let nanos = format!("{:0<9.9}", &self.rest[1..=length]).parse().unwrap_or(0);
        self.rest = &self.rest[length + 1..];
        Ok(nanos)
    }

    fn zone(&mut self) -> Result<i64, TimeError> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let bytes = self.rest.as_bytes();
        let pair =
            |at: usize| Some(i64::from(digit(bytes, at)?) * 10 + i64::from(digit(bytes, at + 1)?));
        let sign = match bytes.first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Err(self.mismatch("Z07:00")),
        };
        let (Some(hours), Some(b':'), Some(minutes)) = (pair(1), bytes.get(3), pair(4)) else {
            return Err(self.mismatch("Z07:00"));
        };
        if hours > 24 {
            return Err(self.error(": time zone offset hour out of range".to_owned()));
        }
        if minutes > 60 {
            return Err(self.error(": time zone offset minute out of range".to_owned()));
        }
        self.rest = &self.rest[6..];
        Ok(sign * (hours * 3_600 + minutes * 60))
    }

    fn mismatch(&self, element: &str) -> TimeError {
        let layout = match self.precision {
            Precision::Seconds => "2006-01-02T15:04:05Z07:00",
            Precision::Micros => "2006-01-02T15:04:05.000000Z07:00",
        };
        self.error(format!(
            " as {}: cannot parse {} as {}",
            quote(layout),
            quote(self.rest),
            quote(element)
        ))
    }

    fn error(&self, message: String) -> TimeError {
        TimeError { value: quote(self.text), message }
    }
}

impl Time {
    fn print(&self, precision: Precision) -> Option<String> {
        if self.seconds == 0 && self.nanos == 0 {
            return None;
        }
        let (year, month, day) = civil(self.seconds.div_euclid(86_400));
        let second = self.seconds.rem_euclid(86_400);
        let mut text = format!(
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}",
            second / 3_600,
            second / 60 % 60,
            second % 60
        );
        if precision == Precision::Micros {
            let _ = write!(text, ".{:06}", self.nanos / 1_000);
        }
        text.push('Z');
        Some(text)
    }
}

fn digit(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).filter(|byte| byte.is_ascii_digit()).map(|byte| byte - b'0')
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the first of January of the year 1, counting years from March so that leap days come last.
fn days_since_year_one(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 307
}

fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 306;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// Quotes as Go's time package does, which escapes every byte that is not printable ASCII.
fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                quoted.push('\\');
                quoted.push(char::from(byte));
            }
            0x20..0x80 => quoted.push(char::from(byte)),
            _ => {
                let _ = write!(quoted, "\\x{byte:02x}");
            }
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(precision: Precision, text: &str, expected: &str) {
        let shown = match canonicalize(text, precision) {
            Ok(time) => time.unwrap_or_else(|| "null".to_owned()),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn times_are_written_in_utc() {
        check(Precision::Seconds, "2020-01-02T03:04:05Z", "2020-01-02T03:04:05Z");
        check(Precision::Seconds, "2020-01-01T01:04:05.75+02:00", "2019-12-31T23:04:05Z");
        check(Precision::Seconds, "2024-02-29T23:30:00-01:00", "2024-03-01T00:30:00Z");
        check(Precision::Seconds, "2000-03-01T0:00:00Z", "2000-03-01T00:00:00Z");
        check(Precision::Seconds, "0001-01-01T00:00:00Z", "null");
        check(Precision::Micros, "2020-01-02T03:04:05.123456Z", "2020-01-02T03:04:05.123456Z");
    }

    #[test]
    fn unreadable_times_are_errors_in_the_words_of_go() {
        let layout = "\"2006-01-02T15:04:05Z07:00\"";
        check(
            Precision::Seconds,
            "foo",
            &format!("parsing time \"foo\" as {layout}: cannot parse \"foo\" as \"2006\""),
        );
        check(
            Precision::Seconds,
            "2020-01-02",
            &format!("parsing time \"2020-01-02\" as {layout}: cannot parse \"\" as \"T\""),
        );
        check(
            Precision::Seconds,
            "2021-02-29T00:00:00Z",
            "parsing time \"2021-02-29T00:00:00Z\": day out of range",
        );
        check(
            Precision::Seconds,
            "2021-13-01T00:00:00Z",
            "parsing time \"2021-13-01T00:00:00Z\": month out of range",
        );
        check(
            Precision::Seconds,
            "2021-01-01T00:00:00Zx",
            "parsing time \"2021-01-01T00:00:00Zx\": extra text: \"x\"",
        );
        check(
            Precision::Micros,
            "2020-01-02T03:04:05.123456789+02:00",
            "parsing time \"2020-01-02T03:04:05.123456789+02:00\" as \"2006-01-02T15:04:05.000000Z07:00\": \
             cannot parse \"789+02:00\" as \"Z07:00\"",
        );
    }
}
