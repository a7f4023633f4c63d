//! Turns declarations into manifests, with every check that depends on all declarations.
//!
//! Nothing here calls Starlark. As in Tilt, the host is used only for ignore files and repositories. Independent
//! problems are all reported, Tilt's first.

pub(crate) mod compose;
pub(crate) mod deps;
pub(crate) mod enabled;
mod error;
pub(crate) mod images;
pub(crate) mod kubernetes;
pub(crate) mod local;

use engine_model::Manifest;

use crate::{
    api,
    declarations::{Declarations, images::Images},
    diagnostic::{Advice, Problem},
    session::Session,
};

/// What assembly yields besides manifests.
#[derive(Debug, Default)]
pub(crate) struct Assembled {
    /// The resources, in Tilt's order.
    pub manifests: Vec<Manifest>,
    /// Ignore files whose changes matter.
    pub ignore_files: Vec<String>,
    /// Where the declared objects are, in the order of what they belong to.
    pub places: Vec<usize>,
}

/// Turns all declarations into manifests.
///
/// # Errors
/// All problems that were found, Tilt's first.
pub(crate) fn assemble(
    session: &Session,
    declarations: &mut Declarations,
) -> Result<Assembled, Vec<Problem>> {
    let mut images = std::mem::take(&mut declarations.images);
    let assembled = assemble_with(session, declarations, &mut images);
    declarations.images = images;
    assembled
}

fn assemble_with(
    session: &Session,
    declarations: &Declarations,
    images: &mut Images,
) -> Result<Assembled, Vec<Problem>> {
    let host = session.host.as_ref();
    let mut problems = images::link_builds(images);

    let resources = kubernetes::assemble(declarations, images).unwrap_or_else(|more| {
        problems.extend(more);
        kubernetes::Resources::default()
    });
    let builds =
        kubernetes::consume_images(resources.image_references(), images).unwrap_or_else(|more| {
            problems.extend(more);
            Vec::new()
        });
    let services = compose::link_builds(&declarations.compose, images).unwrap_or_else(|more| {
        problems.push(more);
        compose::ServiceBuilds::default()
    });
    fail_on(problems)?;

    let deployed = images::Deployed {
        compose_services: declarations.compose.n_services(),
        kubernetes_resources: resources.len(),
        unresourced_objects: resources.n_unresourced(),
    };
    if let Some(warning) =
        images::unused_image_warning(images, &declarations.settings.update, deployed)
    {
        session.warn(&warning);
    }

    let images = &*images;
    let mut maker = images::TargetMaker::new(images, host);
    let translator =
        kubernetes::Translator { declarations, images, request: &session.request, host };
    let mut manifests = Vec::new();
    if !resources.is_empty() {
        manifests = translator.manifests(&resources, &builds, &mut maker)?;
        if let Some(refusal) = api::refusal(session, declarations.kubernetes.context.as_ref()) {
            let problem = Problem::new("tiltfile::kube_context", refusal);
            return Err(vec![problem.advise(Advice::AllowContext)]);
        }
    }
    manifests.extend(compose::manifests(session, declarations, images, &services, &mut maker)?);

    let mut problems = images::check_live_updates(&manifests);
    problems.extend(images::check_unused_steps(images));
    fail_on(problems)?;

    manifests
        .extend(local::manifests(&declarations.local, declarations.settings.global_trigger_mode()));
    manifests.extend(translator.uncategorized(&resources)?);
    let one = |problem| vec![problem];
    deps::sanitize(&mut manifests, &mut |warning| session.warn(warning)).map_err(one)?;
    deps::validate(&manifests).map_err(one)?;
    Ok(Assembled { manifests, ignore_files: maker.ignore_files, places: resources.places() })
}

fn fail_on(problems: Vec<Problem>) -> Result<(), Vec<Problem>> {
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}
