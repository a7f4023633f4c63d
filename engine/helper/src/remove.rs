//! Removes whatever has a name in a directory, with all below it. Links go, and what they lead to stays.

use std::{
    ffi::OsStr,
    io::{self, ErrorKind},
};

use crate::dir::Dir;

/// How deep directories may be inside of each other. Each of them is open while what is below it goes.
const DEPTH_MAX: usize = 256;

/// Removes something, if it is there.
pub(crate) fn remove(dir: &Dir, name: &OsStr) -> io::Result<()> {
    remove_at(dir, name, DEPTH_MAX)
}

fn remove_at(dir: &Dir, name: &OsStr, depth_left: usize) -> io::Result<()> {
    match unless_gone(dir.remove_file(name)) {
        Err(error) if error.kind() == ErrorKind::IsADirectory => {}
        result => return result,
    }
    match unless_gone(dir.remove_dir(name)) {
        Err(error) if is_of_content(&error) => {}
        result => return result,
    }
    if depth_left == 0 {
        return Err(io::Error::other("too many directories inside of each other"));
    }
    let inside = match dir.enter(name) {
        Ok(inside) => inside,
        // Somebody else removed or replaced it.
        Err(error) => return unless_gone(Err(error)),
    };
    for name in inside.list()? {
        remove_at(&inside, &name, depth_left - 1)?;
    }
    match unless_gone(dir.remove_dir(name)) {
        // A directory that something is mounted on stays, but it is empty.
        Err(error) if error.kind() == ErrorKind::ResourceBusy && is_empty(&inside) => Ok(()),
        result => result,
    }
}

/// Whether nothing is in a directory.
pub(crate) fn is_empty(dir: &Dir) -> bool {
    dir.list().is_ok_and(|mut it| it.next().is_none())
}

/// What the system says of a directory that is not empty, or that something is mounted on.
fn is_of_content(error: &io::Error) -> bool {
    use ErrorKind::{AlreadyExists, DirectoryNotEmpty, ResourceBusy};
    matches!(error.kind(), DirectoryNotEmpty | AlreadyExists | ResourceBusy)
}

fn unless_gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(())
        }
        result => result,
    }
}
