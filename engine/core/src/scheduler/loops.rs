//! Finds updates that cause each other: a file that changes while something updates is that update's
//! doing, unless something outside shows otherwise.

use std::sync::Arc;

use crate::{
    hold::Hold,
    reason::Reason,
    resource::{Resource, ResourceName, Suspect, Update, UpdateId},
    scheduler::Scheduler,
    time::Time,
};

/// After so many updates in a row that only other updates caused, the next one is held.
pub(super) const ROUNDS: u32 = 10;

/// A change may be seen so much later than the end of the update that made it.
const ECHO_MILLIS: i64 = 50;

/// An update that has ended, as long as its changes may still be seen.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    resource: ResourceName,
    update: UpdateId,
    depth: u32,
    started: Time,
    until: Time,
}

impl Scheduler {
    /// Notes that an update has ended.
    pub(super) fn remember_end(&mut self, now: Time, at: usize, update: &Update) {
        self.recent.retain(|it| it.until >= now);
        self.recent.push(Ended {
            resource: Arc::clone(&self.resources[at].name),
            update: update.id,
            depth: update.depth,
            started: update.started,
            until: now.plus_millis(ECHO_MILLIS),
        });
    }

    /// Notes that a resource updates again: whatever it changes now is the doing of that.
    pub(super) fn forget_ends_of(&mut self, name: &ResourceName) {
        self.recent.retain(|it| it.resource != *name);
    }

    /// The update that may have made a change: of those that were running, the one furthest down a chain.
    pub(super) fn suspect(&self, seen: Time) -> Option<Suspect> {
        let running = self.tracking.running.iter().map(|at| &self.resources[*at]);
        let running = running.filter_map(|it| {
            let update = it.current.as_ref().filter(|it| it.started <= seen)?;
            Some((update.depth, update.id, &it.name))
        });
        let ended = self.recent.iter().filter(|it| it.started <= seen && seen <= it.until);
        let ended = ended.map(|it| (it.depth, it.update, &it.resource));
        let (depth, update, resource) = running.chain(ended).max_by_key(|it| (it.0, it.1))?;
        Some(Suspect { resource: Arc::clone(resource), update, depth })
    }
}

/// How many updates lead to the next one that nobody outside asked for: the shortest way counts.
pub(super) fn next_depth(resource: &Resource) -> u32 {
    if resource.next_reason() != Reason::FILES {
        return 0;
    }
    let depths = resource.pending.iter().map(|it| it.suspect.as_ref().map_or(0, |it| it.depth + 1));
    depths.min().unwrap_or(0)
}

/// The hold of a resource whose updates keep causing each other.
pub(super) fn hold(resource: &Resource) -> Option<Hold> {
    if next_depth(resource) <= ROUNDS {
        return None;
    }
    let change = resource.pending.first()?;
    let during = Arc::clone(&change.suspect.as_ref()?.resource);
    Some(Hold::RebuildLoop { file: Arc::clone(&change.path), during })
}
