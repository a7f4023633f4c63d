//! Decides which images an object uses: those of containers and image volumes of built-in kinds, those that locators
//! find, and those named in environment variables if the caller asks for them.

use std::fmt;

use serde_json::Value;

use super::locator::{ImageLocator, LocatorError};
use super::object::Object;
use super::schema::Wanted;
use super::walk::find;

/// An image that was not found or is no image reference.
#[derive(Debug, thiserror::Error)]
pub enum ImageError<E: fmt::Display> {
    /// The image of a container is no reference.
    #[error("parsing {image}: {error}")]
    Container {
        /// The text in the manifest.
        image: String,
        /// What is wrong with it.
        error: E,
    },
    /// The image of a volume is no reference.
    #[error("parsing image volume reference {image}: {error}")]
    Volume {
        /// The text in the manifest.
        image: String,
        /// What is wrong with it.
        error: E,
    },
    /// A locator failed.
    #[error("{0}")]
    Locator(LocatorError<E>),
}

/// All images of an object, in the order in which they are found.
///
/// `parse` reads a reference, `env_matches` tells how many of the images that are looked for in environment variables
/// match the reference in one; each of them counts.
pub fn find_images<'a, R, E, P, M>(
    object: &Object,
    locators: impl IntoIterator<Item = &'a ImageLocator>,
    parse: P,
    env_matches: M,
) -> Result<Vec<R>, ImageError<E>>
where
    R: Clone,
    E: fmt::Display,
    P: Fn(&str) -> Result<R, E>,
    M: Fn(&R) -> usize,
{
    let mut images = Vec::new();
    for image in container_images(object) {
        images.push(
            parse(image)
                .map_err(|error| ImageError::Container { image: image.to_owned(), error })?,
        );
    }
    for image in volume_images(object) {
        images.push(
            parse(image).map_err(|error| ImageError::Volume { image: image.to_owned(), error })?,
        );
    }
    for locator in locators {
        images.extend(locator.images(object, &parse).map_err(ImageError::Locator)?);
    }
    for reference in env_values(object).filter_map(|value| parse(value).ok()) {
        images.extend(std::iter::repeat_n(reference.clone(), env_matches(&reference)));
    }
    Ok(images)
}

/// The images of all containers, init containers first.
pub fn container_images(object: &Object) -> impl Iterator<Item = &str> {
    texts(object, Wanted::Container, "image")
}

/// The images mounted as volumes.
pub fn volume_images(object: &Object) -> impl Iterator<Item = &str> {
    texts(object, Wanted::ImageVolume, "reference").filter(|image| !image.is_empty())
}

/// The values of all environment variables.
pub fn env_values(object: &Object) -> impl Iterator<Item = &str> {
    texts(object, Wanted::EnvVar, "value")
}

fn texts<'a>(
    object: &'a Object,
    wanted: Wanted,
    field: &'static str,
) -> impl Iterator<Item = &'a str> {
    find(object, wanted)
        .into_iter()
        .map(move |part| part.get(field).and_then(Value::as_str).unwrap_or_default())
}
