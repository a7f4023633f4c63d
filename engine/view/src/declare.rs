//! The API objects that a Tiltfile stands for, drafted from each load.

use std::collections::{BTreeMap, HashSet};

use engine_core::{World, objects::SWITCH_KEY, tiltfile::MAIN};
use engine_model::{
    DeployTarget, Kind, Load, LocalTarget, Manifest, ObjectId, TargetId, WatchTarget,
    annotation::{BUTTON_TYPE, MANAGED_BY, RESOURCE, SPAN, TARGET, UNLISTED},
    names,
    path::to_text,
};
use serde_json::{Value, json};

use crate::{draft::ObjectDraft, local, queue, session};

mod deployed;
mod targets;

/// What the engine was started with, as far as objects say so.
#[derive(Clone, Copy, Debug)]
pub struct DeclareSettings<'a> {
    /// Whether it is to come to a verdict; then nothing is watched.
    pub is_ci: bool,
    /// The path of the main Tiltfile.
    pub tiltfile: &'a str,
    /// Overrides the current context of the kubeconfig.
    pub context: Option<&'a str>,
    /// Overrides the namespace of the context.
    pub namespace: Option<&'a str>,
}

/// A Tiltfile that declares objects.
#[derive(Clone, Copy, Debug)]
pub struct Declarer<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it is.
    pub path: &'a str,
    /// Labels of everything it declares.
    pub labels: &'a BTreeMap<String, String>,
}

/// What a load declares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declaration {
    /// Objects to write.
    pub objects: Vec<ObjectDraft>,
    /// The switches of all resources; those that are there stay, unless the Tiltfile was given other arguments.
    pub switches: Vec<ObjectDraft>,
    /// What the Tiltfile and its resources watch.
    pub targets: Vec<WatchTarget>,
}

/// Everything that a load declares.
pub fn load(
    world: &World,
    tiltfile: &Declarer<'_>,
    load: &Load,
    settings: &DeclareSettings<'_>,
) -> Declaration {
    let name = tiltfile.name;
    let targets = targets::watch_targets(name, load, tiltfile.path);
    let mut objects = objects_of_tiltfile(load);
    objects.extend(load.manifests.iter().flat_map(objects_of_resource));
    objects.extend(deployed::objects(name, load, settings));
    if name == MAIN {
        objects.push(session::draft(load, settings));
    }
    objects.push(ui_resource(name, BTreeMap::new()));
    if !settings.is_ci {
        objects.extend(targets.iter().map(|it| file_watch(world, it, name)));
    }
    let owner = ObjectId::new(Kind::Tiltfile, name);
    for it in &mut objects {
        it.annotations.entry(RESOURCE.to_owned()).or_insert_with(|| name.to_owned());
        for (key, value) in tiltfile.labels {
            it.labels.entry(key.clone()).or_insert_with(|| value.clone());
        }
        it.owner = Some(owner.clone());
    }
    let switches = switches(load).map(|it| it.annotated(&[(RESOURCE, name)]));
    let switches = switches.map(|it| ObjectDraft { owner: Some(owner.clone()), ..it }).collect();
    Declaration { objects, switches, targets }
}

/// The objects that are there before the main Tiltfile has run.
pub fn main(settings: &DeclareSettings<'_>, args: &[String]) -> Vec<ObjectDraft> {
    let mut spec = json!({"path": settings.tiltfile});
    if !args.is_empty() {
        spec["args"] = json!(args);
    }
    spec["restartOn"] = json!({"fileWatches": [TargetId::Config(MAIN.into()).to_string()]});
    spec["stopOn"] = json!({"uiButtons": [names::stop_button(MAIN)]});
    vec![
        queue::draft(Value::Null),
        stop_button(MAIN),
        ObjectDraft::new(Kind::Tiltfile, MAIN, spec),
        session::ui_draft(),
    ]
}

/// Objects that the Tiltfile itself declares.
fn objects_of_tiltfile(load: &Load) -> Vec<ObjectDraft> {
    let mut drafts = Vec::new();
    for (group, objects) in &load.object_set {
        let plural = group.rsplit('=').next().unwrap_or_default();
        let Some(kind) = Kind::of_plural(plural) else { continue };
        for (name, object) in objects {
            let spec = object.get(kind.body_key()).cloned().unwrap_or(Value::Null);
            let texts = |key: &str| -> BTreeMap<String, String> {
                let map = object.pointer(&format!("/metadata/{key}"));
                map.and_then(|it| serde_json::from_value(it.clone()).ok()).unwrap_or_default()
            };
            let mut it = ObjectDraft::new(kind, name, spec);
            (it.labels, it.annotations) = (texts("labels"), texts("annotations"));
            drafts.push(it);
        }
    }
    drafts
}

/// Objects that every resource has.
fn objects_of_resource(manifest: &Manifest) -> Vec<ObjectDraft> {
    let name = manifest.name.as_str();
    let mut drafts =
        vec![ui_resource(name, manifest.labels.clone()), stop_button(name), toggle_button(name)];
    if let DeployTarget::Local(target) = &manifest.deploy_target {
        drafts.extend(update_cmd(name, target));
    }
    drafts
}

fn ui_resource(name: &str, labels: BTreeMap<String, String>) -> ObjectDraft {
    let it = ObjectDraft::new(Kind::UiResource, name, json!({}));
    ObjectDraft { labels, ..it }.annotated(&[(RESOURCE, name)])
}

fn stop_button(resource: &str) -> ObjectDraft {
    let spec = json!({
        "location": {"componentID": resource, "componentType": "Resource"},
        "text": "Stop Build",
        "iconName": "cancel",
    });
    ObjectDraft::new(Kind::UiButton, names::stop_button(resource), spec)
        .annotated(&[(BUTTON_TYPE, "StopBuild")])
}

fn toggle_button(resource: &str) -> ObjectDraft {
    let switch = names::switch(resource);
    let spec = json!({
        "location": {"componentID": resource, "componentType": "Resource"},
        "on": {"text": "Enable Resource"},
        "off": {"text": "Disable Resource", "requiresConfirmation": true},
        "defaultOn": false,
        "stateSource": {
            "configMap": {"name": switch, "key": SWITCH_KEY, "onValue": "true", "offValue": "false"},
        },
    });
    ObjectDraft::new(Kind::ToggleButton, switch, spec).annotated(&[(BUTTON_TYPE, "DisableToggle")])
}

/// The switches of all resources, as the Tiltfile's arguments say.
fn switches(load: &Load) -> impl Iterator<Item = ObjectDraft> {
    let enabled: HashSet<&str> =
        load.enabled_manifests.iter().flatten().map(String::as_str).collect();
    load.manifests.iter().map(move |it| {
        let is_disabled = !enabled.contains(it.name.as_str());
        let data = json!({SWITCH_KEY: is_disabled.to_string()});
        ObjectDraft::new(Kind::ConfigMap, names::switch(&it.name), data)
    })
}

fn update_cmd(resource: &str, target: &LocalTarget) -> Option<ObjectDraft> {
    let name = local::update_cmd_name(resource);
    let mut spec = json!(target.update_cmd_spec.as_ref()?);
    spec["disableSource"] = disable_source(resource);
    let span = format!("cmd:{name}");
    let notes = [(RESOURCE, resource), (SPAN, &span), (MANAGED_BY, "local_resource")];
    Some(ObjectDraft::new(Kind::Cmd, name, spec).annotated(&notes))
}

/// Where a resource's switch is.
pub(crate) fn disable_source(resource: &str) -> Value {
    json!({"configMap": {"name": names::switch(resource), "key": SWITCH_KEY}})
}

/// The object of a target; the count of files that it does not list stays.
fn file_watch(world: &World, target: &WatchTarget, tiltfile: &str) -> ObjectDraft {
    let paths: Vec<_> = target.paths.iter().map(|it| to_text(it)).collect();
    let mut spec = json!({"watchedPaths": paths});
    if !target.ignores.is_empty() {
        spec["ignores"] = json!(target.ignores);
    }
    let own = target.id.resource();
    if let Some(resource) = own {
        spec["disableSource"] = disable_source(resource);
    }
    let resource = own.map_or(tiltfile, |it| it);
    let id = target.id.to_string();
    let notes = [(RESOURCE, resource), (TARGET, &id)];
    let draft = ObjectDraft::new(Kind::FileWatch, &target.object, spec).annotated(&notes);
    match local::unlisted_files(world, &target.object) {
        Some(unlisted) => draft.annotated(&[(UNLISTED, &unlisted)]),
        None => draft,
    }
}
