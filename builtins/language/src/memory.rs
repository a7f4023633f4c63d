//! Decides how much memory a file may make this program use, so that a mistake ends in an error
//! at its line and not in the hands of the system's out-of-memory killer.
//!
//! What counts is the resident memory of the process: most of it lies outside of the
//! interpreter's own heap. It is looked at before something large is made, and from time to time
//! while code runs. A native function that makes something large asks [`reserve`] first; if it
//! cannot pass the error on it may return anything, for its call fails in any case.

use std::cell::Cell;

use starlark::values::Value;

use super::{
    crate_words::CANCELED,
    error::{Site, native_error, raise_at},
    stack,
};

/// The environment variable that moves the limit.
pub(super) const VARIABLE: &str = "ENGINE_MAX_HEAP_MB";

/// The limit on a machine with plenty of memory.
const DEFAULT_BYTES: u64 = 1 << 30;

/// What is smaller is not worth a look.
pub(crate) const WORTH_A_LOOK: usize = 1 << 20;

/// How many quick checks pass between two looks.
const LOOK_PERIOD: u32 = 64;

thread_local! {
    static LIMIT: Cell<u64> = const { Cell::new(u64::MAX) };
    static IS_EXCEEDED: Cell<bool> = const { Cell::new(false) };
    static CHECKS: Cell<u32> = const { Cell::new(0) };
}

/// Sets the limit for what this thread evaluates.
pub(super) fn set_limit(bytes: Option<u64>) {
    LIMIT.set(bytes.unwrap_or(u64::MAX));
    IS_EXCEEDED.set(false);
}

/// The limit for this machine if nobody chose one: not more than it can spare.
pub(super) fn default_limit() -> u64 {
    let spare = available().map_or(u64::MAX, |bytes| bytes / 4 * 3);
    spare.clamp(256 << 20, DEFAULT_BYTES)
}

/// Asks for memory that something large will take.
///
/// # Errors
/// If that is beyond the limit; the call that is running fails with the same words.
pub(crate) fn reserve(bytes: usize) -> Result<(), String> {
    let limit = LIMIT.get();
    if bytes < WORTH_A_LOOK || limit == u64::MAX {
        return Ok(());
    }
    if resident().saturating_add(bytes as u64) > limit {
        IS_EXCEEDED.set(true);
        return Err(words(limit));
    }
    Ok(())
}

/// Whether the limit is exceeded since it was last looked at; looks seldom, so that it can be asked
/// often. The interpreter also asks when an error is on its way out, which must not be replaced.
pub(crate) fn is_exceeded() -> bool {
    let checks = CHECKS.get().wrapping_add(1);
    CHECKS.set(checks);
    let is_new = !IS_EXCEEDED.get()
        && checks.is_multiple_of(LOOK_PERIOD)
        && LIMIT.get() != u64::MAX
        && resident() > LIMIT.get();
    if is_new {
        IS_EXCEEDED.set(true);
    }
    is_new
}

/// What to say if the limit was exceeded.
pub(crate) fn problem() -> Option<String> {
    IS_EXCEEDED.get().then(|| words(LIMIT.get()))
}

/// The result of a native function, unless it ran out of memory.
pub(crate) fn checked(
    site: Site,
    result: starlark::Result<Value<'_>>,
) -> starlark::Result<Value<'_>> {
    if !IS_EXCEEDED.get() {
        return result;
    }
    match result {
        // What the function called was stopped, and it has put that into words of its own.
        Err(error)
            if !native_error(&error).is_some_and(|it| it.to_string().ends_with(CANCELED)) =>
        {
            Err(error)
        }
        _ => Err(raise_at(site, words(LIMIT.get()))),
    }
}

fn words(limit: u64) -> String {
    let limit = limit >> 20;
    format!("out of memory: more than {limit} MB are needed; {VARIABLE} sets the limit")
}

/// How much memory this process holds right now, or 0 where that is not known. The stack has a
/// limit of its own.
fn resident() -> u64 {
    let all = field("/proc/self/status", "VmRSS:").unwrap_or(0);
    all.saturating_sub(stack::touched() as u64)
}

/// How much memory the machine, or the container, can still give.
fn available() -> Option<u64> {
    let machine = field("/proc/meminfo", "MemAvailable:");
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let container = container.and_then(|text| text.trim().parse::<u64>().ok());
    machine.into_iter().chain(container).min()
}

/// A number of kilobytes in one of the system's tables, in bytes.
fn field(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_requests_beyond_the_limit_are_refused_and_small_ones_never() {
        set_limit(Some(1 << 30));
        assert_eq!(reserve(usize::MAX).is_err(), cfg!(target_os = "linux"));
        assert_eq!(problem().is_some(), cfg!(target_os = "linux"));
        set_limit(Some(1));
        assert!(reserve(100).is_ok());
        set_limit(None);
        assert!(reserve(usize::MAX).is_ok());
        assert_eq!(problem(), None);
    }
}
