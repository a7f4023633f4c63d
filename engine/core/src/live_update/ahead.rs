//! What containers can have before it is known all that changes.

use std::sync::Arc;

use super::{
    LiveUpdate, UpdateMode, container::ContainerState, plan::Update, round::last_of_each_path,
    rules::Root,
};

impl LiveUpdate {
    /// A copy of files that have changed while others of the same burst still change, if that does no harm. It
    /// decides nothing: the same files are told to [`LiveUpdate::files_changed`] when the burst has ended, and then
    /// there is less to send.
    #[must_use]
    pub fn ahead(&mut self, files: &[Arc<str>], roots: &[Root]) -> Option<Update> {
        // Where a file that is yet to come may ask for a build, containers stay as they are.
        if self.mode == UpdateMode::Manual
            || self.status.failed.is_some()
            || self.rules.has_stop_paths()
        {
            return None;
        }
        let running = self.observed.iter().filter(|it| {
            let is_running = it.state == ContainerState::Running && !it.container.id.is_empty();
            is_running && !self.is_initial(&it.container)
        });
        let containers: Vec<_> = running.map(|it| it.container.clone()).collect();
        let mappings = self.rules.map(files, roots, &self.cwd).ok()?;
        if containers.is_empty() || mappings.is_empty() {
            return None;
        }
        for container in &containers {
            self.tracked.entry(container.clone()).or_default().is_touched = true;
        }
        Some(Update {
            containers,
            files: files.to_vec(),
            copies: last_of_each_path(mappings),
            ..Update::default()
        })
    }
}
