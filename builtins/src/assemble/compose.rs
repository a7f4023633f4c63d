//! Turns Compose services into manifests.

use engine_formats::{
    compose::cli::{VersionVerdict, judge_version},
    docker::selector::RefSelector,
    golang::path,
};
use engine_model::{ComposeSpec, ComposeTarget, DeployTarget, Manifest};

use super::{error::AssemblyError, images::TargetMaker};
use crate::{
    api::{self, trigger_mode},
    declarations::{
        Declarations,
        compose::{Compose, ComposeResource, Project, ServiceOptions},
        images::{ComposeRecipe, ImageBuild, ImageId, Images, Recipe},
    },
    diagnostic::{Advice, Problem},
    session::Session,
};

/// The build of each service, by project and place.
#[derive(Debug, Default)]
pub(crate) struct ServiceBuilds(Vec<Vec<Option<ImageId>>>);

/// Finds the build of each service; a build section of its own counts too.
///
/// # Errors
/// If two builds have one name, or images go to a registry, which Compose does not support.
pub(crate) fn link_builds(
    compose: &Compose,
    images: &mut Images,
) -> Result<ServiceBuilds, Problem> {
    if compose.n_services() > 0 && images.registry.is_some() {
        let message = "default_registry is not supported with docker compose";
        return Err(Problem::new("tiltfile::compose_registry", message));
    }
    let mut builds = Vec::new();
    for project in &compose.projects {
        let mut of_project = Vec::new();
        for resource in &project.services {
            of_project.push(build_of(project, resource, images)?);
        }
        builds.push(of_project);
    }
    Ok(ServiceBuilds(builds))
}

fn build_of(
    project: &Project,
    resource: &ComposeResource,
    images: &mut Images,
) -> Result<Option<ImageId>, Problem> {
    let image = project
        .options
        .get(&resource.name)
        .and_then(|it| it.image.as_ref())
        .unwrap_or(&resource.image);
    if let Some(id) = images.consume(image) {
        return Ok(Some(id));
    }
    let Some(build) = resource.service.build.as_ref().filter(|it| !it.context.is_empty()) else {
        return Ok(None);
    };
    // A context that is a URL cannot be watched.
    let context = if path::is_abs(&build.context) { build.context.clone() } else { String::new() };
    let mut dockerfile_path = if build.dockerfile.is_empty() {
        "Dockerfile".to_owned()
    } else {
        build.dockerfile.clone()
    };
    if !path::is_abs(&dockerfile_path) && !context.is_empty() {
        dockerfile_path = path::join(&[context.as_str(), dockerfile_path.as_str()]);
    }
    let recipe = ComposeRecipe {
        service: resource.service.name.clone(),
        context,
        dockerfile_path,
        volumes: resource.service.mounts.iter().map(|it| it.source.clone()).collect(),
    };
    let build = ImageBuild::new(RefSelector::new(image.clone()), Recipe::Compose(recipe));
    images.add(build).map_err(|why| {
        Problem::new("tiltfile::duplicate_image", why.to_string()).advise(Advice::BuildOnce)
    })?;
    Ok(images.consume(image))
}

/// The manifests of all services.
///
/// # Errors
/// If the installed Compose is too old, or an image cannot be made a target.
pub(crate) fn manifests(
    session: &Session,
    declarations: &Declarations,
    images: &Images,
    builds: &ServiceBuilds,
    maker: &mut TargetMaker<'_>,
) -> Result<Vec<Manifest>, Vec<Problem>> {
    if declarations.compose.projects.is_empty() {
        return Ok(Vec::new());
    }
    check_version(session).map_err(|problem| vec![problem])?;
    let mut manifests = Vec::new();
    let mut problems = Vec::new();
    for (project, builds) in declarations.compose.projects.iter().zip(&builds.0) {
        for (resource, build) in project.services.iter().zip(builds) {
            let build = build.as_ref().map_or(&[][..], std::slice::from_ref);
            match manifest(declarations, images, project, resource, build, maker) {
                Ok(manifest) => manifests.push(manifest),
                Err(why) => problems.push(Problem::new("tiltfile::compose", why.to_string())),
            }
        }
    }
    if problems.is_empty() { Ok(manifests) } else { Err(problems) }
}

fn check_version(session: &Session) -> Result<(), Problem> {
    let Some(version) = api::compose_command(session).version else { return Ok(()) };
    match judge_version(&version) {
        VersionVerdict::Fine => Ok(()),
        VersionVerdict::Warning(text) => {
            session.warn(&text);
            Ok(())
        }
        VersionVerdict::Error(text) => Err(Problem::new("tiltfile::compose_version", text)),
    }
}

fn manifest(
    declarations: &Declarations,
    images: &Images,
    project: &Project,
    resource: &ComposeResource,
    builds: &[ImageId],
    maker: &mut TargetMaker<'_>,
) -> Result<Manifest, AssemblyError> {
    let image_targets = maker
        .targets(&resource.name, builds)
        .map_err(|why| AssemblyError::ImageBuilds { resource: resource.name.clone(), why })?;
    if image_targets.iter().any(|it| it.override_command.is_some()) {
        return Err(AssemblyError::ComposeEntrypoint);
    }
    let is_built = |name: &String| {
        !image_targets.iter().any(|it| it.is_live_update_only && it.image_map_name == *name)
    };
    let image_maps =
        builds.iter().map(|it| images.get(*it).image_map_name()).filter(is_built).collect();
    let default_options = ServiceOptions::default();
    let options = project.options.get(&resource.name).unwrap_or(&default_options);
    let ports = resource.service.published_ports.iter().filter_map(|it| u16::try_from(*it).ok());
    let target = ComposeTarget {
        spec: ComposeSpec {
            service: resource.service.name.clone(),
            project: project.spec.clone(),
            image_maps,
        },
        name: resource.name.clone(),
        service_yaml: resource.service.yaml.clone(),
        links: (!options.links.is_empty()).then(|| options.links.clone()),
        published_ports: ports.collect(),
        infer_links: options.infer_links,
    };
    Ok(Manifest {
        name: resource.name.clone(),
        image_targets: Some(image_targets),
        deploy_target: DeployTarget::Compose(Box::new(target)),
        trigger_mode: trigger_mode::resolve(
            options.trigger_mode,
            declarations.settings.global_trigger_mode(),
            options.auto_init.unwrap_or(true),
        ),
        resource_dependencies: (!options.resource_deps.is_empty())
            .then(|| options.resource_deps.clone()),
        source_tiltfile: String::new(),
        labels: options.labels.clone(),
    })
}
