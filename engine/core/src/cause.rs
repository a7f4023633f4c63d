//! What led to an update, down to what happened outside: a file that somebody changed, a trigger, the start.
//!
//! A cause is linked when it takes effect, never looked up later: what a dependency did afterwards explains nothing.

use std::collections::HashSet;

use crate::{
    resource::{ChangedFile, LISTED, ResourceName, Suspect, Update, UpdateId},
    world::World,
};

/// Chains are followed so far; a loop has no end.
const MAX_DEPTH: usize = 16;

/// An update, and what led to it.
#[derive(Debug)]
pub struct Cause<'a> {
    /// The update.
    pub update: &'a Update,
    /// What it consumed; the first [`LISTED`].
    pub files: Vec<FileCause<'a>>,
    /// The dependency that it waited for last.
    pub waited_for: Option<Box<Explained<'a>>>,
}

/// A changed file, and the updates that may have changed it.
#[derive(Debug)]
pub struct FileCause<'a> {
    /// The change.
    pub change: &'a ChangedFile,
    /// The updates that were running at that time.
    pub during: Vec<Explained<'a>>,
}

/// An update of a resource, with what led to it unless that is told elsewhere or forgotten.
#[derive(Debug)]
pub struct Explained<'a> {
    /// The resource.
    pub resource: &'a ResourceName,
    /// Its update.
    pub update: Option<UpdateId>,
    /// What led to that.
    pub cause: Option<Cause<'a>>,
}

/// Follows causes; whatever led to several things is told once.
#[derive(Debug)]
pub struct Causes<'a> {
    world: &'a World,
    told: HashSet<UpdateId>,
}

impl<'a> Causes<'a> {
    /// Nothing is told yet.
    pub fn new(world: &'a World) -> Self {
        Self { world, told: HashSet::new() }
    }

    /// What led to an update.
    pub fn of(&mut self, update: &'a Update) -> Cause<'a> {
        self.cause(update, 0)
    }

    /// What led to changes that wait for an update.
    pub fn of_files(&mut self, files: impl Iterator<Item = &'a ChangedFile>) -> Vec<FileCause<'a>> {
        files.take(LISTED).map(|it| self.file(it, 0)).collect()
    }

    fn cause(&mut self, update: &'a Update, depth: usize) -> Cause<'a> {
        self.told.insert(update.id);
        let files = update.changes.iter().take(LISTED).map(|it| self.file(it, depth)).collect();
        let waited_for = update.released_by.as_ref();
        let waited_for =
            waited_for.map(|it| Box::new(self.explained(&it.resource, it.update, depth)));
        Cause { update, files, waited_for }
    }

    fn file(&mut self, change: &'a ChangedFile, depth: usize) -> FileCause<'a> {
        let during = change
            .suspects
            .iter()
            .map(|Suspect { resource, update, .. }| self.explained(resource, Some(*update), depth));
        FileCause { change, during: during.collect() }
    }

    fn explained(
        &mut self,
        resource: &'a ResourceName,
        update: Option<UpdateId>,
        depth: usize,
    ) -> Explained<'a> {
        let updates = self.world.resource(resource).into_iter();
        let mut updates = updates.flat_map(|it| it.current.iter().chain(&it.history));
        let found = updates.find(|it| Some(it.id) == update);
        let is_news = |it: &&Update| depth < MAX_DEPTH && !self.told.contains(&it.id);
        let cause = found.filter(is_news).map(|it| self.cause(it, depth + 1));
        Explained { resource, update, cause }
    }
}
