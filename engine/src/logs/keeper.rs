//! The thread that does what writers must not wait for: moving blocks to disk, making room there, and letting go
//! of text that was held back.

use std::{
    sync::{
        Arc, Weak,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::Instant,
};

use super::{
    Inner,
    block::{BLOCK, Block, Data},
    fair,
    spill::Spill,
};

/// Which part of the disk's room is made free at a time.
const EVICT_PART: u64 = 16;

/// Starts the thread; it ends when the log is dropped.
pub(super) fn start(inner: Weak<Inner>) -> Option<SyncSender<()>> {
    // One waiting message is as good as many.
    let (sender, receiver) = sync_channel(1);
    // Without a thread the log works in memory alone.
    thread::Builder::new()
        .name("log-keeper".to_owned())
        .spawn(move || run(&receiver, &inner))
        .ok()
        .map(|_| sender)
}

fn run(wake: &Receiver<()>, inner: &Weak<Inner>) {
    let mut look_again: Option<Instant> = None;
    loop {
        let woken = match look_again {
            None => wake.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => wake.recv_timeout(at.saturating_duration_since(Instant::now())),
        };
        if woken == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        let Some(inner) = inner.upgrade() else { return };
        look_again = inner.lock().release_due(Instant::now());
        inner.changed.notify_waiters();
        inner.spill();
    }
}

impl Inner {
    /// Moves blocks to disk until the rest fits into memory.
    pub(super) fn spill(&self) {
        loop {
            let (spill, block) = {
                let state = self.lock();
                if !state.wants_to_spill() {
                    return;
                }
                let (Some(spill), Some(block)) = (state.spill.clone(), state.to_spill()) else {
                    return;
                };
                (spill, block)
            };
            if self.spill_block(&spill, &block).is_none() {
                // A disk that does not work is given up; what is on it can still be tried to read.
                self.lock().spill = None;
                self.moved.notify_waiters();
                return;
            }
            self.moved.notify_waiters();
        }
    }

    fn spill_block(&self, spill: &Arc<Spill>, block: &Arc<Block>) -> Option<()> {
        while spill.room() == 0 {
            self.make_room(spill)?;
        }
        let Data::Memory(bytes) = &block.data else { return Some(()) };
        let slot = spill.write(bytes).ok()??;
        self.lock().spilled(block, slot);
        Some(())
    }

    fn make_room(&self, spill: &Spill) -> Option<()> {
        let bytes = (spill.limit() / EVICT_PART).max(1) * BLOCK as u64;
        let (at, old, over) = self.lock().to_evict(bytes)?;
        let new = fair::compact(&old, over).ok()?;
        // If a writer dropped blocks meanwhile, there may be room now; else the caller tries again.
        self.lock().replace(at, &old, new);
        Some(())
    }
}
