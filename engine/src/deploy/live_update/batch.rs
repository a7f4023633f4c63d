//! Changed files as the messages that helpers understand: read once, handed to all containers at once.
//!
//! Content that all of the containers got before is not sent again: the helpers only confirm that it is still there.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, Read},
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use engine_docker::{Archive, FileKind};
use engine_helper::protocol::{CHUNK, Message, Request, Timestamp};
use engine_model::FilePath;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use super::sidecar::Sidecar;

/// Messages that wait for a container, in pieces of about this size.
const PIECE: usize = 128 * 1024;

/// Files up to this size are in memory while they are compared with what was sent.
const BUFFERED_MAX: u64 = 1 << 20;

/// What a container was sent for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    digest: [u8; 32],
    size: u64,
    modified: Timestamp,
}

/// What containers were sent, by path.
pub(super) type SentFiles = HashMap<PathBuf, Sent>;

/// Something for a container.
#[derive(Debug)]
pub(super) enum Piece {
    /// Messages.
    Messages(Bytes),
    /// All entries have been sent. A stream without this has broken off.
    End,
}

/// Nobody takes messages any more.
struct Gone;

/// Why a batch is not complete.
enum Stop {
    Gone,
    Unreadable(io::Error),
}

impl From<Gone> for Stop {
    fn from(Gone: Gone) -> Self {
        Self::Gone
    }
}

/// Sends deletions and then everything in the archive to all readers. Says what was sent, or what cannot be read.
pub(super) fn send(
    deletions: &[FilePath],
    archive: &Archive,
    known: &[Sidecar],
    readers: Vec<mpsc::Sender<Piece>>,
) -> io::Result<SentFiles> {
    let mut batch =
        Batch { fan: Fan { readers, buffer: Vec::new() }, known, sent: SentFiles::new() };
    match batch.send_all(deletions, archive) {
        Ok(()) | Err(Stop::Gone) => Ok(batch.sent),
        Err(Stop::Unreadable(error)) => Err(error),
    }
}

struct Batch<'a> {
    fan: Fan,
    /// Who gets it, if something is known of what all of them have.
    known: &'a [Sidecar],
    sent: SentFiles,
}

impl Batch<'_> {
    fn send_all(&mut self, deletions: &[FilePath], archive: &Archive) -> Result<(), Stop> {
        // Links anywhere in a container are its own business.
        self.fan.put(&Request::Root(b"/".to_vec()))?;
        for path in deletions {
            self.fan.put(&Request::Delete(below_root(path).as_os_str().as_bytes().to_vec()))?;
        }
        for (name, full, kind) in archive.entries() {
            self.entry(name, full, kind)?;
        }
        self.fan.end()?;
        Ok(())
    }

    fn entry(&mut self, name: &Path, full: &Path, kind: &FileKind) -> Result<(), Stop> {
        let path = name.as_os_str().as_bytes().to_vec();
        match kind {
            FileKind::Directory => {
                let Some(metadata) = there(fs::symlink_metadata(full), full)? else {
                    return Ok(());
                };
                self.fan.put(&Request::Directory { path, mode: metadata.permissions().mode() })?;
            }
            FileKind::Symlink(target) => {
                let target = target.as_os_str().as_bytes().to_vec();
                self.fan.put(&Request::Link { path, target })?;
            }
            FileKind::File => self.file(name, full)?,
            // Pipes and devices are made by whoever uses them.
            FileKind::Special => {}
        }
        Ok(())
    }

    fn file(&mut self, name: &Path, full: &Path) -> Result<(), Stop> {
        let Some(file) = there(File::open(full), full)? else { return Ok(()) };
        let metadata = file.metadata().map_err(|it| at(full, &it))?;
        let (path, mode) = (name.as_os_str().as_bytes().to_vec(), metadata.permissions().mode());
        let modified = metadata.modified().map_or_else(|_| Timestamp::default(), Timestamp::from);
        if metadata.len() > BUFFERED_MAX {
            return self.stream(&Request::File { path, mode, modified }, file, full);
        }
        let mut content = Vec::new();
        // One that grows meanwhile is read as far as it is now; the rest is another change.
        file.take(BUFFERED_MAX * 2).read_to_end(&mut content).map_err(|it| at(full, &it))?;
        let (digest, size) = (Sha256::digest(&content).into(), content.len() as u64);
        let sent = Sent { digest, size, modified };
        if let Some(was) = self.was_sent(name, &sent) {
            self.fan.put(&Request::Keep { path, mode, size, was, modified })?;
        } else {
            self.fan.put(&Request::File { path, mode, modified })?;
            for data in content.chunks(CHUNK) {
                self.fan.put(&Request::Data(data.to_vec()))?;
            }
            self.fan.put(&Request::EndOfFile)?;
        }
        self.sent.insert(name.to_owned(), sent);
        Ok(())
    }

    /// Sends a big file piece by piece.
    fn stream(&mut self, begin: &Request, mut file: File, full: &Path) -> Result<(), Stop> {
        self.fan.put(begin)?;
        let mut buffer = vec![0; CHUNK];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => self.fan.put(&Request::Data(buffer[..n].to_vec()))?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.fan.put(&Request::AbortFile)?;
                    return Err(at(full, &error));
                }
            }
        }
        Ok(self.fan.put(&Request::EndOfFile)?)
    }

    /// When the file was changed that all containers got with the same content.
    fn was_sent(&self, name: &Path, sent: &Sent) -> Option<Timestamp> {
        let mut known = self.known.iter().map(|it| it.sent(name));
        let first = known.next()??;
        let is_same = (first.digest, first.size) == (sent.digest, sent.size);
        (is_same && known.all(|it| it == Some(first))).then_some(first.modified)
    }
}

/// Hands the same messages to several readers, and leaves those behind that stop reading.
struct Fan {
    readers: Vec<mpsc::Sender<Piece>>,
    buffer: Vec<u8>,
}

impl Fan {
    fn put(&mut self, request: &Request) -> Result<(), Gone> {
        request.encode(&mut self.buffer);
        if self.buffer.len() < PIECE { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), Gone> {
        let piece = Bytes::from(std::mem::take(&mut self.buffer));
        let messages = || Piece::Messages(piece.clone());
        self.readers.retain(|it| it.blocking_send(messages()).is_ok());
        if self.readers.is_empty() { Err(Gone) } else { Ok(()) }
    }

    fn end(&mut self) -> Result<(), Gone> {
        self.flush()?;
        self.readers.retain(|it| it.blocking_send(Piece::End).is_ok());
        Ok(())
    }
}

/// A path in a container as archives name it.
pub(super) fn below_root(path: &FilePath) -> &Path {
    path.as_path().strip_prefix("/").unwrap_or(path.as_path())
}

/// What is gone by now is another change, of which somebody will tell.
fn there<T>(result: io::Result<T>, path: &Path) -> Result<Option<T>, Stop> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match result {
        Ok(it) => Ok(Some(it)),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
        Err(error) => Err(at(path, &error)),
    }
}

fn at(path: &Path, error: &io::Error) -> Stop {
    Stop::Unreadable(io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}
