//! Tells the engine what there is: each entry with its number, kind, mode, size and time.

use std::{
    collections::HashMap,
    ops::ControlFlow,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileTypeExt, MetadataExt},
    },
    sync::Arc,
    time::SystemTime,
};

use bollard_buildkit_proto::fsutil::types::packet::PacketType;
use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use super::{
    Batch, Content, Offered, SharedLease, packet,
    wire::{Packet, Stat},
};
use crate::{
    context::{
        BuildContext,
        archive::device_numbers,
        fingerprint::Seen,
        walk::{Entry, Kind, Select},
    },
    session::{memory::Lease, select::Selection, status},
};

/// Entries that are sent at once.
const BATCH: usize = 128;

/// Tells what there is.
pub(super) enum Sender {
    Context { context: Arc<BuildContext>, selection: Selection, lease: SharedLease },
    Memory { files: Arc<Vec<(&'static str, Bytes)>>, selection: Selection },
}

impl Sender {
    /// Notes that something is about to be sent, if that is remembered.
    pub(super) fn begin(&self) -> Option<SharedLease> {
        let Self::Context { lease, .. } = self else { return None };
        lease.with(Lease::begin);
        Some(lease.clone())
    }

    /// Lists everything; gives the number of entries, if all of them were listed.
    pub(super) fn list(self, offered: &Offered, batches: &mpsc::Sender<Batch>) -> Option<usize> {
        let mut list = List { offered, batches, next: 0, batch: Vec::new() };
        match self {
            Self::Memory { files, selection } => {
                for (name, text) in files.iter() {
                    if selection.file(name.as_ref()) {
                        let content = Content::InMemory(text.clone());
                        list.add(memory_stat(name, text), Some(content)).continue_value()?;
                    }
                }
            }
            Self::Context { context, selection, lease } => {
                let mut listing = Listing { lease: &lease, links: HashMap::new() };
                let mut visit = |entry: Entry| listing.add(entry, &mut list);
                if let Err(error) = context.walk(&selection, &mut visit) {
                    let _ = list.batches.blocking_send(Err(status(&error)));
                    return None;
                }
            }
        }
        list.finish()
    }
}

/// Numbers entries and sends them in batches.
struct List<'a> {
    offered: &'a Offered,
    batches: &'a mpsc::Sender<Batch>,
    next: u32,
    batch: Vec<Packet>,
}

impl List<'_> {
    fn add(&mut self, stat: Stat, content: Option<Content>) -> ControlFlow<()> {
        if let Some(content) = content {
            self.offered.add(self.next, content);
        }
        self.next += 1;
        let kind = PacketType::PacketStat.into();
        self.batch.push(Packet { r#type: kind, stat: Some(stat), id: 0, data: Vec::new() });
        if self.batch.len() < BATCH || self.flush() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    /// Says that this was all, and how much; `None` if nobody listens.
    fn finish(mut self) -> Option<usize> {
        self.batch.push(packet(PacketType::PacketStat, 0, Vec::new()));
        let count = usize::try_from(self.next).ok()?;
        self.flush().then_some(count)
    }

    fn flush(&mut self) -> bool {
        self.batches.blocking_send(Ok(std::mem::take(&mut self.batch))).is_ok()
    }
}

/// One walk over a context.
struct Listing<'a> {
    lease: &'a SharedLease,
    /// The first name of files that have several.
    links: HashMap<(u64, u64), Vec<u8>>,
}

impl Listing<'_> {
    fn add(&mut self, entry: Entry, list: &mut List<'_>) -> ControlFlow<()> {
        let mut stat = stat_of(&entry);
        if matches!(entry.kind, Kind::File) {
            let seen = Seen::new(&entry.metadata);
            let shift = self.lease.with(|it| it.shift(&entry.path, seen, SystemTime::now()));
            stat.mod_time = stat.mod_time.saturating_add(shift);
        }
        if matches!(entry.kind, Kind::File) && entry.metadata.nlink() > 1 {
            let inode = (entry.metadata.dev(), entry.metadata.ino());
            if let Some(first) = self.links.get(&inode) {
                first.clone_into(&mut stat.linkname);
                stat.size = 0;
                return list.add(stat, None);
            }
            self.links.insert(inode, stat.path.clone());
        }
        let is_file = matches!(entry.kind, Kind::File) || entry.is_socket();
        list.add(stat, is_file.then_some(Content::OnDisk(entry.full)))
    }
}

fn stat_of(entry: &Entry) -> Stat {
    let metadata = &entry.metadata;
    let mut stat = Stat {
        path: entry.path.as_os_str().as_bytes().to_vec(),
        mode: go_mode(metadata),
        mod_time: metadata.mtime().saturating_mul(1_000_000_000) + metadata.mtime_nsec(),
        ..Stat::default()
    };
    if !metadata.is_dir() {
        stat.size = i64::try_from(metadata.len()).unwrap_or(i64::MAX);
    }
    match &entry.kind {
        Kind::Symlink(target) => stat.linkname = target.as_os_str().as_bytes().to_vec(),
        Kind::Special => {
            let (major, minor) = device_numbers(metadata.rdev());
            stat.devmajor = i64::try_from(major).unwrap_or(0);
            stat.devminor = i64::try_from(minor).unwrap_or(0);
        }
        Kind::File | Kind::Directory => {}
    }
    stat
}

/// The mode of a file as Go writes it, sockets as plain files.
fn go_mode(metadata: &std::fs::Metadata) -> u32 {
    let unix = metadata.mode();
    let of = metadata.file_type();
    let mut mode = unix & 0o777;
    for (is_set, bit) in [
        (of.is_dir(), 31),
        (of.is_symlink(), 27),
        (of.is_block_device() || of.is_char_device(), 26),
        (of.is_fifo(), 25),
        (unix & 0o4000 != 0, 23),
        (unix & 0o2000 != 0, 22),
        (of.is_char_device(), 21),
        (unix & 0o1000 != 0, 20),
    ] {
        if is_set {
            mode |= 1 << bit;
        }
    }
    mode
}

/// A file in memory; its time is made of its content, so that the engine notices every change.
fn memory_stat(name: &str, text: &[u8]) -> Stat {
    let digest = Sha256::digest(text);
    let word = digest.iter().take(7).fold(0, |word, &byte| (word << 8) | i64::from(byte));
    Stat {
        path: name.as_bytes().to_vec(),
        mode: 0o644,
        size: i64::try_from(text.len()).unwrap_or(i64::MAX),
        mod_time: word,
        ..Stat::default()
    }
}
