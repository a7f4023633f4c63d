//! Builds one image with a command of the Tiltfile.

use std::{collections::HashMap, fs, path::PathBuf, time::SystemTime};

use builtins::golang::quote::command_line;
use engine_docker::DockerError;
use engine_formats::docker::reference::Reference;
use engine_model::{CustomBuild, ImageTarget};

use super::{
    Built, Destination, Images,
    destination::{Refs, Tagged},
    docker_build,
};
use crate::deploy::{commands, pipeline::Step};

/// The command leaves the image somewhere else than in this Docker engine.
const REMOTE: &str = "remote";

/// Runs the command, and finds the image that it made.
pub(super) async fn run(
    images: &Images,
    target: &ImageTarget,
    build: &CustomBuild,
    bases: &HashMap<String, Built>,
    started: SystemTime,
    step: &Step,
) -> Result<Built, String> {
    let refs = Refs::of(target, &images.destination)?;
    let expected = expected(&refs, build, started)?;
    if expected.is_none() {
        // What an earlier run wrote must not be taken for what this one writes.
        let _ = fs::remove_file(&build.outputs_image_ref_to);
    }
    let mut added = added_env(&refs, expected.as_ref());
    if let Destination::Cluster(cluster) = &images.destination {
        added.extend(cluster.docker_env.iter().cloned());
    }
    let env = env(build, added, bases, step)?;
    let run = images.shared.surroundings.run(build.args.clone(), PathBuf::from(&build.dir), &env);
    let command = command_line(&build.args);
    let ended = commands::to_end(run, step.log().clone().into()).await;
    if ended.exit_code != 0 {
        return Err(format!("Custom build {command:?} failed: {}", ended.reason));
    }
    let left = match expected {
        Some(expected) => expected,
        None => refs.given(written(&build.outputs_image_ref_to)?)?,
    };
    let built = find(images, target, build, (&refs, left), started).await?;
    let key = images.destination.key();
    images.memory(|it| it.remember_custom(&target.image_map_name, key, &built));
    Ok(built)
}

/// The name that the command has to give the image; none if it says that itself.
fn expected(
    refs: &Refs,
    build: &CustomBuild,
    started: SystemTime,
) -> Result<Option<Tagged>, String> {
    if !build.outputs_image_ref_to.is_empty() {
        return Ok(None);
    }
    let tagged = if build.output_tag.is_empty() {
        let seconds = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        refs.tagged(&format!("tilt-build-{seconds}"))
    } else {
        // A command that has a tag of its own does not know of any registry.
        refs.without_registry().tagged(&build.output_tag)
    };
    tagged.map(Some).map_err(|error| format!("custom_build: {error}"))
}

/// What the command needs to know of its image.
fn added_env(refs: &Refs, expected: Option<&Tagged>) -> Vec<String> {
    let mut added = Vec::new();
    if let Some(Tagged { local, .. }) = expected {
        added.push(format!("EXPECTED_REF={}", local.familiar()));
        added.push(format!("EXPECTED_IMAGE={}", local.path));
        added.push(format!("EXPECTED_TAG={}", local.tag.as_deref().unwrap_or_default()));
    }
    let host = &refs.registry().host;
    if !host.is_empty() {
        added.push(format!("REGISTRY_HOST={host}"));
        added.push(format!("EXPECTED_REGISTRY={host}"));
    }
    added
}

/// What the command finds in its environment; what was added is told.
fn env(
    build: &CustomBuild,
    added: Vec<String>,
    bases: &HashMap<String, Built>,
    step: &Step,
) -> Result<Vec<String>, String> {
    if added.is_empty() {
        step.log().info("Custom Build:");
    } else {
        step.log().info("Custom Build: Injecting Environment Variables");
        for it in &added {
            step.log().info(&format!("  {it}"));
        }
    }
    let mut env = [build.env.clone(), added].concat();
    for (i, name) in build.image_maps.iter().enumerate() {
        let base = bases.get(name).ok_or_else(|| format!("missing image dependency: {name}"))?;
        env.push(format!("TILT_IMAGE_MAP_{i}={name}"));
        env.push(format!("TILT_IMAGE_{i}={}", base.local));
    }
    Ok(env)
}

/// The name that the command wrote.
fn written(path: &str) -> Result<Reference, String> {
    let text = fs::read_to_string(path).map_err(|error| {
        format!(
            "Could not find image ref in output. Your custom_build script should have written to {path}: open \
             {path}: {}",
            engine_formats::golang::os_error::errno_text(&error)
        )
    })?;
    let invalid = |error: String| format!("Output image ref in file {path} was invalid: {error}");
    let reference = Reference::parse(text.trim()).map_err(|error| invalid(error.to_string()))?;
    if reference.tag.is_none() {
        return Err(invalid(format!("Expected reference {:?} to contain a tag", text.trim())));
    }
    Ok(reference)
}

/// The image that the command left, with a name for its content unless the command has named it.
async fn find(
    images: &Images,
    target: &ImageTarget,
    build: &CustomBuild,
    (refs, left): (&Refs, Tagged),
    started: SystemTime,
) -> Result<Built, String> {
    if build.output_mode == REMOTE {
        return docker_build::deployed(images, target, String::new(), &left, started).await;
    }
    let name = match &left.local.tag {
        Some(tag) => format!("{}:{tag}", left.local.name()),
        None => left.local.name(),
    };
    let image = images.shared.docker.inspect(&name).await.map_err(|error| match error {
        DockerError::NotFound(words) => format!(
            "Could not find image in Docker\nDid your custom_build script properly tag the image?\nIf your \
             custom_build doesn't use Docker, you might need to use skips_local_docker=True, see \
             https://docs.tilt.dev/custom_build.html\n: Error response from daemon: {words}"
        ),
        error => error.to_string(),
    })?;
    let tagged = if build.outputs_image_ref_to.is_empty() {
        docker_build::tag_by_content(images, refs, &image.id)
            .await
            .map_err(|error| format!("custom_build: {error}"))?
    } else {
        left
    };
    docker_build::deployed(images, target, image.id, &tagged, started).await
}
