//! Updates that build and deploy, seen from the loop: they are started, reported and cancelled here.

use std::{collections::HashMap, sync::Arc, time::SystemTime};

use engine_core::{
    Event,
    reason::Reason,
    resource::{ResourceName, UpdateId},
};
use engine_docker::Step as Stage;
use engine_model::DeployTarget;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::{AbortHandle, JoinSet};

use super::{
    Message, Mode, Runtime, clock,
    commands::{build_span, entry_line},
    docker::Seen,
    kubernetes,
    retries::Retries,
    services::Applied,
    workloads::{self, Workload},
};
use crate::{
    api::kind,
    deploy::{self, Order, Report, Tools, images::Built, kubernetes::UpdateError},
};

/// Updates that run. Dropping them ends what they do.
#[derive(Debug, Default)]
pub(super) struct Deploys {
    tasks: JoinSet<()>,
    running: HashMap<UpdateId, (ResourceName, AbortHandle)>,
    pub(super) retries: Retries,
}

/// What became known of an update.
#[derive(Debug)]
pub(super) enum Progress {
    /// It goes on.
    Report(Box<Report>),
    /// It has ended, with what went wrong.
    Ended(Result<(), UpdateError>),
    /// What stood in its way is gone.
    MayGoOn,
}

impl Runtime {
    pub(super) fn start_deploy(
        &mut self,
        id: UpdateId,
        resource: &ResourceName,
        reason: Reason,
        files: &[Arc<str>],
        is_full_rebuild: bool,
    ) {
        let Some(known) = self.scheduler.resource(resource) else { return };
        self.deploys.retries.stop_waiting(resource);
        let order = Order {
            manifest: Arc::clone(&known.manifest),
            is_full_rebuild,
            is_triggered: !reason.triggers().is_empty(),
            cause: format!("update of {resource}: {}", cause(reason, files)),
            log: self.logs.writer(resource, &build_span(id)),
        };
        match order.manifest.deploy_target {
            DeployTarget::Kubernetes(_) => self.deploy_to_cluster(id, resource, order),
            DeployTarget::Compose(_) | DeployTarget::Local(_) => {
                self.deploy_service(id, resource, order);
            }
        }
    }

    fn deploy_service(&mut self, id: UpdateId, resource: &ResourceName, order: Order) {
        let Some(tools) = self.tools() else {
            let reason = self.docker.as_ref().and_then(|it| it.client.as_ref().err());
            let error = reason.map_or("Docker cannot be used".to_owned(), ToString::to_string);
            return self.end_update(id, resource, Some(error));
        };
        let (messages, name) = (self.messages.clone(), Arc::clone(resource));
        let task = self.deploys.tasks.spawn(async move {
            let send = |progress| {
                // Nobody listens when the engine ends.
                let _ = messages.send(Message::Deploy(id, Arc::clone(&name), Box::new(progress)));
            };
            let ended =
                deploy::service(order, &tools, |it| send(Progress::Report(Box::new(it)))).await;
            if ended.is_err()
                && let Err(error) = tools.docker.ping().await
            {
                // Whoever hears of the end knows then what the reason was.
                let _ = messages.send(Message::Docker(Seen::Lost(error.to_string())));
            }
            send(Progress::Ended(ended.map_err(Into::into)));
        });
        self.deploys.running.insert(id, (Arc::clone(resource), task));
    }

    fn deploy_to_cluster(&mut self, id: UpdateId, resource: &ResourceName, order: Order) {
        let tools = match self.cluster_tools(&order) {
            Ok(tools) => tools,
            Err(error) => return self.end_update(id, resource, Some(error)),
        };
        self.pods_updating(resource);
        self.applying(resource);
        let deletion = self.workload(resource).and_then(Workload::deletion);
        let (messages, name) = (self.messages.clone(), Arc::clone(resource));
        let is_up = self.settings.mode == Mode::Up;
        let link = self.link_id();
        let task = self.deploys.tasks.spawn(async move {
            let send = |progress| {
                // Nobody listens when the engine ends.
                let _ = messages.send(Message::Deploy(id, Arc::clone(&name), Box::new(progress)));
            };
            workloads::deleted(deletion).await;
            let report = |it| send(Progress::Report(Box::new(it)));
            let ended = deploy::kubernetes::update(order, &tools, report).await;
            if ended.is_err()
                && is_up
                && let Err(error) = kubernetes::health(&tools.cluster).await
            {
                // Whoever hears of the end knows then what the reason was.
                let seen = kubernetes::Seen::Health(Err(error));
                let _ = messages.send(Message::Kubernetes(link, seen));
            }
            send(Progress::Ended(ended));
        });
        self.deploys.running.insert(id, (Arc::clone(resource), task));
    }

    fn cluster_tools(&self, order: &Order) -> Result<deploy::kubernetes::Tools, String> {
        let cluster = self.cluster().cloned().ok_or("the cluster cannot be used")?;
        let has_image = order.manifest.image_targets.as_ref().is_some_and(|it| !it.is_empty());
        let images = self.cluster_images().filter(|_| has_image).transpose()?;
        let surroundings = self.surroundings_for(&order.cause);
        Ok(deploy::kubernetes::Tools { cluster, images, surroundings })
    }

    fn tools(&self) -> Option<Tools> {
        let docker = self.docker.as_ref()?;
        let client = docker.client.as_ref().ok()?.clone();
        let images = docker.images.clone()?;
        Some(Tools { docker: client, compose: docker.compose.clone(), images })
    }

    /// Whether an update of a resource runs.
    pub(super) fn is_deploying(&self, resource: &str) -> bool {
        self.deploys.running.values().any(|(it, _)| &**it == resource)
    }

    pub(super) fn cancel_deploy(&mut self, id: UpdateId) {
        if let Some((resource, task)) = self.deploys.running.remove(&id) {
            task.abort();
            self.builds_canceled(&resource);
            self.end_update(id, &resource, Some("build canceled".to_owned()));
        }
    }

    pub(super) fn take_progress(
        &mut self,
        id: UpdateId,
        resource: &ResourceName,
        progress: Progress,
    ) {
        if matches!(progress, Progress::MayGoOn) {
            let resource = Arc::clone(resource);
            return self.step(Event::RetryDue { resource, id });
        }
        if !self.deploys.running.contains_key(&id) {
            return;
        }
        match progress {
            Progress::MayGoOn => {}
            Progress::Report(report) => self.take_report(resource, *report),
            Progress::Ended(result) => {
                self.deploys.running.remove(&id);
                if result.is_err() && self.kubernetes_target(resource).is_some() {
                    self.doubt_cluster();
                }
                while self.deploys.tasks.try_join_next().is_some() {}
                let (error, obstacle) = match result {
                    Ok(()) => (None, None),
                    Err(UpdateError { text, obstacle }) => (Some(text), obstacle),
                };
                self.end_update(id, resource, error);
                self.observe(resource);
                self.observe_pods(resource);
                self.retry_without(id, resource, obstacle);
            }
        }
    }

    fn take_report(&mut self, resource: &ResourceName, report: Report) {
        match report {
            Report::Building { image, started } => {
                let status = json!({"building": {"startedAt": micro(started)}});
                self.show_build(resource, &image, &status);
            }
            Report::Kept { image, built, looked } => {
                self.image_known(&image, &built);
                self.image_kept(&image, clock::of_system(looked));
            }
            Report::Ended { image, result, stages, started } => {
                self.image_ended(resource, &image, &result, &stages, started);
            }
            Report::ForceDeleted => self.force_deleted(resource),
            Report::Deployed { started, result } => self.deployed(resource, started, result),
            Report::Applied { started, result } => {
                let error = result.as_ref().err().cloned();
                let applied = Applied { started, finished: SystemTime::now(), error };
                self.service_applied(resource, applied, result.ok().flatten().map(|it| *it));
                self.step_live(resource);
            }
        }
    }

    fn image_ended(
        &mut self,
        resource: &ResourceName,
        image: &str,
        result: &Result<Built, String>,
        stages: &[Stage],
        started: SystemTime,
    ) {
        let mut completed =
            json!({"startedAt": micro(started), "finishedAt": micro(SystemTime::now())});
        let mut status = json!({});
        match result {
            Ok(built) => status["ref"] = json!(built.tagged),
            Err(error) => completed["error"] = json!(self.logs.scrubber().scrub(error)),
        }
        status["completed"] = completed;
        if !stages.is_empty() {
            status["stageStatuses"] = stages.iter().map(stage).collect();
        }
        self.show_build(resource, image, &status);
        if let Ok(built) = result {
            self.image_known(image, built);
        }
    }

    /// This is the image from now on.
    fn image_known(&mut self, image: &str, built: &Built) {
        let status = json!({
            "image": built.deployed,
            "imageFromCluster": built.deployed,
            "imageFromLocal": built.local,
            "buildStartTime": micro(built.started),
        });
        self.store.set_status(kind::IMAGE_MAP, image, &status);
        self.image_built(image, clock::of_system(built.started));
    }

    /// Builds that ran are over.
    fn builds_canceled(&self, resource: &ResourceName) {
        let manifest = self.scheduler.resource(resource).map(|it| Arc::clone(&it.manifest));
        let images =
            manifest.as_ref().and_then(|it| it.image_targets.as_deref()).unwrap_or_default();
        for image in images {
            let names = [
                (kind::DOCKER_IMAGE, &image.docker_image_name),
                (kind::CMD_IMAGE, &image.cmd_image_name),
            ];
            for (kind, name) in names {
                let status = self.store.get(kind, name).map(|it| it.status());
                let Some(started) = status.and_then(|it| it["building"].get("startedAt").cloned())
                else {
                    continue;
                };
                let completed = json!({
                    "startedAt": started,
                    "finishedAt": micro(SystemTime::now()),
                    "error": "build canceled",
                });
                self.store.set_status(kind, name, &json!({"completed": completed}));
            }
        }
    }

    /// Shows how the build of an image does, whichever way it is built.
    fn show_build(&self, resource: &ResourceName, image: &str, status: &Value) {
        let manifest = self.scheduler.resource(resource).map(|it| Arc::clone(&it.manifest));
        let images =
            manifest.as_ref().and_then(|it| it.image_targets.as_deref()).unwrap_or_default();
        let Some(target) = images.iter().find(|it| it.image_map_name == image) else { return };
        if !target.docker_image_name.is_empty() {
            self.store.set_status(kind::DOCKER_IMAGE, &target.docker_image_name, status);
        }
        if !target.cmd_image_name.is_empty() {
            self.store.set_status(kind::CMD_IMAGE, &target.cmd_image_name, status);
        }
    }
}

fn stage(stage: &Stage) -> Value {
    let mut shown = json!({"name": stage.name});
    if stage.is_cached {
        shown["cached"] = json!(true);
    }
    let time = |it: Timestamp| json!(micro(it.into()));
    if let Some(started) = stage.started {
        shown["startedAt"] = time(started);
    }
    if let Some(finished) = stage.finished {
        shown["finishedAt"] = time(finished);
    }
    if let Some(error) = &stage.error {
        shown["error"] = json!(error);
    }
    shown
}

fn micro(time: SystemTime) -> String {
    clock::micro(clock::of_system(time))
}

/// Why an update happens, and who wants it.
fn cause(reason: Reason, files: &[Arc<str>]) -> String {
    let triggers = reason.triggers();
    let line = entry_line(reason, files);
    if triggers.is_empty() || line == triggers.to_string() {
        return line;
    }
    format!("{triggers}, {line}")
}
