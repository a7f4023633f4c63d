//! Publishes what changed: writes rendered objects to the store, and throttles that under load.

use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};

use engine_api::{Meta, Store};
use engine_core::{Time, World, resource::ResourceName, status::Condition};
use engine_model::{
    Kind, Load, ObjectId,
    annotation::{RESOURCE, SPAN, UNLISTED},
    names::KUBERNETES,
};
use engine_view::{
    cluster,
    draft::ObjectDraft,
    dump::EngineInfo,
    extension, image, live_update, local, queue,
    resource::{self, ConditionTimes},
    service,
    session::{self, UiSession},
    tiltfile, toggle,
    workload::{self, OwnedObject},
};
use serde_json::Value;

use super::Mode;
use crate::logs::LogStore;

/// With more resources than this to publish, they are published at most every [`PUBLISH_EVERY`].
const PUBLISH_AT_ONCE: usize = 64;
const PUBLISH_EVERY: Duration = Duration::from_millis(100);

/// The session lists all targets, so it is published less often with many of them: every so often per resource.
const SESSION_PER_RESOURCE: Duration = Duration::from_micros(500);

/// Writes objects, and knows what was published where that matters for what comes next.
pub(super) struct Publisher {
    store: Store,
    logs: LogStore,
    mode: Mode,
    /// When the engine was started.
    started: Time,
    /// The conditions of each resource, and since when they are like that.
    conditions: HashMap<ResourceName, [(bool, Time); 2]>,
    /// The objects that each Tiltfile declares.
    declared: HashMap<ResourceName, BTreeSet<ObjectId>>,
    /// Resources that have changed since they were published.
    dirty: BTreeSet<ResourceName>,
    last: Instant,
    session: Option<Instant>,
    is_session_stale: bool,
    ui_session: UiSession,
}

impl Publisher {
    pub(super) fn new(store: Store, logs: LogStore, mode: Mode, started: Time) -> Self {
        Self {
            store,
            logs,
            mode,
            started,
            conditions: HashMap::new(),
            declared: HashMap::new(),
            dirty: BTreeSet::new(),
            last: Instant::now(),
            session: None,
            is_session_stale: false,
            ui_session: UiSession::new(builtins::Features::default().values().clone()),
        }
    }

    /// A resource or Tiltfile looks different.
    pub(super) fn mark(&mut self, name: ResourceName) {
        self.dirty.insert(name);
    }

    /// A resource is gone.
    pub(super) fn forget(&mut self, resource: &str) {
        self.conditions.remove(resource);
        self.dirty.remove(resource);
    }

    /// A Tiltfile is gone; returns what it declared.
    pub(super) fn forget_tiltfile(&mut self, name: &str) -> BTreeSet<ObjectId> {
        self.conditions.remove(name);
        self.declared.remove(name).unwrap_or_default()
    }

    /// When resources are to be published; that may be in the past.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.dirty.len() {
            0 => None,
            1..=PUBLISH_AT_ONCE => Some(self.last),
            _ => Some(self.last + PUBLISH_EVERY),
        }
    }

    /// When the session is to be published; that may be in the past.
    pub(super) fn session_due(&self, n_resources: usize) -> Option<Instant> {
        let n_resources = u32::try_from(n_resources).unwrap_or(u32::MAX);
        let due = self.session.map_or(self.last, |it| it + SESSION_PER_RESOURCE * n_resources);
        self.is_session_stale.then_some(due)
    }

    /// Takes out the resources to publish now.
    pub(super) fn take_dirty(&mut self) -> BTreeSet<ResourceName> {
        self.last = Instant::now();
        self.is_session_stale = true;
        std::mem::take(&mut self.dirty)
    }

    /// Publishes a resource or a Tiltfile as it is now.
    pub(super) fn publish_resource(&mut self, world: &World, name: &ResourceName, now: Time) {
        let Some(conditions) = resource::conditions(world, name) else { return };
        let since = self.since(name, conditions, now);
        if let Some(status) = tiltfile::status(world, name) {
            self.store.set_status(Kind::Tiltfile, name, &status);
        }
        let warnings = |span: &str| self.logs.warnings(span);
        if let Some(status) = resource::status(world, name, since, &warnings) {
            self.store.set_status(Kind::UiResource, name, &status);
        }
    }

    /// Since when the conditions of a resource are as they are now.
    fn since(
        &mut self,
        name: &ResourceName,
        conditions: [Condition; 2],
        now: Time,
    ) -> ConditionTimes {
        let found = conditions.map(|it| (it.is_ok(), now));
        let published = self.conditions.entry(name.clone()).or_insert(found);
        for (published, found) in published.iter_mut().zip(found) {
            if published.0 != found.0 {
                *published = found;
            }
        }
        published.map(|it| it.1)
    }

    /// Publishes the trigger queue.
    pub(super) fn publish_queue(&self, world: &World) {
        self.put(queue::config_map(world));
    }

    /// Publishes the session. `verdict` is the error of a session that is done.
    pub(super) fn publish_session(
        &mut self,
        world: &World,
        started: Time,
        verdict: Option<&str>,
        now: Time,
    ) {
        self.is_session_stale = false;
        self.session = Some(Instant::now());
        let process = (std::process::id(), started);
        let status = session::status(world, process, verdict, now);
        self.store.set_status(Kind::Session, session::NAME, &status);
    }

    /// Publishes the session as the web page sees it, before the first load.
    pub(super) fn publish_ui_session(&self, info: &EngineInfo<'_>) {
        let status = self.ui_session.status(info);
        self.store.set_status(Kind::UiSession, session::NAME, &status);
    }

    /// Publishes what a load of the main Tiltfile says about the session.
    pub(super) fn load_ui_session(&mut self, load: &Load, is_good: bool, info: &EngineInfo<'_>) {
        self.ui_session.on_load(load, is_good);
        self.publish_ui_session(info);
    }

    /// Writes an object.
    pub(super) fn put(&self, draft: ObjectDraft) {
        let (id, meta, spec) = parts(draft);
        self.store.put(id.kind, &id.name, &meta, &spec);
    }

    /// Writes the objects of a load; returns those that the Tiltfile does not declare any more. They are still there: the
    /// world has to know first that their resources are gone.
    ///
    /// What a failed load says is published too, but nothing is removed because of it.
    pub(super) fn declare(
        &mut self,
        tiltfile: &ResourceName,
        (drafts, switches): (Vec<ObjectDraft>, Vec<ObjectDraft>),
        is_good: bool,
        resets_switches: bool,
    ) -> Vec<ObjectId> {
        let ids = drafts.iter().chain(&switches).map(|it| it.id.clone()).collect();
        for draft in drafts {
            self.put(draft);
        }
        for switch in switches {
            let (id, meta, spec) = parts(switch);
            if resets_switches {
                self.store.put(id.kind, &id.name, &meta, &spec);
            } else {
                self.store.put_new(id.kind, &id.name, &meta, &spec);
            }
        }
        let declared = self.declared.entry(tiltfile.clone()).or_default();
        if !is_good {
            declared.extend(ids);
            return Vec::new();
        }
        let old = std::mem::replace(declared, ids);
        old.difference(declared).cloned().collect()
    }

    /// The objects that a Tiltfile declares.
    pub(super) fn declared(&self, tiltfile: &str) -> BTreeSet<ObjectId> {
        self.declared.get(tiltfile).cloned().unwrap_or_default()
    }

    /// Publishes how an object does; returns one that is gone because of it.
    pub(super) fn publish(&self, world: &World, id: &ObjectId) -> Option<ObjectId> {
        let name = id.name.as_str();
        let status = match id.kind {
            Kind::Cmd => local::cmd_status(world, name),
            Kind::FileWatch if self.mode == Mode::Up => {
                let unlisted = local::unlisted_files(world, name);
                let status = local::file_watch_status(world, name);
                self.store.set_status(Kind::FileWatch, name, &status);
                self.store.annotate(Kind::FileWatch, name, UNLISTED, unlisted.as_deref());
                None
            }
            Kind::LiveUpdate => live_update::status(world, name),
            Kind::ToggleButton => return self.publish_toggle(world, name),
            Kind::ExtensionRepo => extension::repo_status(world, name),
            Kind::Extension => extension::status(world, name),
            Kind::Cluster if name == KUBERNETES => Some(cluster::status(world)),
            Kind::Cluster => service::cluster_status(world, name),
            Kind::KubernetesApply => Some(workload::apply_status(world, name)),
            Kind::KubernetesDiscovery => {
                self.publish_cluster_object(id, workload::discovery(world, name));
                None
            }
            Kind::PodLogStream => {
                self.publish_cluster_object(id, workload::log_stream(world, name));
                None
            }
            Kind::PortForward => {
                self.publish_cluster_object(id, workload::port_forward(world, name));
                None
            }
            Kind::DockerComposeService => service::status(world, name),
            Kind::ImageMap => image::map_status(world, name),
            Kind::CmdImage | Kind::DockerImage => image::build_status(world, id),
            Kind::DockerComposeLogStream => {
                self.publish_log_stream(world, name);
                None
            }
            // Nothing watches files in `ci`; the others are published where their state is.
            Kind::FileWatch
            | Kind::ConfigMap
            | Kind::Session
            | Kind::Tiltfile
            | Kind::UiButton
            | Kind::UiResource
            | Kind::UiSession => None,
        };
        if let Some(status) = status {
            self.store.set_status(id.kind, name, &status);
        }
        None
    }

    /// Publishes an object of what is deployed to the cluster.
    fn publish_cluster_object(&self, id: &ObjectId, object: Option<OwnedObject>) {
        let Some(object) = object else {
            self.store.remove(id.kind, &id.name);
            return;
        };
        let annotations =
            [(RESOURCE.to_owned(), object.resource.to_string()), (SPAN.to_owned(), object.span)];
        let owner = Some(ObjectId::new(object.owner, &*object.resource));
        let meta = Meta { annotations: annotations.into(), owner, ..Meta::default() };
        if object.status.is_none() {
            // It takes the place of another one, whose status does not matter any more.
            self.store.remove(id.kind, &id.name);
        }
        self.store.put(id.kind, &id.name, &meta, &object.spec);
        if let Some(status) = &object.status {
            self.store.set_status(id.kind, &id.name, status);
        }
    }

    /// There is a log stream while the log of a service is read.
    fn publish_log_stream(&self, world: &World, name: &str) {
        match service::log_stream(world, name, self.started) {
            Some(draft) => self.put(draft),
            None => drop(self.store.remove(Kind::DockerComposeLogStream, name)),
        }
    }

    /// The button that a toggle has, in the state that its config map says.
    fn publish_toggle(&self, world: &World, name: &str) -> Option<ObjectId> {
        let rendered = (toggle::button(world, name), toggle::status(world, name));
        let (Some(button), Some(status)) = rendered else {
            let id = toggle::button_id(name);
            self.store.remove(id.kind, &id.name);
            return Some(id);
        };
        let (id, meta, spec) = parts(button);
        self.store.put_owned(id.kind, &id.name, &meta, &spec);
        self.store.set_status(Kind::ToggleButton, name, &status);
        None
    }
}

fn parts(draft: ObjectDraft) -> (ObjectId, Meta, Value) {
    let ObjectDraft { id, labels, annotations, owner, spec } = draft;
    (id, Meta { labels, annotations, owner }, spec)
}
