//! Times as API objects have them, in UTC.

use engine_model::Time;
use jiff::Timestamp;
use serde_json::Value;

/// A time with six decimals: `2026-08-01T10:20:30.000001Z`.
pub fn micro(time: Time) -> String {
    format!("{:.6}", timestamp(time))
}

/// A time in seconds: `2026-08-01T10:20:30Z`.
pub fn seconds(time: Time) -> String {
    format!("{:.0}", timestamp(time.whole_second()))
}

/// A time with six decimals, or null.
pub(crate) fn or_null(time: Option<Time>) -> Value {
    time.map_or(Value::Null, |it| Value::String(micro(it)))
}

/// Nothing here is older than the Unix epoch, and a clock that says so is wrong.
fn timestamp(time: Time) -> Timestamp {
    Timestamp::from_microsecond(time.0.max(0)).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        for (secs, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_785_579_630, "2026-08-01T10:20:30Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(seconds(Time(secs * 1_000_000)), text);
        }
        assert_eq!(micro(Time(1_785_579_630_000_001)), "2026-08-01T10:20:30.000001Z");
        assert_eq!(micro(Time(-1)), "1970-01-01T00:00:00.000000Z");
    }
}
