//! The clock, and how times are written.

use std::time::{Duration, Instant, SystemTime};

use engine_core::Time;

/// The time now.
pub(crate) fn now() -> Time {
    of_system(SystemTime::now())
}

/// A time of the system's clock.
pub(super) fn of_system(time: SystemTime) -> Time {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => Time(i64::try_from(since.as_micros()).unwrap_or(i64::MAX)),
        Err(before) => Time(-i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX)),
    }
}

/// A time as the system's clock tells it.
pub(super) fn to_system(time: Time) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(time.0).unwrap_or(0))
}

/// A time with six decimals, as API objects have it.
pub(super) fn micro(time: Time) -> String {
    crate::logs::micro_time(to_system(time))
}

/// A time in seconds, as API objects have it.
pub(super) fn seconds(time: Time) -> String {
    let text = micro(time);
    format!("{}Z", text.split('.').next().unwrap_or(&text))
}

/// When a time will be, if it is `now` now; a little later, so that it has surely come.
pub(super) fn instant_of(time: Time, now: Time) -> Instant {
    let wait = u64::try_from(time.micros_since(now)).unwrap_or(0);
    Instant::now() + Duration::from_micros(wait) + Duration::from_millis(1)
}
