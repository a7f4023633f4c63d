//! What the whole project promises, checked from outside: on the built engine and on the repository.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cases;
mod examples;
mod policy;
mod stdlib;

use std::path::{Path, PathBuf};

/// The top folder of the repository.
fn repository() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("the package lies in the repository").to_owned()
}

/// The engine under test.
fn engine() -> PathBuf {
    conformance_tests::engine_binary().unwrap_or_else(|error| {
        panic!("{error}\nbuild it first with `cargo build --release -p engine`, or run `make test`")
    })
}
