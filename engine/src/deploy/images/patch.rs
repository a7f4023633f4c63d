//! Puts a few changed files over an image that was built before, where that makes what a whole build would make.
//!
//! With many files in a context, most of the time of a build goes into copying those that did not change, and a push
//! sends all of them again. An image that has had many patches is built whole again, as is one that somebody triggers.

use std::{collections::BTreeMap, sync::Arc};

use engine_docker::{BuildEvent, Builder, BuiltImage, Listing};
use engine_formats::docker::dockerfile::Dockerfile;
use engine_model::{DockerBuild, ImageTarget};

use super::{
    Images,
    inputs::{self, Inputs},
    memory::{Base, Record},
};
use crate::deploy::pipeline::Step;

/// Contexts with fewer files and fewer bytes are built whole, which takes no time.
const FILES_MIN: usize = 1_000;
const BYTES_MIN: u64 = 32 << 20;

/// File systems of containers can have about a hundred layers, of which images have some of their own.
const PATCHES_MAX: usize = 30;

/// An image that was built, and what of.
#[derive(Clone, Debug)]
pub(super) struct Ancestor {
    pub(super) record: Record,
    settings: String,
    context: Arc<Listing>,
    n_patches: usize,
    /// How much all patches have added.
    n_bytes: u64,
}

impl Ancestor {
    /// A whole build.
    pub(super) fn new(record: Record, inputs: &Inputs) -> Self {
        let (settings, context) = (inputs.settings.clone(), Arc::clone(&inputs.context));
        Self { record, settings, context, n_patches: 0, n_bytes: 0 }
    }
}

/// Files to be put over an image.
#[derive(Debug)]
pub(super) struct Patch {
    ancestor: Ancestor,
    build: DockerBuild,
    files: Vec<String>,
    n_bytes: u64,
}

/// Finds what has to be put over an earlier image; `None` if all of it has to be built.
pub(super) async fn find(
    images: &Images,
    target: &ImageTarget,
    build: &DockerBuild,
    inputs: &Inputs,
) -> Option<Patch> {
    let key = images.destination.key();
    let ancestor = images.memory(|it| it.ancestor(&target.image_map_name, &key))?;
    let now = &inputs.context;
    let is_large = now.n_files() >= FILES_MIN || now.n_bytes() >= BYTES_MIN;
    if ancestor.settings != inputs.settings
        || ancestor.n_patches >= PATCHES_MAX
        || !is_large
        || build.pull
    {
        return None;
    }
    let files = now.files_changed_since(&ancestor.context)?;
    let n_bytes: u64 = ancestor.n_bytes + files.iter().map(|it| now.size_of(it)).sum::<u64>();
    if n_bytes > now.n_bytes() {
        return None;
    }
    let dockerfile = Dockerfile::parse(&build.dockerfile_contents).ok()?;
    let base = &ancestor.record.tagged;
    let contents = dockerfile.patch(&build.target, base, &files, &now.links())?;
    let docker = &images.shared.docker;
    let is_possible = docker.builder().await.ok()? == Builder::BuildKit
        && docker.image(base).await.ok()?.is_some_and(|it| it.id == ancestor.record.id)
        && inputs::has_same_bases(images, &ancestor.record).await.ok()?;
    let files = files.into_iter().map(ToOwned::to_owned).collect();
    is_possible.then(|| Patch { build: copying(build, contents), ancestor, files, n_bytes })
}

/// A build that only copies: what others get does not matter to it.
fn copying(build: &DockerBuild, dockerfile_contents: String) -> DockerBuild {
    DockerBuild {
        dockerfile_contents,
        args: Vec::new(),
        target: String::new(),
        cache_from: Vec::new(),
        secrets: Vec::new(),
        ssh_agent_configs: Vec::new(),
        image_maps: Vec::new(),
        ..build.clone()
    }
}

impl Patch {
    /// Builds the image; `None` if that does not work, so that all of it has to be built.
    pub(super) async fn build(
        &self,
        images: &Images,
        step: &Step,
        on_event: &mut (dyn FnMut(BuildEvent) + Send),
    ) -> Option<BuiltImage> {
        let (n, base) = (self.files.len(), &self.ancestor.record.tagged);
        step.say(&format!(
            "Copying {n} changed file(s) over {base}, because nothing else has changed"
        ));
        let built = images.shared.docker.build_partially(&self.build, &self.files, on_event).await;
        match built {
            Ok(image) => Some(image),
            Err(error) => {
                step.say(&format!("That failed ({error}); building the whole image"));
                None
            }
        }
    }

    /// The images that the one below was built from.
    pub(super) fn bases(&self) -> &BTreeMap<String, Base> {
        &self.ancestor.record.bases
    }

    /// The image as the ancestor of others.
    pub(super) fn descendant(&self, record: Record, inputs: &Inputs) -> Ancestor {
        let n_patches = self.ancestor.n_patches + 1;
        Ancestor { n_patches, n_bytes: self.n_bytes, ..Ancestor::new(record, inputs) }
    }
}
