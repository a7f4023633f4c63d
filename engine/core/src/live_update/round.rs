//! One look at all containers: what each of them lacks, whether it can be had, and who gets it together.

use std::{collections::BTreeMap, rc::Rc, sync::Arc};

use engine_model::FilePath;

use crate::time::Time;

use super::{
    Change, Found, Listing, LiveUpdate, UpdateMode,
    container::{
        Container, ContainerState, ContainerStatus, Flight, Mark, Observed, Tracked,
        TrackedFailure, Waiting,
    },
    failure::Failure,
    plan::{Mapping, SyncId, SyncPlan, SyncStep},
};

/// What a container lacks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Pending {
    is_initial: bool,
    files: Vec<FilePath>,
    /// What has to go before all files come.
    deletions: Vec<Mapping>,
    /// Once all of it is in the container, so are all changes up to here.
    mark: Mark,
    oldest: Time,
    newest: Time,
}

/// An update that can begin, with the times of the changes in it.
#[derive(Debug)]
pub(super) struct Ready {
    pending: Rc<Pending>,
    plan: SyncPlan,
}

/// What containers lack depends only on what they have, so those that have the same share the answer.
type Cache = BTreeMap<(Option<Mark>, bool), Rc<Pending>>;

impl LiveUpdate {
    /// The updates that can begin and how each container does, or why a full build is needed.
    pub(super) fn survey(
        &mut self,
        now: Time,
    ) -> Result<(Vec<Ready>, Vec<ContainerStatus>), Failure> {
        if let Some(failure) = self.lasting_failure() {
            return Err(failure);
        }
        let mut cache = Cache::new();
        let (mut updates, mut statuses) = (Vec::new(), Vec::new());
        let (mut ended, mut lacks_any) = (None, false);
        for observed in self.observed.clone() {
            let pending = self.pending(now, &observed.container, &mut cache)?;
            lacks_any |= !pending.files.is_empty();
            if observed.state == ContainerState::Terminated {
                ended.get_or_insert(observed.container.pod);
                continue;
            }
            let mappings = match self.judge(&observed, &pending) {
                Ok(mappings) => mappings,
                Err(failure) => {
                    self.remember(&observed.container, &failure, pending.oldest);
                    return Err(failure);
                }
            };
            let waiting = self.waiting(observed.state, &observed.container);
            statuses.push(self.container_status(&observed.container, waiting));
            let lacks_some = !mappings.is_empty() || !pending.deletions.is_empty();
            if waiting.is_none() && lacks_some && !self.is_in_flight(&observed.container) {
                self.join(&mut updates, pending, &mappings, observed.container);
            }
        }
        match ended {
            // Whether what ended will be replaced is unknown: waiting for that could take forever.
            Some(pod) if lacks_any && statuses.is_empty() => Err(Failure::terminated(&pod)),
            _ => Ok((updates, statuses)),
        }
    }

    /// Updates begin.
    pub(super) fn start(&mut self, ready: Vec<Ready>, latest: &mut SyncId) -> Vec<SyncStep> {
        let mut steps = Vec::with_capacity(ready.len());
        for Ready { pending, plan } in ready {
            latest.0 += 1;
            let id = *latest;
            let Pending { mark, oldest, newest, .. } = *pending;
            for container in &plan.containers {
                let flight = Flight { id, mark, oldest, newest };
                self.tracked.entry(container.clone()).or_default().begin(flight);
            }
            self.syncing.insert(id);
            steps.push(SyncStep::Sync { id, plan: Arc::new(plan) });
        }
        steps
    }

    /// A failure of a container that nothing was built for since.
    fn lasting_failure(&self) -> Option<Failure> {
        let mut tracked = self.observed.iter().filter_map(|it| self.tracked.get(&it.container));
        tracked.find_map(|it| it.failed.as_ref()).map(|it| it.failure.clone())
    }

    fn remember(&mut self, container: &Container, failure: &Failure, oldest: Time) {
        // A container without an identity is another one tomorrow.
        if !container.id.is_empty() {
            let failed = TrackedFailure { failure: failure.clone(), oldest };
            self.tracked.entry(container.clone()).or_default().failed = Some(failed);
        }
    }

    fn is_in_flight(&self, container: &Container) -> bool {
        self.tracked.get(container).is_some_and(|it| it.flight.is_some())
    }

    fn pending(
        &self,
        now: Time,
        container: &Container,
        cache: &mut Cache,
    ) -> Result<Rc<Pending>, Failure> {
        let tracked = self.tracked.get(container);
        let mark = tracked.and_then(Tracked::mark);
        let is_touched = tracked.is_some_and(|it| it.is_touched);
        if let Some(pending) = cache.get(&(mark, is_touched)) {
            return Ok(Rc::clone(pending));
        }
        let pending = if self.is_initial(container) {
            self.all_files(now, is_touched)?
        } else {
            self.changes(mark, is_touched)
        };
        let pending = Rc::new(pending);
        cache.insert((mark, is_touched), Rc::clone(&pending));
        Ok(pending)
    }

    /// All files, for a container that got none; nothing as long as they are not known.
    fn all_files(&self, now: Time, is_touched: bool) -> Result<Pending, Failure> {
        let Listing::Done { mark, result, .. } = &self.listing else {
            return Ok(Pending { is_initial: true, ..Pending::default() });
        };
        let mut files = match result {
            Ok(files) => files.to_vec(),
            Err(error) => return Err(Failure::listing(error)),
        };
        files.sort();
        files.dedup();
        let deletions = self.deleted_since_build(is_touched);
        Ok(Pending { is_initial: true, files, deletions, mark: *mark, oldest: now, newest: now })
    }

    /// The changes after a mark. Those that are in the image as well are left out for a container that is as its image.
    fn changes(&self, after: Option<Mark>, is_touched: bool) -> Pending {
        let mut pending = Pending { mark: self.last_mark, ..Pending::default() };
        let is_missing = |file: &FilePath, change: &Change| {
            let may_differ = || is_touched && self.rules.is_synced(file);
            Some(change.mark) > after && (!change.is_in_image || may_differ())
        };
        let changes = self.sources.values().flat_map(|it| &it.changes);
        for (file, change) in changes.filter(|(file, change)| is_missing(file, change)) {
            let is_first = pending.files.is_empty();
            pending.oldest = if is_first { change.at } else { pending.oldest.min(change.at) };
            pending.newest = if is_first { change.at } else { pending.newest.max(change.at) };
            pending.files.push(file.clone());
        }
        pending.files.sort();
        pending.files.dedup();
        pending
    }

    /// Where the files go, unless they or the container ask for a full build.
    fn judge(&self, observed: &Observed, pending: &Pending) -> Result<Vec<Mapping>, Failure> {
        let mappings = self.rules.map(&pending.files, &self.roots, &self.cwd)?;
        let is_in_image = |it: &FilePath| self.last_change(it).is_some_and(|it| it.is_in_image);
        self.rules.check(pending.files.iter().filter(|it| !is_in_image(it)))?;
        if observed.state == ContainerState::CrashLoopBackOff && !mappings.is_empty() {
            return Err(Failure::crashing(&observed.container));
        }
        Ok(mappings)
    }

    fn waiting(&self, state: ContainerState, container: &Container) -> Option<Waiting> {
        if state != ContainerState::Running || container.id.is_empty() {
            Some(Waiting::Container)
        } else if self.mode == UpdateMode::Manual && !self.is_triggered {
            Some(Waiting::Trigger)
        } else {
            None
        }
    }

    fn container_status(&self, container: &Container, waiting: Option<Waiting>) -> ContainerStatus {
        let tracked = self.tracked.get(container);
        ContainerStatus {
            container: container.clone(),
            last_file_time_synced: tracked.and_then(|it| it.last_file_time),
            last_exec_error: tracked.and_then(|it| it.exec_error.clone()),
            waiting,
        }
    }

    /// A container gets an update together with those that lack the same files.
    fn join(
        &self,
        updates: &mut Vec<Ready>,
        pending: Rc<Pending>,
        mappings: &[Mapping],
        container: Container,
    ) {
        if let Some(ready) = updates.iter_mut().find(|it| it.pending == pending) {
            ready.plan.containers.push(container);
            return;
        }
        let (deletions, copies) = if pending.is_initial {
            (pending.deletions.clone(), self.rules.syncs().to_vec())
        } else {
            mappings.iter().cloned().partition(|it| self.is_absent(&it.local))
        };
        let plan = SyncPlan {
            containers: vec![container],
            is_initial: pending.is_initial,
            files: pending.files.clone(),
            deletions,
            copies: last_of_each_path(copies),
            runs: self.rules.runs_after(mappings),
            restarts: self.rules.restarts,
        };
        updates.push(Ready { pending, plan });
    }

    /// What a container may still have, although it is gone here.
    fn deleted_since_build(&self, is_touched: bool) -> Vec<Mapping> {
        let files = self.changes(None, is_touched).files;
        let absent = files.iter().filter(|it| self.is_absent(it));
        absent.filter_map(|it| self.rules.map_existing(it)).collect()
    }

    /// The last change of a file, whichever source saw it.
    fn last_change(&self, file: &FilePath) -> Option<&Change> {
        self.sources.values().filter_map(|it| it.changes.get(file)).max_by_key(|it| it.mark)
    }

    fn is_absent(&self, file: &FilePath) -> bool {
        self.last_change(file).is_some_and(|it| it.found == Found::Absent)
    }
}

/// Copies, of which the last wins where several go to the same path.
pub(super) fn last_of_each_path(mappings: Vec<Mapping>) -> Vec<Mapping> {
    let mut last = BTreeMap::new();
    for (i, mapping) in mappings.iter().enumerate() {
        last.insert(mapping.container.clone(), i);
    }
    let copies = mappings.into_iter().enumerate();
    let copies = copies.filter(|(i, it)| last.get(&it.container) == Some(i));
    copies.map(|(_, mapping)| mapping).collect()
}
