//! Compose services while they run: how their containers do, and what they print.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex},
    time::SystemTime,
};

use engine_core::{
    Event,
    resource::{Resource, ResourceName},
    status::RuntimeStatus,
};
use engine_docker::{Container, Port};
use engine_model::{ComposeSpec, DeployTarget};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{
    Runtime, clock, declare,
    docker::{self, Unread},
    names,
};
use crate::{
    api::{Meta, Owner, kind},
    deploy::compose::{ONE_OFF_LABEL, PROJECT_LABEL, SERVICE_LABEL},
    logs::Level,
};

/// What is known of all services.
#[derive(Debug, Default)]
pub(super) struct Services {
    known: HashMap<ResourceName, Service>,
}

/// One service.
#[derive(Debug, Default)]
struct Service {
    /// What Compose was told about it.
    spec: Option<ComposeSpec>,
    container: Option<Container>,
    /// The container that was seen last, even if it is gone: links lead there until there is another.
    last: Option<Container>,
    applied: Option<Applied>,
    /// When the container was started that was removed last.
    removed: Option<Timestamp>,
    /// What the health check said when it last failed.
    health: String,
    /// Reads the log of the container; ends with it.
    log: Option<LogTask>,
}

/// The last time that Compose was asked to bring it up.
#[derive(Clone, Debug)]
pub(super) struct Applied {
    /// When that began.
    pub(super) started: SystemTime,
    /// When it ended.
    pub(super) finished: SystemTime,
    /// What went wrong, if anything.
    pub(super) error: Option<String>,
}

/// Who reads a log, and of which run of a container.
#[derive(Debug)]
struct LogTask {
    run: (String, Option<Timestamp>),
    /// Where the reading goes on when the container runs again.
    unread: Unread,
    /// Dropping it ends the reading.
    _task: JoinSet<()>,
}

impl Runtime {
    /// Compose has brought a service up, or not.
    pub(super) fn service_applied(
        &mut self,
        resource: &ResourceName,
        applied: Applied,
        container: Option<Container>,
    ) {
        self.services.known.entry(resource.clone()).or_default().applied = Some(applied);
        if let Some(container) = container {
            self.container_seen(container);
        }
        self.show_service(resource);
    }

    /// After a time in which nobody looked: some services do otherwise than before, others are gone.
    ///
    /// What was there before the first update says nothing about this run: it may be crashed, or outdated.
    pub(super) fn containers_listed(&mut self, containers: Vec<Container>) {
        let is_there = |id: &str| containers.iter().any(|it| it.id == id);
        let known = self.services.known.values().filter_map(|it| it.container.as_ref());
        let gone: Vec<String> =
            known.filter(|it| !is_there(&it.id)).map(|it| it.id.clone()).collect();
        for id in gone {
            self.container_gone(&id);
        }
        for container in containers {
            let resource = self.resource_of(&container);
            let service = resource.and_then(|it| self.services.known.get(&it));
            if service.is_some_and(|it| it.applied.is_some() || it.container.is_some()) {
                self.container_seen(container);
            }
        }
    }

    /// A container of some service is there, or does otherwise than before.
    pub(super) fn container_seen(&mut self, mut container: Container) {
        let Some(resource) = self.resource_of(&container) else { return };
        let is_disabled = self.scheduler.resource(&resource).is_some_and(Resource::is_disabled);
        let spec = self.compose_spec(&resource);
        let service = self.services.known.entry(resource.clone()).or_default();
        if is_disabled {
            // Such as one that a canceled update has started nevertheless.
            let is_new = container.is_running && container.started > service.removed;
            if let Some(spec) = spec.filter(|_| is_new) {
                service.removed = container.started;
                self.remove_service_later(&resource, spec);
            }
            return;
        }
        service.spec = spec;
        // Of two containers of a service the one that was made last counts.
        if service.container.as_ref().is_some_and(|it| it.created > container.created) {
            return;
        }
        if !container.is_running
            && let Some(last) = service.last.as_ref().filter(|it| it.id == container.id)
        {
            // Docker forgets the ports of a container that ended.
            container.ports.clone_from(&last.ports);
        }
        if service.container.as_ref() == Some(&container) {
            return;
        }
        let output = container.health_output.as_deref().unwrap_or_default().trim().to_owned();
        if !output.is_empty() && output != service.health {
            let log = self.logs.writer(&resource, &names::compose_span(&resource));
            log.warn(&format!("healthcheck: {output}"));
        }
        service.health = output;
        service.last = Some(container.clone());
        service.container = Some(container);
        self.read_log(&resource);
        self.show_service(&resource);
        self.observe(&resource);
        self.live_containers_changed(&resource);
    }

    /// A container is gone.
    pub(super) fn container_gone(&mut self, id: &str) {
        let mut known = self.services.known.iter();
        let found = known.find(|(_, it)| it.container.as_ref().is_some_and(|it| it.id == id));
        let Some(resource) = found.map(|(name, _)| name.clone()) else { return };
        // How it ended is still of interest, if that is known.
        if let Some(service) = self.services.known.get_mut(&resource)
            && service.container.as_ref().is_some_and(|it| it.is_running)
        {
            service.container = None;
            service.log = None;
        }
        self.show_service(&resource);
        self.observe(&resource);
        self.live_containers_changed(&resource);
    }

    /// The container of a service, if there is one.
    pub(super) fn container_of(&self, resource: &str) -> Option<&Container> {
        self.services.known.get(resource)?.container.as_ref()
    }

    /// A resource is gone, or switched off: so is its container.
    pub(super) fn service_left(&mut self, resource: &ResourceName) {
        let Some(service) = self.services.known.get_mut(resource) else { return };
        service.log = None;
        let container = service.container.take();
        if let Some(container) = container
            && let Some(spec) = service.spec.clone()
        {
            service.removed = container.started;
            self.remove_service_later(resource, spec);
        }
        self.store.remove(kind::DOCKER_COMPOSE_LOG_STREAM, resource);
        self.show_service(resource);
    }

    /// Nothing is left to know of a resource.
    pub(super) fn forget_service(&mut self, resource: &ResourceName) {
        self.services.known.remove(resource);
    }

    /// Which resource a container belongs to.
    fn resource_of(&self, container: &Container) -> Option<ResourceName> {
        let label = |name: &str| container.labels.get(name).map(String::as_str);
        let project = label(PROJECT_LABEL)?;
        let service = label(SERVICE_LABEL)?;
        let is_one_off = label(ONE_OFF_LABEL) == Some("True");
        let resource = self.scheduler.resources().iter().find(|it| {
            matches!(&it.manifest.deploy_target, DeployTarget::Compose(target)
                if target.spec.service == service && target.spec.project.name == project)
        })?;
        (!is_one_off).then(|| resource.name.clone())
    }

    /// Tells how the container of a service does.
    pub(super) fn observe(&mut self, resource: &ResourceName) {
        let Some(service) = self.services.known.get(resource) else { return };
        let status = service.container.as_ref().map_or(RuntimeStatus::Unknown, runtime_status);
        if status == RuntimeStatus::Error && self.is_deploying(resource) {
            // The end of a container that is being replaced is no failure.
            return;
        }
        let error = service.container.as_ref().and_then(runtime_error);
        let is_satisfied = status == RuntimeStatus::Ok;
        let resource = resource.clone();
        let pod = None;
        self.step(Event::RuntimeObserved { resource, status, is_satisfied, error, pod });
    }

    /// Reads the log of a container, once for each run: from where it began, but nothing from before the engine.
    fn read_log(&mut self, resource: &ResourceName) {
        let Some(service) = self.services.known.get_mut(resource) else { return };
        let Some(container) = &service.container else { return };
        let run = (container.id.clone(), container.started);
        if run.1.is_none() || service.log.as_ref().is_some_and(|it| it.run == run) {
            return;
        }
        let known = service.log.as_ref().filter(|it| it.run.0 == run.0);
        let from_start = || {
            let begun =
                Timestamp::try_from(clock::to_system(self.settings.started)).unwrap_or_default();
            // Docker notes the start of a container later than its first line.
            let started = run.1.unwrap_or_default() - SignedDuration::from_secs(1);
            Arc::new(Mutex::new(started.max(begun)))
        };
        let unread = known.map_or_else(from_start, |it| Arc::clone(&it.unread));
        let log = self.logs.writer(resource, &names::compose_span(resource));
        let mut task = JoinSet::new();
        let Some(Ok(client)) = self.docker.as_ref().map(|it| it.client.clone()) else { return };
        task.spawn(docker::read_log(client, container.clone(), Arc::clone(&unread), move |text| {
            log.write(Level::Info, text);
        }));
        service.log = Some(LogTask { run, unread, _task: task });
        self.put_log_stream(resource);
    }

    fn put_log_stream(&self, resource: &ResourceName) {
        let Some(spec) = self.compose_spec(resource) else { return };
        let owner = self.store.get(kind::DOCKER_COMPOSE_SERVICE, resource).map(|it| Owner {
            kind: kind::DOCKER_COMPOSE_SERVICE,
            name: resource.to_string(),
            uid: it.uid().to_owned(),
        });
        let span = names::compose_object_span(resource);
        let annotations = [
            (declare::RESOURCE.to_owned(), resource.to_string()),
            (declare::SPAN.to_owned(), span),
        ];
        let meta = Meta { annotations: annotations.into(), owner, ..Meta::default() };
        let since = clock::seconds(self.settings.started);
        let spec = json!({"service": spec.service, "project": spec.project, "sinceTime": since});
        self.store.put(kind::DOCKER_COMPOSE_LOG_STREAM, resource, &meta, &spec);
    }

    /// What Compose is told about a resource.
    pub(super) fn compose_spec(&self, resource: &str) -> Option<ComposeSpec> {
        match &self.scheduler.resource(resource)?.manifest.deploy_target {
            DeployTarget::Compose(target) => Some(target.spec.clone()),
            DeployTarget::Local(_) | DeployTarget::Kubernetes(_) => None,
        }
    }

    pub(super) fn show_service(&self, resource: &ResourceName) {
        let service = self.services.known.get(resource);
        let mut status =
            json!({"disableStatus": self.disable_status(kind::DOCKER_COMPOSE_SERVICE, resource)});
        if let Some(container) = service.and_then(|it| it.container.as_ref()) {
            status["containerID"] = json!(container.id);
            status["containerName"] = json!(container.name);
            status["containerState"] = state(container);
            let bindings: Vec<Value> =
                bindings(&container.ports).into_iter().map(binding).collect();
            if !bindings.is_empty() {
                status["portBindings"] = json!(bindings);
            }
        }
        let time = |it: SystemTime| json!(clock::micro(clock::of_system(it)));
        let applied = service.and_then(|it| it.applied.as_ref());
        status["lastApplyStartTime"] = applied.map_or(Value::Null, |it| time(it.started));
        status["lastApplyFinishTime"] = applied.map_or(Value::Null, |it| time(it.finished));
        if let Some(error) = applied.and_then(|it| it.error.as_ref()) {
            status["applyError"] = json!(self.logs.scrubber().scrub(error));
        }
        self.store.set_status(kind::DOCKER_COMPOSE_SERVICE, resource, &status);
    }

    /// Ports of this machine that lead to a service, those of its file first.
    pub(super) fn service_ports(&self, resource: &str) -> Vec<u16> {
        let declared = self.scheduler.resource(resource).map(|it| &it.manifest.deploy_target);
        let Some(DeployTarget::Compose(target)) = declared else { return Vec::new() };
        let last = self.services.known.get(resource).and_then(|it| it.last.as_ref());
        let bound = bindings(last.map(|it| it.ports.as_slice()).unwrap_or_default());
        let all = target.published_ports.iter().copied().chain(bound.iter().map(|it| it.host_port));
        let mut seen = BTreeSet::new();
        all.filter(|it| *it != 0 && seen.insert(*it)).collect()
    }

    /// What its health check says of a service, if it has one.
    pub(super) fn service_health(&self, resource: &str) -> Option<&str> {
        self.services.known.get(resource)?.last.as_ref()?.health.as_deref()
    }
}

/// Tilt's view: an exit with code 0 is as good as running.
fn runtime_status(container: &Container) -> RuntimeStatus {
    if !container.error.is_empty() || container.exit_code != 0 {
        return RuntimeStatus::Error;
    }
    match container.status.as_str() {
        "running" | "exited" => RuntimeStatus::Ok,
        _ if container.is_running => RuntimeStatus::Ok,
        "" => RuntimeStatus::Unknown,
        _ => RuntimeStatus::Pending,
    }
}

/// Why a container is in a state of error, in Tilt's words.
fn runtime_error(container: &Container) -> Option<String> {
    let Container { id, error, exit_code, .. } = container;
    if !error.is_empty() {
        return Some(format!("Container {id}: {error}"));
    }
    (*exit_code != 0).then(|| format!("Container {id} exited with {exit_code}"))
}

/// Bound ports, in the order in which they are shown.
fn bindings(ports: &[Port]) -> Vec<&Port> {
    let mut ports: Vec<&Port> = ports.iter().filter(|it| it.host_port != 0).collect();
    ports.sort_by_key(|it| (it.host_port, &it.host_ip));
    ports
}

fn binding(port: &Port) -> Value {
    let number = port.container.split('/').next().and_then(|it| it.parse::<u16>().ok());
    json!({"containerPort": number, "hostIP": port.host_ip, "hostPort": port.host_port})
}

fn state(container: &Container) -> Value {
    let time = |it: Option<Timestamp>| it.map(|it| clock::micro(clock::of_system(it.into())));
    let mut shown = json!({
        "status": container.status,
        "startedAt": time(container.started),
        "finishedAt": time(container.finished),
    });
    if container.is_running {
        shown["running"] = json!(true);
    }
    if !container.error.is_empty() {
        shown["error"] = json!(container.error);
    }
    if container.exit_code != 0 {
        shown["exitCode"] = json!(container.exit_code);
    }
    if let Some(health) = &container.health {
        shown["healthStatus"] = json!(health);
    }
    shown
}
