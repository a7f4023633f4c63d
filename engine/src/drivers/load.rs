//! Evaluates Tiltfiles, each on a thread of its own with a log of its own.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use builtins::{
    Evaluation, Request,
    diagnostic::{Failure, Problem},
    host::{Host, Level as HostLevel, OsHost, Scratch, temp_dir},
};
use engine_core::{
    Time,
    resource::ResourceName,
    tiltfile::{LoadError, LoadId, MAIN},
};
use engine_model::Load;

use crate::{
    clock,
    drivers::environment::{AuditedLauncher, Variables},
    exec::Guarded,
    logs::{Level, LogWriter},
    tasks::Lost,
};

/// A Tiltfile to evaluate.
pub(crate) struct LoadRequest {
    /// Which run.
    pub(crate) id: LoadId,
    /// The Tiltfile.
    pub(crate) tiltfile: ResourceName,
    /// Whether the switches of its resources are set anew.
    pub(crate) resets_switches: bool,
    /// What to evaluate, and how.
    pub(crate) request: Request,
    /// Where its output goes.
    pub(crate) log: LogWriter,
    /// Starts its commands.
    pub(crate) launcher: AuditedLauncher,
}

/// A run of a Tiltfile that has ended.
pub(crate) struct LoadedTiltfile {
    /// Which run.
    pub(crate) id: LoadId,
    /// The Tiltfile.
    pub(crate) tiltfile: ResourceName,
    /// Whether the switches of its resources are set anew.
    pub(crate) resets_switches: bool,
    /// When it began.
    pub(crate) started: Time,
    /// What it evaluates to.
    pub(crate) evaluation: Evaluation,
    /// Where its output goes.
    pub(crate) log: LogWriter,
    /// Keeps the temporary files of the run.
    host: Arc<OsHost>,
}

impl std::fmt::Debug for LoadedTiltfile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedTiltfile").field("tiltfile", &self.tiltfile).finish_non_exhaustive()
    }
}

impl LoadedTiltfile {
    /// What is wrong with it, in Tilt's words.
    pub(crate) fn error(&self) -> Option<LoadError> {
        if self.host.canceled() {
            return Some(LoadError::Canceled);
        }
        if let Some(failure) = &self.evaluation.failure {
            return Some(LoadError::Tiltfile(Box::new(failure.report())));
        }
        let is_empty = &*self.tiltfile == MAIN && self.evaluation.load.manifests.is_empty();
        is_empty.then_some(LoadError::NoResources)
    }
}

/// Runs of Tiltfiles.
#[derive(Default)]
pub(crate) struct Loads {
    /// Those that run.
    running: HashMap<ResourceName, (LoadId, Arc<OsHost>)>,
    /// The last good ones, with their temporary files.
    good: HashMap<ResourceName, Arc<OsHost>>,
    /// Where all of them keep temporary files, until the engine ends.
    scratch: Option<Scratch>,
}

impl Loads {
    /// Begins a run: what evaluates the Tiltfile on a thread that may block, and what makes a result of that.
    pub(crate) fn start(
        &mut self,
        request: LoadRequest,
        variables: Variables,
    ) -> (
        impl FnOnce() -> Evaluation + Send + use<>,
        impl FnOnce(Result<Evaluation, Lost>) -> LoadedTiltfile + Send + use<>,
    ) {
        let LoadRequest { id, tiltfile, resets_switches, request, log, launcher } = request;
        let (before, started) = (variables.get(), clock::now());
        let host = host(before.clone(), &log, launcher).with_temp_dir(self.temp_dir());
        let host = Arc::new(host);
        self.running.insert(tiltfile.clone(), (id, Arc::clone(&host)));
        // Evaluation takes a thread with a large stack of its own; this one only waits for it.
        let evaluated = Arc::clone(&host) as Arc<dyn Host>;
        let work = move || builtins::evaluate(&request, evaluated);
        let end = move |evaluation: Result<Evaluation, Lost>| {
            let evaluation = evaluation.unwrap_or_else(|lost| failed(&lost));
            variables.apply(&before, host.env_vars());
            LoadedTiltfile { id, tiltfile, resets_switches, started, evaluation, log, host }
        };
        (work, end)
    }

    /// What evaluates a Tiltfile on the side, on a thread that may block.
    pub(crate) fn plan(
        &mut self,
        request: Request,
        variables: &Variables,
    ) -> impl FnOnce() -> Evaluation + Send + use<> {
        let host = OsHost::new(variables.get(), Box::new(|_, _| {}));
        let host = host.with_launcher(Box::new(Guarded)).with_temp_dir(self.temp_dir());
        move || builtins::evaluate(&request, Arc::new(host) as Arc<dyn Host>)
    }

    /// Ends runs at once, with the commands that they have started.
    pub(crate) fn cancel(&self, is_meant: impl Fn(LoadId) -> bool) {
        for (_, host) in self.running.values().filter(|(id, _)| is_meant(*id)) {
            host.cancel();
            host.clean_up();
        }
    }

    /// A run has ended; a good one keeps its temporary files until the next.
    pub(crate) fn ended(&mut self, loaded: &LoadedTiltfile, is_good: bool) {
        self.running.remove(&loaded.tiltfile);
        if is_good {
            self.good.insert(loaded.tiltfile.clone(), Arc::clone(&loaded.host));
        }
    }

    /// Drops what a Tiltfile that is gone has left.
    pub(crate) fn forget(&mut self, tiltfile: &str) {
        self.good.remove(tiltfile);
    }

    /// Where Tiltfiles keep temporary files; all of it is removed with the engine, whoever still runs then.
    fn temp_dir(&mut self) -> PathBuf {
        if self.scratch.is_none() {
            // Without one, each Tiltfile that needs temporary files says what is wrong.
            self.scratch = Scratch::create().ok();
        }
        self.scratch.as_ref().map_or_else(temp_dir, |it| it.path().to_owned())
    }
}

/// An evaluation that has no result.
fn failed(lost: &Lost) -> Evaluation {
    let problem = Problem::new("engine::defect", lost.to_string());
    Evaluation {
        load: Load::default(),
        failure: Some(Failure::from_problems(vec![problem])),
        calls: Vec::new(),
        cluster: None,
        repositories: Vec::new(),
    }
}

fn host(variables: Vec<(String, String)>, log: &LogWriter, launcher: AuditedLauncher) -> OsHost {
    let log = log.clone();
    let sink = move |level: HostLevel, text: &str| {
        let level = match level {
            HostLevel::Debug => Level::Debug,
            HostLevel::Info => Level::Info,
            HostLevel::Warn => Level::Warn,
        };
        log.write(level, text);
    };
    OsHost::new(variables, Box::new(sink)).with_launcher(Box::new(launcher))
}
