//! `GET /api/logs`: the log as lines of JSON, selected where it is, so that a client gets no more than it asked for.
//!
//! An answer is a sequence of lines: segments; `{"gap":…}` where some are not kept anymore; and, after all that
//! was there at first, `{"history":"end"}`. A client that follows then gets what is written.

use std::collections::{BTreeMap, HashSet, VecDeque};

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use serde::Serialize;

use super::{
    Checkpoint, LogStore, Reader,
    filter::{Filter, Source},
    reader::{Batch, Gap},
    segment::{BuildEvent, Segment},
    time::MicroTimes,
    view::{write_json, write_segment},
};

/// Where the log is asked for.
pub const PATH: &str = "/api/logs";
/// The content type of an answer.
pub const CONTENT_TYPE: &str = "application/x-ndjson";
/// The line after all that was there at first.
pub const END_OF_HISTORY: &str = r#"{"history":"end"}"#;

/// How many segments before the last lines are searched for the beginnings of these.
const LOOK_BACK: u32 = 1000;

/// What a client asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Which lines.
    pub filter: Filter,
    /// About how many lines of what is there at first; a client may get some more.
    pub tail: Option<u64>,
    /// Whether the answer goes on with what is written later.
    pub follow: bool,
}

impl Query {
    /// Reads the query part of an address. What it does not understand restricts nothing.
    #[must_use]
    pub fn parse(query: &str) -> Self {
        let mut parsed = Self::default();
        for pair in query.split('&') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decode(value);
            match key {
                "resource" => parsed.filter.resources.push(value),
                "level" => parsed.filter.level = Filter::level_from_flag(&value),
                "source" => parsed.filter.source = Source::from_flag(&value),
                "since" => parsed.filter.since = value.parse().unwrap_or(0),
                "tail" => parsed.tail = value.parse().ok(),
                "follow" => parsed.follow = value == "1" || value == "true",
                _ => {}
            }
        }
        parsed
    }

    /// The query part of an address that asks for this.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut pairs: Vec<String> =
            self.filter.resources.iter().map(|it| format!("resource={}", encode(it))).collect();
        pairs.extend(self.filter.level.map(|it| format!("level={}", it.lower_name())));
        if self.filter.source != Source::All {
            pairs.push(format!("source={}", self.filter.source.as_flag()));
        }
        if self.filter.since > 0 {
            pairs.push(format!("since={}", self.filter.since));
        }
        pairs.extend(self.tail.map(|it| format!("tail={it}")));
        if self.follow {
            pairs.push("follow=1".to_owned());
        }
        pairs.join("&")
    }
}

/// The answer to a query, piece by piece.
pub fn answer(store: &LogStore, query: &Query) -> impl Stream<Item = Bytes> + Send + use<> {
    let end = store.checkpoint();
    let start = query.tail.map_or(Checkpoint(0), |lines| tail_start(store, &query.filter, lines));
    let resources = query.filter.resources.iter().cloned();
    let answer = Answer {
        reader: store.reader(start).skipping(resources, query.filter.since),
        query: query.clone(),
        end,
        times: MicroTimes::default(),
        in_history: true,
        // Who asks for new lines does not miss old ones.
        tell_gaps: query.tail.is_none() && query.filter.since == 0,
    };
    stream::unfold(answer, async |mut answer| answer.next().await.map(|it| (it, answer)))
}

struct Answer {
    reader: Reader,
    query: Query,
    end: Checkpoint,
    times: MicroTimes,
    in_history: bool,
    tell_gaps: bool,
}

impl Answer {
    async fn next(&mut self) -> Option<Bytes> {
        while self.in_history {
            let is_done = self.reader.checkpoint() >= self.end;
            let Some(mut batch) = (!is_done).then(|| self.reader.try_next()).flatten() else {
                self.in_history = false;
                return Some(Bytes::from(format!("{END_OF_HISTORY}\n")));
            };
            if !self.query.follow {
                batch.segments.retain(|it| it.index < self.end.0);
            }
            let text = self.text(&batch);
            if !text.is_empty() {
                return Some(text.into());
            }
        }
        self.tell_gaps = true;
        while self.query.follow {
            let batch = self.reader.next().await;
            let text = self.text(&batch);
            if !text.is_empty() {
                return Some(text.into());
            }
        }
        None
    }

    fn text(&mut self, batch: &Batch) -> Vec<u8> {
        let mut out = Vec::new();
        let missing = batch.gap.as_ref().map_or(0, |it| it.of(&self.query.filter));
        if let Some(gap) = batch.gap.as_ref().filter(|_| missing > 0 && self.tell_gaps) {
            write_gap(gap, missing, &self.query.filter, &mut out);
        }
        for segment in batch.segments.iter().filter(|it| self.query.filter.matches(it)) {
            write_segment(segment, Some(&segment.span.resource), &mut self.times, &mut out);
            out.push(b'\n');
        }
        out
    }
}

fn write_gap(gap: &Gap, segments: u64, filter: &Filter, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Line<'g> {
        gap: Content<'g>,
    }
    #[derive(Serialize)]
    struct Content<'g> {
        segments: u64,
        resources: BTreeMap<&'g str, u64>,
    }
    let resources = gap.resources.iter().map(|(name, count)| (&**name, *count));
    let resources = resources.filter(|(name, _)| filter.has_resource(name)).collect();
    write_json(&Line { gap: Content { segments, resources } }, out);
    out.push(b'\n');
}

/// A place with at least so many selected lines after it, and not many more. The last lines begin after it, too.
fn tail_start(store: &LogStore, filter: &Filter, lines: u64) -> Checkpoint {
    let snapshot = store.snapshot(Checkpoint(0));
    let mut start = snapshot.end;
    if lines == 0 {
        return start;
    }
    let mut found = 0;
    let mut looked_back = 0;
    // Spans of what is taken that may have begun their line earlier.
    let mut open: HashSet<Box<str>> = HashSet::new();
    let segments = snapshot.backwards().flat_map(|batch| batch.into_iter().rev());
    for segment in segments.filter(|it| filter.matches(it)) {
        if found < lines {
            found += lines_of(&segment);
            start = Checkpoint(segment.index);
            open.insert(segment.span.id.clone());
            continue;
        }
        looked_back += 1;
        if open.is_empty() || looked_back > LOOK_BACK {
            break;
        }
        if segment.is_complete() {
            open.remove(&segment.span.id);
        } else if open.contains(&segment.span.id) {
            start = Checkpoint(segment.index);
        }
    }
    start
}

fn lines_of(segment: &Segment) -> u64 {
    let spacer = segment.fields.build_event == Some(BuildEvent::Init);
    u64::from(segment.is_complete()) + u64::from(spacer)
}

/// Keeps the last lines.
#[derive(Debug)]
pub struct Tail<T> {
    limit: usize,
    kept: VecDeque<T>,
}

impl<T> Tail<T> {
    /// Keeps at most so many.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, kept: VecDeque::new() }
    }

    /// Adds some, and forgets the oldest.
    pub fn extend(&mut self, items: Vec<T>) {
        let skip = items.len().saturating_sub(self.limit);
        self.kept.extend(items.into_iter().skip(skip));
        let over = self.kept.len().saturating_sub(self.limit);
        self.kept.drain(..over);
    }

    /// Those that were kept.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.kept.into()
    }
}

fn encode(text: &str) -> String {
    let mut out = String::new();
    for &byte in text.as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn decode(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        match (byte, hex.and_then(|it| u8::from_str_radix(it, 16).ok())) {
            (b'%', Some(value)) => {
                out.push(value);
                rest = &after[2..];
                continue;
            }
            (b'+', _) => out.push(b' '),
            _ => out.push(byte),
        }
        rest = after;
    }
    String::from_utf8_lossy(&out).into_owned()
}
