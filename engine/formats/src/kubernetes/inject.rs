//! Decides what the objects of a resource look like when they are deployed: with the label that tells who manages
//! them, with the images that were built, and with the hash of each pod template.

mod images;
mod labels;
mod locators;
mod template;

pub use template::{POD_TEMPLATE_HASH_LABEL, pod_template_hashes};

use engine_model::ImageTarget;

use super::locator::{ImageLocator, LocatorError};
use super::object::Object;
use super::parse::ParseError;
use super::selector::ObjectSelector;
use crate::docker::reference::{Reference, ReferenceError};
use crate::docker::selector::RefSelector;

/// The images that a resource's objects run, and where objects of custom kinds keep theirs.
#[derive(Clone, Copy, Debug)]
pub struct Injection<'a> {
    /// In the order in which the resource names its image maps.
    pub images: &'a [InjectedImage<'a>],
    /// For kinds that are not built in, or fields that no image is expected in.
    pub locators: &'a [engine_model::ImageLocator],
}

/// An image as it was built.
#[derive(Clone, Copy, Debug)]
pub struct InjectedImage<'a> {
    /// Which images of the objects it stands for, and what else it replaces.
    pub target: &'a ImageTarget,
    /// Its reference as the cluster sees it.
    pub reference: &'a str,
}

/// Why objects cannot be deployed with these images.
#[derive(Debug, thiserror::Error)]
pub enum InjectError {
    /// The YAML is no stream of Kubernetes objects.
    #[error("{0}")]
    Parse(#[from] ParseError),
    /// A locator of the resource cannot be read.
    #[error("parsing image locator: {0}")]
    LocatorSyntax(String),
    /// The selector of an image map is no reference.
    #[error("parsing image map spec ({selector}): {error}")]
    Selector {
        /// The selector.
        selector: String,
        /// What is wrong with it.
        error: ReferenceError,
    },
    /// The image was not built.
    #[error("internal error: missing image status")]
    NotBuilt,
    /// What was built has no proper name.
    #[error("parsing image map status: {0}")]
    Built(ReferenceError),
    /// An image in the objects is no reference.
    #[error("{0}")]
    Image(#[from] ReferenceError),
    /// A locator does not lead to an image.
    #[error("{0}")]
    Locator(#[from] LocatorError<ReferenceError>),
    /// The image is in no container of the object, so there is no command to replace.
    #[error(
        "could not inject command [{}] into entity: {object}. No container found matching ref: {image}. \
         Note: command overrides only supported on containers with images, not on CRDs",
        .command.join(" ")
    )]
    NoContainer {
        /// The command.
        command: Vec<String>,
        /// The name of the object.
        object: String,
        /// The image.
        image: String,
    },
    /// No object uses the image.
    #[error("Docker image missing from yaml: {0}")]
    Unused(String),
}

/// An image ready to be put into objects.
struct Replacement<'a> {
    target: &'a ImageTarget,
    selector: RefSelector,
    reference: Reference,
    is_used: bool,
}

/// The objects of a YAML stream as they are applied.
pub fn inject(yaml: &str, injection: &Injection<'_>) -> Result<Vec<Object>, InjectError> {
    let mut objects = super::parse(yaml)?;
    let locators =
        injection.locators.iter().map(parse_locator).collect::<Result<Vec<ImageLocator>, _>>()?;
    let mut replacements = Vec::new();
    if !objects.is_empty() {
        for image in injection.images {
            replacements.push(Replacement::new(image)?);
        }
    }
    for object in &mut objects {
        labels::add(object);
        if !injection.images.is_empty() {
            images::prefer_present(object);
            images::start_in_parallel(object);
        }
        for replacement in &mut replacements {
            replacement.put_into(object, &locators)?;
        }
        template::add_hashes(object);
    }
    for image in injection.images {
        let name = &image.target.image_map_name;
        let is_used = replacements.iter().any(|it| it.is_used && it.target.image_map_name == *name);
        if !is_used {
            return Err(InjectError::Unused(name.clone()));
        }
    }
    Ok(objects)
}

impl<'a> Replacement<'a> {
    fn new(image: &InjectedImage<'a>) -> Result<Self, InjectError> {
        let target = image.target;
        let selector = RefSelector::of_image(&target.selector, target.match_exact)
            .map_err(|error| InjectError::Selector { selector: target.selector.clone(), error })?;
        if image.reference.is_empty() {
            return Err(InjectError::NotBuilt);
        }
        let reference = Reference::parse(image.reference).map_err(InjectError::Built)?;
        Ok(Self { target, selector, reference, is_used: false })
    }

    fn put_into(
        &mut self,
        object: &mut Object,
        locators: &[ImageLocator],
    ) -> Result<(), InjectError> {
        let mut is_found = images::replace(object, &self.selector, &self.reference)?;
        if self.target.match_in_env_vars {
            is_found |= images::replace_in_env(object, &self.selector, &self.reference);
        }
        for locator in locators {
            is_found |= locators::replace(locator, object, &self.selector, &self.reference)?;
        }
        if !is_found {
            return Ok(());
        }
        self.is_used = true;
        let command = self.target.override_command.as_ref().map(|it| it.command.as_slice());
        let args =
            self.target.override_args.as_ref().map(|it| it.args.as_deref().unwrap_or_default());
        if command.is_none() && args.is_none() {
            return Ok(());
        }
        images::replace_command(object, &self.reference, command, args)
    }
}

fn parse_locator(locator: &engine_model::ImageLocator) -> Result<ImageLocator, InjectError> {
    let selector = ObjectSelector::new(locator.object_selector.clone());
    let selector = selector.map_err(|error| InjectError::LocatorSyntax(error.to_string()))?;
    ImageLocator::new(selector, &locator.path, locator.object.clone())
        .map_err(|error| InjectError::LocatorSyntax(error.to_string()))
}

#[cfg(test)]
mod tests;
