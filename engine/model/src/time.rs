//! Points in time, as plain data: whoever needs one gets it as an argument.

use serde::Deserialize;

/// Microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(transparent)]
pub struct Time(pub i64);

impl Time {
    /// The time so many milliseconds later.
    #[must_use]
    pub fn plus_millis(self, millis: i64) -> Self {
        self.plus_micros(millis.saturating_mul(1_000))
    }

    /// So many microseconds later.
    #[must_use]
    pub fn plus_micros(self, micros: i64) -> Self {
        Self(self.0.saturating_add(micros))
    }

    /// The second in which it is.
    #[must_use]
    pub fn whole_second(self) -> Self {
        Self(self.0 - self.0.rem_euclid(1_000_000))
    }

    /// Whether this point came before a later one, as far as a clock that reads `now` can tell: one that
    /// has been set back says nothing about what it showed before.
    pub fn is_before(self, later: Self, now: Self) -> bool {
        self < later && later <= now
    }

    /// Microseconds from an earlier time to this one.
    pub fn micros_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}
