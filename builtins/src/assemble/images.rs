//! Turns image builds into image targets: base images first, each with its watched and ignored files.

use std::{
    collections::{BTreeSet, HashMap},
    iter,
};

use engine_formats::{
    docker::{dockerfile, ignore, suggest},
    golang::{os_error::PathError, path, quote::quote},
};
use engine_model::{
    BuildDetails, ComposeBuild, CustomBuild, DeployTarget, DockerBuild, IgnoreDef, ImageTarget,
    LiveUpdateSpec, Manifest, OverrideCommand, UpdateSettings,
};

use super::error::{IgnoreFileError, TargetError};
use crate::{
    declarations::images::{ImageBuild, ImageId, Images, Recipe},
    diagnostic::{Advice, Problem},
    host::{FileKind, Host},
};

const NO_DEPLOYMENTS: &str = "We could not find any deployment instructions, e.g. `k8s_yaml` or `docker_compose`.\n\
    Skipping all image builds until we know how to deploy them.";
const NO_IMAGES_IN_CONFIGS: &str = "No Kubernetes configs with images found.\n\
    If you are using CRDs, add k8s_kind() to tell Tilt how to find images.\n\
    https://docs.tilt.dev/api.html#api.k8s_kind";

/// Finds which builds need which: base images of Dockerfiles, and `image_deps`.
pub(crate) fn link_builds(images: &mut Images) -> Vec<Problem> {
    let mut problems = Vec::new();
    let ids: Vec<ImageId> = images.iter().map(|(id, _)| id).collect();
    for id in ids {
        let found = match &images.get(id).recipe {
            Recipe::Docker(it) if !it.build.dockerfile_contents.is_empty() => {
                dockerfile::find_images(&it.build.dockerfile_contents, &it.build.args)
                    .map_err(|why| why.to_string())
            }
            _ => Ok(Vec::new()),
        };
        match found {
            Ok(references) => {
                // Bases without a build are pulled.
                let deps: Vec<ImageId> =
                    references.iter().filter_map(|it| images.consume(it)).collect();
                images.get_mut(id).deps.extend(deps);
            }
            Err(message) => {
                problems.push(Problem::new("tiltfile::dockerfile", message));
                continue;
            }
        }
        let Recipe::Custom(recipe) = &images.get(id).recipe else { continue };
        for reference in recipe.image_deps.clone() {
            match images.consume(&reference) {
                Some(dep) => images.get_mut(id).deps.push(dep),
                None => {
                    let image = quote(&images.get(id).selector.familiar());
                    let dep = quote(&reference.familiar());
                    let message = format!("image {image}: image dep {dep} not found");
                    problems.push(Problem::new("tiltfile::unknown_image_dep", message));
                }
            }
        }
    }
    problems
}

/// How many things are deployed, for the warning about unused images.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deployed {
    /// Compose services.
    pub compose_services: usize,
    /// Kubernetes resources.
    pub kubernetes_resources: usize,
    /// Objects without a resource.
    pub unresourced_objects: usize,
}

/// The warning about the first image that nothing uses.
pub(crate) fn unused_image_warning(
    images: &Images,
    settings: &UpdateSettings,
    deployed: Deployed,
) -> Option<String> {
    let suppressed = settings.suppress_unused_image_warnings.as_deref().unwrap_or_default();
    let mut unused = images.unused();
    let image = unused.find(|it| {
        let name = it.selector.familiar();
        !suppressed.iter().any(|suppressed| suppressed == "*" || *suppressed == name)
    })?;
    if deployed.kubernetes_resources == 0 {
        if deployed.unresourced_objects > 0 {
            return Some(NO_IMAGES_IN_CONFIGS.to_owned());
        }
        if deployed.compose_services == 0 {
            return Some(NO_DEPLOYMENTS.to_owned());
        }
    }
    let config = if deployed.compose_services > 0 { "Docker Compose" } else { "Kubernetes" };
    let name = image.selector.familiar();
    let suggestions =
        suggest::did_you_mean(&images.consumed_names(), &image.selector.familiar_name());
    Some(format!(
        "Image not used in any {config} config:\n    ✕ {name}\n{suggestions}Skipping this image build\n\
         If this is deliberate, suppress this warning with: update_settings(suppress_unused_image_warnings=[{}])",
        quote(&name)
    ))
}

/// Makes image targets, and remembers which ignore files they depend on.
pub(crate) struct TargetMaker<'a> {
    images: &'a Images,
    host: &'a dyn Host,
    /// Ignore files that were looked for, whether they exist or not.
    pub ignore_files: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    Pending,
    Done,
}

impl<'a> TargetMaker<'a> {
    /// A maker for these builds.
    pub(crate) fn new(images: &'a Images, host: &'a dyn Host) -> Self {
        Self { images, host, ignore_files: Vec::new() }
    }

    /// The targets for these builds and everything they are built from, dependencies first.
    ///
    /// # Errors
    /// If builds need each other in a circle, or an ignore file cannot be read.
    pub(crate) fn targets(
        &mut self,
        resource: &str,
        ids: &[ImageId],
    ) -> Result<Vec<ImageTarget>, TargetError> {
        let mut targets = Vec::new();
        self.collect(resource, ids, &mut HashMap::new(), &mut targets)?;
        Ok(targets)
    }

    fn collect(
        &mut self,
        resource: &str,
        ids: &[ImageId],
        visits: &mut HashMap<ImageId, Visit>,
        targets: &mut Vec<ImageTarget>,
    ) -> Result<(), TargetError> {
        for &id in ids {
            let build = self.images.get(id);
            match visits.get(&id) {
                Some(Visit::Done) => continue,
                Some(Visit::Pending) => {
                    return Err(TargetError::Cycle(build.selector.to_string()));
                }
                None => visits.insert(id, Visit::Pending),
            };
            let target = self.target(resource, build)?;
            self.collect(resource, &build.deps, visits, targets)?;
            targets.push(target);
            visits.insert(id, Visit::Done);
        }
        Ok(())
    }

    fn target(&mut self, resource: &str, build: &ImageBuild) -> Result<ImageTarget, TargetError> {
        let (context_ignores, file_watch_ignores) = self.ignores(build)?;
        let object_name = format!("{resource}:{}", build.image_map_name());
        let name_if = |wanted: bool| if wanted { object_name.clone() } else { String::new() };
        let live_update_spec = build.live_update.clone().unwrap_or_default();
        let has_live_update = !is_empty(&live_update_spec);
        let build_details = self.build_details(build, context_ignores);
        let is_live_update_only = has_live_update
            && matches!(&build.recipe, Recipe::Custom(it) if it.command.argv.as_deref() == Some(&NO_OP.map(str::to_owned)));
        Ok(ImageTarget {
            selector: build.selector.familiar(),
            match_exact: build.selector.is_exact(),
            match_in_env_vars: build.match_in_env_vars,
            override_command: build.entrypoint.clone().map(|command| OverrideCommand { command }),
            override_args: build.override_args.clone(),
            live_update_name: name_if(has_live_update),
            live_update_spec,
            live_update_reconciler: has_live_update,
            docker_image_name: name_if(matches!(build.recipe, Recipe::Docker(_))),
            cmd_image_name: name_if(matches!(build.recipe, Recipe::Custom(_))),
            build_details,
            is_live_update_only,
            file_watch_ignores: (!file_watch_ignores.is_empty()).then_some(file_watch_ignores),
            image_map_name: build.image_map_name(),
        })
    }

    fn build_details(&self, build: &ImageBuild, context_ignores: Vec<IgnoreDef>) -> BuildDetails {
        let mut image_maps: Vec<String> = Vec::new();
        for name in build.deps.iter().map(|it| self.images.get(*it).image_map_name()) {
            if !image_maps.contains(&name) {
                image_maps.push(name);
            }
        }
        match &build.recipe {
            Recipe::Docker(recipe) => BuildDetails::Docker(Box::new(DockerBuild {
                context_ignores,
                image_maps,
                ..recipe.build.clone()
            })),
            Recipe::Custom(recipe) => BuildDetails::Custom(Box::new(CustomBuild {
                reference: String::new(),
                args: recipe.command.argv.clone().unwrap_or_default(),
                dir: recipe.command.dir.clone(),
                env: recipe.command.env.clone().unwrap_or_default(),
                image_maps,
                output_mode: match (recipe.skips_local_docker, recipe.disable_push) {
                    (true, _) => "remote",
                    (false, true) => "local-docker-and-remote",
                    (false, false) => "local-docker",
                },
                output_tag: recipe.tag.clone(),
                outputs_image_ref_to: recipe.outputs_image_ref_to.clone(),
                deps: recipe.deps.clone(),
            })),
            Recipe::Compose(recipe) => BuildDetails::Compose(ComposeBuild {
                service: recipe.service.clone(),
                context: recipe.context.clone(),
            }),
        }
    }

    /// What is left out of the context, and what is not watched.
    fn ignores(
        &mut self,
        build: &ImageBuild,
    ) -> Result<(Vec<IgnoreDef>, Vec<IgnoreDef>), TargetError> {
        let plain =
            |base_path: &str| IgnoreDef { base_path: base_path.to_owned(), patterns: Vec::new() };
        let (inputs, dockerfile_path) = match &build.recipe {
            Recipe::Docker(it) => (vec![it.build.context.clone()], it.dockerfile_path.as_str()),
            Recipe::Custom(it) => (it.deps.clone().unwrap_or_default(), ""),
            Recipe::Compose(it) => (vec![it.context.clone()], it.dockerfile_path.as_str()),
        };
        let mut context: Vec<IgnoreDef> = build.tiltfile.iter().map(|it| plain(it)).collect();
        // An image without a Dockerfile has the empty path for it, and so Tilt leaves out the repository of its
        // own working directory, by a relative path.
        let given = inputs.iter().map(String::as_str).filter(|it| !it.is_empty());
        context.extend(git_ignores(self.host, iter::once(dockerfile_path).chain(given)));
        let from_files = self
            .pattern_ignores(build, &inputs, dockerfile_path)
            .map_err(|why| TargetError::IgnoreFile { image: build.selector.familiar(), why })?;
        context.extend(from_files);

        let mut watch = context.clone();
        if !dockerfile_path.is_empty() {
            watch.push(plain(dockerfile_path));
        }
        if let Recipe::Compose(it) = &build.recipe {
            // Mounted files reach the container without a build.
            watch.extend(it.volumes.iter().map(|it| plain(it)));
        }
        Ok((context, watch))
    }

    fn pattern_ignores(
        &mut self,
        build: &ImageBuild,
        inputs: &[String],
        dockerfile_path: &str,
    ) -> Result<Vec<IgnoreDef>, IgnoreFileError> {
        let mut ignores = Vec::new();
        let mut seen: Vec<&String> = Vec::new();
        for dir in inputs {
            if dir.is_empty() || seen.contains(&dir) {
                continue;
            }
            seen.push(dir);
            if !is_dir(self.host, dir) {
                continue;
            }
            let mut push = |patterns: Vec<String>| {
                if !patterns.is_empty() {
                    ignores.push(IgnoreDef { base_path: dir.clone(), patterns });
                }
            };
            push(build.ignores.clone());
            if !build.onlys.is_empty() {
                let kept = build.onlys.iter().map(|it| format!("!{it}"));
                push(std::iter::once("**".to_owned()).chain(kept).collect());
            }
            push(self.ignore_file_patterns(dir, dockerfile_path)?);
        }
        Ok(ignores)
    }

    fn ignore_file_patterns(
        &mut self,
        dir: &str,
        dockerfile_path: &str,
    ) -> Result<Vec<String>, IgnoreFileError> {
        let mut file = path::join(&[dir, ".dockerignore"]);
        if !dockerfile_path.is_empty() {
            let own = format!("{dockerfile_path}.dockerignore");
            let is_missing = matches!(self.host.stat(&own), Err(error) if error.kind() == std::io::ErrorKind::NotFound);
            if !is_missing {
                file = own;
            }
        }
        self.ignore_files.push(file.clone());
        match self.host.read(&file) {
            Ok(bytes) => Ok(ignore::read_patterns(&engine_model::path::bytes_to_text(&bytes))?),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(PathError::reading(&file, &error).into()),
        }
    }
}

/// The command that marks an image as only live-updated.
const NO_OP: [&str; 3] = ["sh", "-c", ":"];

fn is_empty(spec: &LiveUpdateSpec) -> bool {
    spec.syncs.is_empty() && spec.execs.is_empty()
}

fn is_dir(host: &dyn Host, path: &str) -> bool {
    host.stat(path).is_ok_and(|it| it.kind == FileKind::Directory)
}

/// The `.git` directories of those paths that are roots of repositories.
pub(crate) fn git_ignores<'a>(
    host: &dyn Host,
    paths: impl Iterator<Item = &'a str>,
) -> Vec<IgnoreDef> {
    let mut seen = BTreeSet::new();
    paths
        .filter(|it| seen.insert(*it))
        .map(|it| path::join(&[it, ".git"]))
        .filter(|it| is_dir(host, it))
        .map(|base_path| IgnoreDef { base_path, patterns: Vec::new() })
        .collect()
}

/// Live updates that can never happen, because the files they copy are not watched.
pub(crate) fn check_live_updates(manifests: &[Manifest]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for manifest in manifests {
        let targets = manifest.image_targets.as_deref().unwrap_or_default();
        let deployed = match &manifest.deploy_target {
            DeployTarget::Kubernetes(it) => &it.image_maps,
            DeployTarget::Compose(it) => &it.spec.image_maps,
            DeployTarget::Local(_) => continue,
        };
        for target in targets.iter().filter(|it| !is_empty(&it.live_update_spec)) {
            if !deployed.contains(&target.image_map_name) {
                continue;
            }
            let watched = watched_paths(target, targets);
            problems.extend(live_update_problem(&target.live_update_spec, &watched));
        }
    }
    problems
}

fn live_update_problem(spec: &LiveUpdateSpec, watched: &[String]) -> Option<Problem> {
    let absolute = |it: &str| {
        if path::is_abs(it) { it.to_owned() } else { path::join(&[spec.base_path.as_str(), it]) }
    };
    let complain = |what: &str, path: &str| {
        let message = format!(
            "{what} '{path}' is not a child of any watched filepaths ([{}])",
            watched.join(" ")
        );
        Some(Problem::new("tiltfile::live_update", message).advise(Advice::SyncFromInside))
    };
    for sync in spec.syncs.iter().map(|it| absolute(&it.local_path)) {
        if !path::is_child_of_one(watched, &sync) {
            return complain("sync step source", &sync);
        }
    }
    for stop in spec.stop_paths.iter().map(|it| absolute(it)) {
        if !path::is_child_of_one(watched, &stop) {
            return complain("fall_back_on paths", &stop);
        }
    }
    None
}

/// The paths whose changes reach an image, through the images it is built from first.
fn watched_paths(target: &ImageTarget, targets: &[ImageTarget]) -> Vec<String> {
    let mut watched = Vec::new();
    collect_watched(target, targets, &mut Vec::new(), &mut watched);
    watched
}

fn collect_watched<'a>(
    target: &'a ImageTarget,
    targets: &'a [ImageTarget],
    visited: &mut Vec<&'a str>,
    watched: &mut Vec<String>,
) {
    visited.push(&target.selector);
    let (mut own, needs): (Vec<String>, &[String]) = match &target.build_details {
        BuildDetails::Docker(it) => (vec![it.context.clone()], &it.image_maps),
        BuildDetails::Custom(it) => (it.deps.clone().unwrap_or_default(), &it.image_maps),
        BuildDetails::Compose(it) => (vec![it.context.clone()], &[]),
    };
    for name in needs {
        let dep = targets.iter().find(|it| it.image_map_name == *name);
        if let Some(dep) = dep.filter(|it| !visited.contains(&it.selector.as_str())) {
            collect_watched(dep, targets, visited, watched);
        }
    }
    own.sort();
    own.dedup();
    watched.extend(own);
}

/// The complaint about steps that nothing uses.
pub(crate) fn check_unused_steps(images: &Images) -> Option<Problem> {
    if images.unused_steps.is_empty() {
        return None;
    }
    let lines: Vec<String> = images
        .unused_steps
        .iter()
        .map(|(position, step)| {
            format!("{position}: value '{}' of type '{}'", step.text, step.type_name)
        })
        .collect();
    let message = format!(
        "found {} live_update steps that were created but not used in a live_update:\n{}",
        lines.len(),
        lines.join("\n\t")
    );
    Some(Problem::new("tiltfile::unused_live_update_step", message).advise(Advice::UseSteps))
}
