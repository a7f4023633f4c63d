//! API objects that clients and Tiltfiles make: a typed copy of what they ask for, and what follows from it.
//!
//! Specs belong to the store and arrive as [`ObjectEvent::SpecsChanged`]; statuses belong to the
//! world, which never reads the store back.

#![expect(clippy::wildcard_enum_match_arm, reason = "most kinds have no rules here")]

use std::{
    borrow::Borrow,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use engine_model::{
    Kind, ObjectId, Spec, SpecChange, Time,
    spec::{
        ButtonSpec, CiLimits, CmdObject, ConfigMapData, DisableSource, ExtensionRepoSpec,
        ExtensionSpec, FileWatchSpec, Switched, TiltfileSpec, ToggleSpec,
    },
};

use crate::{Action, LineKind, LogLine, World, tiltfile::MAIN};

mod action;
mod button;
mod cmd;
mod event;
mod extension;
mod file_watch;
mod switch;
#[cfg(test)]
mod tests;
mod tiltfile;
mod toggle;

pub use action::ObjectAction;
pub use cmd::{CmdEnd, CmdEvent, CmdPhase, CmdRunId};
pub use event::ObjectEvent;
pub use extension::{ExtensionError, Fetched, RepoError, RepoStatus};
pub use file_watch::{SeenFiles, WatchEvent, WatchedFiles};
pub use switch::{DisableReason, DisableStatus, SWITCH_KEY};

/// What is known of all objects: what they ask for, and how they do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    cmds: Specs<Box<CmdObject>>,
    config_maps: Specs<ConfigMapData>,
    file_watches: Specs<FileWatchSpec>,
    buttons: Specs<ButtonSpec>,
    toggles: Specs<Box<ToggleSpec>>,
    tiltfiles: Specs<TiltfileSpec>,
    extensions: Specs<ExtensionSpec>,
    repos: Specs<ExtensionRepoSpec>,
    sessions: Specs<CiLimits>,
    switched: Specs<Switched, ObjectId>,
    /// Which objects the changes of a config map matter to.
    followers: HashMap<String, BTreeSet<ObjectId>>,
    /// The config maps whose changes matter to an object.
    followed: HashMap<ObjectId, Vec<String>>,
    disabled: HashMap<ObjectId, DisableStatus>,
    runs: cmd::CmdRuns,
    pub(crate) watches: file_watch::Watches,
    /// Toggles whose latest click went wrong.
    click_errors: BTreeMap<String, toggle::ClickError>,
    found_repos: BTreeMap<String, RepoStatus>,
    found_extensions: BTreeMap<String, Result<String, ExtensionError>>,
}

/// The latest specs of a kind.
#[derive(Clone, Debug)]
struct Specs<T, K = String>(BTreeMap<K, Versioned<T>>);

#[derive(Clone, Debug)]
struct Versioned<T> {
    version: u64,
    spec: T,
}

impl<T, K> Default for Specs<T, K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T, K: Ord> Specs<T, K> {
    fn get<Q: Ord + ?Sized>(&self, name: &Q) -> Option<&T>
    where
        K: Borrow<Q>,
    {
        self.0.get(name).map(|it| &it.spec)
    }

    /// All of them, by name.
    fn iter(&self) -> impl Iterator<Item = (&K, &T)> {
        self.0.iter().map(|(name, it)| (name, &it.spec))
    }

    /// Whether a write of this version is one that is not known yet.
    fn is_news<Q: Ord + ?Sized>(&self, name: &Q, version: u64) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.get(name).is_none_or(|it| it.version <= version)
    }

    /// Takes a write in; false if a later one is known.
    fn put(&mut self, name: K, version: u64, spec: T) -> bool {
        let is_news = self.is_news(&name, version);
        if is_news {
            self.0.insert(name, Versioned { version, spec });
        }
        is_news
    }

    /// Takes a removal in; false if there is nothing to remove.
    fn remove<Q: Ord + ?Sized>(&mut self, name: &Q, version: u64) -> bool
    where
        K: Borrow<Q>,
    {
        self.is_news(name, version) && self.0.remove(name).is_some()
    }
}

impl Objects {
    /// Takes a change in; false if it is stale.
    fn take(&mut self, SpecChange { id, version, spec }: SpecChange) -> bool {
        let Some(spec) = spec else { return self.remove(&id, version) };
        let maps: Vec<String> = spec.config_maps().into_iter().map(str::to_owned).collect();
        let name = id.name.clone();
        let is_taken = match spec {
            Spec::Cmd(it) => self.cmds.put(name, version, it),
            Spec::ConfigMap(it) => self.config_maps.put(name, version, it),
            Spec::FileWatch(it) => self.file_watches.put(name, version, it),
            Spec::UiButton(it) => self.buttons.put(name, version, it),
            Spec::ToggleButton(it) => self.toggles.put(name, version, it),
            Spec::Tiltfile(it) => self.tiltfiles.put(name, version, it),
            Spec::Extension(it) => self.extensions.put(name, version, it),
            Spec::ExtensionRepo(it) => self.repos.put(name, version, it),
            Spec::Session(it) => self.sessions.put(name, version, it),
            Spec::Switched(it) => self.switched.put(id.clone(), version, it),
        };
        if is_taken {
            self.follow(id, maps);
        }
        is_taken
    }

    fn remove(&mut self, id: &ObjectId, version: u64) -> bool {
        let name = &id.name;
        let is_known = match id.kind {
            Kind::Cmd => self.cmds.remove(name, version),
            Kind::ConfigMap => self.config_maps.remove(name, version),
            Kind::FileWatch => self.file_watches.remove(name, version),
            Kind::UiButton => self.buttons.remove(name, version),
            Kind::ToggleButton => self.toggles.remove(name, version),
            Kind::Tiltfile => self.tiltfiles.remove(name, version),
            Kind::Extension => self.extensions.remove(name, version),
            Kind::ExtensionRepo => self.repos.remove(name, version),
            Kind::Session => self.sessions.remove(name, version),
            _ => self.switched.remove(id, version),
        };
        if is_known {
            self.unfollow(id);
            self.disabled.remove(id);
        }
        is_known
    }

    /// How long `ci` waits, as a session says.
    pub(crate) fn ci_limits(&self, session: &str) -> CiLimits {
        self.sessions.get(session).copied().unwrap_or_default()
    }

    /// The switches that an object follows.
    fn disable_source(&self, id: &ObjectId) -> Option<&DisableSource> {
        match id.kind {
            Kind::Cmd => self.cmds.get(&id.name)?.disable_source.as_ref(),
            Kind::FileWatch => self.file_watches.get(&id.name)?.disable_source.as_ref(),
            _ => self.switched.get(id)?.disable_source.as_ref(),
        }
    }

    /// An object follows these config maps from now on, and no others.
    fn follow(&mut self, id: ObjectId, maps: Vec<String>) {
        if self.followed.get(&id) == Some(&maps) {
            return;
        }
        self.unfollow(&id);
        for map in &maps {
            self.followers.entry(map.clone()).or_default().insert(id.clone());
        }
        if !maps.is_empty() {
            self.followed.insert(id, maps);
        }
    }

    fn unfollow(&mut self, id: &ObjectId) {
        for map in self.followed.remove(id).unwrap_or_default() {
            if let Some(followers) = self.followers.get_mut(&map) {
                followers.remove(id);
                if followers.is_empty() {
                    self.followers.remove(&map);
                }
            }
        }
    }
}

impl World {
    pub(crate) fn object_event(&mut self, now: Time, event: ObjectEvent) {
        match event {
            ObjectEvent::SpecsChanged { changes, is_load } => {
                self.specs_changed(now, changes, is_load)
            }
            ObjectEvent::TargetsDeclared { tiltfile, targets, is_good } => {
                self.declare_targets(&tiltfile, targets, is_good);
            }
            ObjectEvent::Watch { target, at, event } => self.watch_event(now, &target, at, event),
            ObjectEvent::Cmd { object, run, event } => self.cmd_event(&object, run, event),
            ObjectEvent::RepoFetched { repo, result } => self.repo_fetched(&repo, result),
            ObjectEvent::ReposLoaded { found } => self.repos_loaded(now, &found),
            ObjectEvent::ExtensionFound { name, path, is_file } => {
                self.extension_found(&name, &path, is_file);
            }
        }
    }

    /// Takes in objects that were written or removed: all of them before anything follows, config maps first.
    fn specs_changed(&mut self, now: Time, changes: Vec<SpecChange>, is_load: bool) {
        let (mut maps, mut others) = (BTreeSet::new(), Vec::new());
        for change in changes {
            let (id, is_gone) = (change.id.clone(), change.spec.is_none());
            let click = self.new_click(&change);
            if !self.objects.take(change) {
                continue;
            }
            if id.kind == Kind::ConfigMap {
                maps.insert(id.name);
            } else {
                others.push((id, is_gone, click));
            }
        }
        self.config_maps_changed(now, &maps, is_load);
        if is_load {
            others.sort_by_key(|(id, ..)| order_in_load(id.kind));
        }
        for (id, is_gone, click) in others {
            if is_gone {
                self.object_removed(&id);
            } else {
                self.refresh_disabled(now, &id);
                self.reconcile_object(&id, is_load);
            }
            if click {
                self.clicked(now, &id.name);
            }
        }
    }

    fn reconcile_object(&mut self, id: &ObjectId, is_load: bool) {
        let name = &id.name;
        match id.kind {
            Kind::Cmd => self.reconcile_cmd(name),
            Kind::FileWatch => self.objects.watches.is_stale = true,
            Kind::ToggleButton => self.refresh_toggle(name),
            Kind::Tiltfile if !is_load => self.reconcile_tiltfile(name),
            Kind::ExtensionRepo => self.reconcile_repo(name),
            Kind::Extension => self.reconcile_extension(name),
            _ => {}
        }
    }

    /// What an object meant is over.
    fn object_removed(&mut self, id: &ObjectId) {
        let name = &id.name;
        match id.kind {
            Kind::Cmd => self.cmd_removed(name),
            Kind::FileWatch => self.objects.watches.is_stale = true,
            Kind::ToggleButton => {
                self.objects.click_errors.remove(name);
                self.publish_object(Kind::ToggleButton, name);
            }
            Kind::Tiltfile => self.tiltfile_object_removed(name),
            Kind::ExtensionRepo => {
                self.objects.found_repos.remove(name);
                self.reconcile_extensions_of(name);
            }
            Kind::Extension => {
                self.objects.found_extensions.remove(name);
                self.remove_extension(name);
            }
            _ => {}
        }
    }

    /// An object looks different.
    fn publish_object(&mut self, kind: Kind, name: &str) {
        self.effects.changed.insert(ObjectId::new(kind, name));
    }

    fn do_for_object(&mut self, action: ObjectAction) {
        self.effects.actions.push(Action::Object(action));
    }

    /// Logs what is wrong with an object of a client.
    fn log_error(&mut self, text: String) {
        let (resource, span) = (MAIN.into(), String::new());
        self.effects.lines.push(LogLine { resource, span, kind: LineKind::Error, text });
    }
}

/// Repositories come before their extensions; what is not listed does not matter to others.
fn order_in_load(kind: Kind) -> usize {
    let order = [Kind::ToggleButton, Kind::ExtensionRepo, Kind::Extension, Kind::Cmd];
    order.iter().position(|it| *it == kind).unwrap_or(order.len())
}
