//! Timestamps in the format of Tilt's JSON.

use std::time::SystemTime;

use jiff::Timestamp;

use super::segment::micros;

/// A time with exactly six decimals, in UTC: `2026-08-01T10:20:30.000001Z`.
pub fn micro_time(time: SystemTime) -> String {
    MicroTimes::default().format(micros(time)).to_owned()
}

/// A time in whole seconds, in UTC.
pub(super) fn rfc3339_seconds(micros: u64) -> String {
    format!("{:.0}", timestamp(micros - micros % 1_000_000))
}

/// Parses a time with any number of decimals.
pub fn parse_micros(text: &str) -> Option<u64> {
    let time: Timestamp = text.parse().ok()?;
    u64::try_from(time.as_microsecond()).ok()
}

/// Formats many timestamps; consecutive ones mostly share the second, which is cached.
#[derive(Debug, Default)]
pub struct MicroTimes {
    second: Option<u64>,
    text: String,
}

impl MicroTimes {
    /// The time as text.
    pub fn format(&mut self, micros: u64) -> &str {
        const AFTER_POINT: usize = "000001Z".len();
        let second = micros / 1_000_000;
        if self.second == Some(second) {
            self.text.truncate(self.text.len() - AFTER_POINT);
            self.text.push_str(&format!("{:06}Z", micros % 1_000_000));
        } else {
            self.text = format!("{:.6}", timestamp(micros));
            self.second = Some(second);
        }
        &self.text
    }
}

fn timestamp(micros: u64) -> Timestamp {
    let micros = i64::try_from(micros).unwrap_or(i64::MAX);
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_always_have_six_decimals() {
        let base = SystemTime::UNIX_EPOCH + Duration::from_secs(1_785_579_630);
        let cases = [
            (0, "2026-08-01T10:20:30.000000Z"),
            (1, "2026-08-01T10:20:30.000001Z"),
            (120_000, "2026-08-01T10:20:30.120000Z"),
            (1_000_007, "2026-08-01T10:20:31.000007Z"),
        ];
        let mut times = MicroTimes::default();
        for (offset, expected) in cases {
            let time = base + Duration::from_micros(offset);
            assert_eq!(micro_time(time), expected);
            assert_eq!(times.format(micros(time)), expected);
            assert_eq!(parse_micros(expected), Some(micros(time)));
        }
        assert_eq!(rfc3339_seconds(micros(base) + 999_999), "2026-08-01T10:20:30Z");
        assert_eq!(parse_micros("yesterday"), None);
        assert!(
            micro_time(SystemTime::UNIX_EPOCH - Duration::from_secs(1)).starts_with("1970-01-01T")
        );
    }
}
