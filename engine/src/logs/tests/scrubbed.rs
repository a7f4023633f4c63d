//! No reader sees a secret.

use expect_test::expect;

use super::*;
use crate::logs::{block::BLOCK, scrub::tests::secrets};

fn with_secret() -> LogStore {
    let store = in_memory(1 << 20);
    store.add_secrets(&secrets(&[("password", "hunter22"), ("pem", "line1\nline2")]), at(0));
    store
}

#[test]
fn secrets_are_replaced_before_text_is_cut_into_lines() {
    let store = with_secret();
    store.writer("a", "s").info("it is hunter22 and\nline1\nline2");
    expect![[r#"
        0 a/s Info "it is [redacted secret creds:password] and\n"
        1 a/s Info "[redacted secret creds:pem]\n"
        2 a/s Info "[redacted secret creds:pem]\n"
    "#]]
    .assert_eq(&dump(&store));
}

#[test]
fn a_secret_that_comes_in_pieces_is_replaced() {
    let store = with_secret();
    let writer = store.writer("a", "s");
    let other = store.writer("b", "s2");
    for piece in ["it is h", "un", "ter22", " and line1", "\n", "line2\n"] {
        writer.write(Level::Info, piece);
        other.info("between");
    }
    let dumped = dump(&store);
    let lines: String = dumped.lines().filter(|it| it.contains(" a/s ")).collect();
    assert!(!lines.contains("hunt") && !lines.contains("line1"), "{lines}");
    assert!(lines.contains("creds:password") && lines.contains("creds:pem"), "{lines}");
}

#[test]
fn what_is_no_secret_after_all_appears_in_its_place() {
    let store = with_secret();
    store.writer("a", "s").write(Level::Warn, "hunt");
    store.writer("a", "s").write(Level::Info, "go hunt");
    store.writer("a", "s").write(Level::Error, "stop");
    // Another span of the same resource ends nothing.
    store.writer("a", "s").write(Level::Info, "hunt");
    store.writer("a", "s2").info("next");
    store.writer("a", "s").write(Level::Info, "er22\n");
    expect![[r#"
        0 a/s Warn anchor "hunt"
        1 a/s Info "go "
        2 a/s Info "hunt"
        3 a/s Error anchor "stop"
        4 a/s2 Info "next\n"
        5 a/s Info "[redacted secret creds:password]\n"
    "#]]
    .assert_eq(&dump(&store));
    assert_eq!(store.warnings("s"), ["hunt"]);
}

#[tokio::test]
async fn a_few_bytes_are_not_held_back_for_long() {
    let store = with_secret();
    store.writer("a", "s").write(Level::Info, "hun");
    let batch = store.reader(Checkpoint(0)).next().await;
    assert_eq!(&*batch.segments[0].text, "hun");
}

#[test]
fn text_is_held_back_for_seconds_or_until_its_command_ends() {
    let texts = |store: &LogStore, after: Duration| -> Vec<Box<str>> {
        store.inner.lock().release_due(Instant::now() + after);
        let batches = all(store, Checkpoint(0));
        batches.into_iter().flat_map(|it| it.segments).map(|it| it.text).collect()
    };
    let short = Duration::from_secs(1);
    // Nothing but the test lets go of it.
    let store = with_secret();
    store.inner.keeper.set(None).expect("it has not been started");
    let writer = store.writer("a", "s");
    writer.write(Level::Info, "hunt");
    assert_eq!(texts(&store, short), [""; 0].map(Box::from));
    writer.write(Level::Info, "er2");
    assert_eq!(texts(&store, short), [""; 0].map(Box::from));
    assert_eq!(texts(&store, Duration::from_secs(2)), ["hunter2"].map(Box::from));
    writer.write(Level::Info, "\nhunter");
    store.writer("b", "s2").write(Level::Info, "hunter");
    writer.flush();
    assert_eq!(texts(&store, short), ["hunter2", "\n", "hunter"].map(Box::from));
}

#[test]
fn a_secret_is_kept_out_of_what_was_written_since_the_load_began() {
    let dir = tempfile::tempdir().unwrap();
    let store = LogStore::new(&Options {
        memory_bytes: BLOCK,
        disk_bytes: 64 << 20,
        dir: Some(dir.path().to_owned()),
        ..Options::default()
    });
    let writer = store.writer("a", "s");
    for second in 0..3000 {
        writer.write_at(at(second), Level::Info, "it is hunter22, in a line of some length\n");
        settle(&store);
    }
    writer.write_at(at(3000), Level::Warn, "beware of hunter22\n");
    store.add_secrets(&secrets(&[("password", "hunter22")]), at(100));
    store.add_secrets(&secrets(&[("other", "length")]), at(2000));
    let batches = all(&store, Checkpoint(0));
    let segments: Vec<_> = batches.iter().flat_map(|it| &it.segments).collect();
    let with = |text: &str| segments.iter().filter(|it| it.text.contains(text)).count();
    assert_eq!((with("hunter22"), with("creds:password")), (100, 2901));
    // What became known first is kept out with what became known later, or before it was.
    assert!(with("creds:other") >= 1000);
    assert_eq!(store.warnings("s"), ["beware of [redacted secret creds:password]\n"]);
    assert_eq!(store.scrubber().scrub("hunter22"), "[redacted secret creds:password]");
}
