//! Takes in changed files: which of them the next update consumes.

use std::{collections::HashSet, sync::Arc};

use engine_model::{FilePath, TargetId};

use crate::{
    live_update::{Found, Roots},
    resource::{ChangedFile, ResourceName, Suspect},
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
        // Many files of a batch may be as old as each other.
        let mut explained: Option<((Time, bool), Arc<[Suspect]>)> = None;
        let mut explain = |at: Time, is_exact: bool| match &explained {
            Some((known, suspects)) if *known == (at, is_exact) => Arc::clone(suspects),
            Some(_) | None => {
                let suspects = self.suspects(at, is_exact);
                Arc::clone(&explained.insert(((at, is_exact), suspects)).1)
            }
        };
        let changes: Vec<ChangedFile> = files
            .into_iter()
            .map(|(path, found)| {
                let (at, is_exact) = match found {
                    Found::Present { changed: Some(at) } if at <= seen => (at, true),
                    Found::Present { .. } | Found::Absent => (seen, false),
                };
                ChangedFile { target: target.clone(), path, at, suspects: explain(at, is_exact) }
            })
            .collect();
        let resource = &mut self.resources[at];
        // An update that began after a change and lists the file knows of it.
        let later = resource.current.as_ref().filter(|it| seen.is_before(it.started, now));
        let known: HashSet<&FilePath> = later.iter().flat_map(|it| &it.files).collect();
        for change in changes.into_iter().filter(|it| !known.contains(&it.path)) {
            resource.pending.add(change);
        }
        self.touch(at);
    }
}
