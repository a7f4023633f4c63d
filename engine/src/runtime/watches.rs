//! Files that are watched, and what their changes mean.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use engine_core::{
    Event,
    resource::{EnableState, Resource, ResourceName},
};
use engine_model::ImageTarget;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Message, Mode, Runtime, clock, declare::TARGET, names, specs};
use crate::{
    api::kind,
    watch::{self, Batch, BatchKind, Watcher},
};

/// How many batches of changes a file watch remembers.
const REMEMBERED: usize = 20;

/// After so many runs in a row that only the run before has caused, a Tiltfile runs again after pauses only.
const OWN_ROUNDS: u32 = 10;

/// How often the pause gets twice as long; the first is a second.
const DOUBLINGS: u32 = 4;

/// How many batches may wait for the loop; the watcher collects while it waits.
const WAITING: usize = 1_024;

/// What is known of all file watches.
#[derive(Debug, Default)]
pub(super) struct Watched {
    objects: HashMap<String, FileWatch>,
}

#[derive(Debug, Default)]
struct FileWatch {
    started: Option<String>,
    last_event: Option<String>,
    events: VecDeque<Value>,
    error: String,
    /// How many runs of a Tiltfile in a row have changed what it reads.
    own_rounds: u32,
}

impl Runtime {
    /// Starts the one watcher; without it, changes are not noticed, which is said.
    pub(super) fn start_watching(&mut self) -> mpsc::Receiver<Batch> {
        let (sink, batches) = mpsc::channel(WAITING);
        if self.settings.mode == Mode::Ci {
            return batches;
        }
        match Watcher::start(sink) {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(error) => {
                self.logs.writer("", "").error(&format!("Cannot watch files: {error}"));
            }
        }
        batches
    }

    /// Watches everything that somebody wants to know about, and nothing else.
    pub(super) fn watch_all(&mut self) {
        let Some(watcher) = &self.watcher else { return };
        let mut targets: Vec<watch::Target> = Vec::new();
        for declared in self.tiltfiles.values() {
            targets.extend(declared.targets.iter().filter(|it| self.is_watching(&it.id)).cloned());
        }
        targets.extend(self.own_watches(&targets));
        self.show_unwatched(&targets);
        self.watched.objects.retain(|id, _| targets.iter().any(|it| it.id == *id));
        watcher.set(targets);
    }

    fn is_watching(&self, target: &str) -> bool {
        let own = ["local:", "k8s:"].iter().find_map(|it| target.strip_prefix(it));
        if let Some(resource) = own {
            return self.scheduler.resource(resource).is_some_and(|it| !it.is_disabled());
        }
        !target.starts_with("image:") || !self.users_of(target).is_empty()
    }

    pub(super) fn take_batch(&mut self, batch: Batch) {
        let at = clock::of_system(batch.at);
        if let BatchKind::Early { files } = &batch.kind {
            return self.copy_ahead(&batch.target, files);
        }
        let watched = self.watched.objects.entry(batch.target.clone()).or_default();
        match &batch.kind {
            BatchKind::Started => {
                watched.started = Some(clock::micro(at));
                watched.error.clear();
            }
            BatchKind::Failed { message } => watched.error.clone_from(message),
            BatchKind::Recovered => watched.error.clear(),
            BatchKind::Early { .. } => {}
            BatchKind::Changed { files, .. } => {
                let time = clock::micro(at);
                watched.last_event = Some(time.clone());
                watched.events.push_back(json!({"time": time, "seenFiles": files}));
                if watched.events.len() > REMEMBERED {
                    watched.events.pop_front();
                }
            }
        }
        if let BatchKind::Failed { message } = &batch.kind {
            let resource = batch.target.split_once(':').map_or("", |(_, name)| name);
            self.logs.writer(resource, "").warn(message);
        }
        self.show_watch(&batch.target);
        if let BatchKind::Changed { files, during_update } = batch.kind {
            let pause = self.pause_before_load(&batch.target, &files, during_update);
            if pause.is_zero() {
                return self.files_changed(&batch.target, &files, at);
            }
            let messages = self.messages.clone();
            tokio::spawn(async move {
                tokio::time::sleep(pause).await;
                // Nobody waits for it when the engine ends.
                let _ = messages.send(Message::Changed(batch.target, files, at));
            });
        }
    }

    /// How long a Tiltfile is left alone that changes what it reads whenever it runs. Nothing is lost that way, and
    /// everything else gets its turn.
    fn pause_before_load(
        &mut self,
        target: &str,
        files: &[PathBuf],
        during_update: bool,
    ) -> Duration {
        let Some(tiltfile) = names::tiltfile_of(target) else { return Duration::ZERO };
        let watched = self.watched.objects.entry(target.to_owned()).or_default();
        watched.own_rounds = if during_update { watched.own_rounds.saturating_add(1) } else { 0 };
        let Some(n_pauses) = watched.own_rounds.checked_sub(OWN_ROUNDS + 1) else {
            return Duration::ZERO;
        };
        if n_pauses == 0 {
            let files: Vec<_> = files.iter().map(|it| it.display().to_string()).collect();
            self.logs.writer(tiltfile, "").warn(&format!(
                "Each run of the Tiltfile changes what it reads, and so causes the next one: {}. From now on it pauses \
                 between them.",
                files.join(", ")
            ));
        }
        Duration::from_secs(1 << n_pauses.min(DOUBLINGS))
    }

    pub(super) fn files_changed(&mut self, target: &str, files: &[PathBuf], at: engine_core::Time) {
        let files: Vec<Arc<str>> = files.iter().map(|it| Arc::from(it.to_string_lossy())).collect();
        let watch = names::sanitized(target);
        self.restart_tiltfiles_of_watch(&watch, &files, at);
        let own = ["local:", "k8s:"].iter().find_map(|it| target.strip_prefix(it));
        if let Some(resource) = own {
            let (resource, target) = (resource.into(), target.into());
            self.step(Event::FilesChanged { resource, target, files, at });
        } else if let Some(image) = target.strip_prefix("image:") {
            self.image_inputs_changed(image, &files, at);
            for resource in self.users_of(target) {
                let (target, files) = (target.into(), files.clone());
                self.step(Event::FilesChanged { resource, target, files, at });
            }
        }
        self.look_at_cmds_of_watch(&watch);
    }

    /// The resources that an image is part of, without those that are switched off.
    fn users_of(&self, image: &str) -> Vec<ResourceName> {
        let has_image = |it: &&Resource| {
            let images = it.manifest.image_targets.iter().flatten();
            !it.is_disabled() && images.map(ImageTarget::id).any(|it| it == image)
        };
        let users = self.scheduler.resources().iter().filter(has_image);
        users.map(|it| Arc::clone(&it.name)).collect()
    }

    /// Objects that somebody made, beside those that stand for resources and Tiltfiles.
    fn own_watches(&self, known: &[watch::Target]) -> Vec<watch::Target> {
        let known: HashSet<String> = known.iter().map(|it| names::sanitized(&it.id)).collect();
        let objects = self.store.list(kind::FILE_WATCH);
        let own = objects
            .iter()
            .filter(|it| !known.contains(it.name()) && !it.annotations().contains_key(TARGET));
        let own = own.map(|it| (it.name().to_owned(), specs::of::<specs::FileWatch>(it)));
        let on = own.filter(|(_, spec)| {
            self.disable_state(spec.disable_source.as_ref()).0 != EnableState::Disabled
        });
        on.map(|(id, spec)| watch::Target {
            id,
            paths: spec.watched_paths,
            ignores: spec.ignores,
            is_early: false,
        })
        .collect()
    }

    /// What is switched off shows that, and nothing it saw before.
    fn show_unwatched(&self, watched: &[watch::Target]) {
        let watched: HashSet<String> = watched.iter().map(|it| names::sanitized(&it.id)).collect();
        let objects = self.store.list(kind::FILE_WATCH);
        for object in objects.iter().filter(|it| !watched.contains(it.name())) {
            let status = json!({
                "monitorStartTime": null,
                "lastEventTime": null,
                "disableStatus": self.disable_status(kind::FILE_WATCH, object.name()),
            });
            self.store.set_status(kind::FILE_WATCH, object.name(), &status);
        }
    }

    fn show_watch(&self, target: &str) {
        let Some(watched) = self.watched.objects.get(target) else { return };
        let name = names::sanitized(target);
        let mut status = json!({
            "monitorStartTime": watched.started,
            "lastEventTime": watched.last_event,
            "disableStatus": self.disable_status(kind::FILE_WATCH, &name),
        });
        if !watched.events.is_empty() {
            status["fileEvents"] = json!(watched.events);
        }
        if !watched.error.is_empty() {
            status["error"] = json!(watched.error);
        }
        self.store.set_status(kind::FILE_WATCH, &name, &status);
    }
}
