//! Takes in what Tiltfiles say, and declares their objects.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use builtins::diagnostic::Failure;
use engine_cli::is_tilt;
use engine_core::{
    Event, Loaded, Time,
    objects::ObjectEvent,
    resource::{EnableState, ResourceName},
    tiltfile::{LoadError, MAIN},
    world::DockerEvent,
};
use engine_model::{Load, Manifest, ObjectId, WatchTarget};
use engine_view::declare::{self, Declaration, Declarer};

use super::{Mode, Runtime, clock, names};
use crate::{
    drivers::load::LoadedTiltfile,
    exec::env::Colors,
    logs::{Level, LogWriter},
    report,
};

/// What a Tiltfile says that opts out of usage reports.
const OPTED_OUT: u8 = 1;

/// A Tiltfile that declares objects.
#[derive(Debug)]
pub(super) struct Declared {
    /// Where it is.
    pub(super) path: String,
    /// Labels of everything it declares.
    pub(super) labels: BTreeMap<String, String>,
}

/// What became of the objects of a load.
#[derive(Debug, Default)]
struct DeclaredLoad {
    /// Which resources take part.
    enabled: HashMap<ResourceName, EnableState>,
    /// Objects that the Tiltfile does not declare any more.
    gone: Vec<ObjectId>,
    /// What it and its resources watch.
    targets: Vec<WatchTarget>,
}

impl Runtime {
    pub(super) fn on_load(&mut self, loaded: LoadedTiltfile) {
        let name = loaded.tiltfile.clone();
        self.drivers.set_loading(&name, false);
        let error = loaded.error();
        let is_good = error.is_none();
        self.drivers.loads.ended(&loaded, is_good && self.tiltfiles.contains_key(&name));
        if !self.tiltfiles.contains_key(&name) {
            return;
        }
        let LoadedTiltfile { id, resets_switches, evaluation, log, started, .. } = loaded;
        let load = evaluation.load;
        let cluster = evaluation.cluster;
        let kubeconfig = cluster.as_ref().and_then(|it| it.path.as_ref());
        if let Some(from) = kubeconfig.filter(|_| self.drivers.kubernetes.pinned().is_none()) {
            let port = self.drivers.settings.port;
            self.drivers.environment.pin_kubeconfig(from, port, &log);
        }
        self.drivers.logs.add_secrets(&load.secrets, clock::to_system(started));
        self.report_load(started, load.analytics_opt);
        if &*name == MAIN {
            self.publisher.load_ui_session(&load, is_good, &self.drivers.settings.info());
            let settings = load.docker_prune_settings.clone();
            self.step(Event::Docker(DockerEvent::PruneConfigured { settings }));
            self.drivers.kubernetes.set_default_registry(&load, is_good);
        }
        let DeclaredLoad { enabled, gone, targets } =
            self.declare_load(&name, &load, is_good, resets_switches);
        let found = evaluation.repositories;
        self.step(Event::Object(ObjectEvent::ReposLoaded { found }));
        if let Some(error) = &error {
            self.log_failure(&log, error, evaluation.failure.as_ref());
        }
        let result = match error {
            Some(LoadError::Tiltfile(report)) => {
                let scrubber = self.drivers.logs.scrubber();
                let report = report.edited(&|it| scrubber.scrub(it).into_owned());
                Err(LoadError::Tiltfile(Box::new(report)))
            }
            Some(error) => Err(error),
            None => {
                let max_parallel = usize::try_from(load.update_settings.max_parallel_updates).ok();
                Ok(Loaded {
                    manifests: load.manifests.into_iter().map(Arc::new).collect(),
                    enabled,
                    max_parallel: max_parallel.filter(|_| &*name == MAIN),
                })
            }
        };
        self.step(Event::LoadEnded { id, result });
        self.remove_objects(gone);
        self.drivers.find_cluster(&self.world, cluster.as_ref());
        self.step_drivers();
        self.drivers.find_live_containers(&self.world);
        self.step_drivers();
        self.step(Event::Object(ObjectEvent::TargetsDeclared { tiltfile: name, targets, is_good }));
        // Most of what a load needs is not needed again until the next one.
        crate::platform::code::release();
    }

    /// Writes Tilt's words to the log, and shows more on the terminal, unless the engine stands in for Tilt.
    fn log_failure(&self, log: &LogWriter, error: &LoadError, failure: Option<&Failure>) {
        // A message that ends its last line itself is followed by an empty one.
        let line = format!("{error}\n");
        match failure.filter(|_| matches!(error, LoadError::Tiltfile(_)) && !is_tilt()) {
            None => log.write(Level::Error, &line),
            Some(failure) => {
                let is_colored = self.drivers.settings.colors == Colors::On;
                let excerpts = report::excerpts(failure, is_colored);
                let excerpts = self.drivers.logs.scrubber().scrub(&excerpts).into_owned();
                log.write_noted(Level::Error, &line, &excerpts);
            }
        }
    }

    /// The main Tiltfile, before it has run.
    pub(super) fn declare_session(&mut self) {
        for draft in declare::main(&self.drivers.settings.declare(), &self.drivers.settings.args) {
            self.publisher.put(draft);
        }
        self.publisher.publish_ui_session(&self.drivers.settings.info());
        let declared =
            Declared { path: self.drivers.settings.tiltfile.clone(), labels: BTreeMap::new() };
        self.tiltfiles.insert(MAIN.into(), declared);
    }

    /// What there is of a Tiltfile before its first run: enough to see it, and to notice that it changes.
    pub(super) fn declare_tiltfile(&mut self, name: &ResourceName) {
        let Some(declared) = self.tiltfiles.get(name) else { return };
        let mut load = Load::default();
        if !declared.path.is_empty() {
            load.config_files = vec![declared.path.clone()];
        }
        let targets = self.declare_load(name, &load, false, false).targets;
        let (tiltfile, is_good) = (name.clone(), false);
        self.step(Event::Object(ObjectEvent::TargetsDeclared { tiltfile, targets, is_good }));
    }

    /// Publishes the objects of a load, and tells the world about them.
    fn declare_load(
        &mut self,
        tiltfile: &ResourceName,
        load: &Load,
        is_good: bool,
        resets_switches: bool,
    ) -> DeclaredLoad {
        let Some(declared) = self.tiltfiles.get(tiltfile) else { return DeclaredLoad::default() };
        let declarer = Declarer { name: tiltfile, path: &declared.path, labels: &declared.labels };
        let Declaration { objects, switches, targets } =
            declare::load(&self.world, &declarer, load, &self.drivers.settings.declare());
        let objects = (objects, switches);
        let gone = self.publisher.declare(tiltfile, objects, is_good, resets_switches);
        self.report_objects(self.publisher.declared(tiltfile), true);
        let state = |it: &Manifest| self.world.switch_state(&names::switch(&it.name));
        let enabled = load.manifests.iter().map(|it| (it.name.as_str().into(), state(it)));
        DeclaredLoad { enabled: enabled.collect(), gone, targets }
    }

    /// Counts a load for those who want to know.
    fn report_load(&mut self, started: Time, choice: u8) {
        if choice == OPTED_OUT {
            self.usage.opt_out();
        }
        self.usage.count("tiltfile.loaded");
        let took = clock::to_system(started).elapsed().unwrap_or_default();
        self.usage.timed("tiltfile.load", took);
    }
}

impl Mode {
    /// The command that people typed.
    pub(crate) fn subcommand(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Ci => "ci",
        }
    }
}
