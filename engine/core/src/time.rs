//! Points in time, as arguments: the core has no clock.

/// Microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

impl Time {
    /// The time so many milliseconds later.
    #[must_use]
    pub fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis.saturating_mul(1_000)))
    }

    /// Whether this point came before a later one, as far as a clock that reads `now` can tell: one that
    /// has been set back says nothing about what it showed before.
    #[must_use]
    pub fn is_before(self, later: Self, now: Self) -> bool {
        self < later && later <= now
    }

    /// Microseconds from an earlier time to this one.
    #[must_use]
    pub fn micros_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}
