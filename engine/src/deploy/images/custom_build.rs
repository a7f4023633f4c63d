//! Builds one image with a command of the Tiltfile.

use std::{collections::HashMap, fs, time::SystemTime};

use engine_docker::DockerError;
use engine_formats::{docker::reference::Reference, golang::quote::command_line};
use engine_model::path::to_path;
use engine_model::{CustomBuild, ImageTarget};

use super::{
    Built, Destination, ImageError, Images,
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
) -> Result<Built, ImageError> {
    let refs = Refs::of(target, &images.destination)?;
    let expected = expected(&refs, build, started)?;
    if expected.is_none() {
        // What an earlier run wrote must not be taken for what this one writes.
        let _ = fs::remove_file(to_path(&build.outputs_image_ref_to));
    }
    let mut added = added_env(&refs, expected.as_ref());
    if let Destination::Cluster(cluster) = &images.destination {
        added.extend(cluster.docker_env.iter().cloned());
    }
    let env = env(build, added, bases, step)?;
    let run =
        images.shared.surroundings.run(build.args.clone(), to_path(&build.dir).into_owned(), &env);
    let command = command_line(&build.args);
    let ended = commands::to_end(run, step.log().clone().into()).await;
    if ended.exit_code != 0 {
        return Err(ImageError::CustomCommand { command, reason: ended.reason });
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
) -> Result<Option<Tagged>, ImageError> {
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
    tagged.map(Some).map_err(|error| ImageError::CustomName(Box::new(error)))
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
) -> Result<Vec<String>, ImageError> {
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
        let base = bases.get(name).ok_or_else(|| ImageError::MissingBase(name.clone()))?;
        env.push(format!("TILT_IMAGE_MAP_{i}={name}"));
        env.push(format!("TILT_IMAGE_{i}={}", base.local));
    }
    Ok(env)
}

/// The name that the command wrote.
fn written(path: &str) -> Result<Reference, ImageError> {
    let at = || path.to_owned();
    let text = fs::read_to_string(to_path(path))
        .map_err(|source| ImageError::NoOutput { path: at(), source })?;
    let reference = Reference::parse(text.trim())
        .map_err(|source| ImageError::BadOutput { path: at(), source })?;
    if reference.tag.is_none() {
        return Err(ImageError::UntaggedOutput { path: at(), name: text.trim().to_owned() });
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
) -> Result<Built, ImageError> {
    if build.output_mode == REMOTE {
        return docker_build::deployed(images, target, String::new(), &left, started).await;
    }
    let name = match &left.local.tag {
        Some(tag) => format!("{}:{tag}", left.local.name()),
        None => left.local.name(),
    };
    let image = images.shared.docker.inspect(&name).await.map_err(|error| match error {
        DockerError::NotFound(words) => ImageError::NotInDocker(words),
        error => error.into(),
    })?;
    let tagged = if build.outputs_image_ref_to.is_empty() {
        docker_build::tag_by_content(images, refs, &image.id)
            .await
            .map_err(|error| ImageError::CustomName(Box::new(error)))?
    } else {
        left
    };
    docker_build::deployed(images, target, image.id, &tagged, started).await
}
