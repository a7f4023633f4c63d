//! What can go wrong with a cluster: each fault is shown as what it is, loses nothing, and is over soon after its cause
//! is gone, without anybody doing anything about it.
//!
//! `ENGINE_FAULT_ROUNDS` says how often each fault comes, and `ENGINE_FAULT_SECONDS` how long a cluster is away.

mod connections;
mod contexts;
mod control_plane;
mod pods;
mod refusals;

use std::{
    env,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::support::Instance;

/// After so long nothing may be left of a fault.
const LIMIT: Duration = Duration::from_secs(15);

/// Lets a fault come as often as is asked for; each round says how long it took until nothing was left of it.
#[expect(clippy::print_stderr, reason = "who runs the tests wants to know how long it took")]
fn rounds(fault: &str, mut round: impl FnMut(u64) -> Duration) {
    let n_rounds = number("ENGINE_FAULT_ROUNDS", 1);
    let mut worst = Duration::ZERO;
    for n in 1..=n_rounds {
        let took = round(n);
        worst = worst.max(took);
        eprintln!("{fault}: round {n} of {n_rounds} over in {:.1} s", took.as_secs_f64());
    }
    eprintln!("{fault}: {n_rounds} rounds, over in {:.1} s at worst", worst.as_secs_f64());
}

/// How long a cluster is away.
fn outage() -> Duration {
    Duration::from_secs(number("ENGINE_FAULT_SECONDS", 3))
}

fn number(name: &str, default: u64) -> u64 {
    let text = env::var(name).unwrap_or_default();
    if text.is_empty() { default } else { text.parse().expect("it is a number") }
}

/// The moment in which the cause of a fault is gone.
struct Recovery(Instant);

impl Recovery {
    fn begins() -> Self {
        Self(Instant::now())
    }

    /// Waits until something is so again, which must not take long.
    fn until(&self, instance: &mut Instance, what: &str, mut is_so: impl FnMut(&Instance) -> bool) {
        instance.until(what, |it| is_so(it));
        let took = self.0.elapsed();
        assert!(took < LIMIT, "{what} only after {took:?}:\n{}", instance.log());
    }

    /// Waits until a resource does well again.
    fn until_well(&self, instance: &mut Instance, resource: &str) {
        self.until(instance, &format!("{resource} does well"), |it| {
            let why = why(it, resource);
            why["updateStatus"] == "ok" && why["runtimeStatus"] == "ok"
        });
    }

    fn took(&self) -> Duration {
        self.0.elapsed()
    }
}

/// What is known of a resource.
fn why(instance: &Instance, resource: &str) -> Value {
    serde_json::from_str(&instance.client(&["why", "--json", resource])).expect("it is JSON")
}

/// Waits until the text of `why` has all of these words.
fn until_shown(instance: &mut Instance, resource: &str, words: &[&str]) {
    instance.until(&format!("`why {resource}` says {words:?}"), |it| {
        let shown = it.client(&["why", resource]);
        words.iter().all(|it| shown.contains(it))
    });
}
