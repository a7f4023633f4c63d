//! Archives: what goes to a builder up front, or into running containers.
//!
//! Entries belong to root and come in a fixed order. Content is streamed in pieces; only so much
//! is in memory that a file which grows meanwhile does no harm.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, Read, Write},
    ops::ControlFlow,
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use bytes::Bytes;
use tar::{EntryType, Header};
use tokio::sync::mpsc;

use super::{
    BuildContext, Filter,
    walk::{self, All, Entry, Kind},
};

/// Files up to this size are read before their size is written down.
const BUFFERED_MAX: u64 = 5_000_000;
const CHUNK: usize = 128 * 1024;

/// Something local and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathMapping {
    /// A file or directory on this machine.
    pub local: PathBuf,
    /// Where it goes, from the root of the archive; with a slash at the end it is a directory that
    /// a file goes into.
    pub container: PathBuf,
}

/// The content of an archive, before anything is read.
#[derive(Debug, Default)]
pub struct Archive {
    items: Vec<Item>,
}

#[derive(Debug)]
enum Item {
    Local { name: PathBuf, full: PathBuf, kind: Kind },
    Text { name: PathBuf, text: Bytes },
}

impl Item {
    fn name(&self) -> &Path {
        match self {
            Self::Local { name, .. } | Self::Text { name, .. } => name,
        }
    }
}

impl Archive {
    /// Collects files that exist; of two that go to the same place, the later one counts.
    pub fn of_paths(paths: &[PathMapping], filter: &Filter) -> io::Result<Self> {
        let mut items = Vec::new();
        for PathMapping { local, container } in paths {
            let Some(metadata) = walk::found(fs::metadata(local))? else { continue };
            let is_into = container.as_os_str().as_bytes().ends_with(b"/");
            let container = container.strip_prefix("/").unwrap_or(container);
            if metadata.is_dir() {
                let root = fs::canonicalize(local)?;
                collect(&root, local, container, filter, &mut items)?;
            } else if !filter.matches(local) {
                let Some(metadata) = walk::found(fs::symlink_metadata(local))? else { continue };
                let name = match local.file_name() {
                    Some(file) if is_into => container.join(file),
                    _ => container.to_owned(),
                };
                if let Some(kind) = walk::kind_of(local, &metadata)? {
                    items.push(Item::Local { name, full: local.clone(), kind });
                }
            }
        }
        Ok(Self { items: last_wins(items) })
    }

    /// Collects a build context, and puts this Dockerfile into it.
    pub(crate) fn of_context(context: &BuildContext, dockerfile: &str) -> io::Result<Self> {
        let mut items = Vec::new();
        if let Some(root) = &context.root {
            collect(root, &context.dir, Path::new(""), &context.filter, &mut items)?;
        }
        let name = PathBuf::from("Dockerfile");
        items.push(Item::Text { name, text: Bytes::copy_from_slice(dockerfile.as_bytes()) });
        Ok(Self { items: last_wins(items) })
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// What goes where, for those who send it in another form: the name in the archive, where it is, what it is.
    pub fn entries(&self) -> impl Iterator<Item = (&Path, &Path, &Kind)> {
        self.items.iter().filter_map(|it| match it {
            Item::Local { name, full, kind } => Some((name.as_path(), full.as_path(), kind)),
            Item::Text { .. } => None,
        })
    }

    /// The bytes of an archive with one program in it.
    pub(crate) fn of_program(name: &str, program: &[u8]) -> io::Result<Vec<u8>> {
        let mut builder = tar::Builder::new(Vec::with_capacity(program.len() + 4 * 512));
        let mut header = header(EntryType::Regular, 0o755, now());
        header.set_size(program.len() as u64);
        builder.append_data(&mut header, name, program)?;
        builder.into_inner()
    }

    /// Writes all of it; files that are gone by now are left out.
    pub fn write(&self, sink: impl Write) -> io::Result<()> {
        let mut builder = tar::Builder::new(sink);
        builder.sparse(false);
        for item in &self.items {
            match item {
                Item::Local { name, full, kind } => append(&mut builder, name, full, kind)?,
                Item::Text { name, text } => {
                    let mut header = header(EntryType::Regular, 0o644, now());
                    header.set_size(text.len() as u64);
                    builder.append_data(&mut header, name, text.as_ref())?;
                }
            }
        }
        builder.into_inner()?.flush()
    }

    /// Writes all of it to readers that take the pieces from channels. Those that stop reading
    /// are left behind; the writer stops when there are none.
    pub(crate) fn send(&self, readers: Vec<mpsc::Sender<io::Result<Bytes>>>) {
        let mut sink = Fan { readers, chunk: Vec::with_capacity(CHUNK) };
        if let Err(error) = self.write(&mut sink) {
            for reader in &sink.readers {
                let error = io::Error::new(error.kind(), error.to_string());
                let _ = reader.blocking_send(Err(error));
            }
        }
    }
}

/// Collects what is in a directory, its own entry included unless it is the archive's root.
fn collect(
    root: &Path,
    shown_as: &Path,
    container: &Path,
    filter: &Filter,
    items: &mut Vec<Item>,
) -> io::Result<()> {
    if container != Path::new("") && !filter.matches(shown_as) {
        let (name, full) = (container.to_owned(), root.to_owned());
        items.push(Item::Local { name, full, kind: Kind::Directory });
    }
    let mut visit = |entry: Entry| {
        if !entry.is_matched && !entry.is_socket() {
            let Entry { path, full, kind, .. } = entry;
            items.push(Item::Local { name: container.join(path), full, kind });
        }
        ControlFlow::Continue(())
    };
    walk::walk(root, shown_as, filter, &All, &mut visit)
}

fn last_wins(items: Vec<Item>) -> Vec<Item> {
    let mut places: HashMap<PathBuf, usize> = HashMap::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        places.insert(item.name().components().collect(), i);
    }
    let is_last = |i: usize, item: &Item| {
        places.get(&item.name().components().collect::<PathBuf>()) == Some(&i)
    };
    items.into_iter().enumerate().filter(|(i, it)| is_last(*i, it)).map(|(_, it)| it).collect()
}

fn append<W: Write>(
    builder: &mut tar::Builder<W>,
    name: &Path,
    full: &Path,
    kind: &Kind,
) -> io::Result<()> {
    let Some(metadata) = walk::found(fs::symlink_metadata(full))? else { return Ok(()) };
    let (mode, time) = (metadata.permissions().mode() & 0o7777, mtime(&metadata));
    match kind {
        Kind::File => append_file(builder, name, full),
        Kind::Directory => {
            builder.append_data(&mut header(EntryType::Directory, mode, time), name, io::empty())
        }
        Kind::Symlink(target) => {
            builder.append_link(&mut header(EntryType::Symlink, 0o777, time), name, target)
        }
        Kind::Special => append_special(builder, name, &metadata),
    }
}

fn append_file<W: Write>(
    builder: &mut tar::Builder<W>,
    name: &Path,
    full: &Path,
) -> io::Result<()> {
    let Some(mut file) = walk::found(File::open(full)).map_err(|it| walk::at(full, &it))? else {
        return Ok(());
    };
    let metadata = file.metadata()?;
    let mode = metadata.permissions().mode() & 0o7777;
    let mut header = header(EntryType::Regular, mode, mtime(&metadata));
    if metadata.len() < BUFFERED_MAX {
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(|it| walk::at(full, &it))?;
        header.set_size(content.len() as u64);
        return builder.append_data(&mut header, name, content.as_slice());
    }
    header.set_size(metadata.len());
    let mut exactly = file.take(metadata.len());
    builder.append_data(&mut header, name, &mut exactly)?;
    if exactly.limit() > 0 {
        let shrank = io::Error::other("the file got shorter while it was read");
        return Err(walk::at(full, &shrank));
    }
    Ok(())
}

/// Writes a pipe or a device; other kinds cannot be archived.
fn append_special<W: Write>(
    builder: &mut tar::Builder<W>,
    name: &Path,
    metadata: &fs::Metadata,
) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let of = metadata.file_type();
    let kind = if of.is_fifo() {
        EntryType::Fifo
    } else if of.is_char_device() {
        EntryType::Char
    } else if of.is_block_device() {
        EntryType::Block
    } else {
        return Ok(());
    };
    let mut header = header(kind, metadata.permissions().mode() & 0o7777, mtime(metadata));
    if kind != EntryType::Fifo {
        let (major, minor) = device_numbers(metadata.rdev());
        header.set_device_major(u32::try_from(major).unwrap_or(0))?;
        header.set_device_minor(u32::try_from(minor).unwrap_or(0))?;
    }
    builder.append_data(&mut header, name, io::empty())
}

/// The two halves of a device's number.
pub(crate) fn device_numbers(device: u64) -> (u64, u64) {
    ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xf_ff00))
}

fn header(kind: EntryType, mode: u32, time: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(time);
    header.set_size(0);
    header
}

fn mtime(metadata: &fs::Metadata) -> u64 {
    u64::try_from(metadata.mtime()).unwrap_or(0)
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |it| it.as_secs())
}

/// Hands the same pieces to several readers.
struct Fan {
    readers: Vec<mpsc::Sender<io::Result<Bytes>>>,
    chunk: Vec<u8>,
}

impl Write for Fan {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(CHUNK - self.chunk.len());
        self.chunk.extend_from_slice(&bytes[..taken]);
        if self.chunk.len() == CHUNK {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let chunk = Bytes::from(std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK)));
        self.readers.retain(|reader| reader.blocking_send(Ok(chunk.clone())).is_ok());
        if self.readers.is_empty() { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
