//! Declared image builds, and who uses which image.

use std::collections::{BTreeMap, HashSet};

use engine_formats::{
    docker::{reference::Reference, selector::RefSelector},
    golang::quote::quote,
};
use engine_model::{Cmd, DockerBuild, LiveUpdateSpec, OverrideArgs, RegistryHosting};
use indexmap::IndexSet;

/// A build in [`Images`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageId(usize);

/// All image builds, and the names of images that something asked for.
#[derive(Debug, Default)]
pub struct Images {
    builds: Vec<ImageBuild>,
    references: HashSet<String>,
    names: HashSet<String>,
    consumed: IndexSet<String>,
    /// The registry that all images go to.
    pub registry: Option<RegistryHosting>,
    /// Live-update steps that nothing has used yet, by the place that made them.
    pub unused_steps: BTreeMap<String, UnusedStep>,
}

/// A live-update step that nothing has used yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedStep {
    /// How it prints.
    pub text: String,
    /// Its type.
    pub type_name: &'static str,
}

/// How one image is built.
#[derive(Clone, Debug)]
pub struct ImageBuild {
    /// Which references it answers to.
    pub selector: RefSelector,
    /// Whether environment variables are searched for it.
    pub match_in_env_vars: bool,
    /// Replaces the container's command.
    pub entrypoint: Option<Vec<String>>,
    /// Replaces the container's arguments.
    pub override_args: Option<OverrideArgs>,
    /// How running containers are updated, if they are.
    pub live_update: Option<LiveUpdateSpec>,
    /// The file that declared it; none for builds that Compose declares.
    pub tiltfile: Option<String>,
    /// Patterns to leave out.
    pub ignores: Vec<String>,
    /// Paths to leave out everything else but.
    pub onlys: Vec<String>,
    /// What makes it.
    pub recipe: Recipe,
    /// Builds it needs, found during assembly.
    pub deps: Vec<ImageId>,
    /// Whether something uses it.
    pub matched: bool,
}

/// What makes an image.
#[derive(Clone, Debug)]
pub enum Recipe {
    /// A Dockerfile.
    Docker(Box<DockerRecipe>),
    /// A command.
    Custom(Box<CustomRecipe>),
    /// The build section of a Compose service.
    Compose(ComposeRecipe),
}

/// The arguments of `docker_build`.
#[derive(Clone, Debug, Default)]
pub struct DockerRecipe {
    /// Where the Dockerfile is, or would be.
    pub dockerfile_path: String,
    /// The build, without what assembly finds out.
    pub build: DockerBuild,
}

/// The arguments of `custom_build`.
#[derive(Clone, Debug, Default)]
pub struct CustomRecipe {
    /// The command.
    pub command: Cmd,
    /// Paths whose changes cause a build.
    pub deps: Option<Vec<String>>,
    /// The tag the command gives.
    pub tag: String,
    /// Images that must be built first.
    pub image_deps: Vec<Reference>,
    /// Whether the command pushes.
    pub disable_push: bool,
    /// Whether the image never is in the local engine.
    pub skips_local_docker: bool,
    /// The file the command writes the reference to.
    pub outputs_image_ref_to: String,
}

/// What the build section of a Compose service says.
#[derive(Clone, Debug, Default)]
pub struct ComposeRecipe {
    /// The service.
    pub service: String,
    /// The context directory; empty if the context is a URL.
    pub context: String,
    /// Where the Dockerfile is.
    pub dockerfile_path: String,
    /// Sources of the service's volumes.
    pub volumes: Vec<String>,
}

/// The image has a build already.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Image for ref {} has already been defined", quote(.0))]
pub struct DuplicateImage(String);

impl ImageBuild {
    /// A build with nothing but its name and recipe.
    pub fn new(selector: RefSelector, recipe: Recipe) -> Self {
        Self {
            selector,
            match_in_env_vars: false,
            entrypoint: None,
            override_args: None,
            live_update: None,
            tiltfile: None,
            ignores: Vec::new(),
            onlys: Vec::new(),
            recipe,
            deps: Vec::new(),
            matched: false,
        }
    }

    /// The name of its image map.
    pub fn image_map_name(&self) -> String {
        self.selector.image_map_name()
    }
}

impl Images {
    /// Adds a build. Builds of one name with different tags match their exact tags from then on.
    ///
    /// # Errors
    /// If the same reference has a build already.
    pub fn add(&mut self, mut build: ImageBuild) -> Result<ImageId, DuplicateImage> {
        if !self.references.insert(build.selector.to_string()) {
            return Err(DuplicateImage(build.selector.familiar()));
        }
        let name = build.selector.name();
        if !self.names.insert(name.clone()) {
            for other in self.builds.iter_mut().filter(|it| it.selector.name() == name) {
                other.selector = other.selector.clone().exactly();
            }
            build.selector = build.selector.exactly();
        }
        self.builds.push(build);
        Ok(ImageId(self.builds.len() - 1))
    }

    /// The build for an image that something needs; it counts as used from then on.
    pub fn consume(&mut self, reference: &Reference) -> Option<ImageId> {
        self.consumed.insert(reference.familiar_name());
        let index = self.builds.iter().position(|it| it.selector.matches(reference))?;
        self.builds[index].matched = true;
        Some(ImageId(index))
    }

    /// A build.
    pub fn get(&self, id: ImageId) -> &ImageBuild {
        &self.builds[id.0]
    }

    /// A build, to add what assembly finds out.
    pub fn get_mut(&mut self, id: ImageId) -> &mut ImageBuild {
        &mut self.builds[id.0]
    }

    /// All builds, in order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (ImageId, &ImageBuild)> {
        self.builds.iter().enumerate().map(|(index, it)| (ImageId(index), it))
    }

    /// Builds that nothing uses.
    pub fn unused(&self) -> impl Iterator<Item = &ImageBuild> {
        self.builds.iter().filter(|it| !it.matched)
    }

    /// Names of images that something asked for, in that order.
    pub fn consumed_names(&self) -> Vec<String> {
        self.consumed.iter().cloned().collect()
    }

    /// What to search environment variables for.
    pub fn env_var_selectors(&self) -> Vec<RefSelector> {
        self.builds.iter().filter(|it| it.match_in_env_vars).map(|it| it.selector.clone()).collect()
    }
}
