//! What the log keeps, and what it lets go.

use std::{collections::BTreeMap, thread};

use expect_test::expect;
use proptest::prelude::*;

use super::*;
use crate::logs::block::{BLOCK, MAX_TEXT};

pub(super) fn on_disk(memory: usize, disk: usize) -> (LogStore, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        memory_bytes: memory,
        disk_bytes: disk as u64,
        dir: Some(dir.path().to_owned()),
        ..Options::default()
    };
    (LogStore::new(&options), dir)
}

fn count(batches: &[SegmentBatch], resource: &str) -> usize {
    batches.iter().flat_map(|it| &it.segments).filter(|it| &*it.span.resource == resource).count()
}

#[test]
fn text_is_kept_in_lines() {
    let store = in_memory(1 << 20);
    store.writer("", "").info("global");
    store.writer("a", "").write(Level::Info, "no span");
    let build = store.writer("a", "build:1");
    build.write(Level::Warn, "one\ntwo\n");
    build.write(Level::Error, "three");
    build.write(Level::Info, "");
    build.debug("not at this level");
    // The first writer of a span decides to which resource it belongs.
    store.writer("b", "build:1").verbose("nor this");
    store.writer("b", "build:1").info("a's");
    expect![[r#"
        0 / Info "global\n"
        1 a/unknown:a Info "no span"
        2 a/build:1 Warn anchor "one\n"
        3 a/build:1 Warn "two\n"
        4 a/build:1 Error anchor "three"
        5 a/build:1 Info "a's\n"
    "#]]
    .assert_eq(&dump(&store));
    assert_eq!(store.warnings("build:1"), ["one\ntwo\n"]);
    assert_eq!(store.warnings("build:2"), [""; 0]);
    assert_eq!(store.checkpoint(), Checkpoint(6));
}

#[test]
fn all_that_is_known_of_a_segment_is_kept() {
    let store = in_memory(1 << 20);
    let fields = Fields {
        build_event: Some(BuildEvent::Fallback),
        progress_id: Some("läyer".into()),
        progress_must_print: true,
    };
    store.writer("a", "s").with_fields(fields.clone()).write_at(at(1), Level::Error, "ä\n");
    let batches = all(&store, Checkpoint(0));
    let segment = &batches[0].segments[0];
    assert_eq!((&segment.fields, segment.time(), segment.level), (&fields, at(1), Level::Error));
    assert_eq!((&*segment.text, segment.anchor, segment.index), ("ä\n", true, 0));
}

#[test]
fn a_line_of_any_length_is_kept_whole() {
    let store = in_memory(1 << 20);
    let line = "ä".repeat(MAX_TEXT) + "\n";
    store.writer("a", "s").write(Level::Warn, &line);
    let batches = all(&store, Checkpoint(0));
    let segments: Vec<_> = batches.iter().flat_map(|it| &it.segments).collect();
    assert!(segments.len() > 2);
    assert_eq!(segments.iter().map(|it| &*it.text).collect::<String>(), line);
    assert_eq!(segments.iter().filter(|it| it.anchor).count(), 1);
}

#[test]
fn what_does_not_fit_into_memory_is_read_from_disk() {
    let (store, _dir) = on_disk(2 * BLOCK, 64 * BLOCK);
    let writer = store.writer("a", "s");
    for number in 0..20_000 {
        writer.info(&format!("line {number}"));
        if number % 1000 == 0 {
            // A flood that the disk cannot follow may lose something, and is not what is tested here.
            settle(&store);
        }
    }
    settle(&store);
    let (memory, held) = store.inner.lock().held_bytes();
    assert!(memory <= 2 * BLOCK && held > 8 * BLOCK, "{memory} {held}");
    let batches = all(&store, Checkpoint(0));
    assert!(batches.iter().all(|it| it.gap.is_none()));
    let texts = batches.iter().flat_map(|it| &it.segments).map(|it| &*it.text);
    assert!(texts.eq((0..20_000).map(|it| format!("line {it}\n"))));
}

#[test]
fn a_flood_does_not_push_out_others_and_readers_are_told_what_is_missing() {
    check_flood(&in_memory(16 * BLOCK));
    let (store, _dir) = on_disk(2 * BLOCK, 16 * BLOCK);
    check_flood(&store);
}

fn check_flood(store: &LogStore) {
    let quiet = store.writer("quiet", "q");
    let flood = store.writer("flood", "f");
    for number in 0..50_000 {
        flood.info(&format!("a line of a flood that takes some room {number}"));
        if number % 100 == 0 {
            quiet.info("hello");
            settle(store);
        }
    }
    let batches = all(store, Checkpoint(0));
    assert_eq!(count(&batches, "quiet"), 500);
    let floods = count(&batches, "flood");
    assert!((5000..20_000).contains(&floods), "{floods}");
    let missing: BTreeMap<&str, u64> =
        batches.iter().filter_map(|it| it.gap.as_ref()).fold(BTreeMap::new(), |mut all, gap| {
            assert_eq!(gap.segments, gap.resources.values().sum::<u64>());
            for (name, count) in &gap.resources {
                *all.entry(&**name).or_default() += count;
            }
            all
        });
    assert_eq!(missing, BTreeMap::from([("flood", 50_000 - floods as u64)]));
    let newest = batches.last().unwrap().segments.last().unwrap();
    assert!(newest.text.ends_with(" 49999\n"));
}

#[test]
fn a_reader_that_looks_for_one_resource_skips_the_others() {
    let store = in_memory(64 * BLOCK);
    store.writer("rare", "r").info("once");
    for _ in 0..5000 {
        store.writer("often", "o").info("again and again and again");
    }
    let mut reader = store.reader(Checkpoint(0)).skipping(["rare".to_owned()], 0);
    let read: usize = std::iter::from_fn(|| reader.try_next()).map(|it| it.segments.len()).sum();
    // The first block, and the one that is being filled.
    assert!(read < 3000, "{read}");
    assert_eq!(reader.checkpoint(), store.checkpoint());
}

#[tokio::test]
async fn a_reader_waits_for_more() {
    let store = in_memory(1 << 20);
    let mut reader = store.reader(Checkpoint(0));
    let writer = store.writer("a", "s");
    let written = async {
        tokio::task::yield_now().await;
        writer.info("late");
    };
    let (batch, ()) = tokio::join!(reader.next(), written);
    assert_eq!(&*batch.segments[0].text, "late\n");
}

#[test]
fn writers_in_many_threads_lose_nothing() {
    let store = in_memory(64 << 20);
    thread::scope(|scope| {
        for writer in 0..4 {
            let writer = store.writer("r", &format!("s{writer}"));
            scope.spawn(move || (0..2000).for_each(|it| writer.info(&it.to_string())));
        }
    });
    let batches = all(&store, Checkpoint(0));
    for span in ["s0", "s1", "s2", "s3"] {
        let of_span = batches.iter().flat_map(|it| &it.segments).filter(|it| &*it.span.id == span);
        assert!(of_span.map(|it| &*it.text).eq((0..2000).map(|it| format!("{it}\n"))));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_read_and_what_is_missing_are_all_that_was_written(
        writes in prop::collection::vec((0usize..4, 0usize..3000, 1usize..4), 1..400),
        disk in any::<bool>(),
        reads in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
    ) {
        let (memory, limit) = (2 * BLOCK, 6 * BLOCK);
        let (store, _dir) = if disk {
            let (store, dir) = on_disk(memory, limit);
            (store, Some(dir))
        } else {
            (in_memory(memory), None)
        };
        let mut slow = store.reader(Checkpoint(0));
        let mut seen = 0;
        let mut next = 0;
        let check = |batch: SegmentBatch, seen: &mut u64, next: &mut u64| {
            *seen += batch.segments.len() as u64 + batch.gap.map_or(0, |it| it.segments);
            for segment in batch.segments {
                assert!(segment.index >= *next, "in order, and nothing twice");
                *next = segment.index + 1;
            }
        };
        for (number, (resource, len, lines)) in writes.iter().enumerate() {
            let writer = store.writer(&format!("r{resource}"), &format!("s{resource}"));
            writer.info(&format!("{}\n", "x".repeat(*len)).repeat(*lines));
            if reads.iter().any(|it| it.index(writes.len()) == number)
                && let Some(batch) = slow.try_next()
            {
                check(batch, &mut seen, &mut next);
            }
            let state = store.inner.lock();
            prop_assert!(state.held_bytes().0 <= 4 * memory + BLOCK);
        }
        settle(&store);
        while let Some(batch) = slow.try_next() {
            check(batch, &mut seen, &mut next);
        }
        let written: u64 = writes.iter().map(|it| it.2 as u64).sum();
        prop_assert_eq!(store.checkpoint(), Checkpoint(written));
        prop_assert_eq!(seen, written);
        let (in_memory, held) = store.inner.lock().held_bytes();
        prop_assert!(in_memory <= memory, "{in_memory}");
        prop_assert!(held <= memory + if disk { limit } else { 0 }, "{held}");
    }
}
