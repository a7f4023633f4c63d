//! Docker prune while the engine runs: when it is due.

use std::{sync::Arc, time::Duration};

use engine_model::{BuildDetails, DockerPruneSettings, ImageTarget, Time};

use crate::{
    resource::Resource,
    world::{DockerAction, World},
};

/// The time between two prunes where the Tiltfile says nothing.
const DEFAULT_INTERVAL: Duration = Duration::from_hours(1);

/// What decides when the next prune is due.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pruning {
    /// What the main Tiltfile says; there is no pruning before it was loaded.
    pub(crate) settings: Option<DockerPruneSettings>,
    /// How many updates have ended.
    pub(crate) n_updates: i64,
    /// Whether a prune is going on.
    pub(crate) is_running: bool,
    last: Option<LastPrune>,
}

#[derive(Clone, Copy, Debug)]
struct LastPrune {
    at: Time,
    n_updates: i64,
}

impl Pruning {
    /// The first time is after the first update, so that nothing waits for it when the engine starts.
    fn is_due(&self, now: Time) -> bool {
        let Some(settings) = self.settings.as_ref().filter(|it| it.enabled) else { return false };
        let Some(last) = self.last else { return self.n_updates > 0 };
        if settings.num_builds != 0 {
            return self.n_updates - last.n_updates >= settings.num_builds;
        }
        let interval = match u64::try_from(settings.interval.0) {
            Ok(0) | Err(_) => DEFAULT_INTERVAL,
            Ok(nanos) => Duration::from_nanos(nanos),
        };
        let passed = u64::try_from(now.micros_since(last.at)).unwrap_or_default();
        Duration::from_micros(passed) >= interval
    }
}

impl World {
    /// Prunes if that is due, something is built here at all, and nothing is being updated.
    pub(crate) fn prune_if_due(&mut self, now: Time) {
        if self.pruning.is_running || !self.pruning.is_due(now) {
            return;
        }
        let resources = self.resources();
        if resources.iter().any(|it| it.current.is_some()) {
            return;
        }
        let is_built = |it: &ImageTarget| !matches!(it.build_details, BuildDetails::Compose(_));
        if !resources.iter().flat_map(Resource::images).any(is_built) {
            return;
        }
        let Some(settings) = self.pruning.settings.clone() else { return };
        let manifests = resources.iter().map(|it| Arc::clone(&it.manifest)).collect();
        self.pruning.last = Some(LastPrune { at: now, n_updates: self.pruning.n_updates });
        self.pruning.is_running = true;
        self.do_with_docker(DockerAction::Prune { settings, manifests });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine_model::Nanoseconds;

    const MINUTE: i64 = 60_000_000;

    fn pruning(settings: DockerPruneSettings) -> Pruning {
        Pruning { settings: Some(settings), ..Pruning::default() }
    }

    #[test]
    fn the_first_prune_comes_after_the_first_update_and_the_next_after_an_hour() {
        let now = Time(0);
        let all = Pruning { n_updates: 1, ..Pruning::default() };
        assert!(!all.is_due(now), "before a Tiltfile was loaded");
        let mut all = pruning(DockerPruneSettings::default());
        assert!(!all.is_due(now));
        all.n_updates = 1;
        assert!(all.is_due(now));
        all.last = Some(LastPrune { at: now, n_updates: 1 });
        all.n_updates = 50;
        assert!(!all.is_due(Time(59 * MINUTE)));
        assert!(all.is_due(Time(60 * MINUTE)));
    }

    #[test]
    fn a_number_of_updates_counts_instead_of_time() {
        let now = Time(0);
        let mut all = pruning(DockerPruneSettings { num_builds: 3, ..Default::default() });
        all.last = Some(LastPrune { at: now, n_updates: 1 });
        all.n_updates = 3;
        assert!(!all.is_due(Time(540 * MINUTE)));
        all.n_updates = 4;
        assert!(all.is_due(now));
    }

    #[test]
    fn it_can_be_switched_off_or_made_more_frequent() {
        let now = Time(0);
        let mut off = pruning(DockerPruneSettings { enabled: false, ..Default::default() });
        off.n_updates = 9;
        assert!(!off.is_due(now));
        let interval = Nanoseconds(60_000_000_000);
        let mut often = pruning(DockerPruneSettings { interval, ..Default::default() });
        often.last = Some(LastPrune { at: now, n_updates: 1 });
        assert!(!often.is_due(Time(MINUTE - 1)));
        assert!(often.is_due(Time(MINUTE)));
    }
}
