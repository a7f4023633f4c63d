//! Which segments go when there is no more room: the oldest ones of the resources that take more than their share.

use std::{
    collections::{BTreeSet, HashMap},
    io, mem,
    sync::Arc,
};

use super::{
    Segment,
    block::{BLOCK, Block, Builder, Head, Missing, Share, segments},
};

/// How many bytes each resource takes.
pub(super) type Totals = HashMap<Arc<str>, u64>;

/// How much each resource must give up so that all together fit: those that take little lose nothing, and the
/// others end up with equal shares.
pub(super) fn excess(totals: &Totals, target: u64) -> Totals {
    let mut sizes: Vec<u64> = totals.values().copied().collect();
    sizes.sort_unstable();
    let mut left = target;
    let mut cap = u64::MAX;
    for (done, &size) in sizes.iter().enumerate() {
        let share = left / (sizes.len() - done) as u64;
        if size > share {
            cap = share;
            break;
        }
        left -= size;
    }
    let over =
        |(name, &size): (&Arc<str>, &u64)| (size > cap).then(|| (Arc::clone(name), size - cap));
    totals.iter().filter_map(over).collect()
}

/// Blocks after some of their segments were dropped.
#[derive(Debug, Default)]
pub(super) struct Compacted {
    pub(super) blocks: Vec<Arc<Block>>,
    /// What was dropped after the last of them, and the first index of it.
    pub(super) missing: Option<(u64, Missing)>,
}

/// Drops the excess from blocks, oldest first. Blocks that lose nothing are kept as they are.
pub(super) fn compact(blocks: &[Arc<Block>], mut excess: Totals) -> io::Result<Compacted> {
    let mut pass = Pass::default();
    for (at, block) in blocks.iter().enumerate() {
        if excess.is_empty() {
            pass.keep_rest(&blocks[at..]);
            break;
        }
        let dropped: BTreeSet<&Arc<str>> = block
            .shares
            .iter()
            .map(|it| &it.span.resource)
            .filter(|it| excess.contains_key(*it))
            .collect();
        if dropped.is_empty() && !pass.should_merge(block) {
            pass.keep(block);
            continue;
        }
        pass.rewrite(block, &dropped)?;
        for share in block.shares.iter().filter(|it| dropped.contains(&it.span.resource)) {
            pay(&mut excess, &share.span.resource, share.bytes);
        }
    }
    Ok(pass.finish())
}

fn pay(excess: &mut Totals, resource: &Arc<str>, bytes: u64) {
    if let Some(left) = excess.get_mut(resource) {
        *left = left.saturating_sub(bytes);
        if *left == 0 {
            excess.remove(resource);
        }
    }
}

#[derive(Debug, Default)]
struct Pass {
    done: Vec<Arc<Block>>,
    /// What survived of neighboring blocks, to be one block together.
    survivors: Builder,
    scrubbed: u32,
    /// What is missing since the last survivor, and its first index.
    missing: Option<(u64, Missing)>,
}

impl Pass {
    /// Small blocks next to each other would waste room.
    fn should_merge(&self, block: &Block) -> bool {
        let fits = self.survivors.len() + block.len() <= BLOCK;
        block.len() <= BLOCK / 2 || (fits && !self.survivors.is_empty())
    }

    fn keep(&mut self, block: &Arc<Block>) {
        self.flush();
        match self.missing.take() {
            None => self.done.push(Arc::clone(block)),
            Some((start, missing)) => {
                let mut block = Block::clone(block);
                block.start = start;
                add(&mut block.missing, &missing);
                self.done.push(Arc::new(block));
            }
        }
    }

    fn keep_rest(&mut self, blocks: &[Arc<Block>]) {
        if let Some((first, rest)) = blocks.split_first() {
            self.keep(first);
            self.done.extend_from_slice(rest);
        }
    }

    fn rewrite(&mut self, block: &Block, dropped: &BTreeSet<&Arc<str>>) -> io::Result<()> {
        let is_dropped = |it: &Share| dropped.contains(&it.span.resource);
        let (_, missing) = self.missing.get_or_insert_with(|| (block.start, Missing::new()));
        add(missing, &block.missing);
        for share in block.shares.iter().filter(|it| is_dropped(it)) {
            *missing.entry(Arc::clone(&share.span.resource)).or_default() += share.segments;
        }
        if block.shares.iter().all(is_dropped) {
            return Ok(());
        }
        // What survives of a block stays together, so that what is missing in it is known to belong there.
        let kept: u64 = block.shares.iter().filter(|it| !is_dropped(it)).map(|it| it.bytes).sum();
        if self.survivors.len() as u64 + kept > BLOCK as u64 {
            self.flush();
        }
        self.cover(block);
        let bytes = block.load()?;
        for segment in segments(&bytes, &block.shares) {
            if !dropped.contains(&segment.span.resource) {
                let Segment { index, micros, level, anchor, ref fields, .. } = segment;
                let head = Head { index, micros, level, anchor, fields };
                self.survivors.push(&segment.span, &head, &segment.text);
            }
        }
        self.survivors.cover_to(block.end);
        Ok(())
    }

    fn cover(&mut self, block: &Block) {
        let first = self.survivors.is_empty();
        // Text that was scrubbed already is not changed by scrubbing it again.
        self.scrubbed = if first { block.scrubbed } else { self.scrubbed.min(block.scrubbed) };
        if let Some((start, missing)) = self.missing.take() {
            self.survivors.cover(start, &missing);
        }
    }

    fn flush(&mut self) {
        let block = mem::take(&mut self.survivors).finish(self.scrubbed);
        self.done.extend(block.map(Arc::new));
    }

    fn finish(mut self) -> Compacted {
        self.flush();
        Compacted { blocks: self.done, missing: self.missing }
    }
}

pub(super) fn add(missing: &mut Missing, more: &Missing) {
    for (resource, segments) in more {
        *missing.entry(Arc::clone(resource)).or_default() += segments;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn totals(sizes: &[u64]) -> Totals {
        sizes.iter().enumerate().map(|(at, &size)| (at.to_string().into(), size)).collect()
    }

    #[test]
    fn a_flood_pays_for_itself() {
        let over = excess(&totals(&[5, 1000, 10]), 500);
        assert_eq!(over.into_iter().collect::<Vec<_>>(), [("1".into(), 515)]);
    }

    #[test]
    fn two_floods_share_what_the_others_leave() {
        let mut over: Vec<_> = excess(&totals(&[100, 1000, 2000]), 500).into_iter().collect();
        over.sort();
        assert_eq!(over, [("1".into(), 800), ("2".into(), 1800)]);
    }

    #[test]
    fn nothing_goes_while_there_is_room() {
        assert!(excess(&totals(&[100, 200]), 300).is_empty());
        assert!(excess(&Totals::new(), 0).is_empty());
    }

    proptest! {
        #[test]
        fn what_is_left_fits_and_is_not_less_than_it_must_be(
            sizes in prop::collection::vec(0u64..1000, 1..8), target in 0u64..3000,
        ) {
            let totals = totals(&sizes);
            let over = excess(&totals, target);
            let before: u64 = sizes.iter().sum();
            let after = before - over.values().sum::<u64>();
            prop_assert!(after <= target.max(before.min(target)));
            // Rounding loses less than one byte for each resource.
            prop_assert!(after + sizes.len() as u64 > before.min(target));
        }
    }
}
