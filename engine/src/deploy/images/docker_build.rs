//! Builds one image from a Dockerfile.

use std::{collections::HashMap, time::SystemTime};

use engine_docker::{BuildEvent, BuildProblem, DockerError, Step as Stage, content_tag};
use engine_formats::docker::{dockerfile::Dockerfile, reference::Reference, selector::RefSelector};
use engine_model::{DockerBuild, ImageTarget};
use tokio::task::spawn_blocking;

use super::{
    Built, Destination, ImageError, Images, Origin,
    destination::{Refs, Tagged},
    inputs::{self, Inputs},
    memory::{self, Record},
    patch::{self, Ancestor},
    progress::BuildProgress,
    restart_helper,
};
use crate::{deploy::pipeline::Step, logs::Level};

/// An image that is to be built.
#[derive(Debug)]
pub(super) struct BuildRequest<'a> {
    pub(super) target: &'a ImageTarget,
    pub(super) build: &'a DockerBuild,
    pub(super) bases: &'a HashMap<String, Built>,
    pub(super) started: SystemTime,
    /// Whether nothing that was built before may be used.
    pub(super) is_whole: bool,
}

/// Builds an image, and gives it the names that it is known by.
pub(super) async fn run(
    images: &Images,
    request: BuildRequest<'_>,
    step: &Step,
    stages: &mut Vec<Stage>,
) -> Result<Built, ImageError> {
    let BuildRequest { target, build, bases, started, is_whole } = request;
    let build = prepared(images, target, build, bases).await?;
    announce(&build, step);
    step.say("Building image");
    // What changes while it is built belongs to the next build, so the inputs are taken before.
    let inputs = inputs::look(images, target, &build).await?;
    let before = inputs::local_bases(images, &build).await?;
    let patch = if is_whole { None } else { patch::find(images, target, &build, &inputs).await };
    let mut progress = BuildProgress::default();
    let mut on_event = |event: BuildEvent| {
        if let BuildEvent::Step(stage) = &event {
            take_stage(stages, stage);
        }
        for line in progress.lines(&event) {
            step.write_with(line.fields, &line.text);
        }
    };
    let patched = match &patch {
        Some(patch) => patch.build(images, step, &mut on_event).await,
        None => None,
    };
    let patch = patch.filter(|_| patched.is_some());
    let image = match patched {
        Some(image) => image,
        None => {
            let result = images.shared.docker.build(&build, &mut on_event).await;
            result.map_err(|error| explain(error, &build, step))?
        }
    };
    let refs = Refs::of(target, &images.destination)?;
    let tagged = tag_by_content(images, &refs, &image.id).await;
    let tagged = tagged.map_err(|error| ImageError::Tag(Box::new(error)))?;
    let built = deployed(images, target, image.id, &tagged, started).await?;
    let after = inputs::look(images, target, &build).await;
    if !after.is_ok_and(|it| it.context.is_untouched_since(&inputs.context)) {
        // Nobody knows which files the builder has seen: the next update builds all of it.
        images.memory(|it| it.forget_ancestor(&target.image_map_name, &images.destination.key()));
    } else if let Some(patch) = patch {
        let record = Record::new(&built, patch.bases().clone());
        let ancestor = patch.descendant(record, &inputs);
        remember(images, target, inputs, ancestor).await;
    } else if !inputs::is_open(&build)
        && let Some(bases) = inputs::used_bases(images, &build, &before, stages).await
    {
        let ancestor = Ancestor::new(Record::new(&built, bases), &inputs);
        remember(images, target, inputs, ancestor).await;
        let images = images.clone();
        let _ = spawn_blocking(move || inputs::keep_digests(&images, &build)).await;
    }
    Ok(built)
}

/// A file that cannot be written costs a build after a restart, and nothing else.
async fn remember(images: &Images, target: &ImageTarget, inputs: Inputs, ancestor: Ancestor) {
    let (record, key) = (ancestor.record.clone(), images.destination.key());
    images.memory(|it| {
        it.remember(&inputs.digest, record.clone());
        it.remember_ancestor(&target.image_map_name, key, ancestor);
    });
    if let Some(file) = images.shared.file.clone() {
        let kept = spawn_blocking(move || memory::keep(&file, inputs.digest, record));
        let _ = kept.await;
    }
}

/// Stages are told again and again; one that has failed stays so.
fn take_stage(stages: &mut Vec<Stage>, stage: &Stage) {
    match stages.iter_mut().find(|it| it.digest == stage.digest) {
        Some(known) => {
            known.is_cached = stage.is_cached;
            known.started = stage.started;
            known.finished = stage.finished;
            known.error = stage.error.clone().or(known.error.take());
        }
        None => stages.push(stage.clone()),
    }
}

/// The build as the Docker engine is asked for it.
pub(super) async fn prepared(
    images: &Images,
    target: &ImageTarget,
    build: &DockerBuild,
    bases: &HashMap<String, Built>,
) -> Result<DockerBuild, ImageError> {
    let needs_helper = restart_helper::is_wanted(build);
    let mut build = with_bases(target, build, bases)?;
    build.platform = platform(images, build.platform).await?;
    if needs_helper {
        let arch = images.shared.docker.server().await?.arch;
        restart_helper::give(&mut build, &arch)?;
    }
    Ok(build)
}

/// The build with the names of what it is built from, as they are in this Docker engine.
fn with_bases(
    target: &ImageTarget,
    build: &DockerBuild,
    bases: &HashMap<String, Built>,
) -> Result<DockerBuild, ImageError> {
    let mut build = build.clone();
    if build.image_maps.is_empty() {
        return Ok(build);
    }
    let mut dockerfile = Dockerfile::parse(&build.dockerfile_contents)?;
    for name in &build.image_maps {
        let base = bases.get(name).ok_or_else(|| ImageError::MissingBase(name.clone()))?;
        let reference = Reference::parse(&base.local)?;
        let selector = RefSelector::of_image(&base.selector, base.is_exact)?;
        if !dockerfile.replace_image(&selector, &reference, &build.args) {
            let (base, image) = (name.clone(), target.selector.clone());
            return Err(ImageError::UnusedBase { base, image });
        }
    }
    build.dockerfile_contents = dockerfile.to_string();
    Ok(build)
}

/// What the Tiltfile or the environment says, else what runs the image.
async fn platform(images: &Images, given: String) -> Result<String, DockerError> {
    const KNOWN: [&str; 9] =
        ["amd64", "arm64", "riscv64", "ppc64le", "s390x", "386", "mips64le", "mips64", "arm"];
    if !given.is_empty() {
        return Ok(given);
    }
    if let Some(default) = images.shared.surroundings.env("DOCKER_DEFAULT_PLATFORM") {
        return Ok(default.to_owned());
    }
    let arch = match &images.destination {
        Destination::Docker => images.shared.docker.server().await?.arch,
        Destination::Cluster(cluster) => cluster.arch.clone(),
    };
    Ok(match arch.as_str() {
        "arm" => "linux/arm/v7".to_owned(),
        it if KNOWN.contains(&it) => format!("linux/{it}"),
        _ => String::new(),
    })
}

fn announce(build: &DockerBuild, step: &Step) {
    let platform = match build.platform.as_str() {
        "" => String::new(),
        platform => format!(" for platform {platform}"),
    };
    let contents = &build.dockerfile_contents;
    let lines = contents.strip_suffix('\n').unwrap_or(contents);
    let lines: Vec<String> = lines.split('\n').map(|it| format!("  {it}")).collect();
    let end = if contents.ends_with('\n') { "\n\n\n" } else { "\n\n" };
    let text = format!("Building Dockerfile{platform}:\n{}{end}", lines.join("\n"));
    step.log().write(Level::Info, &text);
}

/// Gives an image a name for its content.
pub(super) async fn tag_by_content(
    images: &Images,
    refs: &Refs,
    id: &str,
) -> Result<Tagged, ImageError> {
    let tag = content_tag(id).ok_or_else(|| ImageError::ShortDigest(id.to_owned()))?;
    let tagged = refs.tagged(&tag)?;
    images.shared.docker.tag(id, &tagged.local).await?;
    Ok(tagged)
}

/// Gives an image the name that Compose looks for; a cluster gets it under the one that it has.
pub(super) async fn deployed(
    images: &Images,
    target: &ImageTarget,
    id: String,
    tagged: &Tagged,
    started: SystemTime,
) -> Result<Built, ImageError> {
    let (local, deployed) = match images.destination {
        Destination::Docker => {
            let name = tag_for_compose(images, target, &id, &tagged.local).await?;
            (name.clone(), name)
        }
        Destination::Cluster(_) => (tagged.local.clone(), tagged.cluster.clone()),
    };
    Ok(Built {
        id,
        tagged: tagged.local.familiar(),
        local: local.familiar(),
        deployed: deployed.familiar(),
        started,
        selector: target.selector.clone(),
        is_exact: target.match_exact,
        origin: Origin::ThisRun,
    })
}

async fn tag_for_compose(
    images: &Images,
    target: &ImageTarget,
    id: &str,
    tagged: &Reference,
) -> Result<Reference, ImageError> {
    let configured = Reference::parse(&target.selector)?;
    let name = if configured.tag.is_some() {
        configured
    } else {
        tagged.name_only().with_tag("latest")?
    };
    let source = if id.is_empty() { tagged.familiar() } else { id.to_owned() };
    let named = images.shared.docker.tag(&source, &name).await;
    named.map_err(ImageError::TagForCompose)?;
    Ok(name)
}

/// Names the step that failed, and logs what to do about it.
fn explain(error: DockerError, build: &DockerBuild, step: &Step) -> ImageError {
    if let DockerError::Build(failed) = &error {
        if let BuildProblem::Dockerfile { line } = failed.problem
            && let Some(text) = build.dockerfile_contents.lines().nth(line.saturating_sub(1))
        {
            step.say(&format!("Dockerfile:{line}: {text}"));
        }
        if let Some(hint) = failed.hint() {
            step.say(hint);
        }
    }
    match error {
        // The files of the context are read before the build begins.
        DockerError::File { .. } => error.into(),
        _ => ImageError::Build(error),
    }
}
