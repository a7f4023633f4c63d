//! The name by which people called the program: usage, hints and errors say it back.

use std::{path::PathBuf, sync::OnceLock};

/// The name of the program, unless it was called by another one.
const OWN: &str = "engine";

/// Through a link of this name, every word is Tilt's.
const TILT: &str = "tilt";

/// The last part of the path that the program was called by.
#[must_use]
pub fn program() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let called = std::env::args_os().next().map(PathBuf::from);
        let name = called.as_deref().and_then(|it| it.file_stem()?.to_str());
        name.filter(|it| !it.is_empty()).unwrap_or(OWN).to_owned()
    })
}

/// Whether the program stands in for Tilt.
#[must_use]
pub fn is_tilt() -> bool {
    program() == TILT
}
