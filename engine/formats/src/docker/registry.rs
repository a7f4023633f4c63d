//! Decides under which name an image goes to a registry, and whether a registry can be used.

use engine_model::{LocalRegistry, RegistryHosting};

use super::reference::{Reference, ReferenceError};
use super::selector::RefSelector;
use crate::golang::quote::quote;

/// A registry that all images are pushed to, as given to `default_registry`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registry {
    /// The host as seen from here.
    pub host: String,
    /// The host as seen from the cluster, if that differs.
    pub host_from_container_runtime: String,
    /// The one repository that holds every image, if the registry wants that.
    pub single_name: String,
}

/// A registry that cannot be used, or an image that has no name in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// Settings of the registry are wrong.
    #[error("{}", aggregate(.0))]
    Invalid(Vec<String>),
    /// The image's name cannot be prefixed with the registry.
    #[error("Error parsing {name} after applying default registry {host}: {source}")]
    Rename {
        /// The new name.
        name: String,
        /// The registry.
        host: String,
        /// Why the name is no reference.
        source: ReferenceError,
    },
}

fn aggregate(messages: &[String]) -> String {
    match messages {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

impl From<&LocalRegistry> for Registry {
    fn from(local: &LocalRegistry) -> Self {
        Self {
            host: local.host.clone(),
            host_from_container_runtime: local.host_from_container_runtime.clone(),
            single_name: String::new(),
        }
    }
}

impl From<&RegistryHosting> for Registry {
    fn from(declared: &RegistryHosting) -> Self {
        Self {
            host: declared.host.clone(),
            host_from_container_runtime: declared.host_from_container_runtime.clone(),
            single_name: declared.single_name.clone(),
        }
    }
}

impl Registry {
    /// Checks that the hosts can start an image's name.
    pub fn validate(&self) -> Result<(), RegistryError> {
        let mut messages = Vec::new();
        if self.host.is_empty() {
            messages.push("host: Required value".to_owned());
        } else {
            messages.extend(host_problem("host", &self.host));
        }
        if !self.host_from_container_runtime.is_empty() {
            let host = &self.host_from_container_runtime;
            messages.extend(host_problem("hostFromContainerRuntime", host));
        }
        if messages.is_empty() { Ok(()) } else { Err(RegistryError::Invalid(messages)) }
    }

    /// The image's name as seen from here, without tag.
    pub fn local_ref(&self, image: &RefSelector) -> Result<Reference, RegistryError> {
        self.rename(&self.host, image)
    }

    /// The image's name as seen from the cluster, without tag.
    pub fn cluster_ref(&self, image: &RefSelector) -> Result<Reference, RegistryError> {
        let host = match self.host_from_container_runtime.as_str() {
            "" => &self.host,
            _ if self.host.is_empty() => &self.host,
            host => host,
        };
        self.rename(host, image)
    }

    /// The tag for an image; it tells images apart that share a single repository.
    pub fn tag(&self, image: &RefSelector, suffix: &str) -> String {
        if self.single_name.is_empty() {
            return suffix.to_owned();
        }
        let name = image.familiar_name();
        let last = name.rsplit('/').next().unwrap_or_default();
        format!("{}-{suffix}", escape(last))
    }

    fn rename(&self, host: &str, image: &RefSelector) -> Result<Reference, RegistryError> {
        let familiar = image.familiar_name();
        let inside = familiar.strip_prefix(host).is_some_and(|rest| rest.starts_with('/'));
        if host.is_empty() || inside {
            return Ok(image.reference().name_only());
        }
        let name = match self.single_name.as_str() {
            "" => format!("{host}/{}", escape(&familiar)),
            single => format!("{host}/{single}"),
        };
        Reference::parse_canonical(&name).map_err(|source| RegistryError::Rename {
            name,
            host: host.to_owned(),
            source,
        })
    }
}

fn escape(name: &str) -> String {
    name.replace(['/', ':', '@'], "_")
}

fn host_problem(field: &str, host: &str) -> Option<String> {
    let why = Reference::parse_canonical(&format!("{host}/fake")).err()?;
    Some(format!("{field}: Invalid value: {}: {why}", quote(host)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry(host: &str, from_cluster: &str, single_name: &str) -> Registry {
        Registry {
            host: host.to_owned(),
            host_from_container_runtime: from_cluster.to_owned(),
            single_name: single_name.to_owned(),
        }
    }

    #[test]
    fn hosts_have_to_look_like_domains() {
        for (host, from_cluster, expected) in [
            ("gcr.io/x", "", ""),
            ("localhost:5000", "registry:5000", ""),
            ("localhost", "", ""),
            ("", "", "host: Required value"),
            ("foo", "", r#"host: Invalid value: "foo": repository name must be canonical"#),
            ("http://foo", "", r#"host: Invalid value: "http://foo": invalid reference format"#),
            ("a b.c", "", r#"host: Invalid value: "a b.c": invalid reference format"#),
            (
                "gcr.io/X",
                "",
                r#"host: Invalid value: "gcr.io/X": invalid reference format: repository name (X/fake) must be lowercase"#,
            ),
            (
                "",
                "foo",
                r#"[host: Required value, hostFromContainerRuntime: Invalid value: "foo": repository name must be canonical]"#,
            ),
        ] {
            let found = registry(host, from_cluster, "").validate();
            assert_eq!(found.err().map_or(String::new(), |e| e.to_string()), expected, "{host}");
        }
    }

    #[test]
    fn images_are_renamed_into_the_registry() {
        let plain = registry("localhost:5000", "registry:5000", "");
        let single = registry("ecr.io", "", "all/images");
        for (registry, image, local, cluster, tag) in [
            (&plain, "busybox", "localhost:5000/busybox", "registry:5000/busybox", "t"),
            (
                &plain,
                "gcr.io/foo/bar:v1",
                "localhost:5000/gcr.io_foo_bar",
                "registry:5000/gcr.io_foo_bar",
                "t",
            ),
            (&plain, "localhost:5000/x", "localhost:5000/x", "registry:5000/localhost_5000_x", "t"),
            (&single, "gcr.io/foo/bar", "ecr.io/all/images", "ecr.io/all/images", "bar-t"),
            (&Registry::default(), "foo:v1", "docker.io/library/foo", "docker.io/library/foo", "t"),
        ] {
            let image = RefSelector::new(Reference::parse(image).unwrap());
            assert_eq!(registry.local_ref(&image).unwrap().to_string(), local);
            assert_eq!(registry.cluster_ref(&image).unwrap().to_string(), cluster);
            assert_eq!(registry.tag(&image, "t"), tag);
        }
    }
}
