//! Times for people: local, and how long ago.

use jiff::{Timestamp, tz::TimeZone};

/// A time of the API as local time with how long ago that was: `12:23:58 (4 min ago)`. Other texts stay as they are.
pub(crate) fn when(utc: &str) -> String {
    let now = Timestamp::now();
    utc.parse().map_or_else(|_| utc.to_owned(), |it| at(it, now, &TimeZone::system()))
}

/// How long ago a time of the API was: `4 min`; nothing for other texts.
pub(crate) fn age(utc: &str) -> Option<String> {
    let at: Timestamp = utc.parse().ok()?;
    Some(span(seconds_between(at, Timestamp::now())))
}

fn at(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let (local, today) = (at.to_zoned(zone.clone()), now.to_zoned(zone.clone()).date());
    let format = if local.date() == today { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" };
    let ago = match seconds_between(at, now) {
        0 => "just now".to_owned(),
        seconds => format!("{} ago", span(seconds)),
    };
    format!("{} ({ago})", local.strftime(format))
}

fn seconds_between(at: Timestamp, now: Timestamp) -> i64 {
    now.as_second().saturating_sub(at.as_second()).max(0)
}

/// A number of seconds in its largest unit.
fn span(seconds: i64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_local_and_relative() {
        let now: Timestamp = "2026-11-17T12:00:00Z".parse().unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(8));
        for (time, expected) in [
            ("2026-11-17T12:00:00Z", "20:00:00 (just now)"),
            ("2026-11-17T11:59:58.5Z", "19:59:58 (2 s ago)"),
            ("2026-11-17T11:56:00Z", "19:56:00 (4 min ago)"),
            ("2026-11-17T04:23:58.913746Z", "12:23:58 (7 h ago)"),
            ("2026-11-14T12:00:00Z", "2026-11-14 20:00:00 (3 d ago)"),
            ("2026-11-17T12:00:09Z", "20:00:09 (just now)"),
        ] {
            assert_eq!(at(time.parse().unwrap(), now, &zone), expected);
        }
        assert_eq!(when("T3"), "T3");
    }
}
