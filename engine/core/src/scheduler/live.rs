//! Changes that running containers take: when that is tried, and what happens if it cannot be done.

use crate::{
    hold::Hold,
    reason::Reason,
    resource::{Resource, UpdateId},
    scheduler::{Scheduler, pick},
    status::RuntimeStatus,
    time::Time,
};

impl Scheduler {
    /// Starts updates of running containers. They take no slot, as they take no time, and wait for nobody.
    pub(super) fn start_live_updates(&mut self, now: Time) {
        self.sort_dirty();
        let wanting = self.tracking.wanting.iter().copied();
        let ready: Vec<usize> = wanting
            .filter(|at| {
                let it = &self.resources[*at];
                it.current.is_none() && applies(it)
            })
            .collect();
        for at in ready {
            self.start_update(now, at);
        }
    }

    /// The containers cannot take the changes: they wait again, for a build.
    pub(super) fn fell_back(&mut self, now: Time, id: UpdateId) {
        let is_it = |at: &usize| self.resources[*at].current.as_ref().is_some_and(|it| it.id == id);
        let Some(at) = self.tracking.running.iter().copied().find(is_it) else { return };
        let Some(update) = self.resources[at].current.take() else { return };
        self.remember_end(now, at, &update);
        self.touch(at);
        if update.is_forgotten {
            return;
        }
        let resource = &mut self.resources[at];
        resource.is_live_broken = true;
        let newer = std::mem::take(&mut resource.pending);
        let is_newer = |path: &str| newer.iter().any(|it| &*it.path == path);
        resource.pending = update.changes.into_iter().filter(|it| !is_newer(&it.path)).collect();
        resource.pending.extend(newer);
        // Who asked for it asked for a build as well.
        let asked = update.reason.triggers();
        if !asked.is_empty() && resource.triggered.is_empty() {
            self.queue.push(resource.name.clone());
        }
        let resource = &mut self.resources[at];
        resource.triggered = resource.triggered.with(asked);
    }
}

/// Whether the next update is one of running containers.
pub(super) fn applies(resource: &Resource) -> bool {
    covers(resource) && !is_about_to_run(resource)
}

/// The hold of a resource whose containers could take the change if they ran.
pub(super) fn hold(resource: &Resource) -> Option<Hold> {
    (covers(resource) && is_about_to_run(resource)).then_some(Hold::WaitingForDeploy)
}

/// Whether nothing happened but changes that containers of the resource can take.
fn covers(resource: &Resource) -> bool {
    let reason = resource.next_reason();
    let is_known = |target: &str| resource.live_targets.iter().any(|it| &**it == target);
    !resource.live_targets.is_empty()
        && !resource.is_live_broken
        && resource.last_good.is_some()
        && Reason::FILES.with(reason.triggers()) == reason
        && reason.has(Reason::FILES)
        && !pick::is_full_rebuild(resource, reason)
        && resource.pending.iter().all(|it| is_known(&it.target))
}

/// Whether it was deployed well, and what was deployed does not run yet.
fn is_about_to_run(resource: &Resource) -> bool {
    let is_well = resource.history.front().and_then(|it| it.end.as_ref());
    is_well.is_some_and(|it| it.error.is_none())
        && matches!(
            resource.observed,
            None | Some(RuntimeStatus::Unknown | RuntimeStatus::Pending | RuntimeStatus::None)
        )
}
