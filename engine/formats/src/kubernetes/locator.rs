//! Decides where custom objects keep their images: at a JSON path, as one string or as an object with a field for the
//! repository and one for the tag.

use std::fmt;

use engine_model::ImageObject;

use super::jsonpath::{JsonPath, JsonPathError, Match, PathSyntaxError};
use super::object::Object;
use super::selector::ObjectSelector;
use crate::golang::quote::quote;

/// A JSON path to images in the objects that a selector matches.
#[derive(Clone, Debug)]
pub struct ImageLocator {
    /// Which objects it is for.
    pub selector: ObjectSelector,
    path: JsonPath,
    object: Option<ImageObject>,
}

/// Why no image was found at a JSON path.
#[derive(Debug, thiserror::Error)]
pub enum LocatorError<E: fmt::Display> {
    /// The path does not lead anywhere.
    #[error("Matching (json_path={}): {error}", quote(.path))]
    Path {
        /// The path.
        path: String,
        /// What is wrong.
        error: JsonPathError,
    },
    /// The path leads to something else than a string.
    #[error("May only match strings (json_path={})\nGot Type: {found_type}\nGot Value: {found}", quote(.path))]
    NotAString {
        /// The path.
        path: String,
        /// The Go type of what was found.
        found_type: String,
        /// What was found, as Go prints it.
        found: String,
    },
    /// The path leads to something else than an object.
    #[error("May only match maps (json_path={})\nGot Type: {found_type}\nGot Value: {found}", quote(.path))]
    NotAMap {
        /// The path.
        path: String,
        /// The Go type of what was found.
        found_type: String,
        /// What was found, as Go prints it.
        found: String,
    },
    /// The string at the path is no image reference.
    #[error("error parsing image '{image}' at json path '{path}': {error}")]
    Image {
        /// The string.
        image: String,
        /// The path.
        path: String,
        /// What is wrong with it.
        error: E,
    },
    /// The object at the path does not make an image reference.
    #[error("{0}")]
    ImageObject(E),
}

impl ImageLocator {
    /// A locator of images, given as strings or as objects.
    pub fn new(
        selector: ObjectSelector,
        path: &str,
        object: Option<ImageObject>,
    ) -> Result<Self, PathSyntaxError> {
        Ok(Self { selector, path: JsonPath::parse(path)?, object })
    }

    /// The path as it was written.
    pub fn path(&self) -> &str {
        self.path.text()
    }

    /// The fields that make up an image, if it is not a string.
    pub fn object(&self) -> Option<&ImageObject> {
        self.object.as_ref()
    }

    /// The images in an object; none if the selector does not match it.
    pub fn images<R, E: fmt::Display>(
        &self,
        object: &Object,
        parse: impl Fn(&str) -> Result<R, E>,
    ) -> Result<Vec<R>, LocatorError<E>> {
        let mut images = Vec::new();
        if self.object.is_some() {
            self.visit(object, |_, image| {
                images.push(parse(image).map_err(LocatorError::ImageObject)?);
                Ok(())
            })?;
            return Ok(images);
        }
        let mut texts = Vec::new();
        self.visit(object, |_, image| {
            texts.push(image.to_owned());
            Ok(())
        })?;
        for image in texts {
            images.push(parse(&image).map_err(|error| LocatorError::Image {
                image,
                path: self.path().to_owned(),
                error,
            })?);
        }
        Ok(images)
    }

    /// Shows everything that the path leads to, with the image it names; nothing if the selector does not match.
    pub(crate) fn visit<'a, E: fmt::Display>(
        &'a self,
        object: &'a Object,
        mut show: impl FnMut(&Match<'a>, &str) -> Result<(), LocatorError<E>>,
    ) -> Result<(), LocatorError<E>> {
        if !self.selector.matches(object) {
            return Ok(());
        }
        let matches = self
            .path
            .find(object)
            .map_err(|error| LocatorError::Path { path: self.path().to_owned(), error })?;
        for found in &matches {
            let image = match &self.object {
                None => self.text(found)?,
                Some(fields) => self.joined(found, fields)?,
            };
            show(found, &image)?;
        }
        Ok(())
    }

    fn text<E: fmt::Display>(&self, found: &Match<'_>) -> Result<String, LocatorError<E>> {
        found.plain_string().map(str::to_owned).ok_or_else(|| LocatorError::NotAString {
            path: self.path().to_owned(),
            found_type: found.dynamic_type().to_owned(),
            found: found.printed(),
        })
    }

    /// Repository and tag in one string; a missing repository leaves a reference that cannot be read.
    fn joined<E: fmt::Display>(
        &self,
        found: &Match<'_>,
        fields: &ImageObject,
    ) -> Result<String, LocatorError<E>> {
        let Some(entries) = found.plain_map() else {
            return Err(LocatorError::NotAMap {
                path: self.path().to_owned(),
                found_type: found.static_type().to_owned(),
                found: found.reflected(),
            });
        };
        let text = |field: &str| {
            entries.get(field).and_then(serde_json::Value::as_str).unwrap_or_default()
        };
        let (repository, tag) = (text(&fields.repo_field), text(&fields.tag_field));
        Ok(if tag.is_empty() { repository.to_owned() } else { format!("{repository}:{tag}") })
    }
}
