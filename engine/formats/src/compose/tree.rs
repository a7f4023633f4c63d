//! Where a value sits in a Compose tree, and the patterns that pick values by their place.

use std::fmt;

/// The keys that lead to a value; list items are all `[]`.
#[derive(Debug, Clone, Default)]
pub(super) struct TreePath(Vec<String>);

impl TreePath {
    pub(super) fn of(parts: &[&str]) -> Self {
        Self(parts.iter().map(|part| (*part).to_owned()).collect())
    }

    /// Runs `visit` one level down, at `key`.
    pub(super) fn within<T>(&mut self, key: &str, visit: impl FnOnce(&mut Self) -> T) -> T {
        self.0.push(key.to_owned());
        let result = visit(self);
        self.0.pop();
        result
    }

    /// Runs `visit` one level down, at any item of a list.
    pub(super) fn within_item<T>(&mut self, visit: impl FnOnce(&mut Self) -> T) -> T {
        self.within("[]", visit)
    }

    pub(super) fn matches(&self, pattern: &Pattern) -> bool {
        pattern.0.len() == self.0.len()
            && pattern.0.iter().zip(&self.0).all(|(want, part)| *want == "*" || want == part)
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// Keys to compare a [`TreePath`] with, `*` for any.
#[derive(Debug)]
pub(super) struct Pattern(pub(super) &'static [&'static str]);

/// The first entry of `table` whose pattern matches `path`.
pub(super) fn lookup<T: Copy>(table: &[(Pattern, T)], path: &TreePath) -> Option<T> {
    table.iter().find(|(pattern, _)| path.matches(pattern)).map(|(_, found)| *found)
}
