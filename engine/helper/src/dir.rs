//! Directories by their descriptors: whatever is done in one is done there, wherever its path leads by now.
//!
//! No name is looked up that has a slash in it, and no link is followed. The standard library can do neither, so the
//! calls of the system are declared here, as in `sys.rs`; what differs between processors is said where it is.

#![expect(unsafe_code, reason = "the standard library has no calls that take a directory")]

use std::{
    ffi::{CStr, CString, OsStr, OsString, c_char, c_int, c_uint, c_void},
    fs::{File, Metadata},
    io,
    os::{
        fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::PathBuf,
};

const O_WRONLY: c_int = 0o1;
const O_RDWR: c_int = 0o2;
const O_CREAT: c_int = 0o100;
const O_EXCL: c_int = 0o200;
const O_NONBLOCK: c_int = 0o4000;
const O_CLOEXEC: c_int = 0o2_000_000;
const O_PATH: c_int = 0o10_000_000;
/// Two flags have other numbers on ARM.
const IS_ARM: bool = cfg!(target_arch = "aarch64");
const O_DIRECTORY: c_int = if IS_ARM { 0o40_000 } else { 0o200_000 };
const O_NOFOLLOW: c_int = if IS_ARM { 0o100_000 } else { 0o400_000 };

const AT_REMOVEDIR: c_int = 0x200;
const AT_EMPTY_PATH: c_int = 0x1000;

/// The longest text that a link can have.
const LINK_MAX: usize = 4096;

// SAFETY: these are the prototypes of the C library, with its types on 64-bit Linux.
unsafe extern "C" {
    fn geteuid() -> c_uint;
    fn openat(dir: c_int, path: *const c_char, flags: c_int, ...) -> c_int;
    fn mkdirat(dir: c_int, path: *const c_char, mode: c_uint) -> c_int;
    fn unlinkat(dir: c_int, path: *const c_char, flags: c_int) -> c_int;
    fn renameat(old: c_int, from: *const c_char, new: c_int, to: *const c_char) -> c_int;
    fn symlinkat(target: *const c_char, dir: c_int, path: *const c_char) -> c_int;
    fn readlinkat(dir: c_int, path: *const c_char, buffer: *mut c_char, size: usize) -> isize;
    fn fchownat(dir: c_int, path: *const c_char, uid: c_uint, gid: c_uint, flags: c_int) -> c_int;
    fn fdopendir(fd: c_int) -> *mut c_void;
    fn readdir(stream: *mut c_void) -> *mut Entry;
    fn closedir(stream: *mut c_void) -> c_int;
}

/// `struct dirent` of both C libraries, up to where the name begins.
#[repr(C)]
struct Entry {
    inode: u64,
    offset: i64,
    len: u16,
    kind: u8,
    name: [c_char; 0],
}

/// What something is opened for. Nothing waits for the other side of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    /// To look at it, whatever it is, even a link.
    Looking,
    /// To read it.
    Reading,
    /// To read it as a directory.
    Listing,
    /// To write it; nothing is cut off.
    Writing,
    /// To write and read what was not there before, with these permissions.
    Making(u32),
}

/// A directory that is open, in which names are looked up.
#[derive(Debug)]
pub(crate) struct Dir(File);

impl From<File> for Dir {
    fn from(dir: File) -> Self {
        Self(dir)
    }
}

impl Dir {
    /// The top of the file system.
    pub(crate) fn top() -> io::Result<Self> {
        // The calls take a directory for relative paths only, and this one is not.
        open(-1, OsStr::new("/"), O_PATH | O_DIRECTORY, 0).map(|it| Self(it.into()))
    }

    /// A directory in this one; a link to one is none.
    pub(crate) fn enter(&self, name: &OsStr) -> io::Result<Self> {
        open(self.fd(), name, O_PATH | O_DIRECTORY, 0).map(|it| Self(it.into()))
    }

    /// Opens something in this directory; a link can only be looked at.
    pub(crate) fn open(&self, name: &OsStr, what_for: For) -> io::Result<File> {
        let (flags, mode) = match what_for {
            For::Looking => (O_PATH, 0),
            For::Reading => (O_NONBLOCK, 0),
            For::Listing => (O_DIRECTORY, 0),
            For::Writing => (O_WRONLY | O_NONBLOCK, 0),
            For::Making(mode) => (O_RDWR | O_CREAT | O_EXCL, mode),
        };
        open(self.fd(), name, flags, mode).map(File::from)
    }

    /// What the system knows of the directory itself.
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
    }

    /// Makes a directory, with permissions from which the process's mask is taken off.
    pub(crate) fn make_dir(&self, name: &OsStr) -> io::Result<()> {
        let name = c_string(name)?;
        // SAFETY: the name ends with a zero, and lives until the call returns.
        done(unsafe { mkdirat(self.fd(), name.as_ptr(), 0o777) })
    }

    /// Makes a link.
    pub(crate) fn make_link(&self, name: &OsStr, target: &OsStr) -> io::Result<()> {
        let (name, target) = (c_string(name)?, c_string(target)?);
        // SAFETY: both texts end with a zero, and live until the call returns.
        done(unsafe { symlinkat(target.as_ptr(), self.fd(), name.as_ptr()) })
    }

    /// What a link says.
    pub(crate) fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        read_link_at(self.fd(), &c_string(name)?)
    }

    /// Removes what is no directory.
    pub(crate) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        self.unlink(name, 0)
    }

    /// Removes an empty directory.
    pub(crate) fn remove_dir(&self, name: &OsStr) -> io::Result<()> {
        self.unlink(name, AT_REMOVEDIR)
    }

    fn unlink(&self, name: &OsStr, flags: c_int) -> io::Result<()> {
        let name = c_string(name)?;
        // SAFETY: the name ends with a zero, and lives until the call returns.
        done(unsafe { unlinkat(self.fd(), name.as_ptr(), flags) })
    }

    /// Gives something in this directory another name there. What has that name goes.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let (from, to) = (c_string(from)?, c_string(to)?);
        // SAFETY: both names end with a zero, and live until the call returns.
        done(unsafe { renameat(self.fd(), from.as_ptr(), self.fd(), to.as_ptr()) })
    }

    /// The names of all that is in it.
    pub(crate) fn list(&self) -> io::Result<Names> {
        let fd = open(self.fd(), OsStr::new("."), O_DIRECTORY, 0)?.into_raw_fd();
        // SAFETY: the descriptor was just opened, and nobody else has it.
        let stream = unsafe { fdopendir(fd) };
        if stream.is_null() {
            let error = io::Error::last_os_error();
            // SAFETY: as above; the call has not taken it.
            drop(unsafe { OwnedFd::from_raw_fd(fd) });
            return Err(error);
        }
        Ok(Names(stream))
    }

    fn fd(&self) -> c_int {
        self.0.as_raw_fd()
    }
}

/// Names in a directory, without that of itself and of the one above.
pub(crate) struct Names(*mut c_void);

impl Iterator for Names {
    type Item = OsString;

    /// An error looks like the end: what is left shows when the directory is to go.
    fn next(&mut self) -> Option<OsString> {
        loop {
            // SAFETY: the stream is open until this is dropped.
            let entry = unsafe { readdir(self.0) };
            if entry.is_null() {
                return None;
            }
            // SAFETY: the entry is valid until the next call, and its name ends with a zero.
            let name = unsafe { CStr::from_ptr((&raw const (*entry).name).cast()) };
            if !matches!(name.to_bytes(), b"." | b"..") {
                return Some(OsString::from_vec(name.to_bytes().to_vec()));
            }
        }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        // SAFETY: the stream is open, and nobody uses it any more.
        unsafe { closedir(self.0) };
    }
}

/// As whom this process does what it does.
pub(crate) fn own_uid() -> u32 {
    // SAFETY: no memory is involved.
    unsafe { geteuid() }
}

/// What a link says that was opened to look at it.
pub(crate) fn read_link(link: &File) -> io::Result<PathBuf> {
    read_link_at(link.as_raw_fd(), c"")
}

/// Gives something that was opened to look at it to somebody.
pub(crate) fn give(found: &File, uid: u32, gid: u32) -> io::Result<()> {
    // SAFETY: the path ends with a zero, and is empty: the descriptor itself is meant.
    done(unsafe { fchownat(found.as_raw_fd(), c"".as_ptr(), uid, gid, AT_EMPTY_PATH) })
}

fn open(dir: c_int, name: &OsStr, flags: c_int, mode: c_uint) -> io::Result<OwnedFd> {
    let name = c_string(name)?;
    let flags = flags | O_NOFOLLOW | O_CLOEXEC;
    loop {
        // SAFETY: the name ends with a zero, and lives until the call returns.
        let fd = unsafe { openat(dir, name.as_ptr(), flags, mode) };
        if fd >= 0 {
            // SAFETY: the descriptor was just opened, and nobody else has it.
            return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn read_link_at(dir: c_int, name: &CStr) -> io::Result<PathBuf> {
    let mut buffer = vec![0_u8; LINK_MAX];
    // SAFETY: the name ends with a zero, and the buffer is valid for writes of its length.
    let n = unsafe { readlinkat(dir, name.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len()) };
    buffer.truncate(usize::try_from(n).map_err(|_| io::Error::last_os_error())?);
    Ok(OsString::from_vec(buffer).into())
}

fn c_string(name: &OsStr) -> io::Result<CString> {
    Ok(CString::new(name.as_bytes())?)
}

fn done(result: c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
