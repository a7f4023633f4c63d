//! Answers queries of clients, piece by piece; `engine_api::log::query` says what an answer is made of.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use engine_api::log::{
    BuildEvent, Filter, Level, Lines, MicroTimes, Segment,
    query::{END_OF_HISTORY, Query},
};
use futures_util::stream::{self, Stream};
use serde::Serialize;

use super::{
    Checkpoint, LogStore, Reader,
    reader::{Gap, SegmentBatch},
    view::{write_json, write_segment},
};
use crate::exec::without_escapes;

/// How many segments before the last lines are searched for the beginnings of these.
const LOOK_BACK: u32 = 1000;

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

/// The last lines that a resource printed, as plain text: without empty ones, and without what the engine says of an end.
pub fn last_lines(store: &LogStore, resource: &str, lines: usize) -> Vec<String> {
    let filter = Filter { resources: vec![resource.to_owned()], ..Filter::default() };
    // Of empty lines there are few.
    let start = tail_start(store, &filter, 2 * u64::try_from(lines).unwrap_or(u64::MAX / 2));
    let mut reader = store.reader(start).skipping(filter.resources.iter().cloned(), 0);
    let batches = std::iter::from_fn(|| reader.try_next());
    let segments: Vec<Segment> = batches.flat_map(|it| it.segments).collect();
    let found = Lines::new(filter).next(&segments);
    let printed = found.iter().filter(|it| it.level < Level::Error);
    let found = printed.map(|it| without_escapes(it.text.trim_end()));
    let found: Vec<String> = found.filter(|it| !it.trim().is_empty()).collect();
    found[found.len().saturating_sub(lines)..].to_vec()
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

    fn text(&mut self, batch: &SegmentBatch) -> Vec<u8> {
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
