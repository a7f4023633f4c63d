//! The real program on real projects. One binary for all of it, so that the engine is linked into tests once:
//! `cargo test -p engine --test engine MODULE::` runs one module.
//!
//! All tests share a process, so none changes its environment, limits or signals. A test that has to be the engine
//! itself starts this binary once more (`processes::stand_in`, `up::defects::stand_in`).

mod cluster;
mod docker;
mod hostile;
mod limits;
mod lsp;
mod page;
mod processes;
mod reasons;
mod support;
mod up;
