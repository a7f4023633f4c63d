//! The log as clients get it.

use engine_api::log::query::Query;
use expect_test::expect;
use futures_util::StreamExt;
use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn view(store: &LogStore, from: u64) -> (Value, Option<Checkpoint>) {
    let mut out = Vec::new();
    let end = view_log_list(store, Checkpoint(from), &mut out);
    (serde_json::from_slice(&out).unwrap(), end)
}

fn example() -> LogStore {
    let store = in_memory(64 << 20);
    store.writer("", "").write_at(at(0), Level::Info, "started\n");
    let fields = Fields { build_event: Some(BuildEvent::Init), ..Fields::default() };
    let build = store.writer("web", "build:1");
    build.with_fields(fields).write_at(at(1), Level::Info, "Initial Build\n");
    build.write_at(at(2), Level::Error, "\"bad\"\t\u{1b}[1m");
    let fields =
        Fields { progress_id: Some("l".into()), progress_must_print: true, ..Fields::default() };
    build.with_fields(fields).write_at(at(3), Level::Info, "100%\n");
    store
}

#[test]
fn a_log_list_is_tilts() {
    let (list, end) = view(&example(), 0);
    assert_eq!(end, Some(Checkpoint(4)));
    expect![[r#"
        {
          "segments": [
            {
              "time": "2026-08-01T10:20:30.000000Z",
              "text": "started\n",
              "level": "INFO"
            },
            {
              "spanId": "build:1",
              "time": "2026-08-01T10:20:31.000000Z",
              "text": "Initial Build\n",
              "level": "INFO",
              "fields": {
                "buildEvent": "init"
              }
            },
            {
              "spanId": "build:1",
              "time": "2026-08-01T10:20:32.000000Z",
              "text": "\"bad\"\t\u001b[1m",
              "level": "ERROR",
              "anchor": true
            },
            {
              "spanId": "build:1",
              "time": "2026-08-01T10:20:33.000000Z",
              "text": "100%\n",
              "level": "INFO",
              "fields": {
                "progressID": "l",
                "progressMustPrint": "1"
              }
            }
          ],
          "spans": {
            "": {},
            "build:1": {
              "manifestName": "web"
            }
          },
          "toCheckpoint": 4
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&list).unwrap());
}

#[test]
fn a_log_list_begins_where_it_is_asked_to() {
    let store = example();
    let (list, end) = view(&store, 3);
    assert_eq!((list["fromCheckpoint"].as_u64(), end), (Some(3), Some(Checkpoint(4))));
    assert_eq!(list["segments"].as_array().unwrap().len(), 1);
    assert!(list["spans"].get("").is_none());
    let (list, end) = view(&store, 4);
    assert_eq!(list, serde_json::json!({"fromCheckpoint": -1, "toCheckpoint": -1}));
    assert_eq!(end, None);
}

#[test]
fn a_log_list_is_bounded_and_its_numbers_fit() {
    let store = in_memory(64 << 20);
    let line = "x".repeat(1000);
    for _ in 0..12_000 {
        store.writer("a", "s").info(&line);
    }
    let (list, _) = view(&store, 0);
    let count = list["segments"].as_array().unwrap().len() as u64;
    assert!((8000..9000).contains(&count), "{count}");
    assert_eq!(list["fromCheckpoint"].as_u64(), Some(12_000 - count));
    assert_eq!(list["toCheckpoint"].as_u64(), Some(12_000));
}

async fn answered(store: &LogStore, query: &str) -> String {
    let pieces: Vec<_> = super::answer(store, &Query::parse(query)).collect().await;
    String::from_utf8(pieces.concat()).unwrap()
}

#[tokio::test]
async fn a_query_gets_what_it_selects() {
    let store = example();
    expect![[r#"
        {"spanId":"build:1","manifestName":"web","time":"2026-08-01T10:20:31.000000Z","text":"Initial Build\n","level":"INFO","fields":{"buildEvent":"init"}}
        {"spanId":"build:1","manifestName":"web","time":"2026-08-01T10:20:32.000000Z","text":"\"bad\"\t\u001b[1m","level":"ERROR","anchor":true}
        {"history":"end"}
    "#]]
    .assert_eq(&answered(&store, "resource=web&level=error&source=build&bogus=1").await);
    expect![[r#"
        {"time":"2026-08-01T10:20:30.000000Z","text":"started\n","level":"INFO"}
        {"history":"end"}
    "#]]
    .assert_eq(&answered(&store, "resource=").await);
    assert_eq!(answered(&store, "resource=w%65b&tail=0").await, "{\"history\":\"end\"}\n");
    let since = u64::try_from(at(3).duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros());
    assert_eq!(answered(&store, &format!("since={}", since.unwrap())).await.lines().count(), 2);
}

#[tokio::test]
async fn the_last_lines_are_enough_lines_and_not_many_more() {
    let store = in_memory(64 << 20);
    for number in 0..5000 {
        store.writer("a", "a").info(&format!("a {number}"));
        store.writer("b", "b").info("b");
    }
    let text = answered(&store, "resource=a&tail=10").await;
    let lines: Vec<&str> = text.lines().collect();
    assert!((11..15).contains(&lines.len()), "{text}");
    assert!(lines[lines.len() - 2].contains("a 4999"));
}

#[test]
fn the_last_lines_of_a_resource_are_plain_and_only_what_it_printed() {
    let store = in_memory(64 << 20);
    for number in 0..50 {
        store.writer("a", "a").info(&format!("a {number}"));
        store.writer("b", "b").info("b");
    }
    let writer = store.writer("a", "a");
    for line in ["\u{1b}[31mred\u{1b}[0m", ""] {
        writer.info(line);
    }
    writer.error("Build Failed: no");
    assert_eq!(super::last_lines(&store, "a", 3), ["a 48", "a 49", "red"]);
    assert!(super::last_lines(&store, "c", 3).is_empty());
}

#[tokio::test]
async fn what_is_not_kept_anymore_is_said() {
    let store = in_memory(1 << 20);
    for number in 0..100_000 {
        store.writer("a", "a").info(&format!("line {number}"));
    }
    store.writer("b", "b").info("b");
    let text = answered(&store, "resource=a").await;
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let missing = first["gap"]["resources"]["a"].as_u64().unwrap();
    assert_eq!(first["gap"]["segments"].as_u64(), Some(missing));
    let segments = text.lines().filter(|it| it.contains("\"text\"")).count() as u64;
    assert_eq!(missing + segments, 100_000);
    assert!(!answered(&store, "resource=b").await.contains("gap"));
}

#[tokio::test]
async fn a_follower_gets_what_is_written_later() {
    let store = example();
    let mut pieces = Box::pin(super::answer(&store, &Query::parse("follow=1&tail=1")));
    let mut text = String::new();
    while !text.contains("history") {
        text += std::str::from_utf8(&pieces.next().await.unwrap()).unwrap();
    }
    store.writer("web", "build:1").info("later");
    let later = pieces.next().await.unwrap();
    assert!(std::str::from_utf8(&later).unwrap().contains("later"));
}

proptest! {
    #[test]
    fn a_query_survives_being_written_and_read(
        resources in prop::collection::vec("\\PC{0,8}", 0..3),
        since in any::<u64>(), tail in any::<Option<u64>>(), follow in any::<bool>(),
        level in prop::sample::select(vec![None, Some(Level::Warn), Some(Level::Error)]),
        source in prop::sample::select(vec![Source::All, Source::Build, Source::Runtime]),
    ) {
        let query = Query { filter: Filter { resources, level, source, since }, tail, follow };
        prop_assert_eq!(Query::parse(&query.to_text()), query);
    }

    #[test]
    fn any_query_is_understood_somehow(text in "\\PC{0,40}") {
        let _ = Query::parse(&text);
    }
}
