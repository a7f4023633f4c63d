//! How long to wait before something is tried again.

use std::time::Duration;

/// The longest wait for an API server that is away: who works with a cluster notices soon that it is back.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Waits that grow by a factor of two up to a limit, with a little chance so that many do not come back at once.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    first: Duration,
    limit: Duration,
    next: Duration,
}

impl Backoff {
    /// Waits from the first up to the limit.
    pub(crate) fn new(first: Duration, limit: Duration) -> Self {
        Self { first, limit, next: first }
    }

    /// The next wait.
    pub(crate) fn step(&mut self) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(self.limit);
        wait.mul_f64(1.0 + 0.1 * chance())
    }

    /// All is well again: the next wait is the first one.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}

/// A number from 0 to 1 that differs from call to call.
fn chance() -> f64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let bits = RandomState::new().build_hasher().finish() >> 40;
    f64::from(u32::try_from(bits).unwrap_or_default()) / f64::from(1_u32 << 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_limit_with_a_tenth_of_chance() {
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_millis(300));
        for expected in [50, 100, 200, 300, 300] {
            let wait = backoff.step();
            let expected = Duration::from_millis(expected);
            assert!(wait >= expected && wait <= expected.mul_f64(1.11), "{wait:?}");
        }
        backoff.reset();
        assert!(backoff.step() < Duration::from_millis(60));
    }
}
