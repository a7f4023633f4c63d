//! Notices that somebody touched a file.

use std::{
    fs::{self, File, Metadata},
    io::Read,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use crate::{place, sys};

/// How often the file is looked at where the system cannot tell.
const POLL: Duration = Duration::from_millis(250);

/// A file that may not exist yet.
pub(crate) struct WatchedFile {
    path: PathBuf,
    events: Option<File>,
    last: Option<Identity>,
}

/// What changes when a file is written or touched.
type Identity = (u64, u64, i64, i64);

impl WatchedFile {
    /// Watches a file. It is made if possible, so that everybody in the container may touch it.
    pub(crate) fn new(path: &Path) -> Self {
        let _ = place::make_for_everybody(path);
        // The directory tells also of files that replace the file. It may be missing, or the system may
        // have no watches left: then the file is looked at from time to time.
        let events = path.parent().and_then(|it| sys::watch_directory(it).ok());
        // Only now, so that nothing between the two is missed.
        let last = identity(path);
        Self { path: path.to_owned(), events, last }
    }

    /// Waits until the file is touched.
    pub(crate) fn wait(&mut self) {
        loop {
            let now = identity(&self.path);
            if now != self.last {
                self.last = now;
                if now.is_some() {
                    return;
                }
            }
            self.wait_for_event();
        }
    }

    fn wait_for_event(&mut self) {
        // What happened does not matter: the file is looked at in any case.
        let mut buffer = [0; 4096];
        match self.events.as_mut().map(|it| it.read(&mut buffer)) {
            Some(Ok(n)) if n > 0 => {}
            Some(_) => self.events = None,
            None => thread::sleep(POLL),
        }
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let of = |it: Metadata| (it.ino(), it.size(), it.mtime(), it.mtime_nsec());
    fs::metadata(path).ok().map(of)
}
