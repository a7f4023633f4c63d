//! Decides how deep calls may nest: evaluation runs on a thread of its own, whose stack is as
//! large as the limit needs, and files that run within files share what is left of it.

use std::{
    cell::Cell,
    sync::{Mutex, PoisonError},
};

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

/// Who asks for more calls than the machine can give gets fewer, but not fewer than this.
const MIN_CALLS: usize = 1000;

thread_local! {
    /// Where the stack of this thread begins, and how much of it is for calls, if it is one of ours.
    static STACK: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
    /// The most of it that was seen to be in use.
    static TOUCHED: Cell<usize> = const { Cell::new(0) };
}

/// Runs code on a thread whose stack has room for so many nested calls, or for as many as the
/// machine can give.
///
/// # Panics
/// If the code panics.
pub fn on_large_stack<R: Send>(calls: usize, run: impl FnOnce() -> R + Send) -> std::io::Result<R> {
    // A thread that cannot start would take the code with it.
    let run = Mutex::new(Some(run));
    let run = &run;
    std::thread::scope(|scope| {
        let start = |(for_calls, reserve): (usize, usize)| {
            let work = move || {
                STACK.set(Some((here(), for_calls)));
                let run = run.lock().unwrap_or_else(PoisonError::into_inner).take();
                run.map(|run| run())
            };
            std::thread::Builder::new().stack_size(for_calls + reserve).spawn_scoped(scope, work)
        };
        let mut sizes = sizes(calls);
        let mut thread = start(sizes.next().expect("there is a first size"));
        while let (Err(_), Some(size)) = (&thread, sizes.next()) {
            thread = start(size);
        }
        match thread?.join() {
            Ok(result) => Ok(result.expect("only one thread has started")),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// What to ask the machine for, the best first: bytes for calls, and for native code below them.
fn sizes(calls: usize) -> impl Iterator<Item = (usize, usize)> {
    let calls = calls.min(MAX_CALLS);
    let fewer = std::iter::successors(Some(calls), |it| Some(it / 2).filter(|it| *it >= MIN_CALLS));
    let small = fewer.map(|it| (it * BYTES_PER_CALL, SMALL_RESERVE));
    std::iter::once((calls * BYTES_PER_CALL, RESERVE)).chain(small)
}

/// How deep calls may nest on this thread, of what a limit allows.
pub(super) fn depth(limit: usize) -> usize {
    STACK.get().map_or(limit, |(_, for_calls)| limit.min(for_calls / BYTES_PER_CALL))
}

/// How much memory the stack of this thread holds, as far as anybody has looked.
pub(super) fn touched() -> usize {
    let now = STACK.get().map_or(0, |(start, _)| start.abs_diff(here()));
    TOUCHED.set(TOUCHED.get().max(now));
    TOUCHED.get()
}

/// How many more calls may nest here, of those a limit allows.
pub(super) fn calls_left(limit: usize) -> usize {
    let Some((start, for_calls)) = STACK.get() else { return limit };
    let used = start.abs_diff(here());
    let left = for_calls.saturating_sub(used) / BYTES_PER_CALL;
    let limit = depth(limit);
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
    fn who_cannot_have_all_gets_less() {
        let calls = |n| sizes(n).map(|(bytes, _)| bytes / BYTES_PER_CALL).collect::<Vec<_>>();
        assert_eq!(calls(8000), [8000, 8000, 4000, 2000, 1000]);
        assert_eq!(calls(10), [10, 10]);
        assert_eq!(calls(usize::MAX)[0], MAX_CALLS);
        let reserves: Vec<usize> = sizes(2000).map(|it| it.1).collect();
        assert_eq!(reserves, [RESERVE, SMALL_RESERVE, SMALL_RESERVE]);
        assert_eq!(on_large_stack(usize::MAX, || depth(1000)).expect("a thread"), 1000);
    }

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
