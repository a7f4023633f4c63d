//! Starts runs of Tiltfiles, with what they may know about the engine and its cluster.

use builtins::Request;
use engine_core::{
    World,
    reason::Reason,
    resource::ResourceName,
    tiltfile::{LoadId, MAIN},
};
use engine_model::{FilePath, TargetId, names, path};
use serde_json::Value;
use tokio::sync::oneshot;

use super::{Drivers, Message, load::LoadRequest};
use crate::{clock, logs::LogWriter, tasks::TaskKey};

/// A run of a Tiltfile that the world asks for.
pub(crate) struct StartLoad {
    /// Which run.
    pub(crate) id: LoadId,
    /// The Tiltfile.
    pub(crate) tiltfile: ResourceName,
    /// Why.
    pub(crate) reason: Reason,
    /// Files that changed.
    pub(crate) files: Vec<FilePath>,
    /// Its arguments.
    pub(crate) args: Vec<String>,
    /// Whether the switches of its resources are set anew.
    pub(crate) resets_switches: bool,
}

impl Drivers {
    /// Starts a run of the Tiltfile at a path.
    pub(crate) fn start_load(&mut self, world: &World, path: &str, load: StartLoad) {
        let StartLoad { id, tiltfile, reason, files, args, resets_switches } = load;
        let log = self.logs.writer(&tiltfile, &names::tiltfile_span(&tiltfile, id.0));
        let entry = world.entry_line(reason, &files);
        log.build_event(&entry);
        if reason.has(Reason::ARGS) {
            log.info(&format!("Tiltfile args changed to: [{}]", args.join(" ")));
        }
        let request = self.request(world, &tiltfile, path, args);
        let cause = format!("local() in {tiltfile}: {entry}");
        let launcher = self.environment.launcher(self.context(), cause);
        self.set_loading(&tiltfile, true);
        let key = TaskKey::Load(tiltfile.clone());
        let request = LoadRequest { id, tiltfile, resets_switches, request, log, launcher };
        let (work, end) = self.loads.start(request, self.environment.variables.clone());
        self.tasks.spawn_blocking(key, work, |it| Message::Loaded(Box::new(end(it))));
    }

    /// What to evaluate, and how.
    fn request(&self, world: &World, tiltfile: &str, path: &str, args: Vec<String>) -> Request {
        let settings = &self.settings;
        let mut request = Request::new(path, settings.mode.subcommand());
        request.args = args;
        request.context.clone_from(&settings.context);
        request.namespace.clone_from(&settings.namespace);
        request.web_host.clone_from(&settings.host);
        request.web_port = settings.port;
        // It is part of what is deployed: with another time, each reload would deploy everything again.
        request.start_time = clock::seconds(settings.started);
        request.is_extension = tiltfile != MAIN;
        request.ci_timeout = settings.ci_timeout;
        request.pin_kubeconfig = true;
        request.cluster = self.pinned_cluster(world);
        if !self.context().is_empty() {
            // One that is of no use any more is looked up anew, and by its name only.
            request.context = Some(self.context().to_owned());
            request.kept_kubeconfig.clone_from(&self.environment.kubeconfig);
        }
        request
    }

    /// Evaluates the main Tiltfile on the side; the answer follows when that is done.
    pub(crate) fn start_plan(&mut self, world: &World, reply: oneshot::Sender<Value>) {
        let args = world.tiltfile(MAIN).map(|it| it.args.clone()).unwrap_or_default();
        let request = self.request(world, MAIN, &self.settings.tiltfile, args);
        let work = self.loads.plan(request, &self.environment.variables);
        self.tasks.spawn_blocking(TaskKey::Plan, work, |evaluation| {
            let evaluation = evaluation.map(Box::new).map_err(|lost| lost.to_string());
            Message::Planned(evaluation, reply)
        });
    }

    /// Tells the watcher whether a Tiltfile runs: what it reads and writes again as it was is no reason to run again.
    pub(crate) fn set_loading(&self, tiltfile: &str, is_loading: bool) {
        if let Some(watcher) = &self.watcher {
            watcher.updating(&TargetId::Config(tiltfile.into()), is_loading);
        }
    }

    /// Keeps the kubeconfig that commands get, unless a cluster is pinned already.
    pub(crate) fn pin_first_kubeconfig(&mut self, from: Option<&String>, log: &LogWriter) {
        if let Some(from) = from.filter(|_| self.kubernetes.pinned().is_none()) {
            self.pin_kubeconfig(from, log);
        }
    }

    pub(super) fn pin_kubeconfig(&mut self, from: &str, log: &LogWriter) {
        let pinned = self.environment.pin_kubeconfig(&path::to_path(from), self.settings.port);
        if let Err(error) = pinned {
            log.warn(&format!(
                "Cannot store the kubeconfig for commands, so they get your own: {error}"
            ));
        }
    }
}
