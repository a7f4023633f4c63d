//! Which changes of a manifest make what was built and started from it worthless.
//!
//! Everything counts but what is left out here by name, and no list is the same as an empty one.

use engine_model::{
    BuildDetails, ComposeTarget, DeployTarget, ImageTarget, KubernetesTarget, Link, LocalTarget,
    Manifest,
};

#[cfg(test)]
mod tests;

/// Whether what was built and started from the old manifest is no longer what the new one asks for.
pub fn invalidates(old: &Manifest, new: &Manifest) -> bool {
    let old_images = old.image_targets.as_deref().unwrap_or_default();
    let new_images = new.image_targets.as_deref().unwrap_or_default();
    old_images.len() != new_images.len()
        || old_images.iter().zip(new_images).any(|(old, new)| !is_same_image(old, new))
        || match (&old.deploy_target, &new.deploy_target) {
            (DeployTarget::Local(old), DeployTarget::Local(new)) => !is_same_local(old, new),
            (DeployTarget::Kubernetes(old), DeployTarget::Kubernetes(new)) => {
                !is_same_deployment(old, new)
            }
            (DeployTarget::Compose(old), DeployTarget::Compose(new)) => !is_same_service(old, new),
            _ => true,
        }
}

fn is_same_local(old: &LocalTarget, new: &LocalTarget) -> bool {
    let mut new = new.clone();
    // They only decide when it updates.
    new.deps.clone_from(&old.deps);
    equate_empty(old.serve_cmd.argv.as_ref(), &mut new.serve_cmd.argv);
    equate_empty(old.serve_cmd.env.as_ref(), &mut new.serve_cmd.env);
    equate_links(old.links.as_ref(), &mut new.links);
    equate_empty(old.file_watch_ignores.as_ref(), &mut new.file_watch_ignores);
    *old == new
}

fn is_same_deployment(old: &KubernetesTarget, new: &KubernetesTarget) -> bool {
    let mut new = new.clone();
    equate_links(old.links.as_ref(), &mut new.links);
    equate_empty(old.file_watch_ignores.as_ref(), &mut new.file_watch_ignores);
    *old == new
}

fn is_same_service(old: &ComposeTarget, new: &ComposeTarget) -> bool {
    let mut new = new.clone();
    // Only the service itself counts, not the project it is part of.
    new.spec.project.clone_from(&old.spec.project);
    equate_links(old.links.as_ref(), &mut new.links);
    *old == new
}

fn is_same_image(old: &ImageTarget, new: &ImageTarget) -> bool {
    let mut new = new.clone();
    match (&old.build_details, &mut new.build_details) {
        // They only decide when it is built.
        (BuildDetails::Custom(old), BuildDetails::Custom(new)) => new.deps.clone_from(&old.deps),
        // It only decides how fast it is built.
        (BuildDetails::Docker(old), BuildDetails::Docker(new)) => {
            new.cache_from.clone_from(&old.cache_from);
        }
        _ => {}
    }
    equate_empty(old.file_watch_ignores.as_ref(), &mut new.file_watch_ignores);
    *old == new
}

/// Which links there are does not matter, only whether there are any.
fn equate_links(old: Option<&Vec<Link>>, new: &mut Option<Vec<Link>>) {
    equate_empty(old, new);
    if old.is_some() && new.is_some() {
        *new = old.cloned();
    }
}

fn equate_empty<T: Clone>(old: Option<&Vec<T>>, new: &mut Option<Vec<T>>) {
    let is_empty = |it: Option<&Vec<T>>| it.is_none_or(Vec::is_empty);
    if is_empty(old) && is_empty(new.as_ref()) {
        *new = old.cloned();
    }
}
