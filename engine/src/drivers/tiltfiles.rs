//! Starts runs of Tiltfiles, with what they may know about the engine and its cluster.

use builtins::Request;
use engine_core::{World, reason::Reason, tiltfile::MAIN, world::StartLoad};
use engine_model::{TargetId, names};
use serde_json::Value;
use tokio::sync::oneshot;

use super::{Drivers, Message, load::LoadRequest};
use crate::{clock, tasks::TaskKey};

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
        let launcher = self.environment.launcher(self.kubernetes.context(), cause);
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
        request.cluster = self.kubernetes.usable(world);
        if !self.kubernetes.context().is_empty() {
            // One that is of no use any more is looked up anew, and by its name only.
            request.context = Some(self.kubernetes.context().to_owned());
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
}
