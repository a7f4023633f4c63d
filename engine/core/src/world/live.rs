//! Changes that running containers take: when that is tried, how it ends, and what happens if it cannot be done.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use engine_model::{FilePath, Kind, LiveUpdateName, ObjectId, TargetId};

use crate::{
    effect::{LineKind, LogLine},
    hold::Hold,
    live_update::{
        Container, Definition, ListError, LiveUpdate, Observed, Outcome, Roots, SyncId, SyncPlan,
        SyncStep,
    },
    reason::Reason,
    resource::{Resource, ResourceName},
    status::RuntimeStatus,
    time::Time,
    world::{Action, World, pick},
};

impl World {
    /// The local paths of sync steps that files of a target may belong to.
    pub fn sync_roots(&self, target: &TargetId) -> BTreeSet<FilePath> {
        let all = self.resources.iter().flat_map(|it| it.live_updates.values());
        all.filter(|it| it.has_source(target)).flat_map(LiveUpdate::sync_roots).cloned().collect()
    }

    /// A live update.
    pub fn live_update(&self, name: &str) -> Option<&LiveUpdate> {
        self.resources.iter().find_map(|it| it.live_updates.get(name))
    }

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

    /// The live updates of a resource are those that its manifest says. Nobody waits for one that is gone.
    pub(super) fn define_live_updates(&mut self, now: Time, at: usize) {
        if !self.settings.has_live_updates {
            return;
        }
        let resource = &mut self.resources[at];
        let mut old = std::mem::take(&mut resource.live_updates);
        for (name, definition) in Definition::all(&resource.manifest) {
            let live_update = match old.remove(&name) {
                Some(mut known) => {
                    known.redefine(definition);
                    known
                }
                None => LiveUpdate::new(definition, self.settings.cwd.clone()),
            };
            resource.live_updates.insert(name, live_update);
        }
        self.settle_live(now, at, false);
    }

    /// Containers take the changes that an update consumes.
    pub(super) fn begin_live_update(
        &mut self,
        now: Time,
        at: usize,
        reason: Reason,
        files: &[FilePath],
    ) {
        let line = self.entry_line(reason, files);
        let resource = &mut self.resources[at];
        resource.exec_error = None;
        for live_update in resource.live_updates.values_mut() {
            live_update.begin(!reason.triggers().is_empty());
        }
        let line = live_line(resource, LineKind::BuildEvent, line);
        self.effects.lines.push(line);
        self.step_live(now, at);
    }

    /// Stops an update; one of containers ends at once, and nothing more is copied before the next one.
    pub(super) fn cancel_update(&mut self, now: Time, at: usize) {
        let resource = &mut self.resources[at];
        let Some(update) = &resource.current else { return };
        if !update.is_live {
            let (id, resource) = (update.id, resource.name.clone());
            return self.effects.actions.push(Action::CancelUpdate { id, resource });
        }
        resource.live_updates.values_mut().for_each(LiveUpdate::hold);
        let error = cancel_syncs(resource, &mut self.effects.actions);
        self.end_live_update(now, at, Some(error));
    }

    /// Stops what is copied into containers of a resource that is gone.
    pub(super) fn abandon_live_update(&mut self, resource: &Resource) {
        let error = cancel_syncs(resource, &mut self.effects.actions);
        self.effects.lines.push(failed_line(resource, &error));
    }

    /// Files of a target seem to be complete while many others still change: they need not wait for those.
    pub(super) fn files_changing(&mut self, target: &TargetId, files: &[FilePath], roots: &Roots) {
        for resource in &mut self.resources {
            let live_updates = resource.live_updates.iter_mut();
            for (name, it) in live_updates.filter(|(_, it)| it.has_source(target)) {
                it.roots_found(roots);
                let plan = it.files_changing(files);
                self.effects.actions.extend(plan.map(|it| send_ahead(&resource.name, name, it)));
            }
        }
    }

    /// Files have gone ahead, or not.
    pub(super) fn went_ahead(&mut self, resource: &ResourceName, name: &LiveUpdateName) {
        let Some(&at) = self.index.get(resource) else { return };
        let live_update = self.resources[at].live_updates.get_mut(name);
        let plan = live_update.and_then(LiveUpdate::went_ahead);
        self.effects.actions.extend(plan.map(|it| send_ahead(resource, name, it)));
    }

    /// An image was built, and has all changes from before.
    pub(super) fn image_built(&mut self, target: &TargetId, began: Time) {
        for it in self.live_updates_with(target) {
            it.image_built(target, began);
        }
    }

    /// An image was built earlier, and has all changes from before somebody looked at its inputs.
    pub(super) fn image_kept(&mut self, now: Time, target: &TargetId, looked: Time) {
        for it in self.live_updates_with(target) {
            it.image_kept(target, looked, now);
        }
    }

    fn live_updates_with(&mut self, target: &TargetId) -> impl Iterator<Item = &mut LiveUpdate> {
        let all = self.resources.iter_mut().flat_map(|it| it.live_updates.values_mut());
        all.filter(|it| it.has_source(target))
    }

    /// What a resource deployed has files from before that.
    pub(super) fn deployed(&mut self, now: Time, name: &ResourceName, began: Option<Time>) {
        let Some(&at) = self.index.get(name) else { return };
        for it in self.resources[at].live_updates.values_mut() {
            it.deployed(began);
        }
        self.step_live(now, at);
    }

    /// Containers came, went, or do otherwise than before.
    pub(super) fn containers_observed(
        &mut self,
        now: Time,
        name: &ResourceName,
        containers: Vec<(LiveUpdateName, Vec<Observed>)>,
        roots: &Roots,
    ) {
        let Some(&at) = self.index.get(name) else { return };
        for (name, observed) in containers {
            if let Some(it) = self.resources[at].live_updates.get_mut(&name) {
                it.roots_found(roots);
                it.containers_observed(observed);
            }
        }
        self.step_live(now, at);
    }

    /// All files of sync steps are known, or why not.
    pub(super) fn files_listed(
        &mut self,
        now: Time,
        resource: &ResourceName,
        name: &str,
        result: Result<Vec<FilePath>, ListError>,
    ) {
        let Some(&at) = self.index.get(resource) else { return };
        if let Some(it) = self.resources[at].live_updates.get_mut(name) {
            it.files_listed(result);
        }
        self.step_live(now, at);
    }

    /// Containers were updated, or not.
    pub(super) fn sync_ended(
        &mut self,
        now: Time,
        resource: &ResourceName,
        name: &str,
        id: SyncId,
        ended: Vec<(Container, Outcome)>,
    ) {
        let Some(&at) = self.index.get(resource) else { return };
        let resource = &mut self.resources[at];
        let Some(it) = resource.live_updates.get_mut(name) else { return };
        let exec_error = it.sync_ended(id, ended);
        resource.exec_error = exec_error.or(resource.exec_error.take());
        self.step_live(now, at);
    }

    /// Does what is due for a resource, and ends its update when nothing is left to do.
    fn step_live(&mut self, now: Time, at: usize) {
        let Resource { name: resource, live_updates, .. } = &mut self.resources[at];
        let mut falls_back = false;
        for (name, it) in live_updates {
            let Some(steps) = it.step(now, &mut self.latest_sync) else { continue };
            for step in steps {
                let (resource, live_update) = (resource.clone(), name.clone());
                match step {
                    SyncStep::ListFiles => {
                        let roots = it.sync_roots().cloned().collect();
                        let ignores = Arc::clone(it.ignores());
                        let action = Action::ListFiles { resource, live_update, roots, ignores };
                        self.effects.actions.push(action);
                    }
                    SyncStep::Sync { id, plan } => {
                        let all = plan.is_initial.then(|| Arc::clone(it.ignores()));
                        let ignores = all.unwrap_or_default();
                        let action = Action::StartSync { resource, live_update, id, plan, ignores };
                        self.effects.actions.push(action);
                    }
                    SyncStep::FallBack(failed) => {
                        falls_back = true;
                        let text = failed.failure.log_line(&format!("{name:?}"));
                        let line = |text| LogLine {
                            resource,
                            span: span(name),
                            kind: LineKind::Info,
                            text,
                        };
                        self.effects.lines.extend(text.map(line));
                    }
                }
            }
            self.effects.changed.insert(ObjectId::new(Kind::LiveUpdate, &**name));
        }
        self.settle_live(now, at, falls_back);
    }

    fn settle_live(&mut self, now: Time, at: usize, falls_back: bool) {
        let resource = &mut self.resources[at];
        if !resource.current.as_ref().is_some_and(|it| it.is_live) {
            return;
        }
        let mut live_updates = resource.live_updates.values();
        if falls_back || live_updates.clone().any(|it| it.status().failed.is_some()) {
            self.fall_back(now, at);
        } else if !live_updates.any(LiveUpdate::is_syncing) {
            let error = resource.exec_error.take();
            self.end_live_update(now, at, error);
        }
    }

    fn end_live_update(&mut self, now: Time, at: usize, error: Option<String>) {
        let line = error.as_deref().map(|it| failed_line(&self.resources[at], it));
        self.effects.lines.extend(line);
        self.end_update(now, at, error);
    }

    /// The containers cannot take the changes: they wait again, for a build.
    fn fall_back(&mut self, now: Time, at: usize) {
        let Some(update) = self.resources[at].current.take() else { return };
        // What falls back as soon as it starts has changed nothing.
        if update.started != now {
            self.remember_end(now, at, &update);
        }
        self.touch(at);
        let resource = &mut self.resources[at];
        resource.is_live_broken = true;
        resource.released_by = update.released_by;
        let newer = resource.pending.take();
        let paths: HashSet<FilePath> = newer.iter().map(|it| it.path.clone()).collect();
        let older = update.changes.into_iter().filter(|it| !paths.contains(&it.path));
        older.chain(newer).for_each(|it| resource.pending.add(it));
        // Who asked for it asked for a build as well.
        let asked = update.reason.triggers();
        if !asked.is_empty() && resource.triggered.is_empty() {
            self.queue.push(resource.name.clone());
        }
        let resource = &mut self.resources[at];
        resource.triggered = resource.triggered.with(asked);
    }
}

impl Resource {
    /// Where its live updates write.
    pub fn live_span(&self) -> String {
        span(self.live_updates.keys().next().map_or(&*self.name, |it| it))
    }
}

fn span(live_update: &str) -> String {
    format!("liveupdate:{live_update}")
}

fn live_line(resource: &Resource, kind: LineKind, text: String) -> LogLine {
    LogLine { resource: resource.name.clone(), span: resource.live_span(), kind, text }
}

fn failed_line(resource: &Resource, error: &str) -> LogLine {
    live_line(resource, LineKind::Error, format!("Build Failed: {error}"))
}

/// Copies stop; says how the update ends that wanted them.
fn cancel_syncs(resource: &Resource, actions: &mut Vec<Action>) -> String {
    actions.push(Action::CancelSync { resource: resource.name.clone() });
    "build canceled".to_owned()
}

fn send_ahead(resource: &ResourceName, live_update: &LiveUpdateName, plan: SyncPlan) -> Action {
    let (resource, live_update) = (resource.clone(), live_update.clone());
    Action::SendAhead { resource, live_update, plan: Arc::new(plan) }
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
    let is_known =
        |target: &TargetId| resource.live_updates.values().any(|it| it.has_source(target));
    !resource.live_updates.is_empty()
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
