//! Finds updates that cause each other: a file that changes while something updates is that update's
//! doing, unless something outside shows otherwise.
//!
//! Somebody who saves all the time while something slow updates looks the same. So a chain of updates that has
//! become too long goes on after pauses only, each longer than the one before: what changes in a pause is nobody's
//! doing but the user's, and an update after a pause that changes nothing ends the chain with everything up to date.

use std::sync::Arc;

use crate::{
    hold::Hold,
    reason::Reason,
    resource::{Resource, ResourceName, Suspect, Update, UpdateId},
    time::Time,
    world::World,
};

/// After so many updates in a row that only other updates caused, the next one is held for a while.
pub(super) const ROUNDS: u32 = 10;

/// So many of them must be the resource's own: others may loop while it has nothing to do with that.
const OWN_ROUNDS: u32 = 3;

/// So many more are tried after pauses; the next one is held until something outside happens.
pub(super) const TRIALS: u32 = 3;

/// How long the first of them waits; each further one waits twice as long.
const PAUSE_MILLIS: i64 = 1_000;

/// A change may be seen so much later than the end of the update that made it.
const ECHO_MILLIS: i64 = 50;

/// Clocks of file systems may be so much behind.
const TICK_MILLIS: i64 = 10;

/// So long after its end an update is remembered: a batch of many changes may arrive late.
const REMEMBERED_MILLIS: i64 = 10_000;

/// An update that has ended, as long as its changes may still arrive.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    resource: ResourceName,
    update: UpdateId,
    depth: u32,
    started: Time,
    ended: Time,
}

impl World {
    /// Notes that an update has ended.
    pub(super) fn remember_end(&mut self, now: Time, at: usize, update: &Update) {
        self.recent.retain(|it| it.ended.plus_millis(REMEMBERED_MILLIS) >= now);
        self.recent.push(Ended {
            resource: self.resources[at].name.clone(),
            update: update.id,
            depth: update.depth,
            started: update.started,
            ended: now,
        });
    }

    /// The updates that may have made a change: all that were running at that time, else those that began just
    /// after it, or ended just before it was seen if nobody knows when it was made.
    pub(super) fn suspects(&self, changed: Time, is_exact: bool) -> Arc<[Suspect]> {
        // What ends at that very moment has less to do with it than what goes on.
        let sure = self.updates_between(changed.plus_micros(1), changed);
        if !sure.is_empty() {
            return sure.into();
        }
        let echo = if is_exact { 0 } else { ECHO_MILLIS };
        self.updates_between(changed.plus_millis(-echo), changed.plus_millis(TICK_MILLIS)).into()
    }

    /// The updates that were running at some time between two points, in the order in which they started.
    fn updates_between(&self, from: Time, to: Time) -> Vec<Suspect> {
        let running = self.tracking.running.iter().map(|at| &self.resources[*at]);
        let running = running.filter_map(|it| Some((&it.name, it.current.as_ref()?)));
        let running = running.filter(|(_, it)| it.started <= to);
        let running = running.map(|(name, it)| (name, it.id, it.depth));
        let ended = self.recent.iter().filter(|it| it.started <= to && from <= it.ended);
        let ended = ended.map(|it| (&it.resource, it.update, it.depth));
        let found = running.chain(ended).map(|(resource, update, depth)| Suspect {
            resource: resource.clone(),
            update,
            depth,
        });
        let mut found: Vec<Suspect> = found.collect();
        found.sort_by_key(|it| it.update);
        found
    }
}

/// How many updates lead to the next one that nobody outside asked for: the shortest way counts.
pub(super) fn next_depth(resource: &Resource) -> u32 {
    if resource.next_reason() != Reason::FILES {
        return 0;
    }
    // One change that somebody outside made is enough.
    let mut depths = resource.pending.iter().map(|it| Some(it.depth()? + 1));
    let least = depths.try_fold(u32::MAX, |least, it| Some(least.min(it?)));
    least.filter(|it| *it != u32::MAX).unwrap_or(0)
}

/// How many of the resource's latest updates in a row nobody outside asked for.
pub(super) fn own_rounds(resource: &Resource) -> u32 {
    resource.history.front().map_or(0, |it| it.rounds)
}

/// The hold of a resource whose updates keep causing each other.
pub(super) fn hold(resource: &Resource, now: Time) -> Option<Hold> {
    let is_loop = next_depth(resource) > ROUNDS && own_rounds(resource) >= OWN_ROUNDS;
    if !is_loop || trial_at(resource, now).is_some_and(|it| it <= now) {
        return None;
    }
    let change = resource.pending.iter().next()?;
    let during = change.suspects.iter().max_by_key(|it| (it.depth, it.update))?;
    let during = during.resource.clone();
    Some(Hold::RebuildLoop { file: change.path.clone(), during })
}

/// When a resource whose updates seem to cause each other may try once more.
fn trial_at(resource: &Resource, now: Time) -> Option<Time> {
    let trial = next_depth(resource).checked_sub(ROUNDS + 1).filter(|it| *it < TRIALS)?;
    // The pause begins when nothing but the pause keeps it from updating.
    let since = resource.wants_since.unwrap_or(now);
    Some(since.plus_millis(PAUSE_MILLIS << trial))
}

impl World {
    /// When time alone lets something start: [`Event::TimePassed`](super::Event::TimePassed) is due then.
    pub fn wake_at(&self) -> Option<Time> {
        let held = self.tracking.held.iter().map(|at| &self.resources[*at]);
        let looping = held.filter(|it| matches!(it.hold, Some(Hold::RebuildLoop { .. })));
        let trials = looping.filter_map(|it| trial_at(it, it.wants_since?));
        trials.chain(self.objects.watches.wake_at()).chain(self.docker.wake_at()).min()
    }
}
