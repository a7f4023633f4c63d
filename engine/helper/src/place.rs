//! How files, links and directories get to their place, and what has to go for them.
//!
//! A file appears at once and complete: it is written beside its place and then moved, or with a single write over
//! an older and shorter text. Where neither is possible (a directory that cannot be written, a file that is mounted),
//! it is written in place.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown, lchown, symlink},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use engine_helper::protocol::{CHUNK, Timestamp};

const PERMISSIONS: u32 = 0o7777;
/// Set while a file is not complete: nobody else should see it.
const PRIVATE: u32 = 0o600;

static N_FILES: AtomicU32 = AtomicU32::new(0);

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct NewFile {
    place: PathBuf,
    form: Form,
}

/// Where the content of a new file is.
#[derive(Debug)]
enum Form {
    /// In memory, as it is small so far.
    Small(Vec<u8>),
    /// Beside its place.
    Draft(Draft),
    /// In its place already.
    InPlace(File),
}

/// A file beside the place that it is for; it goes if it does not get there.
#[derive(Debug)]
struct Draft {
    file: File,
    path: PathBuf,
}

impl Drop for Draft {
    fn drop(&mut self) {
        // One that was moved is not there any more.
        let _ = fs::remove_file(&self.path);
    }
}

impl NewFile {
    /// Begins a file whose directory exists.
    pub(crate) fn new(place: &Path) -> Self {
        Self { place: place.to_owned(), form: Form::Small(Vec::new()) }
    }

    /// Appends to it.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Form::Small(content) = &mut self.form {
            if content.len() + bytes.len() <= CHUNK {
                content.extend_from_slice(bytes);
                return Ok(());
            }
            self.form = open(&self.place, &std::mem::take(content))?;
        }
        match &mut self.form {
            Form::Small(_) => Ok(()),
            Form::Draft(Draft { file, .. }) | Form::InPlace(file) => file.write_all(bytes),
        }
    }

    /// Puts it in its place. What was there goes; its owner stays the owner, if that can be had. What is new
    /// belongs to whom its directory belongs to. `is_ours` says that a file of ours was put there before: other
    /// files may be part of an image, and are slow to write to, as they are copied first.
    pub(crate) fn finish(
        self,
        mode: u32,
        modified: Option<Timestamp>,
        is_ours: bool,
    ) -> io::Result<()> {
        let form = match self.form {
            Form::Small(content) => {
                let file = if is_ours { overwrite(&self.place, &content)? } else { None };
                match file {
                    Some(file) => Form::InPlace(file),
                    None => open(&self.place, &content)?,
                }
            }
            form => form,
        };
        match form {
            Form::Draft(draft) => move_to_place(&draft, &self.place, mode, modified),
            Form::InPlace(file) => finish_in_place(&file, mode, modified),
            Form::Small(_) => Ok(()),
        }
    }
}

/// Begins a file with this content, beside its place if possible.
fn open(place: &Path, content: &[u8]) -> io::Result<Form> {
    let n = N_FILES.fetch_add(1, Ordering::Relaxed);
    let path = place.with_file_name(format!(".engine-sync-{}-{n}", process::id()));
    match OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&path) {
        Ok(file) => {
            let mut draft = Draft { file, path };
            draft.file.write_all(content)?;
            Ok(Form::Draft(draft))
        }
        Err(error) if is_denied(&error) && is_file(place) => {
            let mut file = OpenOptions::new().write(true).truncate(true).open(place)?;
            file.write_all(content)?;
            Ok(Form::InPlace(file))
        }
        Err(error) => Err(error),
    }
}

/// Writes a small text over an older one, which file systems do much faster than replacing a file. One write is as
/// good as a move as long as nothing has to be cut off. Whatever may be mapped into memory is never overwritten.
fn overwrite(place: &Path, content: &[u8]) -> io::Result<Option<File>> {
    let is_fit = |it: &fs::Metadata| {
        it.is_file() && it.nlink() == 1 && it.len() > 0 && it.len() <= content.len() as u64
    };
    if content.contains(&0) || !fs::symlink_metadata(place).is_ok_and(|it| is_fit(&it)) {
        return Ok(None);
    }
    let Ok(mut file) = OpenOptions::new().write(true).open(place) else { return Ok(None) };
    file.write_all(content)?;
    file.set_len(content.len() as u64)?;
    Ok(Some(file))
}

fn move_to_place(
    draft: &Draft,
    place: &Path,
    mode: u32,
    modified: Option<Timestamp>,
) -> io::Result<()> {
    let Draft { file, path: draft } = draft;
    let old = fs::symlink_metadata(place).ok();
    match &old {
        Some(old) if !old.is_dir() => {
            let new = file.metadata()?;
            if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
                let _ = chown(draft, Some(old.uid()), Some(old.gid()));
            }
        }
        _ => adopt(draft),
    }
    // Changing the owner may clear bits of the mode, so the mode comes later.
    file.set_permissions(Permissions::from_mode(mode & PERMISSIONS))?;
    if let Some(time) = modified.and_then(Timestamp::to_system_time) {
        file.set_modified(time)?;
    }
    if old.as_ref().is_some_and(fs::Metadata::is_dir) {
        fs::remove_dir_all(place)?;
    }
    match fs::rename(draft, place) {
        Err(error) if error.kind() == ErrorKind::ResourceBusy && is_file(place) => {
            // A file that is mounted cannot be replaced, only written.
            let mut target = OpenOptions::new().write(true).truncate(true).open(place)?;
            io::copy(&mut File::open(draft)?, &mut target)?;
            finish_in_place(&target, mode, modified)
        }
        result => result,
    }
}

/// The mode and time of a file that was there before; it may belong to somebody else, who then keeps them.
fn finish_in_place(file: &File, mode: u32, modified: Option<Timestamp>) -> io::Result<()> {
    let _ = file.set_permissions(Permissions::from_mode(mode & PERMISSIONS));
    if let Some(time) = modified.and_then(Timestamp::to_system_time) {
        let _ = file.set_modified(time);
    }
    Ok(())
}

/// Makes a file from a stream.
pub(crate) fn put(place: &Path, mode: u32, content: &mut impl Read) -> io::Result<()> {
    if let Some(parent) = place.parent().filter(|it| !it.as_os_str().is_empty()) {
        fs::create_dir_all(parent)?;
    }
    let mut file = NewFile::new(place);
    let mut buffer = vec![0; CHUNK];
    loop {
        match content.read(&mut buffer) {
            Ok(0) => return file.finish(mode, None, false),
            Ok(n) => file.write(&buffer[..n])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Makes a directory whose parent exists, unless there is one. A link to one is as good, and whatever it
/// leads to keeps its mode.
pub(crate) fn directory(place: &Path, mode: u32) -> io::Result<()> {
    match fs::symlink_metadata(place) {
        Ok(found) if found.is_dir() => {
            if found.mode() & PERMISSIONS != mode & PERMISSIONS {
                let _ = fs::set_permissions(place, Permissions::from_mode(mode & PERMISSIONS));
            }
            return Ok(());
        }
        Ok(found) if found.is_symlink() && place.is_dir() => return Ok(()),
        _ => remove(place)?,
    }
    new_directory(place)?;
    fs::set_permissions(place, Permissions::from_mode(mode & PERMISSIONS))
}

/// Makes a directory whose parent exists.
pub(crate) fn new_directory(place: &Path) -> io::Result<()> {
    fs::create_dir(place)?;
    adopt(place);
    Ok(())
}

/// Gives something new to the owner of its directory, who could have made it; root can do that, others need not.
fn adopt(place: &Path) {
    let Some(parent) = place.parent().and_then(|it| fs::metadata(it).ok()) else { return };
    let Ok(new) = fs::symlink_metadata(place) else { return };
    if (parent.uid(), parent.gid()) != (new.uid(), new.gid()) {
        let _ = lchown(place, Some(parent.uid()), Some(parent.gid()));
    }
}

/// Makes a link whose directory exists.
pub(crate) fn link(place: &Path, target: &Path) -> io::Result<()> {
    if fs::read_link(place).is_ok_and(|it| it == target) {
        return Ok(());
    }
    remove(place)?;
    symlink(target, place)?;
    adopt(place);
    Ok(())
}

/// Whether a file is what it was when it was sent; then it gets the time that it has now.
pub(crate) fn keep(
    place: &Path,
    mode: u32,
    size: u64,
    was: Timestamp,
    modified: Timestamp,
) -> io::Result<bool> {
    let Ok(found) = fs::symlink_metadata(place) else { return Ok(false) };
    let is_same = found.is_file() && found.len() == size && found.modified()? == system_time(was);
    if !is_same {
        return Ok(false);
    }
    if was != modified {
        // Who may not change the time of a file has to write it.
        let result = OpenOptions::new().append(true).open(place);
        if result.and_then(|it| it.set_modified(system_time(modified))).is_err() {
            return Ok(false);
        }
    }
    if found.mode() & PERMISSIONS != mode & PERMISSIONS {
        return Ok(fs::set_permissions(place, Permissions::from_mode(mode & PERMISSIONS)).is_ok());
    }
    Ok(true)
}

fn system_time(time: Timestamp) -> std::time::SystemTime {
    time.to_system_time().unwrap_or(std::time::SystemTime::UNIX_EPOCH)
}

/// Removes whatever is there, with all below it; links are not followed.
pub(crate) fn remove(place: &Path) -> io::Result<()> {
    let result = match fs::symlink_metadata(place) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(place),
        Ok(_) => fs::remove_file(place),
        Err(error) => Err(error),
    };
    match result {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(())
        }
        // A directory that something is mounted on stays, but it is empty.
        Err(error) if error.kind() == ErrorKind::ResourceBusy && is_empty(place) => Ok(()),
        result => result,
    }
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut it| it.next().is_none())
}

fn is_file(place: &Path) -> bool {
    fs::symlink_metadata(place).is_ok_and(|it| it.is_file())
}

/// Whether the system does not allow something.
pub(crate) fn is_denied(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}
