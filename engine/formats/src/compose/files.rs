//! Path arithmetic on text, the way Compose does it: purely lexical, always with slashes.

use crate::golang::path;

pub(super) use path::{base, clean, dir, is_abs};

/// `path` inside `base`, cleaned; empty parts do not count.
pub(super) fn join(base: &str, path: &str) -> String {
    path::join(&[base, path])
}

/// How to reach `target` from `base`; none when that cannot be told from the texts.
pub(super) fn rel(base: &str, target: &str) -> Option<String> {
    path::rel(base, target).ok()
}

/// Whether `path` is absolute on Windows: `C:\x`, `\\host\share`.
pub(super) fn is_windows_abs(path: &str) -> bool {
    let separator = |byte: u8| byte == b'\\' || byte == b'/';
    let bytes = path.as_bytes();
    match bytes {
        [first, second, ..] if separator(*first) && separator(*second) => true,
        [_, b':', third, ..] => separator(*third),
        _ => false,
    }
}
