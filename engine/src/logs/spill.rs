//! Blocks on disk: a file without a name, of slots of one size that are used again and again.
//!
//! The file is gone when the engine is, however it ends, and nobody else can open it.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use super::block::BLOCK;

/// A file of slots.
#[derive(Debug)]
pub(super) struct Spill {
    file: File,
    limit: u64,
    slots: Mutex<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    free: Vec<u64>,
    made: u64,
}

/// Bytes in the file; the place is free again when nobody can read them anymore.
#[derive(Debug)]
pub(super) struct Slot {
    spill: Arc<Spill>,
    number: u64,
    len: usize,
}

impl Spill {
    /// A file in a folder, that holds at most so many bytes.
    pub(super) fn create(dir: &Path, bytes: u64) -> io::Result<Arc<Self>> {
        let file = tempfile::tempfile_in(dir)?;
        let limit = (bytes / BLOCK as u64).max(1);
        Ok(Arc::new(Self { file, limit, slots: Mutex::default() }))
    }

    /// Writes bytes, at most as many as a block has; nothing if all places are taken.
    pub(super) fn write(self: &Arc<Self>, bytes: &[u8]) -> io::Result<Option<Slot>> {
        let Some(number) = self.take() else { return Ok(None) };
        // Whatever happens, dropping the slot gives the place back.
        let slot = Slot { spill: Arc::clone(self), number, len: bytes.len() };
        self.file.write_all_at(bytes, slot.offset())?;
        Ok(Some(slot))
    }

    /// How many blocks fit altogether.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// How many more blocks fit.
    pub(super) fn room(&self) -> u64 {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.free.len() as u64 + (self.limit - slots.made)
    }

    fn take(&self) -> Option<u64> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = slots.free.pop() {
            return Some(number);
        }
        (slots.made < self.limit).then(|| {
            slots.made += 1;
            slots.made - 1
        })
    }
}

impl Slot {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.len];
        self.spill.file.read_exact_at(&mut bytes, self.offset())?;
        Ok(bytes)
    }

    fn offset(&self) -> u64 {
        self.number * BLOCK as u64
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.spill.slots.lock().unwrap_or_else(PoisonError::into_inner).free.push(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_used_again() {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::create(dir.path(), 2 * BLOCK as u64).unwrap();
        let one = spill.write(b"one").unwrap().unwrap();
        let two = spill.write(b"two").unwrap().unwrap();
        assert!(spill.write(b"three").unwrap().is_none());
        assert_eq!((one.read().unwrap(), two.read().unwrap()), (b"one".into(), b"two".into()));
        drop(one);
        assert_eq!(spill.room(), 1);
        let three = spill.write(b"three").unwrap().unwrap();
        assert_eq!((three.read().unwrap(), two.read().unwrap()), (b"three".into(), b"two".into()));
    }

    #[test]
    fn the_file_has_no_name() {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::create(dir.path(), 1).unwrap();
        let _slot = spill.write(b"secret").unwrap();
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    }
}
