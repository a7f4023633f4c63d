//! The API objects that a Tiltfile stands for: made, changed and removed with each load.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::Path,
    sync::Arc,
};

use builtins::host::OsHost;
use engine_core::{
    resource::{EnableState, ResourceName},
    tiltfile::{LoadId, MAIN},
};
use engine_model::{DeployTarget, IgnoreDef, IgnorePatterns, Load, LocalTarget, Manifest};
use serde_json::{Value, json};

use super::{Mode, Runtime, disable, names};
use crate::{
    api::{KindRef, Meta, Owner, kind},
    watch,
};

mod deployed;

/// Which resource's log an object writes to.
pub(super) const RESOURCE: &str = "tilt.dev/resource";
pub(super) const SPAN: &str = "tilt.dev/log-span-id";
pub(super) const MANAGED_BY: &str = "tilt.dev/managed-by";
pub(super) const TARGET: &str = "tilt.dev/target-id";
pub(super) const BUTTON_TYPE: &str = "tilt.dev/uibutton-type";

/// A Tiltfile, and what it stands for.
#[derive(Debug, Default)]
pub(super) struct Declared {
    /// Where it is.
    pub(super) path: String,
    /// Labels of everything it declares.
    pub(super) labels: BTreeMap<String, String>,
    /// The run that is going on.
    pub(super) running: Option<(LoadId, Arc<OsHost>)>,
    /// Keeps the temporary files of the last good run.
    pub(super) host: Option<Arc<OsHost>>,
    /// Objects that it owns.
    pub(super) objects: HashSet<(KindRef, String)>,
    /// What it and its resources watch.
    pub(super) targets: Vec<watch::Target>,
}

/// An object to be.
struct Wanted {
    kind: KindRef,
    name: String,
    annotations: BTreeMap<String, String>,
    labels: BTreeMap<String, String>,
    spec: Value,
}

impl Wanted {
    fn new(kind: KindRef, name: String, spec: Value) -> Self {
        Self { kind, name, annotations: BTreeMap::new(), labels: BTreeMap::new(), spec }
    }

    fn noting(mut self, annotations: &[(&str, &str)]) -> Self {
        let pairs = annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        self.annotations.extend(pairs);
        self
    }
}

impl Runtime {
    /// The main Tiltfile, before it has run.
    pub(super) fn declare_session(&mut self) {
        let queue = json!(null);
        self.store.put(kind::CONFIG_MAP, "tilt-trigger-queue", &Meta::default(), &queue);
        let button = stop_button(MAIN);
        let meta = Meta { annotations: button.annotations, ..Meta::default() };
        self.store.put(button.kind, &button.name, &meta, &button.spec);
        let spec = json!({
            "path": self.settings.tiltfile,
            "args": self.settings.args,
            "restartOn": {"fileWatches": [names::config_target(MAIN)]},
            "stopOn": {"uiButtons": [names::stop_button(MAIN)]},
        });
        let spec = without_empty(spec);
        self.store.put(kind::TILTFILE, MAIN, &Meta::default(), &spec);
        let path = self.settings.tiltfile.clone();
        self.tiltfiles.insert(MAIN.into(), Declared::new(path));
        self.declare_ui_session();
    }

    /// What there is of a Tiltfile before its first run: enough to see it, and to notice that it changes.
    pub(super) fn declare_tiltfile(&mut self, name: &ResourceName) {
        let Some(declared) = self.tiltfiles.get(name) else { return };
        let mut load = Load::default();
        if !declared.path.is_empty() {
            load.config_files = vec![declared.path.clone()];
        }
        self.declare_load(name, &load, false, false);
        self.watch_all();
    }

    /// Writes the objects of a load; says which of its resources take part.
    ///
    /// What a failed load says is taken in too, but nothing is removed because of it.
    pub(super) fn declare_load(
        &mut self,
        tiltfile: &ResourceName,
        load: &Load,
        is_good: bool,
        resets_switches: bool,
    ) -> HashMap<ResourceName, EnableState> {
        let Some(declared) = self.tiltfiles.get(tiltfile) else { return HashMap::new() };
        let (path, labels) = (declared.path.clone(), declared.labels.clone());
        let owner = self.store.get(kind::TILTFILE, tiltfile).map(|it| Owner {
            kind: kind::TILTFILE,
            name: tiltfile.to_string(),
            uid: it.uid().to_owned(),
        });
        let watches = watch_targets(tiltfile, load, &path);
        let mut wanted = objects_of_tiltfile(load);
        wanted.extend(load.manifests.iter().flat_map(objects_of_resource));
        wanted.extend(deployed::objects(tiltfile, load, &self.cluster_connection()));
        wanted.extend(self.session_object(tiltfile, load));
        wanted.push(ui_resource(tiltfile, BTreeMap::new()));
        if self.settings.mode == Mode::Up {
            wanted.extend(watches.iter().map(|it| file_watch(it, tiltfile)));
        }

        let mut objects = HashSet::new();
        for mut it in wanted {
            let resource = it.annotations.entry(RESOURCE.to_owned());
            resource.or_insert_with(|| tiltfile.to_string());
            for (key, value) in &labels {
                it.labels.entry(key.clone()).or_insert_with(|| value.clone());
            }
            let meta =
                Meta { labels: it.labels, annotations: it.annotations, owner: owner.clone() };
            self.store.put(it.kind, &it.name, &meta, &it.spec);
            objects.insert((it.kind, it.name));
        }
        let enabled = self.declare_switches(tiltfile, load, owner, resets_switches, &mut objects);
        self.replace_objects(tiltfile, objects, is_good);
        if let Some(declared) = self.tiltfiles.get_mut(tiltfile) {
            if is_good {
                declared.targets = watches;
            } else {
                // Only the files that the Tiltfile itself read are new.
                let config = names::config_target(tiltfile);
                declared.targets.retain(|it| it.id != config);
                declared.targets.extend(watches.into_iter().filter(|it| it.id == config));
            }
        }
        self.look_at_declared_objects(tiltfile);
        enabled
    }

    /// Removes what the Tiltfile does not declare any more.
    fn replace_objects(
        &mut self,
        tiltfile: &ResourceName,
        objects: HashSet<(KindRef, String)>,
        is_good: bool,
    ) {
        let Some(declared) = self.tiltfiles.get_mut(tiltfile) else { return };
        if !is_good {
            declared.objects.extend(objects);
            return;
        }
        let old = std::mem::replace(&mut declared.objects, objects);
        let gone: Vec<_> = old.difference(&declared.objects).cloned().collect();
        for (kind, name) in gone {
            self.store.remove(kind, &name);
            self.object_removed(kind, &name);
        }
    }

    /// The switches of all resources: as they are, unless the Tiltfile was given other arguments.
    fn declare_switches(
        &mut self,
        tiltfile: &str,
        load: &Load,
        owner: Option<Owner>,
        resets_switches: bool,
        objects: &mut HashSet<(KindRef, String)>,
    ) -> HashMap<ResourceName, EnableState> {
        let enabled: HashSet<&str> =
            load.enabled_manifests.iter().flatten().map(String::as_str).collect();
        let annotations = BTreeMap::from([(RESOURCE.to_owned(), tiltfile.to_owned())]);
        let meta = Meta { annotations, owner, ..Meta::default() };
        let mut states = HashMap::new();
        for manifest in &load.manifests {
            let name = names::switch(&manifest.name);
            if resets_switches || self.store.get(kind::CONFIG_MAP, &name).is_none() {
                let is_disabled = !enabled.contains(manifest.name.as_str());
                let data = json!({disable::KEY: is_disabled.to_string()});
                self.store.put(kind::CONFIG_MAP, &name, &meta, &data);
            }
            states.insert(manifest.name.as_str().into(), self.switch_state(&name));
            objects.insert((kind::CONFIG_MAP, name));
            self.show_disable_status(kind::KUBERNETES_APPLY, &manifest.name);
        }
        states
    }

    /// How the cluster is reached, as far as flags say so.
    fn cluster_connection(&self) -> Value {
        let mut connection = json!({});
        let flags = [("context", &self.settings.context), ("namespace", &self.settings.namespace)];
        for (name, value) in flags {
            if let Some(value) = value {
                connection[name] = json!(value);
            }
        }
        connection
    }

    fn session_object(&self, tiltfile: &str, load: &Load) -> Option<Wanted> {
        if tiltfile != MAIN {
            return None;
        }
        let exit = if self.settings.mode == Mode::Ci { "ci" } else { "manual" };
        let mut spec = json!({"tiltfilePath": self.settings.tiltfile, "exitCondition": exit});
        spec["ci"] = json!(load.ci_settings);
        Some(Wanted::new(kind::SESSION, "Tiltfile".to_owned(), spec))
    }
}

/// Objects that the Tiltfile itself declares.
fn objects_of_tiltfile(load: &Load) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for (group, objects) in &load.object_set {
        let plural = group.rsplit('=').next().unwrap_or_default();
        let Some(kind) = crate::api::Kind::of_plural(plural) else { continue };
        for (name, object) in objects {
            let spec = object.get(kind.body_key()).cloned().unwrap_or(Value::Null);
            let texts = |key: &str| -> BTreeMap<String, String> {
                let map = object.pointer(&format!("/metadata/{key}"));
                map.and_then(|it| serde_json::from_value(it.clone()).ok()).unwrap_or_default()
            };
            let mut it = Wanted::new(kind, name.clone(), spec);
            (it.labels, it.annotations) = (texts("labels"), texts("annotations"));
            wanted.push(it);
        }
    }
    wanted
}

/// Objects that every resource has.
fn objects_of_resource(manifest: &Manifest) -> Vec<Wanted> {
    let name = manifest.name.as_str();
    let mut wanted =
        vec![ui_resource(name, manifest.labels.clone()), stop_button(name), toggle_button(name)];
    if let DeployTarget::Local(target) = &manifest.deploy_target {
        wanted.extend(update_cmd(name, target));
    }
    wanted
}

fn ui_resource(name: &str, labels: BTreeMap<String, String>) -> Wanted {
    let mut it = Wanted::new(kind::UI_RESOURCE, name.to_owned(), json!({}));
    it.labels = labels;
    it.noting(&[(RESOURCE, name)])
}

fn stop_button(resource: &str) -> Wanted {
    let spec = json!({
        "location": {"componentID": resource, "componentType": "Resource"},
        "text": "Stop Build",
        "iconName": "cancel",
    });
    Wanted::new(kind::UI_BUTTON, names::stop_button(resource), spec)
        .noting(&[(BUTTON_TYPE, "StopBuild")])
}

fn toggle_button(resource: &str) -> Wanted {
    let switch = names::switch(resource);
    let spec = json!({
        "location": {"componentID": resource, "componentType": "Resource"},
        "on": {"text": "Enable Resource"},
        "off": {"text": "Disable Resource", "requiresConfirmation": true},
        "defaultOn": false,
        "stateSource": {
            "configMap": {"name": switch, "key": disable::KEY, "onValue": "true", "offValue": "false"},
        },
    });
    Wanted::new(kind::TOGGLE_BUTTON, switch, spec).noting(&[(BUTTON_TYPE, "DisableToggle")])
}

fn update_cmd(resource: &str, target: &LocalTarget) -> Option<Wanted> {
    let name = names::update_cmd(resource);
    let mut spec = json!(target.update_cmd_spec.as_ref()?);
    spec["disableSource"] = disable_source(resource);
    let span = format!("cmd:{name}");
    let notes = [(RESOURCE, resource), (SPAN, &span), (MANAGED_BY, "local_resource")];
    Some(Wanted::new(kind::CMD, name, spec).noting(&notes))
}

/// Where a resource's switch is.
pub(super) fn disable_source(resource: &str) -> Value {
    json!({"configMap": {"name": names::switch(resource), "key": disable::KEY}})
}

fn file_watch(target: &watch::Target, tiltfile: &str) -> Wanted {
    let mut spec = json!({"watchedPaths": target.paths});
    if !target.ignores.is_empty() {
        spec["ignores"] = json!(target.ignores);
    }
    let own = ["local:", "k8s:"].iter().find_map(|it| target.id.strip_prefix(it));
    if let Some(resource) = own {
        spec["disableSource"] = disable_source(resource);
    }
    let resource = own.unwrap_or(tiltfile);
    let notes = [(RESOURCE, resource), (TARGET, target.id.as_str())];
    Wanted::new(kind::FILE_WATCH, names::sanitized(&target.id), spec).noting(&notes)
}

/// What a Tiltfile and its resources watch.
fn watch_targets(tiltfile: &str, load: &Load, path: &str) -> Vec<watch::Target> {
    let global = global_ignores(load);
    let mut targets: Vec<watch::Target> =
        load.manifests.iter().filter_map(|it| local_watch(it, &global)).collect();
    targets.extend(deployed::watch_targets(load, &global));
    let mut paths: Vec<String> = load.config_files.clone();
    if paths.is_empty() && !path.is_empty() {
        paths.push(path.to_owned());
    }
    if !paths.is_empty() {
        targets.push(watch::Target {
            id: names::config_target(tiltfile),
            paths: paths.into_iter().map(Into::into).collect(),
            ignores: global,
            is_early: false,
        });
    }
    targets
}

fn local_watch(manifest: &Manifest, global: &[IgnoreDef]) -> Option<watch::Target> {
    let DeployTarget::Local(target) = &manifest.deploy_target else { return None };
    let paths = target.deps.as_ref().filter(|it| !it.is_empty())?;
    let own = target.file_watch_ignores.iter().flatten();
    Some(watch::Target {
        id: names::local_target(&manifest.name),
        paths: paths.iter().map(Into::into).collect(),
        ignores: own.chain(global).cloned().collect(),
        is_early: false,
    })
}

/// Ignores of `.tiltignore` and `watch_settings`, and files that builds write.
fn global_ignores(load: &Load) -> Vec<IgnoreDef> {
    let tiltignore = Some(&load.tiltignore).filter(|it| it.patterns.is_some());
    let patterns = tiltignore.into_iter().chain(load.watch_settings.ignores.iter().flatten());
    let mut ignores: Vec<IgnoreDef> = patterns.map(ignore_def).collect();
    let images = load.manifests.iter().flat_map(|it| it.image_targets.iter().flatten());
    for image in images {
        if let engine_model::BuildDetails::Custom(build) = &image.build_details
            && !build.outputs_image_ref_to.is_empty()
        {
            let path = Path::new(&build.outputs_image_ref_to);
            let text = |it: Option<&Path>| it.map_or(String::new(), |it| it.display().to_string());
            ignores.push(IgnoreDef {
                base_path: text(path.parent()),
                patterns: vec![text(path.file_name().map(Path::new))],
            });
        }
    }
    ignores
}

fn ignore_def(patterns: &IgnorePatterns) -> IgnoreDef {
    IgnoreDef {
        base_path: patterns.local_path.clone(),
        patterns: patterns.patterns.clone().unwrap_or_default(),
    }
}

/// An object without its empty lists.
fn without_empty(mut value: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, it| it.as_array().is_none_or(|it| !it.is_empty()));
    }
    value
}
