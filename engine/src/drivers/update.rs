//! Updates that build and deploy: starts and cancels them, and reports how they go.

use std::sync::Arc;

use engine_core::{
    Event, World,
    reason::Reason,
    resource::{ResourceName, UpdateId, workload::WorkloadEvent},
    world::ServiceEvent,
};
use engine_model::{DeployTarget, FilePath};
use tokio::sync::mpsc;

use super::{Drivers, Message, kubernetes};
use crate::{
    clock,
    deploy::{self, UpdateError, UpdateReport, UpdateRequest},
    runtime::Mode,
    tasks::{Lost, TaskKey},
};

/// What became known of an update.
#[derive(Debug)]
pub(crate) enum Progress {
    /// It goes on.
    Report(Box<UpdateReport>),
    /// It has ended, with what went wrong.
    Ended(Result<(), Arc<UpdateError>>),
}

impl Drivers {
    pub(super) fn start_deploy(
        &mut self,
        world: &World,
        id: UpdateId,
        resource: &ResourceName,
        (reason, files): (Reason, &[FilePath]),
        is_full_rebuild: bool,
    ) {
        let Some(known) = world.resource(resource) else { return };
        let order = UpdateRequest {
            manifest: Arc::clone(&known.manifest),
            is_full_rebuild,
            is_triggered: !reason.triggers().is_empty(),
            cause: format!("update of {resource}: {}", world.cause_line(reason, files)),
            log: self.logs.writer(resource, &id.span()),
        };
        match order.manifest.deploy_target {
            DeployTarget::Kubernetes(_) => self.deploy_to_cluster(world, id, resource, order),
            DeployTarget::Compose(_) | DeployTarget::Local(_) => {
                self.deploy_service(id, resource, order);
            }
        }
    }

    fn deploy_service(&mut self, id: UpdateId, resource: &ResourceName, order: UpdateRequest) {
        let Some(tools) = self.docker.tools() else {
            return self.end_update(id, resource, Some(self.docker.error()));
        };
        let messages = self.messages.clone();
        // Nobody listens when the engine ends.
        let send = move |event: Event| drop(messages.send(event.into()));
        let report = reports(self.messages.clone(), id, resource);
        self.run_deploy(id, resource, async move {
            super::deploy::service(order, tools, report, send).await
        });
    }

    fn deploy_to_cluster(
        &mut self,
        world: &World,
        id: UpdateId,
        resource: &ResourceName,
        order: UpdateRequest,
    ) {
        let tools = match self.cluster_tools(world, &order) {
            Ok(tools) => tools,
            Err(error) => return self.end_update(id, resource, Some(error.to_string())),
        };
        self.emit(workload(resource, WorkloadEvent::UpdateStarted));
        let deletion = self.kubernetes.deletion(resource);
        let is_up = self.settings.mode == Mode::Up;
        let report_cluster = self.kubernetes.reporter();
        let report = reports(self.messages.clone(), id, resource);
        self.run_deploy(id, resource, async move {
            kubernetes::deleted(deletion).await;
            let ended = deploy::kubernetes::update(order, &tools, report).await;
            if ended.is_err()
                && is_up
                && let Err(error) = kubernetes::health(&tools.cluster).await
            {
                // Whoever hears of the end knows then what the reason was.
                report_cluster(kubernetes::Seen::Health(Err(error)));
            }
            ended
        });
    }

    fn run_deploy(
        &mut self,
        id: UpdateId,
        resource: &ResourceName,
        work: impl Future<Output = Result<(), Arc<UpdateError>>> + Send + 'static,
    ) {
        let (key, name) = (TaskKey::Update(id, resource.clone()), resource.clone());
        self.tasks.spawn(key, work, move |result| {
            let result = match result {
                Ok(result) => result,
                Err(lost) => Err(UpdateError::Lost(lost).into()),
            };
            Message::Deploy(id, name, Box::new(Progress::Ended(result)))
        });
    }

    fn cluster_tools(
        &self,
        world: &World,
        order: &UpdateRequest,
    ) -> Result<deploy::kubernetes::ClusterTools, UpdateError> {
        let cluster = self.kubernetes.cluster().cloned().ok_or(UpdateError::NoCluster)?;
        let has_image = order.manifest.image_targets.as_ref().is_some_and(|it| !it.is_empty());
        let images = self.cluster_images(world).filter(|_| has_image).transpose()?;
        let surroundings = self.surroundings_for(&order.cause);
        Ok(deploy::kubernetes::ClusterTools { cluster, images, surroundings })
    }

    /// Ends an update at once; what its task still says does not count.
    pub(super) fn cancel_deploy(&mut self, id: UpdateId, resource: &ResourceName) {
        let is_it = |it: &TaskKey| matches!(it, TaskKey::Update(update, _) if *update == id);
        if self.tasks.has(is_it) {
            self.tasks.abort_all(is_it);
            self.end_update(id, resource, Some(Lost::Aborted.to_string()));
        }
    }

    pub(super) fn on_progress(
        &mut self,
        world: &World,
        id: UpdateId,
        resource: &ResourceName,
        progress: Progress,
    ) {
        let current = world.resource(resource).and_then(|it| it.current.as_ref());
        if current.is_none_or(|it| it.id != id) {
            return;
        }
        match progress {
            Progress::Report(report) => self.on_report(resource, *report),
            Progress::Ended(result) => {
                let target = world.resource(resource).map(|it| &it.manifest.deploy_target);
                let is_kubernetes = matches!(target, Some(DeployTarget::Kubernetes(_)));
                let is_up = self.settings.mode == Mode::Up;
                if is_up && result.is_err() && is_kubernetes {
                    self.kubernetes.check();
                }
                let (error, obstacle) = match result {
                    Ok(()) => (None, None),
                    Err(error) => (Some(error.to_string()), error.obstacle()),
                };
                self.end_update(id, resource, error);
                let settled = ServiceEvent::Settled { resource: resource.clone() };
                self.emit(Event::Service(settled));
                self.emit(workload(resource, WorkloadEvent::UpdateEnded { id, obstacle }));
            }
        }
    }

    fn on_report(&mut self, resource: &ResourceName, report: UpdateReport) {
        match report {
            UpdateReport::Deployed { started, result } => {
                let started = clock::of_system(started);
                let result =
                    result.map_err(|it| self.logs.scrubber().scrub(&it.to_string()).into_owned());
                self.emit(workload(resource, WorkloadEvent::Applied { started, result }));
            }
            UpdateReport::ForceDeleted => {
                self.emit(workload(resource, WorkloadEvent::ForceDeleted))
            }
            report => {
                let (resource, scrubber) = (resource.clone(), self.logs.scrubber());
                for event in super::deploy::events_of(resource, report, &scrubber) {
                    self.emit(event);
                }
            }
        }
    }
}

/// Something happened to what a resource deploys.
fn workload(resource: &ResourceName, event: WorkloadEvent) -> Event {
    Event::Workload { resource: resource.clone(), event }
}

/// Where an update reports how it goes on.
fn reports(
    messages: mpsc::UnboundedSender<Message>,
    id: UpdateId,
    resource: &ResourceName,
) -> impl Fn(UpdateReport) + use<> {
    let name = resource.clone();
    move |report| {
        let progress = Box::new(Progress::Report(Box::new(report)));
        // Nobody listens when the engine ends.
        let _ = messages.send(Message::Deploy(id, name.clone(), progress));
    }
}
