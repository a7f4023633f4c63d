//! Files that are watched, and what their changes mean.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    path::PathBuf,
    sync::Arc,
};

use engine_core::Event;
use engine_model::IgnoreDef;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Mode, Runtime, clock, declare::TARGET, names};
use crate::{
    api::kind,
    watch::{self, Batch, BatchKind, Watcher},
};

/// How many batches of changes a file watch remembers.
const REMEMBERED: usize = 20;

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
        self.watched.objects.retain(|id, _| targets.iter().any(|it| it.id == *id));
        watcher.set(targets);
    }

    fn is_watching(&self, target: &str) -> bool {
        let Some(resource) = target.strip_prefix("local:") else { return true };
        self.scheduler.resource(resource).is_some_and(|it| !it.is_disabled())
    }

    pub(super) fn take_batch(&mut self, batch: Batch) {
        let at = clock::of_system(batch.at);
        let watched = self.watched.objects.entry(batch.target.clone()).or_default();
        match &batch.kind {
            BatchKind::Started => {
                watched.started = Some(clock::micro(at));
                watched.error.clear();
            }
            BatchKind::Failed { message } => watched.error.clone_from(message),
            BatchKind::Recovered => watched.error.clear(),
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
        if let BatchKind::Changed { files, .. } = batch.kind {
            self.files_changed(&batch.target, &files, at);
        }
    }

    fn files_changed(&mut self, target: &str, files: &[PathBuf], at: engine_core::Time) {
        let files: Vec<Arc<str>> = files.iter().map(|it| Arc::from(it.to_string_lossy())).collect();
        if let Some(tiltfile) = target.strip_prefix("configs:") {
            self.step(Event::ConfigFilesChanged { tiltfile: tiltfile.into(), files, at });
        } else if let Some(resource) = target.strip_prefix("local:") {
            let (resource, target) = (resource.into(), target.into());
            self.step(Event::FilesChanged { resource, target, files, at });
        }
        self.look_at_cmds_of_watch(&names::sanitized(target));
    }

    /// Objects that somebody made, beside those that stand for resources and Tiltfiles.
    fn own_watches(&self, known: &[watch::Target]) -> Vec<watch::Target> {
        let known: HashSet<String> = known.iter().map(|it| names::sanitized(&it.id)).collect();
        let objects = self.store.list(kind::FILE_WATCH);
        let own = objects.iter().filter(|it| {
            let is_engines = it.annotations().contains_key(TARGET);
            !known.contains(it.name()) && !is_engines && !self.is_switched_off(&it.spec())
        });
        own.map(|it| {
            let spec = it.spec();
            let read = |key: &str| spec.get(key).cloned().unwrap_or_default();
            watch::Target {
                id: it.name().to_owned(),
                paths: serde_json::from_value(read("watchedPaths")).unwrap_or_default(),
                ignores: ignores(&read("ignores")),
            }
        })
        .collect()
    }

    fn show_watch(&self, target: &str) {
        let Some(watched) = self.watched.objects.get(target) else { return };
        let mut status = json!({
            "monitorStartTime": watched.started,
            "lastEventTime": watched.last_event,
            "disableStatus": self.disable_status(target.strip_prefix("local:")),
        });
        if !watched.events.is_empty() {
            status["fileEvents"] = json!(watched.events);
        }
        if !watched.error.is_empty() {
            status["error"] = json!(watched.error);
        }
        self.store.set_status(kind::FILE_WATCH, &names::sanitized(target), &status);
    }
}

/// The ignores of an object that somebody made.
fn ignores(value: &Value) -> Vec<IgnoreDef> {
    let texts = |it: &Value| -> Vec<String> {
        let texts = it.as_array().into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    };
    let all = value.as_array().into_iter().flatten();
    all.map(|it| IgnoreDef {
        base_path: it["basePath"].as_str().unwrap_or_default().to_owned(),
        patterns: texts(&it["patterns"]),
    })
    .collect()
}
