//! The clock; how times are written is decided by `engine-view`.

use std::time::{Duration, Instant, SystemTime};

use engine_core::Time;
pub(crate) use engine_view::time::{micro, seconds};

/// The time now.
pub(crate) fn now() -> Time {
    of_system(SystemTime::now())
}

/// A time of the system's clock.
pub(crate) fn of_system(time: SystemTime) -> Time {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => Time(i64::try_from(since.as_micros()).unwrap_or(i64::MAX)),
        Err(before) => Time(-i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX)),
    }
}

/// A time as the system's clock tells it.
pub(crate) fn to_system(time: Time) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(time.0).unwrap_or(0))
}

/// When a time will be, if it is `now` now; a little later, so that it has surely come.
pub(crate) fn instant_of(time: Time, now: Time) -> Instant {
    let wait = u64::try_from(time.micros_since(now)).unwrap_or(0);
    Instant::now() + Duration::from_micros(wait) + Duration::from_millis(1)
}
