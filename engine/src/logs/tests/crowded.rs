//! What is kept when the disk takes text more slowly than it comes: here it takes some only when a test lets it.

use std::sync::mpsc::{Receiver, sync_channel};

use futures_util::FutureExt;

use super::{kept::on_disk, *};

/// How much a command's output is read at once, in lines.
const CHUNK: usize = 840;
/// Lines of 78 bytes.
const LINES: usize = 200_000;

/// A log with the default sizes whose keeper does nothing by itself.
struct Crowded {
    store: LogStore,
    _dir: tempfile::TempDir,
    _wakes: Receiver<()>,
}

impl Crowded {
    fn new() -> Self {
        let (store, dir) = on_disk(4 << 20, 256 << 20);
        let (sender, wakes) = sync_channel(1);
        store.inner.keeper.set(Some(sender)).expect("it has not been started");
        Self { store, _dir: dir, _wakes: wakes }
    }

    fn write(&self, lines: std::ops::Range<usize>) {
        let text: String = lines.map(line).collect();
        self.store.writer("many", "cmd:many").write(Level::Info, &text);
    }

    /// Whether somebody who can wait would do so now.
    fn makes_wait(&self) -> bool {
        self.store.room().now_or_never().is_none()
    }

    fn kept(&self) -> Vec<SegmentBatch> {
        all(&self.store, Checkpoint(0))
    }
}

fn line(number: usize) -> String {
    format!("{number:06} {:070}\n", 0)
}

fn chunks(lines: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..lines).step_by(CHUNK).map(move |start| start..lines.min(start + CHUNK))
}

#[tokio::test]
async fn a_command_that_prints_faster_than_the_disk_takes_it_loses_nothing() {
    let log = Crowded::new();
    let mut waits = 0;
    for chunk in chunks(LINES) {
        if log.makes_wait() {
            waits += 1;
            let keeper = async { log.store.inner.spill() };
            tokio::join!(log.store.room(), keeper);
        }
        log.write(chunk);
    }
    // 20 MB in all, 4 of which are let through at a time.
    assert!((2..10).contains(&waits), "{waits}");
    let kept = log.kept();
    assert_eq!(kept.iter().find_map(|it| it.gap.clone()), None);
    let texts = kept.iter().flat_map(|it| &it.segments).map(|it| &*it.text);
    assert!(texts.eq((0..LINES).map(line)));
}

#[tokio::test]
async fn who_cannot_wait_loses_something_only_above_four_times_the_memory() {
    let log = Crowded::new();
    let mut written = 0;
    for chunk in chunks(LINES) {
        if log.store.inner.lock().held_bytes().0 > 15 << 20 {
            break;
        }
        written = chunk.end;
        log.write(chunk);
    }
    let kept: usize = log.kept().iter().map(|it| it.segments.len()).sum();
    assert_eq!(kept, written);
    assert!(log.makes_wait());
}

#[tokio::test]
async fn nobody_waits_for_a_disk_that_takes_nothing_until_it_takes_something() {
    let log = Crowded::new();
    log.write(0..LINES / 2);
    assert!(log.makes_wait());
    log.store.room_within(Duration::ZERO).await;
    assert!(!log.makes_wait());

    log.write(0..LINES);
    let missing: u64 =
        log.kept().iter().filter_map(|it| it.gap.as_ref()).map(|it| it.segments).sum();
    assert!(missing > 0, "it is bounded, and what is missing is said");

    log.store.inner.spill();
    assert!(!log.makes_wait(), "there is room");
    log.write(0..LINES / 2);
    assert!(log.makes_wait());
}

#[tokio::test]
async fn nobody_waits_for_a_disk_that_was_given_up() {
    let log = Crowded::new();
    log.write(0..LINES / 2);
    let give_up = async {
        log.store.inner.lock().spill = None;
        log.store.inner.moved.notify_waiters();
    };
    tokio::join!(log.store.room(), give_up);
    assert!(!log.makes_wait());
}
