//! The API objects of resources that are built and deployed: images, live updates, Compose services, clusters.

use std::collections::HashSet;

use engine_core::{live_update::Selector, tiltfile::MAIN};
use engine_model::{
    BuildDetails, ComposeTarget, DeployTarget, ImageTarget, Kind, KubernetesTarget, Load, Manifest,
    names,
};
use serde_json::{Value, json};

use super::{DeclareSettings, disable_source};
use crate::draft::ObjectDraft;
use engine_model::annotation::{MANAGED_BY, RESOURCE, SPAN};

/// Says whether a live update waits until somebody asks.
const UPDATE_MODE: &str = "tilt.dev/update-mode";

/// Everything of one load: an image that two resources share has one image map.
pub(super) fn objects(
    tiltfile: &str,
    load: &Load,
    settings: &DeclareSettings<'_>,
) -> Vec<ObjectDraft> {
    let deployed = deployed_images(load);
    let mut drafts = Vec::new();
    let mut maps = HashSet::new();
    for manifest in &load.manifests {
        for image in manifest.image_targets.iter().flatten() {
            if !image.is_live_update_only && maps.insert(image.image_map_name.as_str()) {
                drafts.push(image_map(manifest, image));
            }
            drafts.extend(build(manifest, image, &deployed));
            drafts.extend(live_update(manifest, image));
        }
        match &manifest.deploy_target {
            DeployTarget::Compose(target) => drafts.push(service(&manifest.name, target)),
            DeployTarget::Kubernetes(target) => drafts.push(apply(&manifest.name, target)),
            DeployTarget::Local(_) => {}
        }
    }
    let is_deployed = |it: &Manifest| matches!(it.deploy_target, DeployTarget::Kubernetes(_));
    if tiltfile == MAIN && load.manifests.iter().any(is_deployed) {
        let mut spec = json!({"connection": {"kubernetes": connection(settings)}});
        if let Some(registry) = &load.default_registry {
            spec["defaultRegistry"] = json!(registry);
        }
        drafts.push(ObjectDraft::new(Kind::Cluster, names::KUBERNETES, spec));
    }
    let is_compose = |it: &Manifest| matches!(it.deploy_target, DeployTarget::Compose(_));
    if tiltfile == MAIN && load.manifests.iter().any(is_compose) {
        let spec = json!({"connection": {"docker": {}}});
        drafts.push(ObjectDraft::new(Kind::Cluster, names::DOCKER, spec));
    }
    drafts
}

/// How the cluster is reached, as far as flags say so.
fn connection(settings: &DeclareSettings<'_>) -> Value {
    let mut connection = json!({});
    let flags = [("context", settings.context), ("namespace", settings.namespace)];
    for (name, value) in flags {
        if let Some(value) = value {
            connection[name] = json!(value);
        }
    }
    connection
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

fn image_map(manifest: &Manifest, image: &ImageTarget) -> ObjectDraft {
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
    ObjectDraft::new(Kind::ImageMap, image.image_map_name.clone(), spec)
        .annotated(&[(RESOURCE, &manifest.name), (SPAN, &span)])
}

fn build(manifest: &Manifest, image: &ImageTarget, deployed: &HashSet<&str>) -> Vec<ObjectDraft> {
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
            vec![ObjectDraft::new(Kind::DockerImage, name, known(json!(build))).annotated(&notes)]
        }
        BuildDetails::Custom(build) => {
            let name = &image.cmd_image_name;
            let span = format!("cmdimage:{name}");
            let notes = [(RESOURCE, manifest.name.as_str()), (SPAN, &span)];
            let spec = without_deps(known(json!(build)));
            let cmd = json!({"args": build.args, "dir": build.dir});
            let managed = [(MANAGED_BY, "cmd_image")];
            vec![
                ObjectDraft::new(Kind::CmdImage, name.clone(), spec).annotated(&notes),
                ObjectDraft::new(Kind::Cmd, name.clone(), cmd)
                    .annotated(&notes)
                    .annotated(&managed),
            ]
        }
        BuildDetails::Compose(_) => Vec::new(),
    }
}

fn live_update(manifest: &Manifest, image: &ImageTarget) -> Option<ObjectDraft> {
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
        let mut source = json!({"fileWatch": it.id().to_string()});
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
    Some(ObjectDraft::new(Kind::LiveUpdate, name, spec).annotated(&notes))
}

/// Which containers of pods a live update is for.
fn kubernetes_selector(manifest: &Manifest, image: &ImageTarget) -> Value {
    let mut selector = json!({"applyName": manifest.name, "discoveryName": manifest.name});
    let (field, value) = match Selector::of(manifest, image) {
        Selector::Name(name) => ("containerName", name),
        Selector::Image(image) => ("image", image),
        Selector::ImageMap(name) => ("imageMapName", name.to_string()),
        Selector::Service => return selector,
    };
    selector[field] = json!(value);
    selector
}

/// What an image built by a command depends on is said of the files that are watched.
fn without_deps(mut spec: Value) -> Value {
    if let Some(fields) = spec.as_object_mut() {
        fields.shift_remove("Deps");
    }
    spec
}

fn apply(resource: &str, target: &KubernetesTarget) -> ObjectDraft {
    let mut spec = json!(target);
    // What else is known of the resource is no part of the object.
    if let Some(fields) = spec.as_object_mut() {
        fields.retain(|name, _| name.starts_with(|it: char| it.is_ascii_lowercase()));
    }
    spec["disableSource"] = disable_source(resource);
    let span = names::apply_span(resource);
    let notes = [(RESOURCE, resource), (SPAN, &span), (MANAGED_BY, "buildcontrol")];
    ObjectDraft::new(Kind::KubernetesApply, resource.to_owned(), spec).annotated(&notes)
}

fn service(resource: &str, target: &ComposeTarget) -> ObjectDraft {
    let mut spec = json!(target.spec);
    spec["disableSource"] = disable_source(resource);
    let span = names::compose_object_span(resource);
    let notes = [(RESOURCE, resource), (SPAN, &span), (MANAGED_BY, "buildcontrol")];
    ObjectDraft::new(Kind::DockerComposeService, resource.to_owned(), spec).annotated(&notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order_when_one_is_left_out() {
        let spec = json!({"ref": "a", "Deps": ["/p"], "clusterNeeds": "push", "cluster": "c"});
        let want = r#"{"ref":"a","clusterNeeds":"push","cluster":"c"}"#;
        assert_eq!(without_deps(spec).to_string(), want);
    }
}
