//! Decides which image references a build provides.

use std::fmt;

use super::reference::{Reference, ReferenceError};
use crate::golang::label::sanitize_name;

/// The image of a build, and whether it stands for every tag of its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RefSelector {
    reference: Reference,
    exact: bool,
}

impl RefSelector {
    /// Selects by name, or exactly if the reference has a tag.
    pub fn new(reference: Reference) -> Self {
        let exact = reference.tag.is_some();
        Self { reference, exact }
    }

    /// Selects what an image of a Tiltfile stands for: its name, or exactly what it says.
    pub fn of_image(selector: &str, is_exact: bool) -> Result<Self, ReferenceError> {
        Ok(Self { reference: Reference::parse(selector)?, exact: is_exact })
    }

    /// Selects only this very reference.
    #[must_use]
    pub fn exactly(self) -> Self {
        Self { exact: true, ..self }
    }

    /// Selects every tag and digest of the name.
    #[must_use]
    pub fn by_name(self) -> Self {
        Self { exact: false, ..self }
    }

    /// Whether only this very reference is selected.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// The reference as it was declared.
    pub fn reference(&self) -> &Reference {
        &self.reference
    }

    /// Whether the build provides an image.
    pub fn matches(&self, image: &Reference) -> bool {
        if self.exact {
            return *image == self.reference;
        }
        image.domain == self.reference.domain && image.path == self.reference.path
    }

    /// Whether the build provides one of several images.
    pub fn matches_any<'a>(&self, images: impl IntoIterator<Item = &'a Reference>) -> bool {
        images.into_iter().any(|image| self.matches(image))
    }

    /// The full name, without tag.
    pub fn name(&self) -> String {
        self.reference.name()
    }

    /// The name as users write it, without tag.
    pub fn familiar_name(&self) -> String {
        self.reference.familiar_name()
    }

    /// The reference as users write it.
    pub fn familiar(&self) -> String {
        self.reference.familiar()
    }

    /// The name of the build's image map and image target.
    pub fn image_map_name(&self) -> String {
        sanitize_name(&self.familiar())
    }
}

impl fmt::Display for RefSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reference.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(text: &str) -> Reference {
        Reference::parse(text).unwrap()
    }

    #[test]
    fn a_tag_makes_a_selector_exact() {
        let digest = format!("img@sha256:{}", "0".repeat(64));
        for (selector, image, expected) in [
            ("img", "img", true),
            ("img", "img:v1", true),
            ("img", &digest, true),
            ("img", "docker.io/library/img:v2", true),
            ("img", "gcr.io/img", false),
            ("img:v1", "img:v1", true),
            ("img:v1", "img", false),
            ("img:v1", "img:v2", false),
            ("index.docker.io/a/b", "a/b:1", true),
        ] {
            let found = RefSelector::new(reference(selector)).matches(&reference(image));
            assert_eq!(found, expected, "{selector} {image}");
        }
        let exact = RefSelector::new(reference("img")).exactly();
        assert!(exact.matches(&reference("img")) && !exact.matches(&reference("img:v1")));
        assert!(exact.by_name().matches(&reference("img:v1")));
    }

    #[test]
    fn image_map_names_are_valid_object_names() {
        let long = format!("gcr.io/{}", vec!["abc123"; 36].join("/"));
        for (image, expected) in [
            ("img", "img".to_owned()),
            ("img:v1", "img:v1".to_owned()),
            ("gcr.io/foo/bar", "gcr.io_foo_bar".to_owned()),
            ("docker.io/library/x", "x".to_owned()),
            (&long, format!("{}-{}", &long.replace('/', "_")[..244], "a26cb257")),
        ] {
            assert_eq!(RefSelector::new(reference(image)).image_map_name(), expected);
        }
    }
}
