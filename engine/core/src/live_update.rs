//! Which changed files go into which running containers, and when only a full build helps.
//!
//! A [`LiveUpdate`] is a part of its resource. The [`World`](crate::World) tells it what happens: files changed, an
//! image was built, containers came and went, an update ended. [`LiveUpdate::step`] answers what is to be done.
//!
//! Changes are remembered until an image that contains them has been built, so a container that is replaced
//! gets everything since that build. For each container, changes are in it, on their way, or pending; see
//! `container.rs`. A save that arrives during an update is newer than that update, hence pending after it.

mod ahead;
mod container;
mod definition;
mod failure;
mod paths;
mod plan;
mod round;
mod rules;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use engine_model::{FilePath, IgnoreDef, TargetId};

pub use container::{Container, ContainerState, ContainerStatus, Observed, Waiting};
pub use definition::{Definition, Selector, UpdateMode};
pub use failure::{Failed, Failure, FailureReason, ListError, RunEnd, RunError, permission_denied};
pub(crate) use paths::below;
pub use plan::{ContainerCommand, Mapping, Outcome, SyncId, SyncPlan, SyncStep};
pub use rules::{Root, Roots, Rules};

use ahead::Ahead;
use container::{Mark, Tracked, TrackedFailure};

use crate::time::Time;

/// What was found at a path after it changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A file, a link or a directory.
    Present {
        /// When it changed, if somebody looked.
        changed: Option<Time>,
    },
    /// Nothing.
    Absent,
}

impl Found {
    /// Something, and nobody looked since when.
    pub const PRESENT: Self = Self::Present { changed: None };
}

/// What clients see of a live update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Its containers, in the order in which they were observed; none while it has failed.
    pub containers: Vec<ContainerStatus>,
    /// Why it gave way to a full build.
    pub failed: Option<Failed>,
}

/// One live update of a resource: its rules, and all that is known about files and containers.
#[derive(Clone, Debug, Default)]
pub struct LiveUpdate {
    rules: Rules,
    mode: UpdateMode,
    selector: Selector,
    ignores: Arc<[IgnoreDef]>,
    /// The directory that messages name files relative to.
    cwd: FilePath,
    is_triggered: bool,
    /// Whether an update was canceled, so that nothing is copied before the next one.
    is_held: bool,
    sources: BTreeMap<TargetId, Source>,
    /// What was found at the local paths of its sync steps when somebody last looked.
    roots: Roots,
    ahead: Ahead,
    /// When what runs was deployed, for sources without an image.
    deployed: Option<Time>,
    observed: Vec<Observed>,
    tracked: BTreeMap<Container, Tracked>,
    listing: Listing,
    last_mark: Mark,
    /// Updates of containers that have not ended, also of containers that are gone.
    syncing: BTreeSet<SyncId>,
    status: Status,
}

/// What is remembered of the files of one image.
#[derive(Clone, Debug, Default)]
struct Source {
    /// When the build of the current image began.
    built: Option<Time>,
    changes: BTreeMap<FilePath, Change>,
}

/// The last change of a path.
#[derive(Clone, Copy, Debug)]
struct Change {
    mark: Mark,
    at: Time,
    found: Found,
    /// Whether the current image has it, although it was built earlier: the file is as it was then.
    is_in_image: bool,
}

/// The list of all files, for containers that get all of them.
#[derive(Clone, Debug, Default)]
enum Listing {
    #[default]
    None,
    /// Somebody makes it; it will have all changes up to the mark.
    Requested(Mark),
    /// It has all changes up to the mark.
    Done {
        mark: Mark,
        result: Result<Arc<[FilePath]>, ListError>,
        /// Whether a step has seen it. A list that is used at once may lack the newest changes, which then
        /// follow; otherwise somebody who saves all the time would keep it from ever being used.
        is_used: bool,
    },
}

impl LiveUpdate {
    /// A live update that knows of no files and no containers yet. Messages name files relative to `cwd`.
    pub fn new(definition: Definition, cwd: FilePath) -> Self {
        let mut new = Self { cwd, ..Self::default() };
        new.redefine(definition);
        new
    }

    /// Which containers it is for.
    pub fn selector(&self) -> &Selector {
        &self.selector
    }

    /// How it does, as of the last step.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// What its sources leave out.
    pub(crate) fn ignores(&self) -> &Arc<[IgnoreDef]> {
        &self.ignores
    }

    /// The local paths of its sync steps.
    pub(crate) fn sync_roots(&self) -> impl Iterator<Item = &FilePath> {
        self.rules.syncs().iter().map(|it| &it.local)
    }

    /// Whether it is for files of a target.
    pub(crate) fn has_source(&self, target: &TargetId) -> bool {
        self.sources.contains_key(target)
    }

    /// Whether an update of containers has not ended.
    pub(crate) fn is_syncing(&self) -> bool {
        !self.syncing.is_empty()
    }

    /// The Tiltfile says something else. With other rules nothing is known about containers any more: what
    /// changed since the last build is copied again.
    pub fn redefine(&mut self, definition: Definition) {
        let Definition { rules, mode, sources, selector, ignores } = definition;
        (self.mode, self.selector, self.ignores) = (mode, selector, ignores);
        self.sources.retain(|name, _| sources.contains(name));
        for source in sources {
            self.sources.entry(source).or_default();
        }
        if self.rules != rules {
            self.rules = rules;
            self.tracked.values_mut().for_each(Tracked::forget);
            self.listing = Listing::None;
        }
    }

    /// Somebody has looked at the local paths of sync steps.
    pub fn roots_found(&mut self, roots: &Roots) {
        let found = self.sync_roots().filter_map(|it| Some((it.clone(), roots.get(it)?.clone())));
        self.roots = found.collect();
    }

    /// Paths of a source have changed.
    pub fn files_changed(
        &mut self,
        source: &TargetId,
        at: Time,
        files: impl IntoIterator<Item = (FilePath, Found)>,
    ) {
        self.ahead.clear();
        self.last_mark.0 += 1;
        let mark = self.last_mark;
        let source = self.sources.entry(source.clone()).or_default();
        let change = |found| Change { mark, at, found, is_in_image: false };
        source.changes.extend(files.into_iter().map(|(it, found)| (it, change(found))));
    }

    /// The current image of a source has all changes from before this time, when its build began.
    pub fn image_built(&mut self, source: &TargetId, began: Time) {
        self.is_held = false;
        self.sources.entry(source.clone()).or_default().built = Some(began);
    }

    /// The current image of a source is one that was built earlier: when somebody looked, its inputs were as they
    /// were then. Only containers that files were copied into since may lack changes from before.
    pub fn image_kept(&mut self, source: &TargetId, looked: Time, now: Time) {
        self.is_held = false;
        let changes =
            self.sources.get_mut(source).into_iter().flat_map(|it| it.changes.values_mut());
        for change in changes.filter(|it| it.at.is_before(looked, now)) {
            change.is_in_image = true;
        }
        for tracked in self.tracked.values_mut() {
            tracked.failed.take_if(|it| it.oldest.is_before(looked, now));
        }
    }

    /// What runs was deployed, from this time on if it is known.
    pub fn deployed(&mut self, began: Option<Time>) {
        self.is_held = false;
        self.deployed = began.or(self.deployed);
    }

    /// These are the containers that it is for, all of them, in order.
    pub fn containers_observed(&mut self, observed: Vec<Observed>) {
        self.tracked.retain(|container, _| observed.iter().any(|it| it.container == *container));
        if self.observed != observed {
            self.observed = observed;
            // What could not be listed before may be there by now.
            if matches!(self.listing, Listing::Done { result: Err(_), .. }) {
                self.listing = Listing::None;
            }
        }
    }

    /// An update begins that somebody has asked for, or that only files have caused.
    pub fn begin(&mut self, is_triggered: bool) {
        self.is_triggered = is_triggered;
        self.is_held = false;
    }

    /// An update was canceled.
    pub fn hold(&mut self) {
        self.is_held = true;
        self.ahead.clear();
    }

    /// The answer to [`SyncStep::ListFiles`]: the files, or what is wrong.
    pub fn files_listed(&mut self, result: Result<Vec<FilePath>, ListError>) {
        if let Listing::Requested(mark) = self.listing {
            self.listing = Listing::Done { mark, result: result.map(Into::into), is_used: false };
        }
    }

    /// An update of containers has ended; says what went wrong with a command. What is not known any more is ignored.
    pub fn sync_ended(&mut self, id: SyncId, ended: Vec<(Container, Outcome)>) -> Option<String> {
        if !self.syncing.remove(&id) {
            return None;
        }
        let mut last_error = None;
        for (container, outcome) in ended {
            if let Outcome::Synced { exec_error: Some(error) } = &outcome {
                last_error = Some(error.clone());
            }
            self.container_ended(id, &container, outcome);
        }
        last_error
    }

    fn container_ended(&mut self, id: SyncId, container: &Container, outcome: Outcome) {
        let Some(tracked) = self.tracked.get_mut(container) else { return };
        let Some(flight) = tracked.flight.take_if(|it| it.id == id) else { return };
        match outcome {
            Outcome::Synced { exec_error } => {
                tracked.arrive(&flight);
                tracked.exec_error = exec_error;
            }
            Outcome::Failed(error) => {
                let failure = Failure::update(container, &error);
                tracked.failed = Some(TrackedFailure { failure, oldest: flight.oldest });
            }
            Outcome::Abandoned => {}
        }
    }

    /// What is to be done now, with the number of the latest update of containers; nothing is known while it is held.
    pub fn step(&mut self, now: Time, latest: &mut SyncId) -> Option<Vec<SyncStep>> {
        if self.is_held {
            return None;
        }
        self.forget_what_is_built(now);
        let mut steps = Vec::new();
        if self.needs_list() {
            self.listing = Listing::Requested(self.last_mark);
            steps.push(SyncStep::ListFiles);
        }
        match self.survey(now) {
            Ok((ready, containers)) => {
                self.status = Status { containers, failed: None };
                steps.extend(self.start(ready, latest));
            }
            Err(failure) => steps.extend(self.fail(now, failure)),
        }
        self.put_list_aside();
        Some(steps)
    }

    /// An image has what changed before its build began. Such changes are forgotten, and so are failures
    /// that they caused.
    fn forget_what_is_built(&mut self, now: Time) {
        for source in self.sources.values_mut() {
            let Some(cutoff) = source.built.or(self.deployed) else { continue };
            source.changes.retain(|_, it| !it.at.is_before(cutoff, now));
            for tracked in self.tracked.values_mut() {
                tracked.failed.take_if(|it| it.oldest.is_before(cutoff, now));
            }
        }
    }

    fn needs_list(&self) -> bool {
        let is_due = match &self.listing {
            Listing::None => true,
            Listing::Requested(_) => false,
            Listing::Done { mark, is_used, .. } => *is_used && *mark != self.last_mark,
        };
        is_due && self.observed.iter().any(|it| self.is_initial(&it.container))
    }

    /// A list is kept as long as somebody waits for it.
    fn put_list_aside(&mut self) {
        let is_wanted = self.observed.iter().any(|it| self.is_initial(&it.container));
        match &mut self.listing {
            Listing::Done { is_used, .. } if is_wanted => *is_used = true,
            listing @ Listing::Done { .. } => *listing = Listing::None,
            Listing::None | Listing::Requested(_) => {}
        }
    }

    /// Whether a container gets all files, as it never got any.
    fn is_initial(&self, container: &Container) -> bool {
        let has_mark = self.tracked.get(container).is_some_and(|it| it.mark().is_some());
        self.rules.has_initial_sync && !has_mark
    }

    /// The live update gives way to a full build; the step says so when that is news.
    fn fail(&mut self, now: Time, failure: Failure) -> Option<SyncStep> {
        let last = self.status.failed.take();
        let is_news = last.as_ref().is_none_or(|it| it.failure != failure);
        let since = match last {
            Some(last) if last.failure.reason == failure.reason => last.since,
            _ => now,
        };
        let failed = Failed { failure, since };
        self.status = Status { containers: Vec::new(), failed: Some(failed.clone()) };
        is_news.then_some(SyncStep::FallBack(failed))
    }
}
