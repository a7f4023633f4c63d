//! Suggests commands for a mistyped one: those within a small edit distance, or with the same prefix.

use clap::Command;
use engine_formats::golang::spell::distance;

/// How many letters may differ.
const NEAR: usize = 2;

/// The hint below the message, empty if nothing comes close.
pub(super) fn text(root: &Command, typed: &str) -> String {
    let near: Vec<&str> = root
        .get_subcommands()
        .filter(|it| !it.is_hide_set())
        .map(Command::get_name)
        .filter(|name| is_near(typed, name))
        .collect();
    if near.is_empty() {
        return String::new();
    }
    let mut text = "\n\nDid you mean this?\n".to_owned();
    for name in near {
        text.push_str(&format!("\t{name}\n"));
    }
    text
}

fn is_near(typed: &str, name: &str) -> bool {
    let typed = typed.to_lowercase();
    name.starts_with(&typed) || distance(typed.as_bytes(), name.as_bytes()) <= NEAR
}
