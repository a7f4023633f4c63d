//! The copy of a kubeconfig that commands of an instance get: where it is kept, and that it goes with the instance.
//!
//! The place is Tilt's. Tilt itself holds no lock, so only directories with a mark of ours are ever removed as leftovers.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use builtins::host::{Scratch, remove_left};
use engine_files::{home_dir, private};

/// The folder of all instances, in that of the user's state.
const FOLDER: &str = "tilt-dev";
/// The folder of an instance's clusters.
const CLUSTERS: &str = "cluster";
/// Says that a folder is of this program.
const MARK: &str = ".engine";
/// The kubeconfig.
const FILE: &str = "default.yml";

/// A place for the kubeconfig of one instance, which goes away with its owner.
#[derive(Debug)]
pub(crate) struct ClusterPin {
    held: Scratch,
}

impl ClusterPin {
    /// The place of an instance; if another process has it, one among the temporary files.
    ///
    /// # Errors
    /// If nothing can be written anywhere.
    pub(crate) fn new(instance: &str) -> io::Result<Self> {
        let marked = |dir: PathBuf| {
            let place = dir.join(FOLDER).join(instance).join(CLUSTERS);
            let held = Scratch::claim(&place).ok().flatten()?;
            private::write(&held.path().join(MARK), b"").ok().map(|()| held)
        };
        let held = state_dirs().into_iter().find_map(marked);
        Ok(Self { held: held.map_or_else(Scratch::create, Ok)? })
    }

    /// Copies a kubeconfig there, and says where that is.
    ///
    /// # Errors
    /// If it can be neither read nor written.
    pub(crate) fn copy(&self, from: &Path) -> io::Result<PathBuf> {
        let to = self.held.path().join(FILE);
        private::write(&to, &fs::read(from)?)?;
        Ok(to)
    }
}

impl Drop for ClusterPin {
    fn drop(&mut self) {
        // It is removed before the lock is given up; folders above it stay if somebody else uses them.
        let dir = self.held.path();
        let _ = fs::remove_dir_all(dir);
        if dir.ends_with(CLUSTERS) {
            remove_empty_parents(dir);
        }
    }
}

/// Removes what instances that were killed have left.
pub(crate) fn sweep() {
    for folder in state_dirs().into_iter().map(|it| it.join(FOLDER)) {
        let instances = fs::read_dir(folder).into_iter().flatten().flatten();
        for place in instances.map(|it| it.path().join(CLUSTERS)) {
            if place.join(MARK).exists() {
                remove_left(&place);
                remove_empty_parents(&place);
            }
        }
    }
}

/// Removes the folder of an instance, and that of all, if nothing is in them.
fn remove_empty_parents(place: &Path) {
    for parent in place.ancestors().skip(1).take(2) {
        if fs::remove_dir(parent).is_err() {
            return;
        }
    }
}

/// Where files of a running program may be kept, best first.
fn state_dirs() -> Vec<PathBuf> {
    let get = |name| env::var_os(name).map(PathBuf::from);
    let absolute = |name| get(name).filter(|it| it.is_absolute());
    let of_user = || Some(home_dir(get("HOME"))?.join(".local/state"));
    let state = absolute("XDG_STATE_HOME").or_else(of_user);
    [absolute("XDG_RUNTIME_DIR"), state].into_iter().flatten().collect()
}
