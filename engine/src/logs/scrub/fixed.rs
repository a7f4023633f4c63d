//! What the engine itself says, as its sources have it: nobody's secret, even if somebody has such a value.

use std::sync::LazyLock;

/// The texts that are in the sources of the program, of several words each.
pub(super) fn texts() -> &'static [&'static str] {
    static TEXTS: LazyLock<Vec<&str>> =
        LazyLock::new(|| include_str!(concat!(env!("OUT_DIR"), "/fixed_texts")).lines().collect());
    &TEXTS
}
