//! Decides which texts go-yaml takes for a point in time.

use std::fmt::Write as _;

/// A date and time as written; the zone is kept as its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Timestamp {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    nanos: u32,
    /// Minutes east of UTC.
    offset: i32,
}

/// Says whether the text is a timestamp to go-yaml.
pub(super) fn is_timestamp(text: &str) -> bool {
    parse(text).is_some()
}

/// Prints a timestamp the way Go prints a `time.Time`, such as `2020-01-01 00:00:00 +0000 UTC`.
pub(super) fn go_string(text: &str) -> Option<String> {
    let t = parse(text)?;
    let (year, month, day, hour) = (t.year, t.month, t.day, t.hour);
    let mut out =
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{:02}:{:02}", t.minute, t.second);
    if t.nanos > 0 {
        let digits = format!("{:09}", t.nanos);
        out.push('.');
        out.push_str(digits.trim_end_matches('0'));
    }
    match t.offset {
        0 => out.push_str(" +0000 UTC"),
        offset => {
            let sign = if offset < 0 { '-' } else { '+' };
            let (hours, minutes) = (offset.abs() / 60, offset.abs() % 60);
            let zone = format!("{sign}{hours:02}{minutes:02}");
            write!(out, " {zone} {zone}").expect("writing to a string cannot fail");
        }
    }
    Some(out)
}

fn parse(text: &str) -> Option<Timestamp> {
    // All formats start with a four-digit year.
    let bytes = text.as_bytes();
    if bytes.len() < 8 || !bytes[..4].iter().all(u8::is_ascii_digit) || bytes[4] != b'-' {
        return None;
    }
    let mut rest = Rest(&text[5..]);
    let year = text[..4].parse().ok()?;
    let month = rest.number(1..=12)?;
    rest.expect("-")?;
    let day = rest.number(1..=days_in(year, month))?;
    let date = Timestamp { year, month, day, hour: 0, minute: 0, second: 0, nanos: 0, offset: 0 };
    if rest.0.is_empty() {
        return Some(date);
    }
    let zoned = rest.0.starts_with(['T', 't']);
    if !zoned && !rest.0.starts_with(' ') {
        return None;
    }
    rest = Rest(&rest.0[1..]);
    if !zoned {
        // Go skips any number of spaces where its format has one.
        rest = Rest(rest.0.trim_start_matches(' '));
    }
    let hour = rest.number(0..=23)?;
    rest.expect(":")?;
    let minute = rest.number(0..=59)?;
    rest.expect(":")?;
    let second = rest.number(0..=59)?;
    let nanos = rest.fraction();
    let offset = if zoned { rest.zone()? } else { 0 };
    rest.0.is_empty().then_some(Timestamp { hour, minute, second, nanos, offset, ..date })
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// What is left to parse.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    /// Takes one or two digits.
    fn number(&mut self, range: std::ops::RangeInclusive<u32>) -> Option<u32> {
        let width = self.0.bytes().take(2).take_while(u8::is_ascii_digit).count();
        let number = self.0[..width].parse().ok()?;
        self.0 = &self.0[width..];
        range.contains(&number).then_some(number)
    }

    fn expect(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    /// Takes a fraction of a second if there is one.
    fn fraction(&mut self) -> u32 {
        let Some(digits) = self.0.strip_prefix(['.', ',']) else { return 0 };
        let width = digits.bytes().take_while(u8::is_ascii_digit).count();
        if width == 0 {
            return 0;
        }
        self.0 = &digits[width..];
        let nanos = format!("{:0<9}", &digits[..width.min(9)]);
        nanos.parse().unwrap_or(0)
    }

    /// Takes `Z` or an offset such as `+01:00`.
    fn zone(&mut self) -> Option<i32> {
        if self.expect("Z").is_some() {
            return Some(0);
        }
        let &[sign @ (b'+' | b'-'), h1, h2, b':', m1, m2, ..] = self.0.as_bytes() else {
            return None;
        };
        let pair = |a: u8, b: u8| {
            let both = a.is_ascii_digit() && b.is_ascii_digit();
            both.then(|| i32::from(a - b'0') * 10 + i32::from(b - b'0'))
        };
        let (hours, minutes) = (pair(h1, h2)?, pair(m1, m2)?);
        if hours > 24 || minutes > 60 {
            return None;
        }
        self.0 = &self.0[6..];
        let offset = hours * 60 + minutes;
        Some(if sign == b'-' { -offset } else { offset })
    }
}
