//! The Docker engine: when it is needed, whether it answers, and which services are taken away from it.

use std::{collections::BTreeMap, sync::Arc};

pub use engine_model::names::DOCKER;
use engine_model::{
    ComposeSpec, Container, DeployTarget, DockerPruneSettings, Kind, Manifest, ObjectId, Time,
};

use crate::{
    effect::{LineKind, LogLine},
    resource::ResourceName,
    world::{Action, World},
};

/// Services that are switched off together are removed together.
const REMOVAL_DELAY_MILLIS: i64 = 200;

/// Something that became known of Docker.
#[derive(Clone, Debug)]
pub enum DockerEvent {
    /// It answers.
    Connected {
        /// Its architecture.
        arch: String,
        /// Its version.
        version: String,
    },
    /// It does not.
    Lost {
        /// Why.
        error: String,
    },
    /// All containers, after a time in which it was not known what they do.
    Listed {
        /// All of them.
        containers: Vec<Container>,
    },
    /// A container is there, or does otherwise than before.
    ContainerSeen {
        /// The container.
        container: Box<Container>,
    },
    /// A container is gone.
    ContainerGone {
        /// Its ID.
        id: String,
    },
    /// The main Tiltfile says when Docker is pruned.
    PruneConfigured {
        /// When, and what.
        settings: DockerPruneSettings,
    },
    /// A prune has ended.
    Pruned,
}

/// Something to do with Docker.
#[derive(Clone, Debug, PartialEq)]
pub enum DockerAction {
    /// Find the engine that the environment names.
    Find,
    /// Follow what its containers do.
    Follow,
    /// Read the log of a run of a container until it ends; of a container that was read before, from there on.
    ReadLog {
        /// The resource.
        resource: ResourceName,
        /// Its container.
        container: Arc<Container>,
    },
    /// Read the log of a resource no more.
    StopLog {
        /// The resource.
        resource: ResourceName,
    },
    /// Remove services.
    RemoveServices {
        /// All of them, by resource.
        removals: Vec<Removal>,
    },
    /// Remove what nobody needs any more.
    Prune {
        /// What may go.
        settings: DockerPruneSettings,
        /// The resources whose images are meant.
        manifests: Vec<Arc<Manifest>>,
    },
}

/// A service to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// Which one.
    pub spec: ComposeSpec,
    /// Whether the Tiltfile does not have it any more; its Compose file may not know it either.
    pub is_gone: bool,
}

/// What is known of the Docker engine.
#[derive(Clone, Debug, Default)]
pub struct Docker {
    /// Whether it was looked for.
    pub(super) is_found: bool,
    /// Whether what its containers do is followed.
    pub(super) is_followed: bool,
    /// Whether it answers; nothing before it was tried.
    pub connection: Option<DockerConnection>,
    removals: BTreeMap<ResourceName, Removal>,
    removals_due: Option<Time>,
}

/// Whether Docker answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DockerConnection {
    /// It does.
    Up {
        /// Its architecture.
        arch: String,
        /// Its version.
        version: String,
        /// Since when.
        since: Time,
    },
    /// It does not.
    Lost {
        /// Why.
        error: String,
    },
}

impl Docker {
    /// Why it cannot be used, if that is so.
    pub fn error(&self) -> Option<&str> {
        match self.connection.as_ref()? {
            DockerConnection::Lost { error } => Some(error),
            DockerConnection::Up { .. } => None,
        }
    }

    /// When services are to be removed.
    pub(super) fn wake_at(&self) -> Option<Time> {
        self.removals_due
    }
}

impl World {
    /// The Docker engine.
    pub fn docker(&self) -> &Docker {
        &self.docker
    }

    pub(super) fn docker_event(&mut self, now: Time, event: DockerEvent) {
        match event {
            DockerEvent::Connected { arch, version } => {
                self.docker.connection = Some(DockerConnection::Up { arch, version, since: now });
                self.clusters.insert(DOCKER);
                self.effects.changed.insert(ObjectId::new(Kind::Cluster, DOCKER));
            }
            DockerEvent::Lost { error } => self.docker_lost(error),
            DockerEvent::Listed { containers } => self.containers_listed(now, containers),
            DockerEvent::ContainerSeen { container } => self.container_seen(now, *container),
            DockerEvent::ContainerGone { id } => self.container_gone(now, &id),
            DockerEvent::PruneConfigured { settings } => self.pruning.settings = Some(settings),
            DockerEvent::Pruned => self.pruning.is_running = false,
        }
    }

    fn docker_lost(&mut self, error: String) {
        if self.docker.error() == Some(&error) {
            return;
        }
        let (resource, span, kind) = ("".into(), String::new(), LineKind::Error);
        self.effects.lines.push(LogLine { resource, span, kind, text: error.clone() });
        self.docker.connection = Some(DockerConnection::Lost { error });
        self.clusters.remove(DOCKER);
        self.effects.changed.insert(ObjectId::new(Kind::Cluster, DOCKER));
    }

    /// Finds Docker as soon as some image is built, and follows it as soon as some resource is a Compose service.
    pub(super) fn need_docker(&mut self) {
        let has_service = |it: &Manifest| matches!(it.deploy_target, DeployTarget::Compose(_));
        let has_image = |it: &Manifest| it.image_targets.as_ref().is_some_and(|it| !it.is_empty());
        let has_service = self.resources.iter().any(|it| has_service(&it.manifest));
        if !has_service && !self.resources.iter().any(|it| has_image(&it.manifest)) {
            return;
        }
        if !std::mem::replace(&mut self.docker.is_found, true) {
            self.do_with_docker(DockerAction::Find);
        }
        if has_service && !std::mem::replace(&mut self.docker.is_followed, true) {
            self.do_with_docker(DockerAction::Follow);
        }
    }

    /// Removes a service after a while, together with others.
    pub(super) fn remove_service_later(&mut self, resource: ResourceName, removal: Removal) {
        self.docker.removals.insert(resource, removal);
    }

    /// A service that is wanted again stays.
    pub(super) fn keep_service(&mut self, resource: &str) {
        self.docker.removals.remove(resource);
    }

    /// Removes services whose time has come; those that are new wait a while for others.
    pub(super) fn remove_services(&mut self, now: Time) {
        let Docker { removals, removals_due, .. } = &mut self.docker;
        if removals.is_empty() {
            *removals_due = None;
        } else if now >= *removals_due.get_or_insert(now.plus_millis(REMOVAL_DELAY_MILLIS)) {
            *removals_due = None;
            let removals = std::mem::take(removals).into_values().collect();
            self.do_with_docker(DockerAction::RemoveServices { removals });
        }
    }

    pub(crate) fn do_with_docker(&mut self, action: DockerAction) {
        self.effects.actions.push(Action::Docker(action));
    }
}
