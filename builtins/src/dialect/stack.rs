//! Decides how deep calls may nest: evaluation runs on a thread of its own, whose stack is as
//! large as the limit needs, and files that run within files share what is left of it.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::PoisonError;

/// The environment variable that moves the limit.
pub(super) const VARIABLE: &str = "ENGINE_MAX_CALL_DEPTH";

/// What one call may take of the stack: more than twice what the largest was seen to take.
const BYTES_PER_CALL: usize = 24 << 10;

/// What native code below the deepest call may take. Values can be nested as deep as memory allows,
/// and the interpreter hashes and freezes them recursively; what is not touched costs nothing.
const RESERVE: usize = 2 << 30;

/// What remains of that on a machine that does not give as much.
const SMALL_RESERVE: usize = 64 << 20;

/// Stacks beyond this are not to be had.
const MAX_CALLS: usize = 200_000;

thread_local! {
    /// Where the stack of this thread begins, and how much of it is for calls, if it is one of ours.
    static STACK: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
}

/// Runs code on a thread whose stack has room for so many nested calls.
///
/// # Panics
/// If the code panics.
pub fn on_large_stack<R: Send>(calls: usize, run: impl FnOnce() -> R + Send) -> std::io::Result<R> {
    let for_calls = calls.min(MAX_CALLS) * BYTES_PER_CALL;
    // A thread that cannot start would take the code with it.
    let run = Mutex::new(Some(run));
    let work = || {
        STACK.set(Some((here(), for_calls)));
        let run = run.lock().unwrap_or_else(PoisonError::into_inner).take();
        run.map(|run| run())
    };
    std::thread::scope(|scope| {
        let start = |reserve: usize| {
            std::thread::Builder::new().stack_size(for_calls + reserve).spawn_scoped(scope, work)
        };
        let thread = start(RESERVE).or_else(|_| start(SMALL_RESERVE))?;
        match thread.join() {
            Ok(result) => Ok(result.expect("only one thread has started")),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// How many more calls may nest here, of those a limit allows.
pub(super) fn calls_left(limit: usize) -> usize {
    let Some((start, for_calls)) = STACK.get() else { return limit };
    let used = start.abs_diff(here());
    let left = for_calls.saturating_sub(used) / BYTES_PER_CALL;
    // The whole stack has room for the limit and a little less, as some of it is in use already.
    if left + 8 >= limit { limit } else { left }
}

/// Roughly where the stack is now.
fn here() -> usize {
    let marker = 0_u8;
    std::hint::black_box(&raw const marker).addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_for_calls_shrinks_with_the_stack() {
        fn deep(n: u32) -> usize {
            let mut ballast = [0_u8; 16 << 10];
            std::hint::black_box(&mut ballast);
            if n == 0 { calls_left(1000) } else { deep(n - 1).min(usize::from(ballast[0]) + 2000) }
        }
        let (shallow, deeper) =
            on_large_stack(1000, || (calls_left(1000), deep(400))).expect("a thread");
        assert_eq!(shallow, 1000);
        assert!(deeper < 800, "{deeper}");
    }
}
