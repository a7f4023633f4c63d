//! Sizes, durations and command lines as Compose spells them.

/// Bytes from `64m`, `1.5 GiB`, `1024`.
pub(super) fn parse_bytes(text: &str) -> Result<i64, String> {
    let invalid = || format!("invalid size: '{text}'");
    let last = text.rfind(|c: char| c.is_ascii_digit() || c == '.' || c == ' ');
    let last = last.ok_or_else(invalid)?;
    let (number, suffix) = match text.as_bytes()[last] {
        b' ' => (&text[..last], &text[last + 1..]),
        _ => text.split_at(last + 1),
    };
    let number = super::interpolate::parse_float(number)?;
    if number < 0.0 {
        return Err(invalid());
    }
    let suffix = suffix.to_lowercase();
    let bad_suffix = || Err(format!("invalid suffix: '{suffix}'"));
    let scale = match suffix.as_bytes() {
        [] | [b'b'] => 0,
        [unit, rest @ ..] => {
            let Some(power) = b"kmgtp".iter().position(|it| it == unit) else {
                return bad_suffix();
            };
            if !matches!(rest, b"" | b"b" | b"ib") {
                return bad_suffix();
            }
            10 * (power + 1)
        }
    };
    #[expect(clippy::cast_precision_loss, reason = "powers of two below 2^53 are exact")]
    let factor = (1_u64 << scale) as f64;
    #[expect(clippy::cast_possible_truncation, reason = "sizes are cut to whole bytes")]
    Ok((number * factor) as i64)
}

const UNITS: &[(&str, i64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
    ("w", 604_800_000_000_000),
];

/// Nanoseconds from `1m30s`, `500ms`, `2w`.
pub(super) fn parse_duration(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration \"{text}\"");
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: i64 = 0;
    while !rest.is_empty() {
        let number_len = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (whole, after) = rest.split_at(number_len);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => {
                after.split_at(after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len()))
            }
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let unit_len = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_len);
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration \"{text}\""));
        }
        let Some(&(_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(format!("time: unknown unit \"{unit}\" in duration \"{text}\""));
        };
        let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| invalid())? };
        let part = whole
            .checked_mul(scale)
            .and_then(|part| part.checked_add(fraction_of(fraction, scale)))
            .ok_or_else(invalid)?;
        total = total.checked_add(part).ok_or_else(invalid)?;
        rest = after;
    }
    Ok(if negative { -total } else { total })
}

/// The part of `scale` that the digits after a point stand for.
fn fraction_of(digits: &str, scale: i64) -> i64 {
    let mut value: i64 = 0;
    let mut divisor = 1.0;
    for digit in digits.bytes() {
        let next = value.checked_mul(10).and_then(|it| it.checked_add(i64::from(digit - b'0')));
        let Some(next) = next else { break };
        value = next;
        divisor *= 10.0;
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "durations are computed in floating point, as Compose does"
    )]
    {
        (value as f64 * (scale as f64 / divisor)) as i64
    }
}

/// `1m30s` from nanoseconds: hours, minutes and seconds, or one smaller unit below a second.
pub(super) fn format_duration(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let total = nanoseconds.unsigned_abs();
    if total == 0 {
        return "0s".to_owned();
    }
    let decimal = |value: u64, unit: u64| {
        let fraction = format!("{:0width$}", value % unit, width = unit.ilog10() as usize);
        let fraction = fraction.trim_end_matches('0');
        let whole = value / unit;
        if unit == 1 || fraction.is_empty() {
            whole.to_string()
        } else {
            format!("{whole}.{fraction}")
        }
    };
    if total < 1_000 {
        return format!("{sign}{total}ns");
    }
    if total < 1_000_000 {
        return format!("{sign}{}\u{b5}s", decimal(total, 1_000));
    }
    if total < 1_000_000_000 {
        return format!("{sign}{}ms", decimal(total, 1_000_000));
    }
    let minute = 60_000_000_000;
    let seconds = decimal(total % minute, 1_000_000_000);
    let minutes = total / minute;
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

/// The words of a command line; what follows an unquoted `;`, `|` or the like is cut off.
pub(super) fn split_command(line: &str) -> Result<Vec<String>, String> {
    Words::default().split(line)
}

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each kind of quote is open or not")]
struct Words {
    finished: Vec<String>,
    word: String,
    started: bool,
    double: bool,
    single: bool,
    back: bool,
    dollar: bool,
}

impl Words {
    fn split(mut self, line: &str) -> Result<Vec<String>, String> {
        let invalid = || "invalid command line string".to_owned();
        let mut escaped = false;
        for c in line.chars() {
            if escaped {
                self.push(c);
                escaped = false;
                continue;
            }
            match c {
                '\\' if self.single => self.word.push(c),
                '\\' => escaped = true,
                ' ' | '\t' | '\r' | '\n' if self.quoted() => self.word.push(c),
                ' ' | '\t' | '\r' | '\n' => self.end(),
                '`' => {
                    self.back ^= !self.single && !self.double && !self.dollar;
                    self.push(c);
                }
                ')' => {
                    self.dollar ^= !self.single && !self.double && !self.back;
                    self.push(c);
                }
                '(' if !self.single && !self.double && !self.back => {
                    if self.dollar || !self.word.ends_with('$') {
                        return Err(invalid());
                    }
                    self.dollar = true;
                    self.word.push(c);
                }
                '"' if !self.single && !self.dollar => {
                    self.started |= self.double;
                    self.double = !self.double;
                }
                '\'' if !self.double && !self.dollar => {
                    self.started |= self.single;
                    self.single = !self.single;
                }
                ';' | '&' | '|' | '<' | '>' if !self.quoted() => {
                    // `2>` redirects: the number is no word.
                    if c == '>' && self.word.starts_with(|c: char| c.is_ascii_digit()) {
                        self.started = false;
                    }
                    break;
                }
                c => self.push(c),
            }
        }
        self.end();
        if escaped || self.quoted() { Err(invalid()) } else { Ok(self.finished) }
    }

    fn quoted(&self) -> bool {
        self.single || self.double || self.back || self.dollar
    }

    fn push(&mut self, c: char) {
        self.word.push(c);
        self.started = true;
    }

    fn end(&mut self) {
        if self.started {
            self.finished.push(std::mem::take(&mut self.word));
            self.started = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two() {
        for (text, bytes) in [
            ("10", 10),
            ("64m", 64 << 20),
            ("1.5 GiB", 3 << 29),
            ("1KB", 1024),
            ("2b", 2),
            ("1p", 1 << 50),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        assert_eq!(parse_bytes("12x"), Err("invalid suffix: 'x'".to_owned()));
        assert_eq!(parse_bytes("big"), Err("invalid size: 'big'".to_owned()));
    }

    #[test]
    fn durations_survive_a_round_trip() {
        for (text, printed) in [
            ("90s", "1m30s"),
            ("1h", "1h0m0s"),
            ("1.5s", "1.5s"),
            ("500ms", "500ms"),
            ("1d", "24h0m0s"),
            ("-1500us", "-1.5ms"),
            ("0", "0s"),
            ("1us", "1\u{b5}s"),
            ("7ns", "7ns"),
        ] {
            assert_eq!(parse_duration(text).map(format_duration).as_deref(), Ok(printed), "{text}");
        }
        assert_eq!(parse_duration("5"), Err("time: missing unit in duration \"5\"".to_owned()));
    }

    #[test]
    fn command_lines_are_split_like_a_shell_would() {
        let check = |line: &str, expected: Result<&[&str], &str>| {
            let expected = expected
                .map(|words| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
                .map_err(str::to_owned);
            assert_eq!(split_command(line), expected, "{line}");
        };
        check("npm run 'a b' \"c d\" e\\ f", Ok(&["npm", "run", "a b", "c d", "e f"]));
        check("echo '' \"\"", Ok(&["echo", "", ""]));
        check("sh -c x && y", Ok(&["sh", "-c", "x"]));
        check("", Ok(&[]));
        check("a 'b", Err("invalid command line string"));
        check("a (b)", Err("invalid command line string"));
        check("a $(b c)", Ok(&["a", "$(b c)"]));
        check("a 2>x", Ok(&["a"]));
    }
}
