//! What containers take: it starts, ends and gives way within a step, so the account follows what is so afterwards.

use std::collections::BTreeSet;

use engine_model::FilePath;

use super::{Model, enqueue};
use crate::{
    effect::{LineKind, LogLine},
    resource::EnableState,
    world::World,
};

impl Model {
    /// Notes whose containers take changes, and that they may.
    pub(in super::super) fn begins(&mut self, lines: &[LogLine]) {
        let live = self.resources.iter().filter(|(_, it)| it.live.is_some());
        self.live = live.map(|(name, _)| name.clone()).collect();
        for line in lines.iter().filter(|it| it.kind == LineKind::BuildEvent) {
            let it = self.resources.get(&line.resource).expect("only known resources update");
            assert_ne!(it.enable, EnableState::Disabled, "{} is disabled", line.resource);
            assert!(it.running.is_none(), "{} is being built", line.resource);
            assert!(it.last_good.is_some(), "{} was never deployed", line.resource);
            self.live.insert(line.resource.clone());
        }
    }

    /// Takes over what became of updates of containers.
    pub(in super::super) fn follow(&mut self, world: &World) {
        for name in std::mem::take(&mut self.live) {
            let (Some(it), Some(real)) = (self.resources.get_mut(&name), world.resource(&name))
            else {
                continue;
            };
            let pending: BTreeSet<FilePath> =
                real.pending.iter().map(|it| it.path.clone()).collect();
            let current = real.current.as_ref();
            let taken: BTreeSet<&FilePath> = current.iter().flat_map(|it| &it.files).collect();
            let is_known = |file: &FilePath| pending.contains(file) || taken.contains(file);
            let has_all = current.is_none() || it.changed.iter().all(is_known);
            assert!(has_all, "a change of {name} is lost");
            it.live = current.filter(|it| it.is_live).map(|it| it.started);
            it.changed = pending;
            it.triggered = real.triggered;
            it.waits_for_deps = real.gated;
            it.last = real.history.front().map(|it| {
                let end = it.end.as_ref().expect("it has ended");
                end.error.is_none()
            });
            it.last_good = real.last_good;
            it.last_success = real.last_success;
            it.was_ready = real.last_ready.is_some();
            if it.triggered.is_empty() {
                self.queue.retain(|it| *it != name);
            } else {
                enqueue(&mut self.queue, &name);
            }
        }
    }
}
