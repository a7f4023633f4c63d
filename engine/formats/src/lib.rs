//! Pure knowledge of formats that Tiltfiles and Docker share: image names, Dockerfiles, ignore
//! patterns, and the parts of Go's library that show through in them.
//!
//! Evaluation needs it to declare images, the Docker side to build them, and neither the other.

pub mod docker;
pub mod golang;
