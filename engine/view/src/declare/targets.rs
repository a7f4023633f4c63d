//! What a Tiltfile, its resources and their images watch, and what they ignore.

use std::{collections::HashSet, path::Path};

use engine_formats::golang::label::sanitize_name;
use engine_model::{
    BuildDetails, DeployTarget, IgnoreDef, IgnorePatterns, ImageTarget, Load, Manifest, TargetId,
    WatchTarget,
    path::{to_path, to_text},
};

/// What a Tiltfile and its resources watch.
pub(super) fn watch_targets(tiltfile: &str, load: &Load, path: &str) -> Vec<WatchTarget> {
    let global = global_ignores(load);
    let mut targets: Vec<WatchTarget> =
        load.manifests.iter().filter_map(|it| local_watch(it, &global)).collect();
    targets.extend(image_targets(load, &global));
    let mut paths: Vec<String> = load.config_files.clone();
    if paths.is_empty() && !path.is_empty() {
        paths.push(path.to_owned());
    }
    if !paths.is_empty() {
        targets.push(watch_target(TargetId::Config(tiltfile.into()), &paths, global));
    }
    targets
}

fn local_watch(manifest: &Manifest, global: &[IgnoreDef]) -> Option<WatchTarget> {
    let DeployTarget::Local(target) = &manifest.deploy_target else { return None };
    let paths = target.deps.as_ref().filter(|it| !it.is_empty())?;
    let own = target.file_watch_ignores.iter().flatten();
    let ignores = own.chain(global).cloned().collect();
    Some(watch_target(TargetId::Local(manifest.name.as_str().into()), paths, ignores))
}

/// A target that waits for the end of a burst.
fn watch_target(id: TargetId, paths: &[String], ignores: Vec<IgnoreDef>) -> WatchTarget {
    let paths = paths.iter().map(|it| to_path(it).into_owned()).collect();
    let object = sanitize_name(&id.to_string());
    WatchTarget { id, object, paths, ignores, is_early: false }
}

/// Ignores of `.tiltignore` and `watch_settings`, and files that builds write.
fn global_ignores(load: &Load) -> Vec<IgnoreDef> {
    let tiltignore = Some(&load.tiltignore).filter(|it| it.patterns.is_some());
    let patterns = tiltignore.into_iter().chain(load.watch_settings.ignores.iter().flatten());
    let mut ignores: Vec<IgnoreDef> = patterns.map(ignore_def).collect();
    let images = load.manifests.iter().flat_map(|it| it.image_targets.iter().flatten());
    for image in images {
        if let BuildDetails::Custom(build) = &image.build_details
            && !build.outputs_image_ref_to.is_empty()
        {
            let path = Path::new(&build.outputs_image_ref_to);
            let text = |it: Option<&Path>| it.map_or(String::new(), |it| to_text(it).into_owned());
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

/// What images and custom deploys watch. An image that two resources share is watched once.
fn image_targets(load: &Load, global: &[IgnoreDef]) -> Vec<WatchTarget> {
    let mut seen = HashSet::new();
    let live: HashSet<&str> = load.manifests.iter().flat_map(live_inputs).collect();
    let images = load.manifests.iter().flat_map(|it| it.image_targets.iter().flatten());
    let images = images
        .filter(|it| seen.insert(it.image_map_name.as_str()))
        .filter_map(|it| watched(it, global, live.contains(it.image_map_name.as_str())));
    images.chain(load.manifests.iter().filter_map(|it| apply_watch(it, global))).collect()
}

/// What a custom deploy depends on.
fn apply_watch(manifest: &Manifest, global: &[IgnoreDef]) -> Option<WatchTarget> {
    let DeployTarget::Kubernetes(target) = &manifest.deploy_target else { return None };
    let own = target.file_watch_ignores.iter().flatten();
    let ignores = own.chain(global).cloned().collect();
    let id = TargetId::Apply(manifest.name.as_str().into());
    (!target.path_dependencies.is_empty())
        .then(|| watch_target(id, &target.path_dependencies, ignores))
}

/// The images of a resource whose files go into running containers.
fn live_inputs(manifest: &Manifest) -> Vec<&str> {
    let images = manifest.image_targets.as_deref().unwrap_or_default();
    let live = images.iter().filter(|it| it.live_update_reconciler);
    live.flat_map(|it| it.with_bases(images)).map(|it| it.image_map_name.as_str()).collect()
}

fn watched(image: &ImageTarget, global: &[IgnoreDef], is_live: bool) -> Option<WatchTarget> {
    let mut paths = match &image.build_details {
        BuildDetails::Docker(build) => vec![build.context.clone()],
        BuildDetails::Custom(build) => build.deps.clone().unwrap_or_default(),
        BuildDetails::Compose(build) => vec![build.context.clone()],
    };
    // Compose takes URLs as well, and a Dockerfile without a context has none.
    paths.retain(|it| it.starts_with('/'));
    let own = image.file_watch_ignores.iter().flatten();
    let ignores = own.chain(global).cloned().collect();
    let target = watch_target(image.id(), &paths, ignores);
    (!paths.is_empty()).then_some(WatchTarget { is_early: is_live, ..target })
}
