//! Names: those with a type of their own, and how API objects and log spans are called.

use std::{borrow::Borrow, fmt, ops::Deref, sync::Arc};

use serde::{Serialize, Serializer};

/// Texts that are cheap to clone and cannot be mistaken for each other. Everywhere else they are like a `str`.
macro_rules! names {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $name(Arc<str>);

            impl Deref for $name {
                type Target = str;

                fn deref(&self) -> &str {
                    &self.0
                }
            }

            impl Borrow<str> for $name {
                fn borrow(&self) -> &str {
                    &self.0
                }
            }

            impl From<&str> for $name {
                fn from(name: &str) -> Self {
                    Self(name.into())
                }
            }

            impl From<String> for $name {
                fn from(name: String) -> Self {
                    Self(name.into())
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    fmt::Display::fmt(&*self.0, f)
                }
            }

            impl fmt::Debug for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    fmt::Debug::fmt(&*self.0, f)
                }
            }

            impl Serialize for $name {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.serialize_str(self)
                }
            }

            serde_json::derived_to_json!($name);
        )*
    };
}

names!(
    /// The name of a resource or Tiltfile.
    ResourceName,
    /// The name of an image: that of its image map.
    ImageName,
    /// The name of a live update.
    LiveUpdateName,
);

/// The object of a run of a server.
pub fn serve_cmd(resource: &str, id: u64) -> String {
    format!("{resource}-serve-{id}")
}

/// The switch of a resource.
pub fn switch(resource: &str) -> String {
    format!("{resource}-disable")
}

/// The button that stops an update.
pub fn stop_button(resource: &str) -> String {
    format!("{resource}-stopbuild")
}

/// The cluster that Compose services are in.
pub const DOCKER: &str = "docker";

/// Where the objects of a Compose service write.
pub fn compose_object_span(resource: &str) -> String {
    format!("dockercompose:{resource}")
}

/// The log of a Compose service.
pub fn compose_span(resource: &str) -> String {
    format!("dc:{resource}")
}

/// The log of one run of a Tiltfile.
pub fn tiltfile_span(tiltfile: &str, n: u64) -> String {
    format!("tiltfile:{tiltfile}:{n}")
}

/// The cluster that Kubernetes resources are in.
pub const KUBERNETES: &str = "default";

/// Where the objects of what is applied to a cluster write.
pub fn apply_span(resource: &str) -> String {
    format!("kubernetesapply:{resource}")
}

/// The log of a pod.
pub fn pod_span(resource: &str, pod: &str) -> String {
    format!("pod:{resource}:{pod}")
}

/// The log of one update.
pub fn build_span(n: u64) -> String {
    format!("build:{n}")
}
