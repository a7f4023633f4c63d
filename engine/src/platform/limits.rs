//! How many files the engine may open: as many as the system allows; its commands, what they would have had.

use std::sync::OnceLock;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// What is assumed where the system does not tell: the least that is usual.
const USUAL: u64 = 256;

/// Allows this process as many open files as it may have, and returns how many it had, whoever asked for it first.
///
/// Every running command takes some; the usual 1024 would be too few for some hundred.
pub fn raise_open_files() -> Option<u64> {
    static BEFORE: OnceLock<Option<u64>> = OnceLock::new();
    *BEFORE.get_or_init(raise)
}

fn raise() -> Option<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    if soft >= hard {
        return None;
    }
    // Some systems refuse; the engine then works with what it has.
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).ok()?;
    Some(soft)
}

/// How many files this process may have open, after it was allowed as many as possible.
pub fn max_open_files() -> u64 {
    let _ = raise_open_files();
    getrlimit(Resource::RLIMIT_NOFILE).map_or(USUAL, |(soft, _)| soft)
}

/// Gives this process the limit it had before the engine raised it.
pub(crate) fn restore_open_files(soft: Option<u64>) {
    if let Some(soft) = soft
        && let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
    {
        // It can always be lowered.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, soft, hard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_was_before_is_remembered_for_commands_however_often_it_is_asked_for() {
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        let before = raise_open_files();
        assert_eq!(max_open_files(), hard);
        // Another test may have raised it before this one looked.
        assert!(before.is_none_or(|it| it <= soft));
        assert_eq!(raise_open_files(), before);
    }
}
