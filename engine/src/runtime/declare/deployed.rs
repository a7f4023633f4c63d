//! The API objects of resources that are built and deployed: images, live updates, Compose services, clusters.

use std::collections::HashSet;

use engine_core::tiltfile::MAIN;
use engine_model::{
    BuildDetails, ComposeTarget, DeployTarget, IgnoreDef, ImageTarget, KubernetesTarget, Load,
    Manifest,
};
use serde_json::{Value, json};

use super::{MANAGED_BY, RESOURCE, SPAN, Wanted, disable_source};
use crate::{
    api::kind,
    runtime::{live_containers::Selector, names},
    watch,
};

/// Says whether a live update waits until somebody asks.
const UPDATE_MODE: &str = "tilt.dev/update-mode";

/// Everything of one load: an image that two resources share has one image map.
pub(super) fn objects(tiltfile: &str, load: &Load, connection: &Value) -> Vec<Wanted> {
    let deployed = deployed_images(load);
    let mut wanted = Vec::new();
    let mut maps = HashSet::new();
    for manifest in &load.manifests {
        for image in manifest.image_targets.iter().flatten() {
            if !image.is_live_update_only && maps.insert(image.image_map_name.as_str()) {
                wanted.push(image_map(manifest, image));
            }
            wanted.extend(build(manifest, image, &deployed));
            wanted.extend(live_update(manifest, image));
        }
        match &manifest.deploy_target {
            DeployTarget::Compose(target) => wanted.push(service(&manifest.name, target)),
            DeployTarget::Kubernetes(target) => wanted.push(apply(&manifest.name, target)),
            DeployTarget::Local(_) => {}
        }
    }
    let is_deployed = |it: &Manifest| matches!(it.deploy_target, DeployTarget::Kubernetes(_));
    if tiltfile == MAIN && load.manifests.iter().any(is_deployed) {
        let mut spec = json!({"connection": {"kubernetes": connection}});
        if let Some(registry) = &load.default_registry {
            spec["defaultRegistry"] = json!(registry);
        }
        wanted.push(Wanted::new(kind::CLUSTER, names::KUBERNETES.to_owned(), spec));
    }
    let is_compose = |it: &Manifest| matches!(it.deploy_target, DeployTarget::Compose(_));
    if tiltfile == MAIN && load.manifests.iter().any(is_compose) {
        let spec = json!({"connection": {"docker": {}}});
        wanted.push(Wanted::new(kind::CLUSTER, names::DOCKER.to_owned(), spec));
    }
    wanted
}

/// What images watch. One that two resources share is watched once.
pub(super) fn watch_targets(load: &Load, global: &[IgnoreDef]) -> Vec<watch::Target> {
    let mut seen = HashSet::new();
    let live: HashSet<&str> = load.manifests.iter().flat_map(live_inputs).collect();
    let images = load.manifests.iter().flat_map(|it| it.image_targets.iter().flatten());
    let images = images
        .filter(|it| seen.insert(it.image_map_name.as_str()))
        .filter_map(|it| watched(it, global, live.contains(it.image_map_name.as_str())));
    images.chain(load.manifests.iter().filter_map(|it| apply_watch(it, global))).collect()
}

/// What a custom deploy depends on.
fn apply_watch(manifest: &Manifest, global: &[IgnoreDef]) -> Option<watch::Target> {
    let DeployTarget::Kubernetes(target) = &manifest.deploy_target else { return None };
    let own = target.file_watch_ignores.iter().flatten();
    (!target.path_dependencies.is_empty()).then(|| watch::Target {
        id: names::apply_target(&manifest.name),
        paths: target.path_dependencies.iter().map(Into::into).collect(),
        ignores: own.chain(global).cloned().collect(),
        is_early: false,
    })
}

/// The images of a resource whose files go into running containers.
fn live_inputs(manifest: &Manifest) -> Vec<&str> {
    let images = manifest.image_targets.as_deref().unwrap_or_default();
    let live = images.iter().filter(|it| it.live_update_reconciler);
    live.flat_map(|it| it.with_bases(images)).map(|it| it.image_map_name.as_str()).collect()
}

fn watched(image: &ImageTarget, global: &[IgnoreDef], is_live: bool) -> Option<watch::Target> {
    let mut paths = match &image.build_details {
        BuildDetails::Docker(build) => vec![build.context.clone()],
        BuildDetails::Custom(build) => build.deps.clone().unwrap_or_default(),
        BuildDetails::Compose(build) => vec![build.context.clone()],
    };
    // Compose takes URLs as well, and a Dockerfile without a context has none.
    paths.retain(|it| it.starts_with('/'));
    let own = image.file_watch_ignores.iter().flatten();
    (!paths.is_empty()).then(|| watch::Target {
        id: image.id(),
        paths: paths.into_iter().map(Into::into).collect(),
        ignores: own.chain(global).cloned().collect(),
        is_early: is_live,
    })
}

/// Names of the image maps that some deployment uses; the others are only built on.
fn deployed_images(load: &Load) -> HashSet<&str> {
    let maps = load.manifests.iter().flat_map(|it| match &it.deploy_target {
        DeployTarget::Compose(target) => target.spec.image_maps.as_slice(),
        DeployTarget::Kubernetes(target) => target.image_maps.as_slice(),
        DeployTarget::Local(_) => &[],
    });
    maps.map(String::as_str).collect()
}

fn image_map(manifest: &Manifest, image: &ImageTarget) -> Wanted {
    let mut spec = json!({"selector": image.selector});
    if image.match_exact {
        spec["matchExact"] = json!(true);
    }
    if image.match_in_env_vars {
        spec["matchInEnvVars"] = json!(true);
    }
    if let Some(command) = &image.override_command {
        spec["overrideCommand"] = json!(command);
    }
    if let Some(args) = &image.override_args {
        spec["overrideArgs"] = json!(args);
    }
    let span = format!("imagemap:{}", image.image_map_name);
    Wanted::new(kind::IMAGE_MAP, image.image_map_name.clone(), spec)
        .noting(&[(RESOURCE, &manifest.name), (SPAN, &span)])
}

fn build(manifest: &Manifest, image: &ImageTarget, deployed: &HashSet<&str>) -> Vec<Wanted> {
    let needs =
        if deployed.contains(image.image_map_name.as_str()) { "push" } else { "base-image" };
    let cluster = match manifest.deploy_target {
        DeployTarget::Compose(_) => names::DOCKER,
        DeployTarget::Kubernetes(_) => "default",
        DeployTarget::Local(_) => "",
    };
    let known = |mut spec: Value| {
        spec["ref"] = json!(image.selector);
        spec["clusterNeeds"] = json!(needs);
        spec["cluster"] = json!(cluster);
        spec
    };
    match &image.build_details {
        BuildDetails::Docker(build) => {
            let span = format!("dockerimage:{}", image.docker_image_name);
            let notes = [(RESOURCE, manifest.name.as_str()), (SPAN, &span)];
            let name = image.docker_image_name.clone();
            vec![Wanted::new(kind::DOCKER_IMAGE, name, known(json!(build))).noting(&notes)]
        }
        BuildDetails::Custom(build) => {
            let name = &image.cmd_image_name;
            let span = format!("cmdimage:{name}");
            let notes = [(RESOURCE, manifest.name.as_str()), (SPAN, &span)];
            let mut spec = known(json!(build));
            if let Some(fields) = spec.as_object_mut() {
                fields.remove("Deps");
            }
            let cmd = json!({"args": build.args, "dir": build.dir});
            let managed = [(MANAGED_BY, "cmd_image")];
            vec![
                Wanted::new(kind::CMD_IMAGE, name.clone(), spec).noting(&notes),
                Wanted::new(kind::CMD, name.clone(), cmd).noting(&notes).noting(&managed),
            ]
        }
        BuildDetails::Compose(_) => Vec::new(),
    }
}

fn live_update(manifest: &Manifest, image: &ImageTarget) -> Option<Wanted> {
    let name = image.live_update_name.clone();
    if name.is_empty() || !image.live_update_reconciler {
        return None;
    }
    let mut spec = json!(image.live_update_spec);
    if let DeployTarget::Compose(_) = manifest.deploy_target {
        spec["selector"] = json!({"dockerCompose": {"service": manifest.name}});
    }
    if let DeployTarget::Kubernetes(_) = manifest.deploy_target {
        spec["selector"] = json!({"kubernetes": kubernetes_selector(manifest, image)});
    }
    let all = manifest.image_targets.as_deref().unwrap_or_default();
    let sources = image.with_bases(all).into_iter().rev().map(|it| {
        let mut source = json!({"fileWatch": it.id()});
        if !it.is_live_update_only {
            source["imageMap"] = json!(it.image_map_name);
        }
        source
    });
    spec["sources"] = sources.collect();
    let span = format!("liveupdate:{name}");
    let mode = if manifest.trigger_mode.is_auto_on_change() { "auto" } else { "manual" };
    let notes =
        [(RESOURCE, manifest.name.as_str()), (SPAN, &span), (MANAGED_BY, ""), (UPDATE_MODE, mode)];
    Some(Wanted::new(kind::LIVE_UPDATE, name, spec).noting(&notes))
}

/// Which containers of pods a live update is for.
fn kubernetes_selector(manifest: &Manifest, image: &ImageTarget) -> Value {
    let mut selector = json!({"applyName": manifest.name, "discoveryName": manifest.name});
    let (field, value) = match Selector::of(manifest, image) {
        Selector::Name(name) => ("containerName", name),
        Selector::Image(image) => ("image", image),
        Selector::ImageMap(name) => ("imageMapName", name),
        Selector::Service => return selector,
    };
    selector[field] = json!(value);
    selector
}

fn apply(resource: &str, target: &KubernetesTarget) -> Wanted {
    let mut spec = json!(target);
    // What else is known of the resource is no part of the object.
    if let Some(fields) = spec.as_object_mut() {
        fields.retain(|name, _| name.starts_with(|it: char| it.is_ascii_lowercase()));
    }
    spec["disableSource"] = disable_source(resource);
    let span = names::apply_span(resource);
    let notes = [(RESOURCE, resource), (SPAN, &span), (MANAGED_BY, "buildcontrol")];
    Wanted::new(kind::KUBERNETES_APPLY, resource.to_owned(), spec).noting(&notes)
}

fn service(resource: &str, target: &ComposeTarget) -> Wanted {
    let mut spec = json!(target.spec);
    spec["disableSource"] = disable_source(resource);
    let span = names::compose_object_span(resource);
    let notes = [(RESOURCE, resource), (SPAN, &span), (MANAGED_BY, "buildcontrol")];
    Wanted::new(kind::DOCKER_COMPOSE_SERVICE, resource.to_owned(), spec).noting(&notes)
}
