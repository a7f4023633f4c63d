//! What is to be done in containers, as data.

use std::sync::Arc;

use engine_model::FilePath;

use super::{container::Container, failure::Failed};

/// The number of an update of containers; later ones have higher numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SyncId(pub u64);

/// A local path, and the path in the container that it goes to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mapping {
    /// Absolute, on this machine.
    pub local: FilePath,
    /// Absolute, in the container.
    pub container: FilePath,
}

/// A command that runs in the container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerCommand {
    /// The command.
    pub argv: Vec<String>,
    /// Whether it is kept out of the log.
    pub echo_off: bool,
}

/// What is done to some containers at once: deletions, copies, commands and the restart, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncPlan {
    /// All of them get the same.
    pub containers: Vec<Container>,
    /// Whether these are all files of the sync steps: then [`Self::copies`] has the steps themselves.
    pub is_initial: bool,
    /// The local files that are the reason, sorted.
    pub files: Vec<FilePath>,
    /// What is removed, with all below it.
    pub deletions: Vec<Mapping>,
    /// What is copied, directories with all below them.
    pub copies: Vec<Mapping>,
    /// Commands, one after the other, up to the first that fails.
    pub runs: Vec<ContainerCommand>,
    /// Whether the container restarts in the end.
    pub restarts: bool,
}

impl SyncPlan {
    /// What the log says before it begins.
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
            let copies = self.copies.iter();
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
pub enum SyncStep {
    /// List all files below the sync steps that no ignore rule excludes.
    ListFiles,
    /// Update some containers at once.
    Sync {
        /// The number to report with.
        id: SyncId,
        /// What they get.
        plan: Arc<SyncPlan>,
    },
    /// Build anew. Updates that are still on their way are of no use any more and may be abandoned.
    FallBack(Failed),
}
