//! What changes of files are reported for.

use std::{fmt, sync::Arc};

use crate::{ImageName, ResourceName};

/// A part of a resource or Tiltfile with inputs of its own, or a `FileWatch` object of a client. The parts have the order of
/// their texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TargetId {
    /// What a Tiltfile reads.
    Config(ResourceName),
    /// The inputs of an image.
    Image(ImageName),
    /// The inputs of a custom deploy.
    Apply(ResourceName),
    /// The inputs of a local resource.
    Local(ResourceName),
    /// The files of a client's object.
    Object(Arc<str>),
}

impl TargetId {
    /// The resource whose own files it stands for.
    pub fn resource(&self) -> Option<&ResourceName> {
        match self {
            Self::Apply(resource) | Self::Local(resource) => Some(resource),
            Self::Config(_) | Self::Image(_) | Self::Object(_) => None,
        }
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(tiltfile) => write!(f, "configs:{tiltfile}"),
            Self::Image(image) => write!(f, "image:{image}"),
            Self::Apply(resource) => write!(f, "k8s:{resource}"),
            Self::Local(resource) => write!(f, "local:{resource}"),
            Self::Object(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_the_order_of_their_texts() {
        let ids = [
            TargetId::Config("z".into()),
            TargetId::Image("a".into()),
            TargetId::Image("b".into()),
            TargetId::Apply("z".into()),
            TargetId::Local("a".into()),
        ];
        let texts = ids.each_ref().map(ToString::to_string);
        assert_eq!(texts, ["configs:z", "image:a", "image:b", "k8s:z", "local:a"]);
        assert!(ids.is_sorted() && texts.is_sorted());
    }
}
