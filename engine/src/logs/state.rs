//! What the log holds, behind its lock: how text becomes segments, and when there is too much of them.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    mem,
    sync::{Arc, Weak},
    time::{Duration, Instant, SystemTime},
};

use engine_api::log::{Fields, Level, Span, micros};

use super::{
    Options, Segment,
    block::{Block, Builder, Data, Head, MAX_TEXT},
    fair::{self, Compacted, Totals},
    scrub::Scrubber,
    spill::{Slot, Spill},
};

/// How long the possible beginning of a secret is held back: a few bytes are mostly something else.
const HOLD_FEW: Duration = Duration::from_millis(30);
const HOLD: Duration = Duration::from_secs(2);
/// Fewer bytes are few.
const FEW: usize = 4;
/// Warnings remembered of one span.
const MAX_WARNINGS: usize = 100;

/// Notes that are remembered for terminals that show the log later.
const MAX_NOTES: usize = 16;

/// How many blocks are looked at in one go when room is made: what survives of them stays in memory for a moment.
const EVICT_BLOCKS: usize = 64;

/// Something to log.
#[derive(Debug)]
pub(super) struct Message<'m> {
    pub(super) span: &'m Arc<Span>,
    pub(super) time: SystemTime,
    pub(super) level: Level,
    pub(super) fields: &'m Fields,
    pub(super) text: &'m str,
}

/// Text that may contain the beginning of a secret.
#[derive(Debug)]
struct Held {
    span: Arc<Span>,
    time: SystemTime,
    level: Level,
    fields: Fields,
    text: String,
    /// Whether it begins where a message began.
    begins: bool,
    since: Instant,
}

impl Held {
    fn until(&self) -> Instant {
        self.since + if self.text.len() < FEW { HOLD_FEW } else { HOLD }
    }
}

/// A text that a terminal shows after a segment. It is no part of the log, and nobody else sees it.
#[derive(Clone, Debug)]
pub(super) struct Note {
    /// The index of the segment.
    pub(super) after: u64,
    /// The text, with its newline.
    pub(super) text: Arc<str>,
}

/// Everything the log holds.
#[derive(Debug)]
pub(super) struct LogState {
    memory_limit: usize,
    /// Where blocks go that do not fit into memory.
    pub(super) spill: Option<Arc<Spill>>,
    pub(super) blocks: VecDeque<Arc<Block>>,
    pub(super) tail: Builder,
    totals: Totals,
    /// Bytes of finished blocks in memory.
    memory: usize,
    /// Whether the disk took nothing for so long that nobody waits for it.
    is_stalled: bool,
    spans: HashMap<Box<str>, Weak<Span>>,
    warnings: HashMap<Arc<Span>, Vec<String>>,
    next: u64,
    /// For each time that secrets became known: since when they may have been written.
    epochs: Vec<u64>,
    scrubber: Arc<Scrubber>,
    held: Vec<Held>,
    notes: VecDeque<Note>,
}

impl LogState {
    pub(super) fn new(options: &Options, spill: Option<Arc<Spill>>) -> Self {
        Self {
            memory_limit: options.memory_bytes,
            spill,
            blocks: VecDeque::new(),
            tail: Builder::default(),
            totals: Totals::new(),
            memory: 0,
            is_stalled: false,
            spans: HashMap::new(),
            warnings: HashMap::new(),
            next: 0,
            epochs: Vec::new(),
            scrubber: Arc::default(),
            held: Vec::new(),
            notes: VecDeque::new(),
        }
    }

    /// Adds a message, and what a terminal shows after it.
    pub(super) fn append_noted(&mut self, message: &Message<'_>, note: &str) {
        self.append(message);
        self.release_span(message.span);
        if self.notes.len() == MAX_NOTES {
            self.notes.pop_front();
        }
        self.notes.push_back(Note { after: self.next.saturating_sub(1), text: note.into() });
    }

    /// The notes after a segment and after later ones.
    pub(super) fn notes_from(&self, index: u64) -> Vec<Note> {
        self.notes.iter().filter(|it| it.after >= index).cloned().collect()
    }

    /// The index of the next segment.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn scrubber(&self) -> &Arc<Scrubber> {
        &self.scrubber
    }

    /// The span with an id. The first writer decides to which resource it belongs.
    pub(super) fn span(&mut self, resource: &str, id: &str) -> Arc<Span> {
        let id = match (id, resource) {
            ("", "") => Cow::Borrowed(""),
            ("", resource) => Cow::Owned(format!("unknown:{resource}")),
            (id, _) => Cow::Borrowed(id),
        };
        if let Some(span) = self.spans.get(id.as_ref()).and_then(Weak::upgrade) {
            return span;
        }
        let resource = match self.totals.get_key_value(resource) {
            Some((known, _)) => Arc::clone(known),
            None => resource.into(),
        };
        let span = Arc::new(Span { id: id.as_ref().into(), resource });
        self.spans.insert(id.into_owned().into(), Arc::downgrade(&span));
        span
    }

    /// The warnings of a span that is still known.
    pub(super) fn warnings(&self, id: &str) -> Vec<String> {
        let span = self.spans.get(id).and_then(Weak::upgrade);
        let warnings = span.and_then(|it| self.warnings.get(&it)).map_or(&[][..], Vec::as_slice);
        warnings.iter().map(|it| self.scrubber.scrub(it).into_owned()).collect()
    }

    /// Adds a message.
    pub(super) fn append(&mut self, message: &Message<'_>) {
        if self.scrubber.is_empty() {
            self.store(message, true);
            return;
        }
        let before = self.take_held(message);
        let begins = before.as_ref().is_none_or(|it| it.begins);
        let text = match &before {
            Some(held) => Cow::Owned(held.text.clone() + message.text),
            None => Cow::Borrowed(message.text),
        };
        let scrubber = Arc::clone(&self.scrubber);
        let (clean, cut) = scrubber.scrub_finished(&text);
        self.store(&Message { text: &clean, ..*message }, begins);
        if cut < text.len() {
            self.held.push(Held {
                span: Arc::clone(message.span),
                time: message.time,
                level: message.level,
                fields: message.fields.clone(),
                text: text[cut..].to_owned(),
                begins: begins && cut == 0,
                since: before.filter(|_| cut == 0).map_or_else(Instant::now, |it| it.since),
            });
        }
    }

    /// The held text that a message continues. Other held text of the span is stored, so that its order stays.
    fn take_held(&mut self, message: &Message<'_>) -> Option<Held> {
        let at = self.held.iter().position(|it| Arc::ptr_eq(&it.span, message.span))?;
        let held = self.held.remove(at);
        if held.level == message.level && held.fields == *message.fields {
            return Some(held);
        }
        self.release(&held);
        None
    }

    fn release(&mut self, held: &Held) {
        let scrubber = Arc::clone(&self.scrubber);
        let Held { ref span, time, level, ref fields, ref text, begins, .. } = *held;
        self.store(&Message { span, time, level, fields, text: &scrubber.scrub(text) }, begins);
    }

    /// Stores text that was held long enough, and returns when to look again.
    pub(super) fn release_due(&mut self, now: Instant) -> Option<Instant> {
        self.release_if(|it| it.until() <= now);
        self.held.iter().map(Held::until).min()
    }

    /// Stores the text that is held of a span.
    pub(super) fn release_span(&mut self, span: &Arc<Span>) {
        self.release_if(|it| Arc::ptr_eq(&it.span, span));
    }

    /// Stores all text that is held.
    pub(super) fn release_all(&mut self) {
        self.release_if(|_| true);
    }

    fn release_if(&mut self, is_due: impl Fn(&Held) -> bool) {
        let due: Vec<Held> = self.held.extract_if(.., |it| is_due(it)).collect();
        for held in &due {
            self.release(held);
        }
    }

    /// Whether something is held back.
    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    fn store(&mut self, message: &Message<'_>, begins: bool) {
        if message.text.is_empty() {
            return;
        }
        if message.level == Level::Warn {
            self.remember_warning(message, begins);
        }
        let mut anchor = begins && message.level >= Level::Warn;
        for line in message.text.split_inclusive('\n') {
            let mut rest = line;
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(rest.floor_char_boundary(MAX_TEXT));
                self.push(message, mem::take(&mut anchor), piece);
                rest = after;
            }
        }
    }

    fn push(&mut self, message: &Message<'_>, anchor: bool, text: &str) {
        if !self.tail.has_room() {
            self.seal();
        }
        let head = Head {
            index: self.next,
            micros: micros(message.time),
            level: message.level,
            anchor,
            fields: message.fields,
        };
        self.tail.push(message.span, &head, text);
        self.next += 1;
    }

    fn remember_warning(&mut self, message: &Message<'_>, begins: bool) {
        let warnings = self.warnings.entry(Arc::clone(message.span)).or_default();
        let count = warnings.len();
        match warnings.last_mut() {
            Some(last) if !begins => last.push_str(message.text),
            _ if count < MAX_WARNINGS => warnings.push(message.text.to_owned()),
            _ => {}
        }
    }

    /// Finishes the block that is being filled.
    fn seal(&mut self) {
        let scrubbed = self.scrubbed();
        let Some(block) = mem::take(&mut self.tail).finish(scrubbed) else { return };
        for share in &block.shares {
            *self.totals.entry(Arc::clone(&share.span.resource)).or_default() += share.bytes;
        }
        self.memory += block.len();
        self.blocks.push_back(Arc::new(block));
        if self.memory > self.hard_limit() {
            self.shrink_memory();
        }
    }

    /// Whether blocks wait for the disk.
    pub(super) fn wants_to_spill(&self) -> bool {
        self.spill.is_some() && self.memory > self.memory_limit
    }

    /// Whether those who can wait should do so until blocks have gone to disk.
    pub(super) fn is_crowded(&self) -> bool {
        self.spill.is_some() && self.memory > self.memory_limit * 2 && !self.is_stalled
    }

    /// Notes that the disk takes nothing; that is forgotten with the next block it takes.
    pub(super) fn disk_stalls(&mut self) {
        self.is_stalled = true;
    }

    /// Above this, segments are dropped: without a disk at once, otherwise when those write who cannot wait, or the
    /// disk is stalled.
    fn hard_limit(&self) -> usize {
        if self.spill.is_some() { self.memory_limit * 4 } else { self.memory_limit }
    }

    fn shrink_memory(&mut self) {
        let on_disk = self.blocks.iter().rposition(|it| !it.in_memory()).map_or(0, |it| it + 1);
        let blocks: Vec<_> = self.blocks.range(on_disk..).cloned().collect();
        let target = (self.hard_limit() - self.hard_limit() / 8) as u64;
        let over = fair::excess(&totals(&blocks), target);
        // Blocks in memory can always be read.
        if let Ok(compacted) = fair::compact(&blocks, over) {
            self.replace(on_disk, &blocks, compacted);
        }
    }

    /// Puts other blocks in the place of some, unless these have changed meanwhile.
    pub(super) fn replace(&mut self, at: usize, old: &[Arc<Block>], new: Compacted) -> bool {
        let end = at + old.len();
        let same = self.blocks.len() >= end
            && self.blocks.range(at..end).zip(old).all(|(one, other)| Arc::ptr_eq(one, other));
        if !same {
            return false;
        }
        let rest = self.blocks.split_off(end);
        self.blocks.truncate(at);
        self.blocks.extend(new.blocks);
        let before_rest = self.blocks.len();
        self.blocks.extend(rest);
        if let Some((start, missing)) = new.missing {
            match self.blocks.get_mut(before_rest) {
                Some(block) => {
                    let block = Arc::make_mut(block);
                    block.start = start;
                    fair::add(&mut block.missing, &missing);
                }
                None => self.tail.cover(start, &missing),
            }
        }
        self.count();
        true
    }

    /// Counts again what is there, and forgets spans that nothing belongs to.
    pub(super) fn count(&mut self) {
        self.totals = totals(self.blocks.iter());
        self.memory = self.blocks.iter().filter(|it| it.in_memory()).map(|it| it.len()).sum();
        // The key of the map is one owner.
        self.warnings.retain(|span, _| Arc::strong_count(span) > 1);
        self.spans.retain(|_, span| span.strong_count() > 0);
    }

    /// The oldest block in memory.
    pub(super) fn to_spill(&self) -> Option<Arc<Block>> {
        self.blocks.iter().find(|it| it.in_memory()).cloned()
    }

    /// Notes that a block is on disk now, unless it is gone.
    pub(super) fn spilled(&mut self, block: &Arc<Block>, slot: Slot) {
        self.is_stalled = false;
        let Some(place) = self.blocks.iter_mut().find(|it| Arc::ptr_eq(it, block)) else { return };
        self.memory -= block.len();
        *place = Arc::new(Block { data: Data::Disk(Arc::new(slot)), ..Block::clone(block) });
    }

    /// The oldest blocks of those that take too much, where they are, and how much must go.
    pub(super) fn to_evict(&self, bytes: u64) -> Option<(usize, Vec<Arc<Block>>, Totals)> {
        let all: u64 = self.totals.values().sum();
        let over = fair::excess(&self.totals, all.saturating_sub(bytes));
        let has_some =
            |it: &Arc<Block>| it.shares.iter().any(|it| over.contains_key(&it.span.resource));
        // The block before them may be what was left of others, with room for more.
        let at = self.blocks.iter().position(has_some)?.saturating_sub(1);
        let blocks = self.blocks.iter().skip(at).take(EVICT_BLOCKS).cloned().collect();
        Some((at, blocks, over))
    }

    /// Bytes of finished blocks, wherever they are.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> (usize, usize) {
        (self.memory, self.blocks.iter().map(|it| it.len()).sum())
    }

    /// From now on nobody sees these secrets, nor in what was written since.
    pub(super) fn add_secrets(&mut self, scrubber: Scrubber, since: SystemTime) {
        self.seal();
        self.scrubber = Arc::new(scrubber);
        self.epochs.push(micros(since));
    }

    fn scrubbed(&self) -> u32 {
        u32::try_from(self.epochs.len()).unwrap_or(u32::MAX)
    }

    /// Removes what became a secret after a block was written.
    pub(super) fn late_scrub(&self, scrubbed: u32) -> Option<LateScrub> {
        let since = *self.epochs.get(scrubbed as usize..)?.iter().min()?;
        Some(LateScrub { since, scrubber: Arc::clone(&self.scrubber) })
    }
}

/// Scrubs segments that were stored before their secrets were known.
#[derive(Debug)]
pub(super) struct LateScrub {
    since: u64,
    scrubber: Arc<Scrubber>,
}

impl LateScrub {
    pub(super) fn apply(&self, segments: &mut [Segment]) {
        for segment in segments.iter_mut().filter(|it| it.micros >= self.since) {
            if let Cow::Owned(clean) = self.scrubber.scrub(&segment.text) {
                segment.text = clean.into();
            }
        }
    }
}

fn totals<'b>(blocks: impl IntoIterator<Item = &'b Arc<Block>>) -> Totals {
    let mut totals = Totals::new();
    for share in blocks.into_iter().flat_map(|it| &it.shares) {
        *totals.entry(Arc::clone(&share.span.resource)).or_default() += share.bytes;
    }
    totals
}
