//! Takes in changed files: which of them the next update consumes.

use std::sync::Arc;

use crate::{
    resource::{ChangedFile, ResourceName, Suspect},
    scheduler::Scheduler,
    time::Time,
};

impl Scheduler {
    pub(super) fn files_changed(
        &mut self,
        now: Time,
        name: &ResourceName,
        target: &Arc<str>,
        files: Vec<Arc<str>>,
        seen: Time,
    ) {
        let Some(&at) = self.index.get(name) else { return };
        if self.resources[at].is_disabled() {
            return;
        }
        let suspect = self.suspect(seen);
        let resource = &mut self.resources[at];
        // An update that began after a change and lists the file knows of it.
        let later = resource.current.as_ref().filter(|it| seen.is_before(it.started, now));
        for path in files {
            if later.is_some_and(|it| it.files.contains(&path)) {
                continue;
            }
            let mut known = resource.pending.iter_mut();
            match known.find(|it| it.path == path && it.target == *target) {
                Some(known) => {
                    known.at = seen;
                    known.suspect = least(known.suspect.take(), suspect.clone());
                }
                None => resource.pending.push(ChangedFile {
                    target: Arc::clone(target),
                    path,
                    at: seen,
                    suspect: suspect.clone(),
                }),
            }
        }
        self.touch(at);
    }
}

/// Of two explanations the one that speaks less for a loop: somebody outside, then the shorter chain.
fn least(a: Option<Suspect>, b: Option<Suspect>) -> Option<Suspect> {
    let (a, b) = (a?, b?);
    Some(if b.depth < a.depth { b } else { a })
}
