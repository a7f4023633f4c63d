//! Where a value sits in a Compose tree, and the patterns that pick values by their place.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use serde::Deserialize;

use super::ComposeError;
use super::table::{Block, blocks, variant};
use super::value::{Map, Value};

static TABLE: LazyLock<HashMap<&str, Block>> = LazyLock::new(|| blocks(include_str!("places.txt")));

/// The keys that lead to a value; list items are all `[]`.
#[derive(Debug, Clone, Default)]
pub(super) struct TreePath(Vec<String>);

/// What is done to a value and the place it sits at.
type Visit<'a> = &'a mut dyn FnMut(&mut Value, &mut TreePath) -> Result<(), ComposeError>;

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

    /// Visits the values of a mapping that sits here.
    pub(super) fn each_entry(
        &mut self,
        map: &mut Map,
        visit: Visit<'_>,
    ) -> Result<(), ComposeError> {
        map.iter_mut().try_for_each(|(key, value)| self.within(key, |path| visit(value, path)))
    }

    /// Visits the values of a mapping, or the items of a list, that sits here.
    pub(super) fn each_child(
        &mut self,
        value: &mut Value,
        visit: Visit<'_>,
    ) -> Result<(), ComposeError> {
        match value {
            Value::Map(map) => self.each_entry(map, visit),
            Value::Seq(items) => {
                items.iter_mut().try_for_each(|item| self.within_item(|path| visit(item, path)))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// What happens at some places, as a heading of `places.txt` says.
#[derive(Debug)]
pub(super) struct Places<T>(Vec<(Vec<&'static str>, T)>);

impl<T: Copy + Deserialize<'static>> Places<T> {
    /// Reads what is below `heading`.
    pub(super) fn read(heading: &str) -> Self {
        let block = TABLE.get(heading).expect("the table has every heading the program names");
        let places = block.lines.iter();
        Self(places.map(|(place, what)| (place.split('.').collect(), variant(what))).collect())
    }

    /// What happens at `path`.
    pub(super) fn at(&self, path: &TreePath) -> Option<T> {
        let fits = |pattern: &[&str]| {
            pattern.len() == path.0.len()
                && pattern.iter().zip(&path.0).all(|(want, part)| *want == "*" || want == part)
        };
        self.0.iter().find(|(pattern, _)| fits(pattern)).map(|(_, what)| *what)
    }
}
