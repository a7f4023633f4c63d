//! The Kubernetes cluster: which one a load found, how it is connected, and what happens to what is deployed there.

use std::sync::Arc;

use builtins::api::KubeCluster;
use engine_core::{
    Event, World, cluster::ClusterEvent, resource::workload::KubernetesAction, tiltfile::MAIN,
};
use engine_model::path::to_path;

use super::{Drivers, Message};
use crate::{
    clock,
    deploy::{self, cluster_docker::ClusterDockerError, images::Images},
    drivers::kubernetes::{BuilderParts, KubeconfigPlaces, LinkParts, PERIOD, Report},
    tasks::TaskKey,
};

impl From<Report> for Message {
    fn from(report: Report) -> Self {
        Self::Kubernetes(report)
    }
}

impl Drivers {
    /// Reports the cluster that a load found, if that matters.
    pub(crate) fn find_cluster(&mut self, world: &World, found: Option<&KubeCluster>) {
        let wanted = |it: &&KubeCluster| world.wants_cluster(&it.context);
        let Some(found) = found.filter(wanted) else { return };
        let is_again = self.kubernetes.pinned().is_some();
        let pinned = self.environment.kubeconfig.clone().filter(|_| !is_again);
        let Some(path) = pinned.or_else(|| found.path.clone()) else {
            let problem = found.problem.clone().unwrap_or_else(|| {
                "invalid configuration: no configuration has been provided, try setting \
                 KUBERNETES_MASTER environment variable"
                    .to_owned()
            });
            let looked = self.environment.kubeconfig_places();
            let says_so = !looked.has_any() && !engine_cli::is_tilt();
            let help = says_so.then(|| looked.to_string());
            self.await_kubeconfig(looked);
            return self.emit(Event::Cluster(ClusterEvent::NotFound { problem, help }));
        };
        self.kubeconfig_wait = None;
        let Ok(kubeconfig) = std::fs::read_to_string(to_path(&path)) else { return };
        let context = found.context.clone();
        let found = KubeCluster { path: Some(path), ..found.clone() };
        self.kubernetes.found = Some((found, kubeconfig.clone()));
        self.emit(Event::Cluster(ClusterEvent::Found { context, kubeconfig }));
    }

    /// Loads the main Tiltfile again when a kubeconfig appears or changes: which cluster may be used depends on it.
    fn await_kubeconfig(&mut self, places: KubeconfigPlaces) {
        let work = places.changed(PERIOD);
        let task = self.tasks.spawn(TaskKey::AwaitKubeconfig, work, |changed| {
            let Ok(path) = changed else { return Message::Done };
            let (tiltfile, files) = (MAIN.into(), vec![path.as_str().into()]);
            Event::ConfigFilesChanged { tiltfile, files, at: clock::now() }.into()
        });
        self.kubeconfig_wait = self.tasks.guard(task);
    }

    /// Does what the world asks for in the cluster.
    pub(super) fn act_in_cluster(&mut self, world: &World, action: KubernetesAction) {
        match action {
            KubernetesAction::Connect { is_again } => self.connect_cluster(is_again),
            KubernetesAction::FindContainers { resource } => {
                self.live_containers_changed(world, &resource);
            }
            KubernetesAction::Delete { resource, deletion, reason } => {
                let surroundings = self.surroundings_for(&format!("{reason} of {resource}"));
                let tasks = &mut self.tasks;
                self.kubernetes.delete(&resource, deletion, reason, surroundings, tasks);
            }
            action => self.kubernetes.act(action, &mut self.tasks),
        }
    }

    fn connect_cluster(&mut self, is_again: bool) {
        let Some((found, text)) = self.kubernetes.found.take() else { return };
        if let Some(path) = found.path.as_ref().filter(|_| is_again) {
            let log = self.logs.writer(MAIN, "cluster");
            self.environment.pin_kubeconfig(path, self.settings.port, &log);
        }
        let path = self.environment.kubeconfig.clone().or(found.path);
        let known = KubeCluster { path, ..found };
        let parts = LinkParts {
            text,
            namespace: self.settings.namespace.clone(),
            audit: self.environment.audit.about(&known.context).sink(),
            environment: self.environment.variables.get(),
            surroundings: self.environment.surroundings(&self.settings),
            known,
        };
        self.kubernetes.connect(parts, &mut self.tasks);
    }

    /// Something became known through the connection to the cluster.
    pub(super) fn on_cluster_report(&mut self, report: Report) {
        let builder = report.needs_builder().then(|| BuilderParts {
            surroundings: self.surroundings_for("build of an image"),
            memory: self.settings.image_memory.clone(),
            shared: self.docker.images().cloned(),
        });
        if let Some(event) = self.kubernetes.on_report(report, builder) {
            self.emit(event);
        }
    }

    /// Who builds images for the cluster as the Tiltfile has them now.
    pub(super) fn cluster_images(
        &self,
        world: &World,
    ) -> Option<Result<Images, Arc<ClusterDockerError>>> {
        let manifests = world.resources().iter().map(|it| &*it.manifest);
        self.kubernetes.images(deploy::images::deployed(manifests))
    }
}
