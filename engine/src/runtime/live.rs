//! Live updates, seen from the loop: what changed, which containers there are, and what becomes of it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use engine_core::{
    Event, Time,
    live_update::{
        Action, Container, Found, LiveUpdate, Outcome, Root, Rules, Status, SyncId, UpdateMode,
    },
    reason::Reason,
    resource::{ResourceName, UpdateId},
};
use engine_docker::Filter;
use engine_model::{IgnoreDef, ImageTarget, Manifest};
use serde_json::{Value, json};
use tokio::task::{JoinSet, spawn_blocking};

use super::{Message, Mode, Runtime, clock, commands::entry_line, live_containers::Selector};
use crate::{
    api::kind,
    deploy::live_update::{self, HelperImage, Running, Sidecars},
};

/// All live updates by name.
#[derive(Debug, Default)]
pub(super) struct LiveUpdates {
    known: BTreeMap<String, Known>,
    /// Copies that are on their way; they end with the runtime.
    tasks: JoinSet<()>,
    /// The ways into containers that run.
    sidecars: Sidecars,
    /// Updates that the scheduler waits for.
    awaited: BTreeMap<ResourceName, Awaited>,
    /// The helper as an image, and for which connection to a cluster.
    pub(super) helper_image: Option<(u64, HelperImage)>,
}

#[derive(Debug)]
struct Known {
    resource: ResourceName,
    machine: LiveUpdate,
    selector: Selector,
    sources: Vec<Arc<str>>,
    ignores: Vec<IgnoreDef>,
    /// Containers whose update has not ended.
    n_flying: usize,
    /// Files of a burst that go ahead, once those before them have gone.
    ahead: Vec<Arc<str>>,
    /// Whether files are going ahead.
    is_ahead: bool,
}

/// An update that the scheduler waits for.
#[derive(Debug)]
struct Awaited {
    id: UpdateId,
    error: Option<String>,
}

/// What became known of a live update.
#[derive(Debug)]
pub(super) enum Progress {
    /// All files of its sync steps.
    Listed(String, Result<Vec<Arc<str>>, String>),
    /// Containers were updated, or not.
    Synced(String, SyncId, Vec<(Container, Outcome)>),
    /// Files have gone ahead, or not.
    WentAhead(String),
}

impl Runtime {
    /// Takes in the live updates of all resources.
    pub(super) fn define_live_updates(&mut self) {
        if self.settings.mode == Mode::Ci {
            return;
        }
        let cwd = std::env::current_dir().unwrap_or_default().display().to_string();
        let mut defined = Vec::new();
        for resource in self.scheduler.resources() {
            let images = resource.manifest.image_targets.as_deref().unwrap_or_default();
            for image in images.iter().filter(|it| it.live_update_reconciler) {
                defined.push(image.live_update_name.clone());
                define(&mut self.live, &resource.manifest, image, images, &cwd);
            }
        }
        self.live.known.retain(|name, _| defined.contains(name));
        let owners = self.live.known.values().map(|it| &*it.resource);
        self.live.sidecars.retain(&owners.collect::<Vec<_>>());
        let resources: Vec<ResourceName> =
            self.live.known.values().map(|it| Arc::clone(&it.resource)).collect();
        for resource in resources {
            self.live_containers_changed(&resource);
        }
    }

    /// Files of an image have changed.
    pub(super) fn image_inputs_changed(&mut self, image: &str, files: &[Arc<str>], at: Time) {
        if let Some(images) = self.docker.as_ref().and_then(|it| it.images.as_ref()) {
            images.inputs_changed(image);
        }
        let source: Arc<str> = format!("image:{image}").into();
        for known in self.live.known.values_mut().filter(|it| it.sources.contains(&source)) {
            let found = files.iter().map(|it| (Arc::clone(it), found(it)));
            known.ahead.clear();
            known.machine.files_changed(&source, at, found);
        }
    }

    /// Files of a target seem to be complete while many others still change: they need not wait for those.
    pub(super) fn copy_ahead(&mut self, target: &str, files: &[PathBuf]) {
        let is_of_target = |it: &Known| it.sources.iter().any(|it| **it == *target);
        let mut names = Vec::new();
        for (name, known) in self.live.known.iter_mut().filter(|(_, it)| is_of_target(it)) {
            known.ahead.extend(files.iter().map(|it| Arc::from(it.to_string_lossy())));
            names.push(name.clone());
        }
        for name in names {
            self.go_ahead(&name);
        }
    }

    fn go_ahead(&mut self, name: &str) {
        let Some(known) = self.live.known.get_mut(name) else { return };
        if known.is_ahead || known.ahead.is_empty() {
            return;
        }
        let files = std::mem::take(&mut known.ahead);
        let Some(update) = known.machine.ahead(&files, &known.roots()) else { return };
        known.is_ahead = true;
        let log = self.logs.writer(&known.resource, &format!("liveupdate:{name}"));
        let sidecars = update.containers.iter().map(|it| self.live.sidecars.get(&it.id)).collect();
        let update = live_update::LiveUpdate { update: Arc::new(update), sidecars, log };
        let (messages, resource) = (self.messages.clone(), Arc::clone(&known.resource));
        let progress = Box::new(Progress::WentAhead(name.to_owned()));
        self.live.tasks.spawn(async move {
            update.run_ahead().await;
            let _ = messages.send(Message::Live(resource, progress));
        });
    }

    /// An image was built, and has all changes from before.
    pub(super) fn image_built(&mut self, image: &str, began: Time) {
        let source: Arc<str> = format!("image:{image}").into();
        for known in self.live.known.values_mut().filter(|it| it.sources.contains(&source)) {
            known.machine.image_built(&source, began);
        }
    }

    /// An image was built earlier, and has all changes from before somebody looked at its inputs.
    pub(super) fn image_kept(&mut self, image: &str, looked: Time) {
        let source: Arc<str> = format!("image:{image}").into();
        for known in self.live.known.values_mut().filter(|it| it.sources.contains(&source)) {
            known.machine.image_kept(&source, looked, clock::now());
        }
    }

    /// Containers came, went, or do otherwise than before.
    pub(super) fn live_containers_changed(&mut self, resource: &ResourceName) {
        let names = self.live.names_of(resource);
        if !names.is_empty() {
            self.prepare_helper_image();
        }
        let mut running: Vec<Running> = Vec::new();
        for name in &names {
            let Some(known) = self.live.known.get(name) else { continue };
            let mut observed = Vec::new();
            for (seen, place) in self.containers_of(resource, &known.selector) {
                observed.push(seen);
                // Two live updates of a resource may be for the same container.
                let place = place.filter(|it| !running.iter().any(|known| known.id == it.id));
                running.extend(place);
            }
            if let Some(known) = self.live.known.get_mut(name) {
                known.machine.containers_observed(observed);
            }
        }
        self.live.sidecars.observe(resource, &running);
        self.step_live(resource);
    }

    /// Objects of a resource were applied; what files changed before that is in what runs.
    pub(super) fn live_deployed(&mut self, resource: &ResourceName, began: Time) {
        for known in self.live.known.values_mut().filter(|it| it.resource == *resource) {
            known.machine.deployed(began);
        }
        self.step_live(resource);
    }

    /// Containers take the changes that the scheduler has handed over.
    pub(super) fn start_live_update(
        &mut self,
        id: UpdateId,
        resource: &ResourceName,
        reason: Reason,
        files: &[Arc<str>],
    ) {
        let span = self.live_span(resource);
        self.logs.writer(resource, &span).build_event(&entry_line(reason, files));
        for known in self.live.known.values_mut().filter(|it| it.resource == *resource) {
            known.machine.set_triggered(!reason.triggers().is_empty());
        }
        self.live.awaited.insert(Arc::clone(resource), Awaited { id, error: None });
        self.step_live(resource);
    }

    /// Where a resource's live updates write.
    pub(super) fn live_span(&self, resource: &str) -> String {
        let mut names = self.live.known.iter().filter(|(_, it)| &*it.resource == resource);
        format!("liveupdate:{}", names.next().map_or(resource, |(name, _)| name))
    }

    pub(super) fn cancel_live_update(&mut self, id: UpdateId, resource: &ResourceName) {
        if self.live.awaited.get(resource).is_some_and(|it| it.id == id) {
            self.live.awaited.remove(resource);
            self.step(Event::UpdateEnded { id, error: Some("build canceled".to_owned()) });
        }
    }

    /// Does what is due for a resource, and tells the scheduler when nothing is left to do.
    pub(super) fn step_live(&mut self, resource: &ResourceName) {
        if self.settings.mode == Mode::Ci {
            return;
        }
        let names = self.live.names_of(resource);
        let mut falls_back = false;
        for name in names {
            let Some(known) = self.live.known.get_mut(&name) else { continue };
            let roots = known.roots();
            let actions = known.machine.step(clock::now(), &roots);
            for action in actions {
                falls_back |= self.act_live(&name, action);
            }
            self.show_live(&name);
        }
        self.settle_live(resource, falls_back);
    }

    /// Does one thing; whether only a build helps.
    fn act_live(&mut self, name: &str, action: Action) -> bool {
        let Some(known) = self.live.known.get_mut(name) else { return false };
        let (messages, resource) = (self.messages.clone(), Arc::clone(&known.resource));
        let log = self.logs.writer(&resource, &format!("liveupdate:{name}"));
        let key = name.to_owned();
        match action {
            Action::ListFiles => {
                let filter = Filter::new(&known.ignores);
                let roots: Vec<Arc<str>> =
                    known.machine.rules().syncs().iter().map(|it| Arc::clone(&it.local)).collect();
                self.live.tasks.spawn(async move {
                    let listed = spawn_blocking(move || live_update::list(&roots, &filter)).await;
                    let listed = listed.unwrap_or_else(|error| Err(error.to_string()));
                    let progress = Progress::Listed(key, listed);
                    let _ = messages.send(Message::Live(resource, Box::new(progress)));
                });
                false
            }
            Action::Sync { id, updates } => {
                known.n_flying += updates.iter().map(|it| it.containers.len()).sum::<usize>();
                for update in updates {
                    let filter = if update.is_initial {
                        Filter::new(&known.ignores)
                    } else {
                        Filter::default()
                    };
                    let containers = update.containers.iter();
                    let sidecars = containers.map(|it| self.live.sidecars.get(&it.id)).collect();
                    let (log, key) = (log.clone(), key.clone());
                    let (messages, resource) = (messages.clone(), Arc::clone(&resource));
                    let update = live_update::LiveUpdate { update, sidecars, log };
                    self.live.tasks.spawn(async move {
                        let ended = update.run(filter).await;
                        let progress = Progress::Synced(key, id, ended);
                        let _ = messages.send(Message::Live(resource, Box::new(progress)));
                    });
                }
                false
            }
            Action::FallBack(failed) => {
                if let Some(line) = failed.failure.log_line(name) {
                    log.info(&line);
                }
                true
            }
        }
    }

    pub(super) fn take_live(&mut self, resource: &ResourceName, progress: Progress) {
        while self.live.tasks.try_join_next().is_some() {}
        match progress {
            Progress::WentAhead(name) => {
                if let Some(known) = self.live.known.get_mut(&name) {
                    known.is_ahead = false;
                }
                return self.go_ahead(&name);
            }
            Progress::Listed(name, listed) => {
                if let Some(known) = self.live.known.get_mut(&name) {
                    known.machine.files_listed(listed);
                }
            }
            Progress::Synced(name, id, ended) => {
                let Some(known) = self.live.known.get_mut(&name) else { return };
                known.n_flying = known.n_flying.saturating_sub(ended.len());
                for (container, outcome) in ended {
                    if let (Outcome::Synced { exec_error: Some(error), .. }, Some(awaited)) =
                        (&outcome, self.live.awaited.get_mut(resource))
                    {
                        awaited.error = Some(error.clone());
                    }
                    known.machine.sync_ended(id, &container, outcome);
                }
            }
        }
        self.step_live(resource);
    }

    fn settle_live(&mut self, resource: &ResourceName, falls_back: bool) {
        let of_resource = || self.live.known.values().filter(|it| it.resource == *resource);
        let has_failed = of_resource().any(|it| it.machine.status().failed.is_some());
        let is_flying = of_resource().any(|it| it.n_flying > 0);
        let Some(awaited) = self.live.awaited.get(resource) else { return };
        let id = awaited.id;
        if falls_back || has_failed {
            self.live.awaited.remove(resource);
            self.step(Event::FellBack { id });
        } else if !is_flying {
            let error = self.live.awaited.remove(resource).and_then(|it| it.error);
            if let Some(error) = &error {
                let span = self.live_span(resource);
                self.logs.writer(resource, &span).error(&format!("Build Failed: {error}"));
            }
            self.step(Event::UpdateEnded { id, error });
        }
    }

    fn show_live(&self, name: &str) {
        let Some(known) = self.live.known.get(name) else { return };
        let status = status(known.machine.status());
        self.store.set_status(kind::LIVE_UPDATE, name, &status);
    }
}

impl LiveUpdates {
    fn names_of(&self, resource: &ResourceName) -> Vec<String> {
        let known = self.known.iter().filter(|(_, it)| it.resource == *resource);
        known.map(|(name, _)| name.clone()).collect()
    }
}

impl Known {
    fn roots(&self) -> Vec<Root> {
        self.machine.rules().syncs().iter().map(|it| root(&it.local)).collect()
    }
}

fn define(
    live: &mut LiveUpdates,
    manifest: &Manifest,
    image: &ImageTarget,
    images: &[ImageTarget],
    cwd: &str,
) {
    let rules = Rules::new(&image.live_update_spec);
    let is_auto = manifest.trigger_mode.is_auto_on_change();
    let mode = if is_auto { UpdateMode::Auto } else { UpdateMode::Manual };
    let bases = image.with_bases(images);
    let sources: Vec<Arc<str>> = bases.iter().map(|it| Arc::from(it.id())).collect();
    let ignores =
        bases.iter().flat_map(|it| it.file_watch_ignores.iter().flatten()).cloned().collect();
    match live.known.get_mut(&image.live_update_name) {
        Some(known) => {
            known.machine.redefine(rules, mode, &sources);
            (known.sources, known.ignores) = (sources, ignores);
            known.selector = Selector::of(manifest, image);
        }
        None => {
            let machine = LiveUpdate::new(rules, mode, &sources, cwd);
            let resource = manifest.name.as_str().into();
            let (ahead, is_ahead) = (Vec::new(), false);
            let selector = Selector::of(manifest, image);
            let known = Known {
                resource,
                machine,
                selector,
                sources,
                ignores,
                n_flying: 0,
                ahead,
                is_ahead,
            };
            live.known.insert(image.live_update_name.clone(), known);
        }
    }
}

fn found(path: &str) -> Found {
    match Path::new(path).symlink_metadata() {
        Ok(_) => Found::Present(None),
        Err(_) => Found::Absent,
    }
}

fn root(path: &str) -> Root {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Root::Directory,
        Ok(_) => Root::File,
        Err(error) => Root::Missing(format!(
            "stat {path}: {}",
            engine_formats::golang::os_error::errno_text(&error)
        )),
    }
}

fn status(status: &Status) -> Value {
    let time = |it: Option<Time>| it.map_or(Value::Null, |it| json!(clock::micro(it)));
    if let Some(failed) = &status.failed {
        return json!({"failed": {
            "reason": failed.failure.reason.as_str(),
            "message": failed.failure.message,
            "lastTransitionTime": time(Some(failed.since)),
        }});
    }
    let containers = status.containers.iter().map(|it| {
        let mut shown = json!({
            "containerID": it.container.id,
            "containerName": it.container.name,
            "podName": it.container.pod,
            "namespace": it.container.namespace,
            "lastFileTimeSynced": time(it.last_file_time_synced),
        });
        if let Some(error) = &it.last_exec_error {
            shown["lastExecError"] = json!(error);
        }
        if let Some(waiting) = it.waiting {
            shown["waiting"] = json!({"reason": waiting.reason(), "message": waiting.message()});
        }
        shown
    });
    let containers: Vec<Value> = containers.collect();
    if containers.is_empty() { json!({}) } else { json!({"containers": containers}) }
}
