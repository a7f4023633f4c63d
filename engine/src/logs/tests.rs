//! The log as a whole: what is written, kept, scrubbed, formatted and served.

use std::{
    fmt::Write,
    thread,
    time::{Duration, Instant, SystemTime},
};

use super::*;

mod crowded;
mod formatted;
mod kept;
mod scrubbed;
mod served;

/// A log that is all in memory.
fn in_memory(bytes: usize) -> LogStore {
    LogStore::new(&Options { memory_bytes: bytes, dir: None, ..Options::default() })
}

/// A fixed time, so many seconds later.
fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_785_579_630 + seconds)
}

/// Waits until everything that does not fit into memory is on disk.
fn settle(store: &LogStore) {
    while store.inner.lock().wants_to_spill() {
        store.wake_keeper();
        thread::yield_now();
    }
}

/// Everything that is there from a place on.
fn all(store: &LogStore, from: Checkpoint) -> Vec<SegmentBatch> {
    let mut reader = store.reader(from);
    std::iter::from_fn(|| reader.try_next()).collect()
}

/// The segments that are there, one in each line.
fn dump(store: &LogStore) -> String {
    let mut out = String::new();
    for segment in all(store, Checkpoint(0)).iter().flat_map(|it| &it.segments) {
        let anchor = if segment.anchor { " anchor" } else { "" };
        let Segment { index, span, level, text, .. } = segment;
        writeln!(out, "{index} {}/{} {level:?}{anchor} {text:?}", span.resource, span.id).unwrap();
    }
    out
}
