//! Reading the log: cursors that wait for more, and that are told what they missed.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use engine_api::log::Filter;

use super::{
    Checkpoint, Inner, LogStore, Segment,
    block::{Block, Missing, segments},
    state::LateScrub,
};

/// Segments that were there once, but are not kept anymore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    /// How many there were.
    pub segments: u64,
    /// How many of them belonged to which resource, as far as that is known.
    pub resources: BTreeMap<Arc<str>, u64>,
}

impl Gap {
    /// How many of the segments someone wanted to see who selects by resource.
    pub fn of(&self, filter: &Filter) -> u64 {
        if filter.resources.is_empty() || self.resources.is_empty() {
            return self.segments;
        }
        self.resources.iter().filter(|(it, _)| filter.has_resource(it)).map(|(_, it)| it).sum()
    }
}

/// Some segments in order.
#[derive(Clone, Debug, Default)]
pub struct SegmentBatch {
    /// What is missing before or between them.
    pub gap: Option<Gap>,
    /// The segments.
    pub segments: Vec<Segment>,
}

/// A cursor in the log; a slow one holds up nobody.
#[derive(Debug)]
pub struct Reader {
    inner: Arc<Inner>,
    next: u64,
    /// Only blocks with these resources, or newer than this time, are looked at.
    resources: HashSet<String>,
    since: u64,
}

enum Found {
    Nothing,
    Unfinished(SegmentBatch),
    Block(Arc<Block>, Option<LateScrub>),
}

impl Reader {
    pub(super) fn new(store: &LogStore, from: Checkpoint) -> Self {
        let inner = Arc::clone(&store.inner);
        Self { inner, next: from.0, resources: HashSet::new(), since: 0 }
    }

    /// Leaves out, where that is cheap, what is of other resources or older. Some of it may still come.
    #[must_use]
    pub fn skipping(mut self, resources: impl IntoIterator<Item = String>, since: u64) -> Self {
        self.resources = resources.into_iter().collect();
        self.since = since;
        self
    }

    /// Where the next batch begins.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.next)
    }

    /// The next segments; waits until there are some.
    pub async fn next(&mut self) -> SegmentBatch {
        let inner = Arc::clone(&self.inner);
        loop {
            let mut changed = std::pin::pin!(inner.changed.notified());
            // What is written after this wakes us, also if it is written before we wait.
            changed.as_mut().enable();
            if let Some(batch) = self.try_next() {
                return batch;
            }
            changed.await;
        }
    }

    /// The next segments, if there are any now.
    pub fn try_next(&mut self) -> Option<SegmentBatch> {
        loop {
            let (block, scrub) = match self.find() {
                Found::Nothing => return None,
                Found::Unfinished(batch) => return Some(batch),
                Found::Block(block, scrub) => (block, scrub),
            };
            let from = std::mem::replace(&mut self.next, block.end);
            let batch = if self.wants(&block) {
                read(&block, scrub.as_ref(), from)
            } else {
                SegmentBatch {
                    gap: gap(from, block.start, &block.missing, 0),
                    segments: Vec::new(),
                }
            };
            if batch.gap.is_some() || !batch.segments.is_empty() {
                return Some(batch);
            }
        }
    }

    fn find(&mut self) -> Found {
        let state = self.inner.lock();
        let at = state.blocks.partition_point(|it| it.end <= self.next);
        if let Some(block) = state.blocks.get(at) {
            return Found::Block(Arc::clone(block), state.late_scrub(block.scrubbed));
        }
        let segments = state.tail.segments_from(self.next);
        let (Some(start), Some(last)) = (state.tail.start(), segments.last()) else {
            return Found::Nothing;
        };
        let missing = last.index + 1 - self.next - segments.len() as u64;
        let gap = gap(self.next, start, &state.tail.missing, missing);
        self.next = last.index + 1;
        Found::Unfinished(SegmentBatch { gap, segments })
    }

    fn wants(&self, block: &Block) -> bool {
        let resource = |it: &super::block::Share| self.resources.contains(&*it.span.resource);
        block.newest >= self.since
            && (self.resources.is_empty() || block.shares.iter().any(resource))
    }
}

/// Reads the segments of a block from an index on. What cannot be read is missing.
fn read(block: &Block, scrub: Option<&LateScrub>, from: u64) -> SegmentBatch {
    let bytes = block.load().unwrap_or_default();
    let mut segments: Vec<Segment> =
        segments(&bytes, &block.shares).filter(|it| it.index >= from).collect();
    if let Some(scrub) = scrub {
        scrub.apply(&mut segments);
    }
    let missing = (block.end - from.max(block.start)).saturating_sub(segments.len() as u64);
    SegmentBatch { gap: gap(from, block.start, &block.missing, missing), segments }
}

/// What is missing for a reader that comes from an index; who it belonged to is known for whole blocks only.
fn gap(from: u64, start: u64, missing: &Missing, segments: u64) -> Option<Gap> {
    let resources = if from <= start { missing.clone() } else { Missing::new() };
    let segments = segments.max(resources.values().sum());
    (segments > 0).then_some(Gap { segments, resources })
}

impl LogStore {
    /// Blocks as they are now, oldest first, each with how it must be read.
    pub(super) fn snapshot(&self, from: Checkpoint) -> Snapshot {
        let state = self.inner.lock();
        let at = state.blocks.partition_point(|it| it.end <= from.0);
        let block = |it: &Arc<Block>| (Arc::clone(it), state.late_scrub(it.scrubbed));
        Snapshot {
            from: from.0,
            blocks: state.blocks.range(at..).map(block).collect(),
            tail: state.tail.segments_from(from.0),
            end: Checkpoint(state.next()),
        }
    }
}

/// What the log held at one moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    from: u64,
    blocks: Vec<(Arc<Block>, Option<LateScrub>)>,
    tail: Vec<Segment>,
    /// The index after the last segment.
    pub(super) end: Checkpoint,
}

impl Snapshot {
    /// The newest batches of segments, of about so many bytes, in order.
    pub(super) fn newest(mut self, bytes: usize) -> impl Iterator<Item = Vec<Segment>> {
        let mut left = bytes;
        let mut fits = |(block, _): &(Arc<Block>, _)| {
            left = left.saturating_sub(block.len());
            left > 0
        };
        let count = self.blocks.iter().rev().take_while(|it| fits(it)).count();
        self.blocks.drain(..self.blocks.len() - count);
        let Self { from, blocks, tail, .. } = self;
        let read = move |(block, scrub): (Arc<Block>, Option<LateScrub>)| {
            read(&block, scrub.as_ref(), from).segments
        };
        blocks.into_iter().map(read).chain([tail])
    }

    /// Batches of segments, newest batch first; within a batch the order is that of the log.
    pub(super) fn backwards(self) -> impl Iterator<Item = Vec<Segment>> {
        let Self { from, blocks, tail, .. } = self;
        let older = blocks.into_iter().rev();
        std::iter::once(tail)
            .chain(older.map(move |(block, scrub)| read(&block, scrub.as_ref(), from).segments))
    }
}
