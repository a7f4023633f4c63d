//! What containers can have before it is known all that changes.

use engine_model::FilePath;

use super::{
    LiveUpdate, UpdateMode, container::ContainerState, plan::SyncPlan, round::last_of_each_path,
};

/// Files of a burst that need not wait for its end.
#[derive(Clone, Debug, Default)]
pub(super) struct Ahead {
    /// Those that go once the ones before them have gone.
    waiting: Vec<FilePath>,
    /// Whether some are on their way.
    is_going: bool,
}

impl Ahead {
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }
}

impl LiveUpdate {
    /// These files seem to be complete while others of the same burst still change; what can go ahead now is returned.
    pub fn files_changing(&mut self, files: &[FilePath]) -> Option<SyncPlan> {
        self.ahead.waiting.extend_from_slice(files);
        self.go_ahead()
    }

    /// Files have gone ahead, or not; what can follow them is returned.
    pub fn went_ahead(&mut self) -> Option<SyncPlan> {
        self.ahead.is_going = false;
        self.go_ahead()
    }

    fn go_ahead(&mut self) -> Option<SyncPlan> {
        if self.ahead.is_going || self.ahead.waiting.is_empty() {
            return None;
        }
        let files = std::mem::take(&mut self.ahead.waiting);
        let plan = self.plan_ahead(files)?;
        self.ahead.is_going = true;
        Some(plan)
    }

    /// A copy of files that have changed while others of the same burst still change, if that does no harm. It
    /// decides nothing: the same files are told to [`LiveUpdate::files_changed`] when the burst has ended, and then
    /// there is less to send.
    fn plan_ahead(&mut self, files: Vec<FilePath>) -> Option<SyncPlan> {
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
        let mappings = self.rules.map(&files, &self.roots, &self.cwd).ok()?;
        if containers.is_empty() || mappings.is_empty() {
            return None;
        }
        for container in &containers {
            self.tracked.entry(container.clone()).or_default().is_touched = true;
        }
        Some(SyncPlan {
            containers,
            files,
            copies: last_of_each_path(mappings),
            ..SyncPlan::default()
        })
    }
}
