//! Finds workloads and the images they use.

use engine_formats::{
    docker::{
        reference::{Reference, ReferenceError},
        selector::RefSelector,
    },
    kubernetes::{
        Object,
        images::{ImageError, find_images},
        locator::ImageLocator,
    },
};

use super::super::error::AssemblyError;
use crate::declarations::{
    Declarations,
    images::Images,
    kubernetes::{KindInfo, Kubernetes},
};

/// The workloads among all objects, in order.
///
/// # Errors
/// If an image of an object cannot be found or read.
pub(crate) fn workloads(declarations: &Declarations) -> Result<Vec<&Object>, AssemblyError> {
    let finder = ImageFinder::new(&declarations.kubernetes, &declarations.images);
    let mut found = Vec::new();
    for object in &declarations.kubernetes.objects {
        if finder.is_workload(object)? {
            found.push(object);
        }
    }
    Ok(found)
}

/// Finds images in objects.
pub(super) struct ImageFinder<'a> {
    kinds: &'a [KindInfo],
    env_var_selectors: Vec<RefSelector>,
}

impl<'a> ImageFinder<'a> {
    pub(super) fn new(kubernetes: &'a Kubernetes, images: &Images) -> Self {
        Self { kinds: &kubernetes.kinds, env_var_selectors: images.env_var_selectors() }
    }

    fn locators(&self) -> impl Iterator<Item = &'a ImageLocator> {
        self.kinds.iter().flat_map(|it| &it.locators)
    }

    pub(super) fn images(
        &self,
        object: &Object,
    ) -> Result<Vec<Reference>, ImageError<ReferenceError>> {
        let env_matches = |it: &Reference| {
            self.env_var_selectors.iter().filter(|selector| selector.matches(it)).count()
        };
        find_images(object, self.locators(), Reference::parse, env_matches)
    }

    pub(super) fn is_workload(&self, object: &Object) -> Result<bool, AssemblyError> {
        if self.kinds.iter().any(|it| it.selector.matches(object)) {
            return Ok(true);
        }
        match self.images(object) {
            Ok(images) => Ok(!images.is_empty()),
            Err(why) => Err(AssemblyError::FindImages {
                object: object.name().to_owned(),
                why: Box::new(why),
            }),
        }
    }
}
