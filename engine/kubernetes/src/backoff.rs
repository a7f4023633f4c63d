//! How long to wait for an API server, with a little chance so that many do not come back at once.

use std::time::Duration;

pub(crate) use engine_model::Backoff;

/// The longest wait for an API server that is away: who works with a cluster notices soon that it is back.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The next wait, and up to a tenth more.
pub(crate) fn next(backoff: &mut Backoff) -> Duration {
    backoff.step().mul_f64(1.0 + 0.1 * chance())
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
    fn a_wait_is_longer_by_at_most_a_tenth() {
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_millis(300));
        for expected in [50, 100, 200, 300, 300] {
            let wait = next(&mut backoff);
            let expected = Duration::from_millis(expected);
            assert!(wait >= expected && wait <= expected.mul_f64(1.11), "{wait:?}");
        }
    }
}
