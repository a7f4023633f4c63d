//! Everything that can happen to API objects, and to what they ask for.

use engine_model::{LoadedRepo, SpecChange, TargetId, Time, WatchTarget};

use super::{CmdEvent, CmdRunId, RepoStatus, WatchEvent};
use crate::resource::ResourceName;

/// Something that happened to API objects.
#[derive(Clone, Debug)]
pub enum ObjectEvent {
    /// API objects were written or removed.
    SpecsChanged {
        /// All of them; what follows from one may depend on the others.
        changes: Vec<SpecChange>,
        /// Whether a load wrote them.
        is_load: bool,
    },
    /// A load says what a Tiltfile and its resources want to know about.
    TargetsDeclared {
        /// The Tiltfile.
        tiltfile: ResourceName,
        /// All of it.
        targets: Vec<WatchTarget>,
        /// Whether the load was good; of one that failed, only the files that the Tiltfile itself read count.
        is_good: bool,
    },
    /// The watcher reports something.
    Watch {
        /// The target.
        target: TargetId,
        /// When that was.
        at: Time,
        /// What.
        event: WatchEvent,
    },
    /// The command of a Cmd object did something.
    Cmd {
        /// The object.
        object: String,
        /// Which run.
        run: CmdRunId,
        /// What.
        event: CmdEvent,
    },
    /// A repository of extensions was looked for.
    RepoFetched {
        /// The repository.
        repo: String,
        /// Where it is, or why it is not there.
        result: RepoStatus,
    },
    /// A run of a Tiltfile has loaded from repositories.
    ReposLoaded {
        /// Where it found them.
        found: Vec<LoadedRepo>,
    },
    /// The Tiltfile of an extension was looked for.
    ExtensionFound {
        /// The extension.
        name: String,
        /// The file.
        path: String,
        /// Whether it is there.
        is_file: bool,
    },
}
