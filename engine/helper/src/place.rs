//! How files, links and directories get to their place, and what has to go for them.
//!
//! A file appears at once and complete: it is written beside its place and then moved, or with a single write over
//! an older and shorter text. Where neither is possible (a directory that cannot be written, a file that is mounted),
//! it is written in place. Owner, mode and time are set by descriptor, on what was made or looked at, and not on what
//! has its name by then.

use std::{
    ffi::{OsStr, OsString},
    fs::{File, Metadata, Permissions},
    io::{self, ErrorKind, Read, Seek, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt, fchown},
    },
    path::Path,
    process,
    rc::Rc,
    sync::atomic::{AtomicU32, Ordering},
    time::SystemTime,
};

use engine_helper::protocol::{CHUNK, Timestamp};

use crate::{
    dir::{self, Dir, For},
    remove::{is_empty, remove},
    walk::{Node, Problem, Rights, Root, Spot, find_file},
};

const PERMISSIONS: u32 = 0o7777;
/// Set while a file is not complete: nobody else should see it.
const PRIVATE: u32 = 0o600;
/// As shells make files.
const PUBLIC: u32 = 0o666;

/// So many names for a file beside its place may be taken.
const NAMES_MAX: usize = 100;

static N_FILES: AtomicU32 = AtomicU32::new(0);

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct NewFile {
    spot: Spot,
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
    node: Rc<Node>,
    /// Until it has the name of its place.
    name: Option<OsString>,
}

impl Draft {
    fn new(node: &Rc<Node>) -> io::Result<Self> {
        let mut taken = ErrorKind::AlreadyExists.into();
        for _ in 0..NAMES_MAX {
            let n = N_FILES.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!(".engine-sync-{}-{n}", process::id()));
            match node.dir.open(&name, For::Making(PRIVATE)) {
                Ok(file) => return Ok(Self { file, node: Rc::clone(node), name: Some(name) }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => taken = error,
                Err(error) => return Err(error),
            }
        }
        Err(taken)
    }

    fn move_to(&mut self, name: &OsStr) -> io::Result<()> {
        let Some(own) = &self.name else { return Ok(()) };
        self.node.dir.rename(own, name)?;
        self.name = None;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = self.node.dir.remove_file(name);
        }
    }
}

impl NewFile {
    /// Begins a file whose directory exists.
    pub(crate) fn new(spot: Spot) -> Self {
        Self { spot, form: Form::Small(Vec::new()) }
    }

    /// Appends to it.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Form::Small(content) = &mut self.form {
            if content.len() + bytes.len() <= CHUNK {
                content.extend_from_slice(bytes);
                return Ok(());
            }
            self.form = open(&self.spot, &std::mem::take(content))?;
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
                let file = if is_ours { overwrite(&self.spot, &content)? } else { None };
                match file {
                    Some(file) => Form::InPlace(file),
                    None => open(&self.spot, &content)?,
                }
            }
            form => form,
        };
        match form {
            Form::Draft(draft) => move_to_place(draft, &self.spot, mode, modified),
            Form::InPlace(file) => finish_in_place(&file, mode, modified),
            Form::Small(_) => Ok(()),
        }
    }
}

/// Begins a file with this content, beside its place if possible.
fn open(spot: &Spot, content: &[u8]) -> io::Result<Form> {
    match Draft::new(&spot.node) {
        Ok(mut draft) => {
            draft.file.write_all(content)?;
            Ok(Form::Draft(draft))
        }
        Err(denied) if is_denied(&denied) => {
            // Who may not write there either is told of the directory.
            let Ok(mut file) = spot.dir().open(&spot.name, For::Writing) else {
                return Err(denied);
            };
            clear(&file, spot.rights)?;
            file.write_all(content)?;
            Ok(Form::InPlace(file))
        }
        Err(error) => Err(error),
    }
}

/// Writes a small text over an older one, which file systems do much faster than replacing a file. One write is as
/// good as a move as long as nothing has to be cut off. Whatever may be mapped into memory is never overwritten.
fn overwrite(spot: &Spot, content: &[u8]) -> io::Result<Option<File>> {
    if content.contains(&0) {
        return Ok(None);
    }
    let Ok(mut file) = spot.dir().open(&spot.name, For::Writing) else { return Ok(None) };
    let found = file.metadata()?;
    let is_fit = found.is_file() && found.nlink() == 1;
    if !is_fit || found.len() == 0 || found.len() > content.len() as u64 {
        return Ok(None);
    }
    file.write_all(content)?;
    file.set_len(content.len() as u64)?;
    Ok(Some(file))
}

/// Cuts off all of a file that is to be written in place. For root, it must not be somewhere else as well: whoever
/// may write a directory may have put a second name of another file there.
fn clear(file: &File, rights: Rights) -> io::Result<()> {
    let found = file.metadata()?;
    if !is_own_file(&found, rights) {
        return Err(io::Error::other("it is no file, or has another name elsewhere"));
    }
    file.set_len(0)
}

fn is_own_file(found: &Metadata, rights: Rights) -> bool {
    found.is_file() && (!rights.is_root() || found.nlink() == 1)
}

fn move_to_place(
    mut draft: Draft,
    spot: &Spot,
    mode: u32,
    modified: Option<Timestamp>,
) -> io::Result<()> {
    let old = look(spot.dir(), &spot.name)?;
    let owner = match &old {
        Some(old) if !old.is_dir() => (old.uid(), old.gid()),
        _ => spot.node.owner()?,
    };
    spot.rights.check_owner(owner.0)?;
    give(&draft.file, &draft.file.metadata()?, owner);
    // Changing the owner may clear bits of the mode, so the mode comes later.
    draft.file.set_permissions(Permissions::from_mode(mode & PERMISSIONS))?;
    if let Some(time) = modified.and_then(Timestamp::to_system_time) {
        draft.file.set_modified(time)?;
    }
    if old.as_ref().is_some_and(Metadata::is_dir) {
        remove(spot.dir(), &spot.name)?;
    }
    match draft.move_to(&spot.name) {
        Err(error) if error.kind() == ErrorKind::ResourceBusy => {
            // A file that is mounted cannot be replaced, only written.
            let mut target = spot.dir().open(&spot.name, For::Writing)?;
            clear(&target, spot.rights)?;
            draft.file.rewind()?;
            io::copy(&mut draft.file, &mut target)?;
            finish_in_place(&target, mode, modified)
        }
        result => result,
    }
}

/// What has a name, if anything.
fn look(dir: &Dir, name: &OsStr) -> io::Result<Option<Metadata>> {
    match dir.open(name, For::Looking) {
        Ok(found) => found.metadata().map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
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
    let place = std::path::absolute(place)?;
    let inside = place.strip_prefix("/").unwrap_or(&place).as_os_str().as_bytes();
    let spot = Root::new(Path::new("/"), Rights::own(false)).locate(inside)?;
    let mut file = NewFile::new(spot);
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

/// Writes a text over a file, as a shell does, but only if it is the only name of that file.
pub(crate) fn write_over(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = open_or_make(path)?;
    file.set_len(0)?;
    file.write_all(content)
}

/// Gives a file the current time, and makes it if there is none.
pub(crate) fn touch(path: &Path) -> io::Result<()> {
    open_or_make(path)?.set_modified(SystemTime::now())
}

fn open_or_make(path: &Path) -> io::Result<File> {
    let spot = find_file(path)?;
    let file = match spot.dir().open(&spot.name, For::Writing) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            spot.dir().open(&spot.name, For::Making(PUBLIC))?
        }
        result => result?,
    };
    if is_own_file(&file.metadata()?, spot.rights) {
        return Ok(file);
    }
    Err(io::Error::other("it is no file, or has another name elsewhere"))
}

/// Makes an empty file that everybody may write, unless something is there.
pub(crate) fn make_for_everybody(path: &Path) -> io::Result<()> {
    let spot = find_file(path)?;
    let file = spot.dir().open(&spot.name, For::Making(PUBLIC))?;
    file.set_permissions(Permissions::from_mode(PUBLIC))
}

/// Makes a directory whose parent exists, unless there is one. A link to one is as good, and whatever it
/// leads to keeps its mode.
pub(crate) fn directory(spot: &Spot, mode: u32) -> Result<(), Problem> {
    let mode = mode & PERMISSIONS;
    if let Ok(found) = spot.dir().open(&spot.name, For::Listing) {
        if found.metadata().is_ok_and(|it| it.mode() & PERMISSIONS != mode) {
            let _ = found.set_permissions(Permissions::from_mode(mode));
        }
        return Ok(());
    }
    // One that cannot be listed, or a link to one.
    if spot.is_directory()? {
        return Ok(());
    }
    let make = || {
        remove(spot.dir(), &spot.name)?;
        new_directory(spot)?.set_permissions(Permissions::from_mode(mode))
    };
    make().map_err(|error| Problem::at(&spot.path, error))
}

/// Makes a directory whose parent exists, and opens it.
pub(crate) fn new_directory(spot: &Spot) -> io::Result<File> {
    let owner = spot.node.owner()?;
    spot.rights.check_owner(owner.0)?;
    spot.dir().make_dir(&spot.name)?;
    let made = spot.dir().open(&spot.name, For::Listing)?;
    let found = made.metadata()?;
    // Whoever may write here may have put another directory in its place by now, which is not to be given away.
    let is_it = || made.try_clone().is_ok_and(|it| found.uid() == 0 && is_empty(&it.into()));
    if (found.uid(), found.gid()) != owner && (!spot.rights.is_root() || is_it()) {
        give(&made, &found, owner);
    }
    Ok(made)
}

/// Gives something new to whom it should belong; root can do that, others need not.
fn give(new: &File, found: &Metadata, owner: (u32, u32)) {
    if (found.uid(), found.gid()) != owner {
        let _ = fchown(new, Some(owner.0), Some(owner.1));
    }
}

/// Makes a link whose directory exists.
pub(crate) fn link(spot: &Spot, target: &Path) -> io::Result<()> {
    if spot.dir().read_link(&spot.name).is_ok_and(|it| it == target) {
        return Ok(());
    }
    let owner = spot.node.owner()?;
    spot.rights.check_owner(owner.0)?;
    remove(spot.dir(), &spot.name)?;
    spot.dir().make_link(&spot.name, target.as_os_str())?;
    // If it is something else by now, it is somebody else's.
    let made = spot.dir().open(&spot.name, For::Looking)?;
    let found = made.metadata()?;
    if found.is_symlink() && (found.uid(), found.gid()) != owner {
        let _ = dir::give(&made, owner.0, owner.1);
    }
    Ok(())
}

/// Whether a file is what it was when it was sent; then it gets the time that it has now.
pub(crate) fn keep(
    spot: &Spot,
    mode: u32,
    size: u64,
    was: Timestamp,
    modified: Timestamp,
) -> io::Result<bool> {
    let Ok(file) = spot.dir().open(&spot.name, For::Reading) else { return Ok(false) };
    let found = file.metadata()?;
    let is_same = is_own_file(&found, spot.rights) && found.len() == size;
    if !is_same || found.modified()? != system_time(was) {
        return Ok(false);
    }
    // Who may not change the time of a file has to write it.
    if was != modified && file.set_modified(system_time(modified)).is_err() {
        return Ok(false);
    }
    let mode = mode & PERMISSIONS;
    let is_right = found.mode() & PERMISSIONS == mode;
    Ok(is_right || file.set_permissions(Permissions::from_mode(mode)).is_ok())
}

fn system_time(time: Timestamp) -> SystemTime {
    time.to_system_time().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Whether the system does not allow something.
pub(crate) fn is_denied(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}
