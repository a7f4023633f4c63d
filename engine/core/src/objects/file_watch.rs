//! Files that are watched: which, what their changes mean, and what is remembered of them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    sync::Arc,
};

use engine_model::{FilePath, ImageName, Kind, TargetId, Time, WatchTarget, path::to_path};

use super::{ObjectAction, Objects};
use crate::{
    LineKind, LogLine, World,
    live_update::{Found, Roots},
    resource::{EnableState, LISTED, Resource, ResourceName},
};

/// So many batches of changes are remembered.
const REMEMBERED: usize = 20;

/// So many files are named in a line of the log.
const NAMED: usize = 5;

/// After so many runs in a row that only the run before has caused, a Tiltfile runs again after pauses only.
const OWN_ROUNDS: u32 = 10;

/// How often the pause gets twice as long; the first is a second.
const DOUBLINGS: u32 = 4;

/// Something that the watcher reports about a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent {
    /// From now on changes of its files are noticed.
    Started,
    /// Files changed.
    Changed {
        /// The files, each once, and what is there now.
        files: Vec<(FilePath, Found)>,
        /// What is at the sync roots of the target.
        roots: Roots,
        /// Whether all of them changed during an update of the target or just after it.
        during_update: bool,
    },
    /// Some of its files cannot be watched.
    Failed {
        /// What is wrong.
        message: String,
    },
    /// What was wrong is right again.
    Recovered,
}

/// What is known of the files of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchedFiles {
    /// Since when changes are noticed.
    pub started: Option<Time>,
    /// When files last changed.
    pub last_event: Option<Time>,
    /// The latest changes.
    pub events: VecDeque<SeenFiles>,
    /// Why some files cannot be watched; empty if all can.
    pub error: String,
    /// How many runs of a Tiltfile in a row have changed what it reads.
    own_rounds: u32,
}

/// Files that changed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenFiles {
    /// When.
    pub at: Time,
    /// The first of them.
    pub files: Vec<FilePath>,
    /// How many more there were.
    pub n_unlisted: usize,
}

impl SeenFiles {
    /// Lists no more files than this; says how many it lists.
    fn shorten(&mut self, n_max: usize) -> usize {
        self.n_unlisted += self.files.len().saturating_sub(n_max);
        self.files.truncate(n_max);
        self.files.len()
    }
}

impl WatchedFiles {
    /// Adds files that changed together. The latest are listed first: all of it is written with each batch.
    pub(super) fn saw(&mut self, at: Time, files: &[(FilePath, Found)]) {
        let listed: Vec<_> = files.iter().take(LISTED).map(|it| it.0.clone()).collect();
        let n_unlisted = files.len() - listed.len();
        self.events.push_back(SeenFiles { at, files: listed, n_unlisted });
        if self.events.len() > REMEMBERED {
            self.events.pop_front();
        }
        let mut n_left = LISTED;
        for event in self.events.iter_mut().rev() {
            n_left -= event.shorten(n_left);
        }
        self.last_event = Some(at);
    }

    /// How many files its events do not list.
    pub fn n_unlisted(&self) -> usize {
        self.events.iter().map(|it| it.n_unlisted).sum()
    }

    /// How many seconds a Tiltfile is left alone that changes what it reads whenever it runs, and whether that is new.
    /// Nothing is lost that way, and everything else gets its turn.
    fn pause(&mut self, during_update: bool) -> Option<(i64, bool)> {
        self.own_rounds = if during_update { self.own_rounds.saturating_add(1) } else { 0 };
        let n_pauses = self.own_rounds.checked_sub(OWN_ROUNDS + 1)?;
        Some((1 << n_pauses.min(DOUBLINGS), n_pauses == 0))
    }
}

/// What is known of all watched files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watches {
    /// What each Tiltfile and its resources want to know about.
    declared: BTreeMap<ResourceName, Vec<Arc<WatchTarget>>>,
    /// What is watched.
    targets: Vec<Arc<WatchTarget>>,
    /// Something may have to be watched, or not any more.
    pub(crate) is_stale: bool,
    /// What is known, by the name of the object.
    files: BTreeMap<String, WatchedFiles>,
    /// The objects of targets.
    objects: HashMap<TargetId, String>,
    /// Objects of which nothing is watched.
    unwatched: BTreeSet<String>,
    delayed: Vec<DelayedChange>,
}

/// A change that waits until its Tiltfile may run again.
#[derive(Clone, Debug)]
struct DelayedChange {
    due: Time,
    target: TargetId,
    files: Vec<(FilePath, Found)>,
    seen: Time,
}

impl Watches {
    /// When the files of an object last changed.
    pub(super) fn last_event(&self, object: &str) -> Option<Time> {
        self.files.get(object)?.last_event
    }

    /// When the next change that waits is due.
    pub(crate) fn wake_at(&self) -> Option<Time> {
        self.delayed.iter().map(|it| it.due).min()
    }
}

impl Objects {
    /// Objects that somebody made, beside those that stand for resources and Tiltfiles.
    fn own_watches(&self, others: &[Arc<WatchTarget>]) -> Vec<Arc<WatchTarget>> {
        let others: HashSet<&str> = others.iter().map(|it| it.object.as_str()).collect();
        let own = self.file_watches.iter().filter(|(name, spec)| {
            let (state, _) = self.disable_state(spec.disable_source.as_ref());
            !spec.is_target && !others.contains(name.as_str()) && state != EnableState::Disabled
        });
        let target = |(name, spec): (&String, &engine_model::spec::FileWatchSpec)| WatchTarget {
            id: TargetId::Object(name.as_str().into()),
            object: name.clone(),
            paths: spec.watched_paths.iter().map(|it| to_path(it).into_owned()).collect(),
            ignores: spec.ignores.clone(),
            is_early: false,
        };
        own.map(|it| Arc::new(target(it))).collect()
    }
}

impl World {
    /// What is known of the files of a `FileWatch` object; nothing if they are not watched.
    pub fn watched_files(&self, object: &str) -> Option<&WatchedFiles> {
        self.objects.watches.files.get(object)
    }

    /// What a Tiltfile and its resources want to know about; none if it is gone.
    pub(crate) fn declare_targets(
        &mut self,
        tiltfile: &ResourceName,
        targets: Vec<WatchTarget>,
        is_good: bool,
    ) {
        let watches = &mut self.objects.watches;
        watches.is_stale = true;
        let mut declared = watches.declared.remove(tiltfile).unwrap_or_default();
        let config = TargetId::Config(tiltfile.clone());
        declared.retain(|it| !is_good && it.id != config);
        let targets = targets.into_iter().filter(|it| is_good || it.id == config);
        declared.extend(targets.map(Arc::new));
        if !declared.is_empty() {
            watches.declared.insert(tiltfile.clone(), declared);
        }
    }

    /// Watches everything that somebody wants to know about, and nothing else.
    pub(crate) fn refresh_watches(&mut self) {
        if !std::mem::take(&mut self.objects.watches.is_stale) {
            return;
        }
        let targets = self.watch_targets();
        let watches = &mut self.objects.watches;
        let watched: HashSet<&str> = targets.iter().map(|it| it.object.as_str()).collect();
        watches.files.retain(|object, _| watched.contains(object.as_str()));
        for object in &watched {
            watches.files.entry((*object).to_owned()).or_default();
        }
        watches.objects = targets.iter().map(|it| (it.id.clone(), it.object.clone())).collect();
        let all = self.objects.file_watches.iter().map(|(name, _)| name.clone());
        let unwatched: BTreeSet<String> = all.filter(|it| !watched.contains(it.as_str())).collect();
        let new: Vec<String> = unwatched.difference(&watches.unwatched).cloned().collect();
        watches.unwatched = unwatched;
        if watches.targets != targets {
            watches.targets.clone_from(&targets);
            self.do_for_object(ObjectAction::WatchFiles { targets });
        }
        for name in new {
            self.publish_object(Kind::FileWatch, &name);
        }
    }

    /// Everything that somebody wants to know about.
    pub fn watch_targets(&self) -> Vec<Arc<WatchTarget>> {
        let enabled = self.resources().iter().filter(|it| !it.is_disabled());
        let images: HashSet<&str> = enabled.flat_map(images_of).collect();
        let declared = self.objects.watches.declared.values().flatten();
        let mut targets: Vec<Arc<WatchTarget>> =
            declared.filter(|it| self.is_watching(&it.id, &images)).cloned().collect();
        targets.extend(self.objects.own_watches(&targets));
        targets
    }

    /// Whether somebody wants to know about a target; `images` are those that take part.
    fn is_watching(&self, target: &TargetId, images: &HashSet<&str>) -> bool {
        match target {
            TargetId::Local(resource) | TargetId::Apply(resource) => {
                self.resource(resource).is_some_and(|it| !it.is_disabled())
            }
            TargetId::Image(image) => images.contains(&**image),
            TargetId::Config(_) | TargetId::Object(_) => true,
        }
    }

    /// Takes in what the watcher reports; a target that is not watched any more does not matter.
    pub(crate) fn watch_event(
        &mut self,
        now: Time,
        target: &TargetId,
        at: Time,
        event: WatchEvent,
    ) {
        let watches = &mut self.objects.watches;
        let Some(object) = watches.objects.get(target).cloned() else { return };
        let Some(watched) = watches.files.get_mut(&object) else { return };
        match event {
            WatchEvent::Started => {
                watched.started = Some(at);
                watched.error.clear();
            }
            WatchEvent::Recovered => watched.error.clear(),
            WatchEvent::Failed { message } => {
                watched.error.clone_from(&message);
                self.warn(log_of(target), message);
            }
            WatchEvent::Changed { files, roots, during_update } => {
                watched.saw(at, &files);
                let is_config = matches!(target, TargetId::Config(_));
                match is_config.then(|| watched.pause(during_update)).flatten() {
                    None => self.target_changed(now, target, files, at, &roots),
                    Some((secs, is_first)) => {
                        if is_first {
                            self.warn(log_of(target), loop_warning(&files));
                        }
                        let (due, target) = (now.plus_millis(secs * 1_000), target.clone());
                        let delayed = DelayedChange { due, target, files, seen: at };
                        self.objects.watches.delayed.push(delayed);
                    }
                }
            }
        }
        self.publish_object(Kind::FileWatch, &object);
    }

    /// Takes in the changes that have waited long enough.
    pub(crate) fn release_delayed_changes(&mut self, now: Time) {
        if self.objects.watches.wake_at().is_none_or(|it| it > now) {
            return;
        }
        let delayed = std::mem::take(&mut self.objects.watches.delayed);
        let (due, later): (Vec<_>, Vec<_>) = delayed.into_iter().partition(|it| it.due <= now);
        self.objects.watches.delayed = later;
        for DelayedChange { target, files, seen, .. } in due {
            self.target_changed(now, &target, files, seen, &Roots::new());
        }
    }

    /// Files of a target have changed: whoever depends on them gets to know it.
    fn target_changed(
        &mut self,
        now: Time,
        target: &TargetId,
        files: Vec<(FilePath, Found)>,
        at: Time,
        roots: &Roots,
    ) {
        let Some(watch) = self.objects.watches.objects.get(target).cloned() else { return };
        for name in self.tiltfiles_where(|it| it.restart_on.file_watches.contains(&watch)) {
            let files = files.iter().map(|it| it.0.clone()).collect();
            self.config_files_changed(now, &name, files, at);
        }
        match target {
            TargetId::Local(resource) | TargetId::Apply(resource) => {
                self.files_changed(now, resource, target, files, at, roots);
            }
            TargetId::Image(image) => {
                for resource in self.users_of(image) {
                    self.files_changed(now, &resource, target, files.clone(), at, roots);
                }
                let image = image.clone();
                self.do_for_object(ObjectAction::ImageInputsChanged { image });
            }
            TargetId::Config(_) | TargetId::Object(_) => {}
        }
        self.reconcile_cmds_where(|it| it.restart_on.file_watches.contains(&watch));
    }

    /// The resources that an image is part of, without those that are switched off.
    fn users_of(&self, image: &ImageName) -> Vec<ResourceName> {
        let has_image =
            |it: &&Resource| !it.is_disabled() && images_of(it).any(|it| it == &**image);
        self.resources().iter().filter(has_image).map(|it| it.name.clone()).collect()
    }

    fn warn(&mut self, resource: &str, text: String) {
        let (resource, span) = (resource.into(), String::new());
        self.effects.lines.push(LogLine { resource, span, kind: LineKind::Warn, text });
    }
}

/// Whose log says what is wrong with a target; empty for none.
fn log_of(target: &TargetId) -> &str {
    match target {
        TargetId::Config(name) | TargetId::Apply(name) | TargetId::Local(name) => name,
        TargetId::Image(image) => image,
        TargetId::Object(_) => "",
    }
}

/// The images that a resource is made of.
fn images_of(resource: &Resource) -> impl Iterator<Item = &str> {
    resource.images().iter().map(|it| it.image_map_name.as_str())
}

fn loop_warning(files: &[(FilePath, Found)]) -> String {
    let named = files.iter().take(NAMED).map(|it| it.0.to_string());
    let more = (files.len() > NAMED).then(|| "...".to_owned());
    let files: Vec<String> = named.chain(more).collect();
    format!(
        "Each run of the Tiltfile changes a file that it reads, which triggers the next run: {}. From now on, there \
         are pauses between them.",
        files.join(", ")
    )
}
