//! The Compose service of a resource: its container, how that does, and what was applied.

use std::{collections::BTreeSet, sync::Arc};

use engine_model::{ComposeSpec, Container, DeployTarget, Time};

use super::Resource;
use crate::{
    live_update::{Container as LiveContainer, ContainerState, Observed},
    status::RuntimeStatus,
};

/// A Compose service, from the first time that something is known of it.
#[derive(Clone, Debug, Default)]
pub struct Service {
    /// What Compose was told about its container.
    pub(crate) spec: Option<ComposeSpec>,
    /// Its container.
    pub container: Option<Arc<Container>>,
    /// The container that was seen last, even if it is gone: links lead there until there is another.
    pub last: Option<Arc<Container>>,
    /// The last time that Compose was asked to bring it up.
    pub applied: Option<Applied>,
    /// When the container was started that was removed last.
    pub(crate) removed: Option<Time>,
    /// What the health check said when it last failed.
    pub(crate) health: String,
    /// The run of a container whose log is read.
    pub(crate) log: Option<ContainerRun>,
    /// Whether its log was read since it was last enabled.
    pub has_log: bool,
}

/// A run of a container: which container, and when it was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContainerRun {
    id: String,
    started: Time,
}

impl ContainerRun {
    /// The run of a container that was started at all.
    pub(crate) fn of(container: &Container) -> Option<Self> {
        Some(Self { id: container.id.clone(), started: container.started? })
    }
}

/// Why Compose could not bring a service up, in words without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyError {
    /// All of it.
    pub text: String,
    /// What Compose printed last.
    pub last_line: String,
}

/// What became of asking Compose to bring a service up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// When that began.
    pub started: Time,
    /// When it ended.
    pub finished: Time,
    /// What went wrong, if anything.
    pub error: Option<ApplyError>,
}

impl Service {
    /// How its container does. As in Tilt, an exit with code 0 is as good as running.
    pub fn runtime_status(&self) -> RuntimeStatus {
        let Some(container) = &self.container else { return RuntimeStatus::Unknown };
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

    /// Why its container is in a state of error, in Tilt's words.
    pub fn runtime_error(&self) -> Option<String> {
        let Container { id, error, exit_code, .. } = self.container.as_deref()?;
        if !error.is_empty() {
            return Some(format!("Container {id}: {error}"));
        }
        (*exit_code != 0).then(|| format!("Container {id} exited with {exit_code}"))
    }
}

impl Resource {
    /// What Compose is told about it, if it is a service.
    pub fn compose_spec(&self) -> Option<&ComposeSpec> {
        match &self.manifest.deploy_target {
            DeployTarget::Compose(target) => Some(&target.spec),
            DeployTarget::Local(_) | DeployTarget::Kubernetes(_) => None,
        }
    }

    /// The container of its service, if there is one.
    pub fn container(&self) -> Option<&Container> {
        self.service.as_ref()?.container.as_deref()
    }

    /// What its health check says of its service, if it has one.
    pub fn service_health(&self) -> Option<&str> {
        self.service.as_ref()?.last.as_ref()?.health.as_deref()
    }

    /// Ports of this machine that lead to its service, those of its file first.
    pub fn service_ports(&self) -> Vec<u16> {
        let DeployTarget::Compose(target) = &self.manifest.deploy_target else { return Vec::new() };
        let last = self.service.as_ref().and_then(|it| it.last.as_deref());
        let bound = last.map(Container::bindings).unwrap_or_default();
        let all = target.published_ports.iter().copied().chain(bound.iter().map(|it| it.host_port));
        let mut seen = BTreeSet::new();
        all.filter(|it| *it != 0 && seen.insert(*it)).collect()
    }

    /// The container of its service as live updates see it.
    pub fn live_container(&self) -> Option<Observed> {
        let found = self.container()?;
        let state = match found.status.as_str() {
            "running" => ContainerState::Running,
            "removing" | "exited" | "dead" => ContainerState::Terminated,
            _ => ContainerState::Waiting,
        };
        let (name, id) = (found.name.as_str().into(), found.id.as_str().into());
        Some(Observed { container: LiveContainer { name, id, ..LiveContainer::default() }, state })
    }

    /// Whether an update builds and deploys it now.
    pub(crate) fn is_deploying(&self) -> bool {
        self.current.as_ref().is_some_and(|it| !it.is_live)
    }
}
