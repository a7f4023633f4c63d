//! Pure knowledge of formats that Tiltfiles, Docker and Kubernetes share: image names, Dockerfiles,
//! ignore patterns, the order of kinds, and the parts of Go's library that show through in them.
//!
//! Evaluation needs it to declare things, the other sides to build and deploy them, and neither the
//! other.

pub mod docker;
pub mod golang;
pub mod kubernetes;
