//! What `why` tells is true: whatever is named as a cause happened, and happened first.
//!
//! Order is the order of steps, since a clock may be set back.

use std::collections::BTreeMap;

use engine_model::{FilePath, ResourceName};

use crate::{
    cause::{Cause, Causes, Explained, FileCause},
    live_update::Found,
    reason::Reason,
    resource::UpdateId,
    time::Time,
    world::{Event, World},
};

/// An update as it was seen from outside.
struct Seen {
    resource: ResourceName,
    start: u64,
    /// The step in which it ended, and whether well.
    end: Option<(u64, bool)>,
    started: Time,
    ended: Option<Time>,
}

/// When a file changed.
struct Change {
    made: Time,
    /// It may have been made so many milliseconds earlier.
    echo: i64,
}

/// A second account of what happened when.
#[derive(Default)]
pub(super) struct History {
    step: u64,
    updates: BTreeMap<UpdateId, Seen>,
    changes: BTreeMap<(ResourceName, FilePath), Vec<(u64, Change)>>,
    /// The step in which a resource of that name was first ready.
    ready: BTreeMap<ResourceName, u64>,
    /// How often a cause was found of a kind that is worth looking at.
    pub(super) n_linked: u64,
}

impl History {
    /// Takes in what happens, before the world does.
    pub(super) fn happens(&mut self, event: &Event) {
        self.step += 1;
        if let Event::FilesChanged { resource, files, at, .. } = event {
            for (file, found) in files {
                let key = (resource.clone(), file.clone());
                let change = match found {
                    Found::Present { changed: Some(made) } => Change { made: *made, echo: 0 },
                    Found::Present { .. } | Found::Absent => Change { made: *at, echo: 50 },
                };
                self.changes.entry(key).or_default().push((self.step, change));
            }
        }
    }

    /// Takes in that an update starts.
    pub(super) fn starts(&mut self, now: Time, id: UpdateId, resource: &ResourceName) {
        let (start, resource) = (self.step, resource.clone());
        let seen = Seen { resource, start, end: None, started: now, ended: None };
        self.updates.entry(id).or_insert(seen);
    }

    /// Compares what the world would tell about everything that has changed.
    pub(super) fn check(&mut self, now: Time, world: &World) {
        for resource in world.resources() {
            self.take_in(now, resource);
            if resource.last_ready.is_some() {
                self.ready.entry(resource.name.clone()).or_insert(self.step);
            }
        }
        for resource in world.resources() {
            if let Some(update) = resource.current.as_ref().or(resource.history.front()) {
                self.check_cause(&resource.name, &Causes::new(world).of(update));
            }
            for file in Causes::new(world).of_files(resource.pending.iter()) {
                self.check_file(&resource.name, &file, u64::MAX);
            }
        }
    }

    fn take_in(&mut self, now: Time, resource: &crate::resource::Resource) {
        let step = self.step;
        for update in resource.current.iter().chain(&resource.history) {
            self.starts(update.started, update.id, &resource.name);
            let seen = self.updates.get_mut(&update.id).expect("it has just started");
            if let Some(end) = update.end.as_ref().filter(|_| seen.ended.is_none()) {
                assert_eq!(end.at, now, "an end is told when it happens");
                seen.ended = Some(end.at);
                seen.end = Some((step, end.error.is_none()));
            }
        }
        // What was cancelled without a trace is over, too.
        let current = resource.current.as_ref().map(|it| it.id);
        let running = self.updates.iter_mut().filter(|(id, it)| {
            it.ended.is_none() && it.resource == resource.name && Some(**id) != current
        });
        for (_, it) in running {
            it.ended = Some(now);
            it.end = Some((step, false));
        }
    }

    fn check_cause(&mut self, name: &ResourceName, cause: &Cause<'_>) {
        let seen = self.updates.get(&cause.update.id).expect("it was seen to start");
        assert_eq!(seen.resource, *name, "of whom the update is");
        let start = seen.start;
        for file in &cause.files {
            self.check_file(name, file, start);
        }
        let reason = cause.update.reason;
        if reason == Reason::FILES {
            assert!(!cause.update.changes.is_empty(), "{name}: files are the only reason");
        }
        if let Some(dep) = &cause.waited_for {
            self.n_linked += 1;
            let ready = self.ready.get(dep.resource);
            assert!(ready.is_some_and(|it| *it <= start), "{} was not ready", dep.resource);
            let run = dep.update.and_then(|it| self.updates.get(&it));
            if let Some(run) = run {
                let (end, is_ok) = run.end.expect("what made it ready has ended");
                assert!(is_ok, "{name} waited for a success");
                assert!(end <= start, "{name} ran before the update that it waited for ended");
            }
            self.check_explained(dep, start);
        }
    }

    fn check_file(&mut self, name: &ResourceName, file: &FileCause<'_>, before: u64) {
        let key = (name.clone(), file.change.path.clone());
        let changes = self.changes.get(&key).expect("the change was told");
        let mut told = changes.iter().filter(|it| it.0 <= before).peekable();
        assert!(told.peek().is_some(), "{name} ran before {} changed", key.1);
        for during in &file.during {
            let id = during.update.expect("it has a number");
            let run = self.updates.get(&id).expect("it was seen to start");
            let has_overlap = told.clone().any(|(step, change)| {
                let is_in_time = run.started <= change.made.plus_millis(10)
                    && run.ended.is_none_or(|it| change.made.plus_millis(-change.echo) <= it);
                // A clock that was set back in between says nothing.
                let was_running = run.start <= *step && run.end.is_none_or(|it| *step <= it.0);
                is_in_time || was_running
            });
            assert!(has_overlap, "{} was not updating when {} changed", during.resource, key.1);
        }
        for during in &file.during {
            self.n_linked += 1;
            self.check_explained(during, before);
        }
    }

    fn check_explained(&mut self, explained: &Explained<'_>, before: u64) {
        let Some(id) = explained.update else { return };
        let run = self.updates.get(&id).expect("it was seen to start");
        assert_eq!(run.resource, *explained.resource, "whose update it is");
        assert!(run.start <= before, "a cause is later than its effect");
        if let Some(cause) = &explained.cause {
            self.check_cause(explained.resource, cause);
        }
    }
}
