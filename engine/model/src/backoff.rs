//! How long to wait before something is tried again.

use std::time::Duration;

/// Waits that double up to a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    limit: Duration,
    next: Duration,
}

impl Backoff {
    /// Waits from the first up to the limit.
    pub const fn new(first: Duration, limit: Duration) -> Self {
        Self { first, limit, next: first }
    }

    /// The next wait.
    pub fn step(&mut self) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(self.limit);
        wait
    }

    /// All is well again: the next wait is the first one.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_limit() {
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_millis(300));
        let waits: Vec<u128> = (0..5).map(|_| backoff.step().as_millis()).collect();
        assert_eq!(waits, [50, 100, 200, 300, 300]);
        backoff.reset();
        assert_eq!(backoff.step(), Duration::from_millis(50));
    }
}
