//! Pure knowledge of formats that Tiltfiles, Docker, Kubernetes and the API share: YAML, image names, Dockerfiles,
//! ignore patterns, Kubernetes objects, kubeconfig files, Compose projects, the rules for specs of API objects, and the
//! parts of Go's library that show through in them.
//!
//! Evaluation needs it to declare things, the other sides to build and deploy them, and neither the
//! other. Files are reached only through [`Files`], which the caller implements.

pub mod compose;
pub mod docker;
pub mod golang;
pub mod kube_config;
pub mod kubernetes;
pub mod v1alpha1;
pub mod yaml;

mod files;

pub use files::Files;
