//! What the engine and the helper in a container say to each other, and the helper itself, as bytes.
//!
//! The program is in `main.rs`. It is compiled by `build.rs` for the systems that run in containers, and
//! carried by whoever depends on this library; see [`carried`].

#[cfg(carries_helper)]
pub mod carried;
pub mod protocol;
pub mod restart;
