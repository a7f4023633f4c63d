//! What Tilt knows about images without asking Docker: names, which of them match, what a
//! Dockerfile refers to, and which files an ignore file leaves out. All of it is pure.

pub mod dockerfile;
pub mod ignore;
pub mod reference;
pub mod registry;
pub mod selector;
pub mod suggest;
