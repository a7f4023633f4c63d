//! Each rule of live update on its own: a small world of text in, a transcript out.

use std::{fmt::Write, sync::Arc};

use engine_model::{LiveUpdateExec, LiveUpdateSpec, LiveUpdateSync, TargetId};
use expect_test::Expect;

use super::*;

mod ahead;
mod containers;
mod files;

/// A live update with a few files, containers and a clock that counts steps.
struct Rig {
    live_update: LiveUpdate,
    source: TargetId,
    now: Time,
    roots: Roots,
    log: String,
    latest: SyncId,
    last: Vec<(SyncId, Arc<SyncPlan>)>,
}

fn sync(local: &str, container: &str) -> LiveUpdateSync {
    LiveUpdateSync { local_path: local.into(), container_path: container.into() }
}

fn exec(argv: &[&str], triggers: &[&str]) -> LiveUpdateExec {
    let strings = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    LiveUpdateExec {
        args: Some(strings(argv)),
        trigger_paths: (!triggers.is_empty()).then(|| strings(triggers)),
        echo_off: false,
    }
}

fn spec() -> LiveUpdateSpec {
    LiveUpdateSpec {
        base_path: "/p".into(),
        stop_paths: vec!["src/package.json".into()],
        syncs: vec![sync("src", "/app"), sync("conf.yaml", "/etc/app/")],
        execs: vec![exec(&["sh", "-c", "make all"], &[]), exec(&["pip"], &["src/reqs"])],
        ..LiveUpdateSpec::default()
    }
}

fn definition(spec: &LiveUpdateSpec, mode: UpdateMode, source: &TargetId) -> Definition {
    let (rules, sources) = (Rules::new(spec), vec![source.clone()]);
    Definition { rules, mode, sources, ..Definition::default() }
}

fn pod(name: &str, id: &str) -> Container {
    Container { namespace: "ns".into(), pod: name.into(), name: "c".into(), id: id.into() }
}

fn observed(name: &str, id: &str, state: ContainerState) -> Observed {
    Observed { container: pod(name, id), state }
}

impl Rig {
    fn new(spec: &LiveUpdateSpec, mode: UpdateMode) -> Self {
        let source = TargetId::Image("app".into());
        let definition = definition(spec, mode, &source);
        Self {
            live_update: LiveUpdate::new(definition, "/p".into()),
            source,
            now: Time(0),
            roots: [("/p/src".into(), Root::Directory), ("/p/conf.yaml".into(), Root::File)].into(),
            log: String::new(),
            latest: SyncId::default(),
            last: Vec::new(),
        }
    }

    fn running(spec: &LiveUpdateSpec) -> Self {
        let mut world = Self::new(spec, UpdateMode::Auto);
        world.containers(&[("pod", "id1", ContainerState::Running)]);
        world
    }

    fn containers(&mut self, all: &[(&str, &str, ContainerState)]) {
        let all = all.iter().map(|(name, id, state)| observed(name, id, *state)).collect();
        self.live_update.containers_observed(all);
        self.step();
    }

    fn change(&mut self, files: &[&str]) {
        self.change_to(&files.iter().map(|it| (*it, Found::PRESENT)).collect::<Vec<_>>());
    }

    fn change_to(&mut self, files: &[(&str, Found)]) {
        self.now.0 += 1;
        let files = files.iter().map(|(file, found)| ((*file).into(), *found));
        self.live_update.files_changed(&self.source, self.now, files);
        self.step();
    }

    /// Every container of the last update answers the same.
    fn end(&mut self, outcome: &Outcome) {
        let begun = std::mem::take(&mut self.last);
        assert!(!begun.is_empty(), "an update has begun");
        for (id, plan) in begun {
            let ended = plan.containers.iter().map(|it| (it.clone(), outcome.clone()));
            let _ = self.live_update.sync_ended(id, ended.collect());
        }
        self.step();
    }

    fn end_well(&mut self) {
        self.end(&Outcome::Synced { exec_error: None });
    }

    fn build(&mut self) {
        self.now.0 += 1;
        self.live_update.image_built(&self.source, self.now);
        self.step();
    }

    /// The image turns out to be as it was built before.
    fn keep(&mut self) {
        self.now.0 += 1;
        self.live_update.image_kept(&self.source, self.now, self.now);
        self.step();
    }

    fn step(&mut self) {
        self.now.0 += 1;
        self.live_update.roots_found(&self.roots);
        let steps = self.live_update.step(self.now, &mut self.latest).unwrap_or_default();
        if steps.is_empty() {
            self.log.push_str("nothing\n");
        }
        for step in steps {
            match step {
                SyncStep::ListFiles => self.log.push_str("list files\n"),
                SyncStep::FallBack(failed) => {
                    self.log.push_str(&failed.failure.log_line("\"app:img\"").unwrap_or_default());
                    self.log.push('\n');
                }
                SyncStep::Sync { id, plan } => {
                    self.show(&plan);
                    self.last.push((id, plan));
                }
            }
        }
    }

    fn show(&mut self, update: &SyncPlan) {
        for line in update.announcement() {
            self.log.push_str(&line);
            self.log.push('\n');
        }
        for run in &update.runs {
            writeln!(self.log, "run {:?}", run.argv).unwrap();
        }
        if update.restarts {
            self.log.push_str("restart\n");
        }
    }

    fn statuses(&mut self) {
        let status = self.live_update.status();
        for it in &status.containers {
            let name = it.container.display_name();
            let waiting = it.waiting.map(Waiting::reason);
            let synced = it.last_file_time_synced.map(|it| it.0);
            let error = &it.last_exec_error;
            writeln!(self.log, "{name} synced={synced:?} waiting={waiting:?} error={error:?}")
                .unwrap();
        }
        if let Some(failed) = &status.failed {
            let reason = failed.failure.reason.as_str();
            writeln!(self.log, "failed: {reason} since {}", failed.since.0).unwrap();
        }
    }

    fn check(self, expected: &Expect) {
        expected.assert_eq(&self.log);
    }
}
