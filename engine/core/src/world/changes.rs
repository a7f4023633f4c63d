//! Takes in changed files: which of them the next update consumes.

use std::collections::HashSet;

use engine_model::{FilePath, TargetId};

use crate::{
    live_update::{Found, Roots},
    resource::{ChangedFile, ResourceName},
    time::Time,
    world::World,
};

impl World {
    pub(crate) fn files_changed(
        &mut self,
        now: Time,
        name: &ResourceName,
        target: &TargetId,
        files: Vec<(FilePath, Found)>,
        seen: Time,
        roots: &Roots,
    ) {
        let Some(&at) = self.index.get(name) else { return };
        let live_updates = self.resources[at].live_updates.values_mut();
        for live_update in live_updates.filter(|it| it.has_source(target)) {
            live_update.roots_found(roots);
            live_update.files_changed(target, seen, files.iter().cloned());
        }
        if self.resources[at].is_disabled() {
            return;
        }
        let suspect = self.suspect(seen);
        let resource = &mut self.resources[at];
        // An update that began after a change and lists the file knows of it.
        let later = resource.current.as_ref().filter(|it| seen.is_before(it.started, now));
        let known: HashSet<&FilePath> = later.iter().flat_map(|it| &it.files).collect();
        let paths = files.into_iter().map(|(path, _)| path);
        for path in paths.filter(|it| !known.contains(it)) {
            let (target, suspect) = (target.clone(), suspect.clone());
            resource.pending.add(ChangedFile { target, path, at: seen, suspect });
        }
        self.touch(at);
    }
}
