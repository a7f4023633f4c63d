//! The name by which people called the program: usage, hints and errors say it back.

use std::{
    ffi::OsString,
    io::{self, IsTerminal},
    path::PathBuf,
    sync::OnceLock,
};

use engine_api::log::Style;

/// The name of the program, unless it was called by another one.
const OWN: &str = "engine";

/// Through a link of this name, every word is Tilt's.
const TILT: &str = "tilt";

static NAME: OnceLock<String> = OnceLock::new();

/// Takes the name from the first word of a command line, which may be a path; only the first call counts.
pub fn set_program(word: Option<OsString>) {
    let called = word.map(PathBuf::from);
    let name = called.as_deref().and_then(|it| it.file_stem()?.to_str());
    let name = name.filter(|it| !it.is_empty()).unwrap_or(OWN);
    NAME.get_or_init(|| name.to_owned());
}

/// The name that the program was called by, without its folder.
pub fn program() -> &'static str {
    NAME.get().map_or(OWN, String::as_str)
}

/// Whether the program stands in for Tilt.
pub fn is_tilt() -> bool {
    program() == TILT
}

/// The name in sentences: Tilt's own is a proper noun.
pub fn display_name() -> &'static str {
    if is_tilt() { "Tilt" } else { program() }
}

/// Whether stdout is for people who want colors: a terminal, and neither `NO_COLOR` nor `TERM` says otherwise.
pub fn has_colors() -> bool {
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
    io::stdout().is_terminal() && !is_plain && !is_dumb()
}

/// How log lines look on stdout; Tilt's have no colors.
pub fn log_style() -> Style {
    if has_colors() && !is_tilt() { Style::Colored } else { Style::Plain }
}

/// Whether the terminal can only print.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|it| it.is_empty() || it == "dumb")
}
