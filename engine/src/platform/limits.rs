//! How many files the engine may open: as many as the system allows; its commands, what they would have had.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Allows this process as many open files as it may have, and returns how many it had.
///
/// Every running command takes some; the usual 1024 would be too few for some hundred.
#[must_use]
pub fn raise_open_files() -> Option<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    if soft >= hard {
        return None;
    }
    // Some systems refuse; the engine then works with what it has.
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).ok()?;
    Some(soft)
}

/// Gives this process the limit it had before the engine raised it.
pub(super) fn restore_open_files(soft: Option<u64>) {
    if let Some(soft) = soft
        && let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
    {
        // It can always be lowered.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, soft, hard);
    }
}
