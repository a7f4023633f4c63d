//! Notices that the loop takes long over one thing, and tells what that is: from another thread, as one that never
//! ends would not tell it itself.
//!
//! While the loop waits, nothing wakes up here.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Nothing the loop does may take longer.
pub(super) const LIMIT: Duration = Duration::from_millis(250);

/// What the loop does, and who looks at it.
#[derive(Debug, Default)]
pub(super) struct Watchdog(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// What the loop does, and since when.
    step: Option<(&'static str, Instant)>,
    is_told: bool,
    /// Whether the thread waits for the next step, however long that takes.
    is_asleep: bool,
    is_over: bool,
}

impl Watchdog {
    /// Starts to look; `tell` is called for each step that takes longer than `limit`, while it does.
    pub(super) fn start(
        limit: Duration,
        tell: impl FnMut(&'static str, Duration) + Send + 'static,
    ) -> Self {
        let watchdog = Self::default();
        let shared = Arc::clone(&watchdog.0);
        let look = move || shared.look(limit, tell);
        // Without a thread nobody is told, which is all.
        let _ = thread::Builder::new().name("watchdog".to_owned()).spawn(look);
        watchdog
    }

    /// The loop does something else from now on.
    pub(super) fn begin(&self, step: &'static str) {
        let now = Instant::now();
        let mut state = self.0.lock();
        let before = state.step.replace((step, now));
        state.is_told = false;
        if std::mem::take(&mut state.is_asleep) {
            self.0.wake.notify_one();
        }
        drop(state);
        log_slow(before, now);
    }

    /// The loop waits.
    pub(super) fn rest(&self) {
        let before = self.0.lock().step.take();
        log_slow(before, Instant::now());
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.wake.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, limit: Duration, mut tell: impl FnMut(&'static str, Duration)) {
        let mut has_rested = false;
        let mut state = self.lock();
        while !state.is_over {
            let pause = match state.step {
                None if has_rested => {
                    state.is_asleep = true;
                    state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                    has_rested = false;
                    continue;
                }
                None => limit,
                Some((step, since)) => {
                    let took = since.elapsed();
                    if took >= limit && !std::mem::replace(&mut state.is_told, true) {
                        drop(state);
                        tell(step, took);
                        state = self.lock();
                        continue;
                    }
                    limit.checked_sub(took).unwrap_or(limit)
                }
            };
            has_rested = state.step.is_none();
            let waited = self.wake.wait_timeout(state, pause);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

fn log_slow(step: Option<(&'static str, Instant)>, now: Instant) {
    if let Some((step, since)) = step
        && now.duration_since(since) >= LIMIT
    {
        tracing::warn!(step, took = ?now.duration_since(since), "the loop was busy");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_step_that_takes_long_is_told_once_and_a_loop_that_waits_wakes_nobody() {
        let (sender, told) = mpsc::channel();
        let tell = move |step, took| sender.send((step, took)).expect("the test waits");
        let limit = Duration::from_millis(20);
        let watchdog = Watchdog::start(limit, tell);
        for _ in 0..3 {
            watchdog.begin("slow");
            let (step, took) = told.recv_timeout(Duration::from_secs(20)).expect("it is told");
            assert_eq!(step, "slow");
            assert!(took >= limit);
            thread::sleep(3 * limit);
            assert!(told.try_recv().is_err(), "it is told once");
            watchdog.begin("next");
            watchdog.rest();
            let start = Instant::now();
            while !watchdog.0.lock().is_asleep {
                assert!(start.elapsed() < Duration::from_secs(20), "it never sleeps");
                thread::sleep(limit);
            }
        }
    }
}
