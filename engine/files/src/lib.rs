//! Files that the program keeps for a user: private, written atomically, in a folder that instances and clients share.

use std::path::PathBuf;

use nix::unistd::{Uid, User};

pub mod dev_dir;
pub mod private;

/// The home directory: what `HOME` says, or else what the system knows of this user.
pub fn home_dir(variable: Option<PathBuf>) -> Option<PathBuf> {
    variable.filter(|it| it.is_absolute()).or_else(|| {
        let user = User::from_uid(Uid::effective()).ok().flatten()?;
        Some(user.dir).filter(|it| it.is_absolute())
    })
}
