//! What is to be done in containers, as data.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    container::Container,
    failure::{Failed, command_text},
};

/// The number of an update of containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SyncId(pub u64);

/// A digest of what a file holds, and of what kind it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash(pub [u8; 32]);

/// A local path, and the path in the container that it goes to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mapping {
    /// Absolute, on this machine.
    pub local: Arc<str>,
    /// Absolute, in the container.
    pub container: Arc<str>,
}

/// A file or directory that goes into containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// From where to where.
    pub mapping: Mapping,
    /// Whether every container of the update got exactly this content before. Who copies may leave it
    /// out if the container confirms that it is still there.
    pub is_known: bool,
}

/// A command that runs in the container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The command.
    pub argv: Vec<String>,
    /// Whether it is kept out of the log.
    pub echo_off: bool,
}

impl Run {
    /// The command as people write it.
    #[must_use]
    pub fn text(&self) -> String {
        command_text(&self.argv)
    }
}

/// What is done to some containers at once: deletions, copies, commands and the restart, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// All of them get the same.
    pub containers: Vec<Container>,
    /// Whether these are all files of the sync steps: then [`Self::copies`] has the steps themselves.
    pub is_initial: bool,
    /// The local files that are the reason, sorted.
    pub files: Vec<Arc<str>>,
    /// What is removed, with all below it.
    pub deletions: Vec<Mapping>,
    /// What is copied, directories with all below them.
    pub copies: Vec<Copy>,
    /// Commands, one after the other, up to the first that fails.
    pub runs: Vec<Run>,
    /// Whether the container restarts in the end.
    pub restarts: bool,
}

impl Update {
    /// What the log says before it begins.
    #[must_use]
    pub fn announcement(&self) -> Vec<String> {
        let names: Vec<_> = self.containers.iter().map(Container::display_name).collect();
        let suffix = if names.len() == 1 { "" } else { "(s)" };
        let target = format!("container{suffix}: [{}]", names.join(" "));
        let mut lines = Vec::new();
        if self.is_initial {
            lines.push(format!("Initial sync: will copy sync paths to {target}"));
        }
        if !self.deletions.is_empty() {
            lines.push(format!("Will delete {} file(s) from {target}", self.deletions.len()));
            lines.extend(
                self.deletions
                    .iter()
                    .map(|it| format!("- '{}' (matched local path: '{}')", it.container, it.local)),
            );
        }
        if !self.copies.is_empty() {
            if !self.is_initial {
                lines.push(format!("Will copy {} file(s) to {target}", self.copies.len()));
            }
            let copies = self.copies.iter().map(|it| &it.mapping);
            lines.extend(copies.map(|it| format!("- '{}' --> '{}'", it.local, it.container)));
        }
        lines
    }
}

/// How an update of one container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The files are there.
    Synced {
        /// What was written, by path in the container, as far as it was looked at while it was sent.
        sent: BTreeMap<Arc<str>, ContentHash>,
        /// What went wrong with a command, which is no reason for a full build.
        exec_error: Option<String>,
    },
    /// It did not work, for this reason; what is in the container now is unknown.
    Failed(String),
    /// Nobody waits for it any more, or it was stopped on the way; what is in the container now is unknown.
    Abandoned,
}

/// Something that is to be done for a live update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// List all files below the sync steps that no ignore rule excludes.
    ListFiles,
    /// Update containers, each group at once.
    Sync {
        /// The number to report with.
        id: SyncId,
        /// The groups.
        updates: Vec<Arc<Update>>,
    },
    /// Build anew. Updates that are still on their way are of no use any more and may be abandoned.
    FallBack(Failed),
}
