//! Compose services while they run: which resource a container belongs to, how it does, and whose log is read.

use std::sync::Arc;

use engine_model::{Container, Kind, ObjectId, Time};

use crate::{
    effect::{LineKind, LogLine},
    resource::{Applied, ApplyError, ContainerRun, Resource, ResourceName, Service},
    status::RuntimeStatus,
    world::{Action, DockerAction, Removal, World},
};

/// Something that became known of a Compose service.
#[derive(Clone, Debug)]
pub enum ServiceEvent {
    /// Compose has brought it up, or not.
    Applied {
        /// The resource.
        resource: ResourceName,
        /// When that began.
        started: Time,
        /// Its container, or what went wrong.
        result: Result<Option<Box<Container>>, ApplyError>,
    },
    /// The update that brought it up is over: the end of its container is a failure again.
    Settled {
        /// The resource.
        resource: ResourceName,
    },
}

impl World {
    pub(super) fn service_event(&mut self, now: Time, event: ServiceEvent) {
        match event {
            ServiceEvent::Applied { resource, started, result } => {
                let Some(&at) = self.index.get(&resource) else { return };
                let error = result.as_ref().err().cloned();
                let applied = Applied { started, finished: now, error };
                self.resources[at].service.get_or_insert_default().applied = Some(applied);
                if let Ok(Some(container)) = result {
                    self.container_seen(now, *container);
                }
                self.publish_service(&resource);
            }
            ServiceEvent::Settled { resource } => {
                if let Some(&at) = self.index.get(&resource) {
                    self.observe_service(now, at);
                }
            }
        }
    }

    /// After a time in which nobody looked: some services do otherwise than before, others are gone.
    ///
    /// What was there before the first update says nothing about this run: it may be crashed, or outdated.
    pub(super) fn containers_listed(&mut self, now: Time, containers: Vec<Container>) {
        let is_there = |id: &str| containers.iter().any(|it| it.id == id);
        let known = self.resources.iter().filter_map(Resource::container);
        let gone: Vec<String> =
            known.filter(|it| !is_there(&it.id)).map(|it| it.id.clone()).collect();
        for id in gone {
            self.container_gone(now, &id);
        }
        for container in containers {
            let service = self.service_at(&container);
            let service = service.and_then(|at| self.resources[at].service.as_ref());
            if service.is_some_and(|it| it.applied.is_some() || it.container.is_some()) {
                self.container_seen(now, container);
            }
        }
    }

    /// A container of some service is there, or does otherwise than before.
    pub(super) fn container_seen(&mut self, now: Time, mut container: Container) {
        let Some(at) = self.service_at(&container) else { return };
        let resource = &mut self.resources[at];
        let (name, is_disabled) = (resource.name.clone(), resource.is_disabled());
        let spec = resource.compose_spec().cloned();
        let service = resource.service.get_or_insert_default();
        if is_disabled {
            // Such as one that a canceled update has started nevertheless.
            let is_new = container.is_running && container.started > service.removed;
            if let Some(spec) = spec.filter(|_| is_new) {
                service.removed = container.started;
                self.remove_service_later(name, Removal { spec, is_gone: false });
            }
            return;
        }
        service.spec = spec;
        if !service.is_news(&mut container) {
            return;
        }
        if let Some(text) = service.health_changed(&container) {
            let (resource, span, kind) = (name.clone(), format!("dc:{name}"), LineKind::Warn);
            self.effects.lines.push(LogLine { resource, span, kind, text });
        }
        let container = Arc::new(container);
        service.last = Some(Arc::clone(&container));
        service.container = Some(container);
        self.read_log(at);
        self.service_changed(now, at);
    }

    /// A container is gone.
    pub(super) fn container_gone(&mut self, now: Time, id: &str) {
        let is_it = |it: &Resource| it.container().is_some_and(|it| it.id == id);
        let Some(at) = self.resources.iter().position(is_it) else { return };
        // How it ended is still of interest, if that is known.
        if self.resources[at].container().is_some_and(|it| it.is_running)
            && let Some(mut service) = self.resources[at].service.take()
        {
            service.container = None;
            self.stop_log(&self.resources[at].name.clone(), &mut service);
            self.resources[at].service = Some(service);
        }
        self.service_changed(now, at);
    }

    /// A resource is gone, or switched off: so is its container.
    pub(super) fn service_left(
        &mut self,
        name: &ResourceName,
        service: &mut Service,
        is_gone: bool,
    ) {
        self.stop_log(name, service);
        service.has_log = false;
        if let Some(container) = service.container.take()
            && let Some(spec) = service.spec.clone()
        {
            service.removed = container.started;
            self.remove_service_later(name.clone(), Removal { spec, is_gone });
        }
        self.effects.changed.insert(ObjectId::new(Kind::DockerComposeLogStream, &**name));
        self.publish_service(name);
    }

    /// The resource that a container belongs to.
    fn service_at(&self, container: &Container) -> Option<usize> {
        let (project, service) = container.service()?;
        self.resources.iter().position(|it| {
            let spec = it.compose_spec();
            spec.is_some_and(|it| it.service == service && it.project.name == project)
        })
    }

    fn service_changed(&mut self, now: Time, at: usize) {
        let name = self.resources[at].name.clone();
        self.publish_service(&name);
        self.observe_service(now, at);
        if !self.resources[at].live_updates.is_empty() {
            self.effects.actions.push(Action::FindContainers { resource: name });
        }
    }

    /// How the service of a resource does follows from its container.
    pub(super) fn observe_service(&mut self, now: Time, at: usize) {
        let resource = &mut self.resources[at];
        let Some(service) = &resource.service else { return };
        let status = service.runtime_status();
        if status == RuntimeStatus::Error && resource.is_deploying() {
            // The end of a container that is being replaced is no failure.
            return;
        }
        resource.runtime_error = service.runtime_error();
        resource.observed = Some(status);
        if status == RuntimeStatus::Ok {
            self.became_ready(now, at);
        }
        self.touch(at);
    }

    /// Reads the log of a container, once for each run.
    fn read_log(&mut self, at: usize) {
        let resource = &mut self.resources[at];
        let Some(service) = &mut resource.service else { return };
        let Some(container) = service.container.clone() else { return };
        let run = ContainerRun::of(&container);
        if run.is_none() || service.log == run {
            return;
        }
        (service.log, service.has_log) = (run, true);
        let resource = resource.name.clone();
        self.effects.changed.insert(ObjectId::new(Kind::DockerComposeLogStream, &*resource));
        self.do_with_docker(DockerAction::ReadLog { resource, container });
    }

    fn stop_log(&mut self, name: &ResourceName, service: &mut Service) {
        if service.log.take().is_some() {
            let resource = name.clone();
            self.do_with_docker(DockerAction::StopLog { resource });
        }
    }

    fn publish_service(&mut self, name: &str) {
        self.effects.changed.insert(ObjectId::new(Kind::DockerComposeService, name));
    }
}

impl Service {
    /// Whether a container says something new; of two containers of a service the one that was made last counts.
    fn is_news(&self, container: &mut Container) -> bool {
        if self.container.as_ref().is_some_and(|it| it.created > container.created) {
            return false;
        }
        if !container.is_running
            && let Some(last) = self.last.as_ref().filter(|it| it.id == container.id)
        {
            // Docker forgets the ports of a container that ended.
            container.ports.clone_from(&last.ports);
        }
        self.container.as_deref() != Some(container)
    }

    /// Takes in what the health check says; returns what the log says about that.
    fn health_changed(&mut self, container: &Container) -> Option<String> {
        let output = container.health_output.as_deref().unwrap_or_default().trim();
        let is_new = !output.is_empty() && output != self.health;
        output.clone_into(&mut self.health);
        is_new.then(|| format!("healthcheck: {output}"))
    }
}
