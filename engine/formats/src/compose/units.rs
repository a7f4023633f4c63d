//! Sizes, durations and command lines as Compose spells them.

use crate::golang::duration::{Duration, DurationError};

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

const DAY: u64 = 86_400_000_000_000;

/// Nanoseconds from `1m30s`, `500ms`, `2w`.
pub(super) fn parse_duration(text: &str) -> Result<i64, String> {
    match Duration::parse_with(text, &[("d", DAY), ("w", 7 * DAY)]) {
        // Compose knows no duration that has no opposite.
        Ok(Duration(i64::MIN)) | Err(DurationError::Invalid(_)) => {
            Err(format!("time: invalid duration \"{text}\""))
        }
        Ok(Duration(nanoseconds)) => Ok(nanoseconds),
        Err(DurationError::MissingUnit(_)) => {
            Err(format!("time: missing unit in duration \"{text}\""))
        }
        Err(DurationError::UnknownUnit { unit, .. }) => {
            Err(format!("time: unknown unit \"{unit}\" in duration \"{text}\""))
        }
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
            assert_eq!(
                parse_duration(text).map(|it| Duration(it).to_string()).as_deref(),
                Ok(printed),
                "{text}"
            );
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
