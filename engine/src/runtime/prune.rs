//! Docker prune while the engine runs: when it is due.

use std::time::{Duration, Instant};

use engine_model::{DockerPruneSettings, ImageTarget};
use tokio::task::JoinSet;

use super::Runtime;
use crate::{
    deploy::prune::{self, TITLE},
    logs::{Level, LogWriter},
};

/// The time between two prunes where the Tiltfile says nothing.
const DEFAULT_INTERVAL: Duration = Duration::from_hours(1);

/// What decides when the next prune is due.
#[derive(Debug, Default)]
pub(super) struct Pruning {
    /// What the main Tiltfile says; there is no pruning before it was loaded.
    pub(super) settings: Option<DockerPruneSettings>,
    /// How many updates have ended.
    pub(super) n_updates: i64,
    last: Option<Last>,
    /// The one that runs; ends with the engine.
    tasks: JoinSet<()>,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    at: Instant,
    n_updates: i64,
}

impl Pruning {
    /// The first time is after the first update, so that nothing waits for it when the engine starts.
    fn is_due(&self, now: Instant) -> bool {
        let Some(settings) = self.settings.as_ref().filter(|it| it.enabled) else { return false };
        let Some(last) = self.last else { return self.n_updates > 0 };
        if settings.num_builds != 0 {
            return self.n_updates - last.n_updates >= settings.num_builds;
        }
        let interval = match u64::try_from(settings.interval.0) {
            Ok(0) | Err(_) => DEFAULT_INTERVAL,
            Ok(nanos) => Duration::from_nanos(nanos),
        };
        now.duration_since(last.at) >= interval
    }
}

impl Runtime {
    /// Prunes if that is due, something is built here at all, and nothing is being updated.
    pub(super) fn prune_if_due(&mut self) {
        while self.pruning.tasks.try_join_next().is_some() {}
        let now = Instant::now();
        if !self.pruning.is_due(now) || !self.pruning.tasks.is_empty() {
            return;
        }
        let resources = self.scheduler.resources();
        let docker = self.docker.as_ref().and_then(|it| it.client.as_ref().ok());
        let (Some(docker), Some(settings)) = (docker, &self.pruning.settings) else { return };
        if resources.iter().any(|it| it.current.is_some()) {
            return;
        }
        let images = || {
            let images = resources.iter().filter_map(|it| it.manifest.image_targets.as_deref());
            images.flatten()
        };
        if !images().any(|it: &ImageTarget| prune::is_built(it)) {
            return;
        }
        let (request, docker) =
            (prune::request(settings, images(), self.cluster_registry().as_ref()), docker.clone());
        let log = self.logs.writer("", "");
        self.pruning.last = Some(Last { at: now, n_updates: self.pruning.n_updates });
        self.pruning.tasks.spawn(async move {
            match docker.prune(&request).await {
                Ok(report) => tell(&report, &log),
                Err(error) => log.info(&format!("{TITLE} error running docker prune: {error}")),
            }
        });
    }
}

fn tell(report: &engine_docker::PruneReport, log: &LogWriter) {
    for line in prune::lines(report, log.level() <= Level::Verbose) {
        if line.is_detail {
            log.debug(&line.text);
        } else {
            log.info(&line.text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine_model::Nanoseconds;

    fn pruning(settings: DockerPruneSettings) -> Pruning {
        Pruning { settings: Some(settings), ..Pruning::default() }
    }

    #[test]
    fn the_first_prune_comes_after_the_first_update_and_the_next_after_an_hour() {
        let now = Instant::now();
        let all = Pruning { n_updates: 1, ..Pruning::default() };
        assert!(!all.is_due(now), "before a Tiltfile was loaded");
        let mut all = pruning(DockerPruneSettings::default());
        assert!(!all.is_due(now));
        all.n_updates = 1;
        assert!(all.is_due(now));
        all.last = Some(Last { at: now, n_updates: 1 });
        all.n_updates = 50;
        assert!(!all.is_due(now + Duration::from_mins(59)));
        assert!(all.is_due(now + Duration::from_hours(1)));
    }

    #[test]
    fn a_number_of_updates_counts_instead_of_time() {
        let now = Instant::now();
        let mut all = pruning(DockerPruneSettings { num_builds: 3, ..Default::default() });
        all.last = Some(Last { at: now, n_updates: 1 });
        all.n_updates = 3;
        assert!(!all.is_due(now + Duration::from_hours(9)));
        all.n_updates = 4;
        assert!(all.is_due(now));
    }

    #[test]
    fn it_can_be_switched_off_or_made_more_frequent() {
        let now = Instant::now();
        let mut off = pruning(DockerPruneSettings { enabled: false, ..Default::default() });
        off.n_updates = 9;
        assert!(!off.is_due(now));
        let interval = Nanoseconds(60_000_000_000);
        let mut often = pruning(DockerPruneSettings { interval, ..Default::default() });
        often.last = Some(Last { at: now, n_updates: 1 });
        assert!(!often.is_due(now + Duration::from_secs(59)));
        assert!(often.is_due(now + Duration::from_mins(1)));
    }
}
