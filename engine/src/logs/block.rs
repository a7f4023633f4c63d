//! How segments are kept: packed into blocks of a fixed size, which stay in memory or move to disk as they are.

use std::{collections::BTreeMap, io, sync::Arc};

use bytes::Bytes;
use engine_api::log::{BuildEvent, Fields, Level, Segment, Span};

use super::{fair, spill::Slot};

/// The most bytes a block holds.
pub(super) const BLOCK: usize = 64 * 1024;
/// The longest text of a segment; longer ones are cut into several.
pub(super) const MAX_TEXT: usize = 16 * 1024;
/// The longest progress id; what is longer is cut.
const MAX_PROGRESS_ID: usize = 1024;
/// Bytes in front of the texts of a segment.
const HEADER: usize = 28;

const ANCHOR: u8 = 1;
const MUST_PRINT: u8 = 2;
const INIT: u8 = 4;
const FALLBACK: u8 = 8;
const PROGRESS: u8 = 16;

/// How much of a block belongs to a span.
#[derive(Clone, Debug)]
pub(super) struct Share {
    pub(super) span: Arc<Span>,
    pub(super) segments: u64,
    pub(super) bytes: u64,
}

/// Segments that are not kept anymore, counted by resource.
pub(super) type Missing = BTreeMap<Arc<str>, u64>;

/// Segments in order, which do not change anymore.
///
/// All blocks together stand for all indices, without holes: what is missing of a block's range is counted in it.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// The first index that the block stands for, of a segment that is here or missing.
    pub(super) start: u64,
    /// The index after the last one that the block stands for.
    pub(super) end: u64,
    /// The time of the newest segment.
    pub(super) newest: u64,
    /// Up to which set of secrets the text has been scrubbed.
    pub(super) scrubbed: u32,
    pub(super) shares: Vec<Share>,
    /// What was dropped between `start` and `end`.
    pub(super) missing: Missing,
    pub(super) data: Data,
}

/// Where the bytes of a block are.
#[derive(Clone, Debug)]
pub(super) enum Data {
    Memory(Bytes),
    Disk(Arc<Slot>),
}

impl Block {
    /// Bytes of all its segments.
    pub(super) fn len(&self) -> usize {
        match &self.data {
            Data::Memory(bytes) => bytes.len(),
            Data::Disk(slot) => slot.len(),
        }
    }

    pub(super) fn in_memory(&self) -> bool {
        matches!(self.data, Data::Memory(_))
    }

    /// The bytes, read from disk if they are there.
    pub(super) fn load(&self) -> io::Result<Bytes> {
        match &self.data {
            Data::Memory(bytes) => Ok(bytes.clone()),
            Data::Disk(slot) => slot.read().map(Bytes::from),
        }
    }
}

/// A block that is being filled.
#[derive(Debug, Default)]
pub(super) struct Builder {
    data: Vec<u8>,
    /// Where each segment begins.
    offsets: Vec<u32>,
    shares: Vec<Share>,
    start: Option<u64>,
    end: u64,
    newest: u64,
    pub(super) missing: Missing,
}

/// Everything of a segment but its text.
#[derive(Debug)]
pub(super) struct Head<'h> {
    pub(super) index: u64,
    pub(super) micros: u64,
    pub(super) level: Level,
    pub(super) anchor: bool,
    pub(super) fields: &'h Fields,
}

impl Builder {
    pub(super) fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.data.len()
    }

    /// Notes what is missing from an index on.
    pub(super) fn cover(&mut self, start: u64, missing: &Missing) {
        self.start = Some(self.start.map_or(start, |it| it.min(start)));
        fair::add(&mut self.missing, missing);
    }

    /// Notes that what is missing before an index is accounted for.
    pub(super) fn cover_to(&mut self, end: u64) {
        self.end = self.end.max(end);
    }

    pub(super) fn start(&self) -> Option<u64> {
        self.start
    }

    /// Whether there is room for one more segment of any size.
    pub(super) fn has_room(&self) -> bool {
        self.data.len() + HEADER + MAX_PROGRESS_ID + MAX_TEXT <= BLOCK
    }

    /// Adds a segment; its text must not be longer than [`MAX_TEXT`].
    pub(super) fn push(&mut self, span: &Arc<Span>, head: &Head<'_>, text: &str) {
        let progress = progress_id(head.fields);
        let progress_len = u16::try_from(progress.len()).expect("a progress id is cut");
        let before = self.data.len();
        let number = self.share(span);
        self.offsets.push(small(before));
        self.data.extend_from_slice(&head.index.to_le_bytes());
        self.data.extend_from_slice(&head.micros.to_le_bytes());
        self.data.extend_from_slice(&small(number).to_le_bytes());
        self.data.extend_from_slice(&small(text.len()).to_le_bytes());
        self.data.extend_from_slice(&[head.level as u8, flags(head)]);
        self.data.extend_from_slice(&progress_len.to_le_bytes());
        self.data.extend_from_slice(progress.as_bytes());
        self.data.extend_from_slice(text.as_bytes());
        let share = &mut self.shares[number];
        share.segments += 1;
        share.bytes += (self.data.len() - before) as u64;
        self.start.get_or_insert(head.index);
        self.end = head.index + 1;
        self.newest = self.newest.max(head.micros);
    }

    fn share(&mut self, span: &Arc<Span>) -> usize {
        // The writer that wrote last mostly writes again.
        let known = self.shares.iter().rposition(|it| Arc::ptr_eq(&it.span, span));
        known.unwrap_or_else(|| {
            self.shares.push(Share { span: Arc::clone(span), segments: 0, bytes: 0 });
            self.shares.len() - 1
        })
    }

    /// The finished block; nothing if there is no segment.
    pub(super) fn finish(mut self, scrubbed: u32) -> Option<Block> {
        if self.data.is_empty() {
            return None;
        }
        self.data.shrink_to_fit();
        Some(Block {
            start: self.start?,
            end: self.end,
            newest: self.newest,
            scrubbed,
            shares: self.shares,
            missing: self.missing,
            data: Data::Memory(Bytes::from(self.data)),
        })
    }

    /// The segments from an index on, which must be contiguous.
    pub(super) fn segments_from(&self, index: u64) -> Vec<Segment> {
        let first = self.end - self.offsets.len() as u64;
        let skip = usize::try_from(index.saturating_sub(first)).unwrap_or(usize::MAX);
        let Some(&offset) = self.offsets.get(skip) else { return Vec::new() };
        segments(&self.data[offset as usize..], &self.shares).collect()
    }
}

/// The segments in packed bytes.
pub(super) fn segments<'d>(
    data: &'d [u8],
    shares: &'d [Share],
) -> impl Iterator<Item = Segment> + 'd {
    let mut rest = data;
    std::iter::from_fn(move || {
        let (next, after) = Raw::split(rest)?;
        rest = after;
        Some(next)
    })
    .filter_map(|it| it.segment(shares))
}

/// A packed segment.
#[derive(Debug)]
struct Raw<'d> {
    index: u64,
    micros: u64,
    span: usize,
    level: u8,
    flags: u8,
    progress: &'d [u8],
    text: &'d [u8],
}

impl<'d> Raw<'d> {
    fn split(data: &'d [u8]) -> Option<(Self, &'d [u8])> {
        let (header, rest) = data.split_first_chunk::<HEADER>()?;
        let (index, header) = header.split_first_chunk()?;
        let (micros, header) = header.split_first_chunk()?;
        let (span, header) = header.split_first_chunk()?;
        let (text_len, header) = header.split_first_chunk()?;
        let &[level, flags, low, high] = header else { return None };
        let (progress, rest) = rest.split_at_checked(u16::from_le_bytes([low, high]).into())?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*text_len) as usize)?;
        let raw = Self {
            index: u64::from_le_bytes(*index),
            micros: u64::from_le_bytes(*micros),
            span: u32::from_le_bytes(*span) as usize,
            level,
            flags,
            progress,
            text,
        };
        Some((raw, rest))
    }

    /// The segment; nothing for bytes that are none.
    fn segment(&self, shares: &[Share]) -> Option<Segment> {
        let is = |flag| self.flags & flag != 0;
        let progress = std::str::from_utf8(self.progress).ok()?;
        Some(Segment {
            index: self.index,
            span: Arc::clone(&shares.get(self.span)?.span),
            micros: self.micros,
            level: Level::from_byte(self.level),
            anchor: is(ANCHOR),
            fields: Fields {
                build_event: match (is(INIT), is(FALLBACK)) {
                    (true, _) => Some(BuildEvent::Init),
                    (_, true) => Some(BuildEvent::Fallback),
                    _ => None,
                },
                progress_id: is(PROGRESS).then(|| progress.into()),
                progress_must_print: is(MUST_PRINT),
            },
            text: std::str::from_utf8(self.text).ok()?.into(),
        })
    }
}

fn flags(head: &Head<'_>) -> u8 {
    let bit = |set: bool, flag: u8| if set { flag } else { 0 };
    bit(head.anchor, ANCHOR)
        | bit(head.fields.progress_must_print, MUST_PRINT)
        | bit(head.fields.build_event == Some(BuildEvent::Init), INIT)
        | bit(head.fields.build_event == Some(BuildEvent::Fallback), FALLBACK)
        | bit(head.fields.progress_id.is_some(), PROGRESS)
}

fn progress_id(fields: &Fields) -> &str {
    let id = fields.progress_id.as_deref().unwrap_or_default();
    &id[..id.floor_char_boundary(MAX_PROGRESS_ID)]
}

/// A number that a block's size keeps small.
fn small(number: usize) -> u32 {
    u32::try_from(number).expect("nothing in a block is larger than the block")
}
