//! Live updates: what is found where they copy from, and the work that brings it into containers.

use std::{collections::BTreeSet, os::unix::fs::MetadataExt, sync::Arc};

use engine_core::{
    Event, Time,
    live_update::{Container, Found, ListError, Outcome, Root, Roots, SyncId, SyncPlan},
    resource::ResourceName,
};
use engine_docker::Filter;
use engine_model::{FilePath, IgnoreDef, LiveUpdateName};

use super::DriverMessage;
use crate::{
    deploy::live_update::{self, HelperImage, RunningContainer, Sidecars},
    logs::LogStore,
    tasks::{Lost, TaskKey, Tasks},
};

/// A live update of a resource.
type LiveUpdateId = (ResourceName, LiveUpdateName);

/// What brings files into containers.
#[derive(Debug)]
pub(crate) struct LiveUpdateDriver {
    /// The transports into containers that run.
    sidecars: Sidecars,
    /// The helper as an image, and for which connection to a cluster.
    helper_image: Option<(u64, HelperImage)>,
    logs: LogStore,
}

impl LiveUpdateDriver {
    /// No containers yet.
    pub(crate) fn new(logs: LogStore) -> Self {
        Self { sidecars: Sidecars::default(), helper_image: None, logs }
    }

    /// Only these resources have live updates.
    pub(crate) fn retain(&mut self, resources: &[&str]) {
        self.sidecars.retain(resources);
    }

    /// These are the containers of a resource that run.
    pub(crate) fn observe(&mut self, resource: &ResourceName, running: &[RunningContainer]) {
        self.sidecars.observe(resource, running);
    }

    /// The helper as an image, once it was prepared.
    pub(crate) fn helper_image(&self) -> Option<&HelperImage> {
        self.helper_image.as_ref().map(|(_, it)| it)
    }

    /// Whether the helper was prepared for a connection to a cluster.
    pub(crate) fn is_prepared(&self, link: u64) -> bool {
        self.helper_image.as_ref().is_some_and(|it| it.0 == link)
    }

    /// The helper gets into containers of a cluster, should that be needed.
    pub(crate) fn prepare(
        &mut self,
        link: u64,
        images: &crate::deploy::images::Images,
        arch: &str,
    ) {
        let log = self.logs.writer("", "engine-helper");
        self.helper_image = Some((link, HelperImage::new(images, arch, log)));
    }

    /// Brings files into running containers.
    pub(crate) fn start_sync<M: DriverMessage>(
        &self,
        tasks: &mut Tasks<M>,
        (resource, live_update): LiveUpdateId,
        id: SyncId,
        plan: Arc<SyncPlan>,
        ignores: &[IgnoreDef],
    ) {
        let filter = Filter::new(ignores);
        let containers = plan.containers.clone();
        let work = self.work(&resource, &live_update, plan);
        let task = TaskKey::Sync(resource.clone());
        tasks.spawn(task, work.run(filter), move |ended| {
            let ended = ended.unwrap_or_else(|lost| not_synced(containers, &lost));
            Event::SyncEnded { resource, live_update, id, ended }.into()
        });
    }

    /// Brings files into running containers before anybody waits for them.
    pub(crate) fn send_ahead<M: DriverMessage>(
        &self,
        tasks: &mut Tasks<M>,
        (resource, live_update): LiveUpdateId,
        plan: Arc<SyncPlan>,
    ) {
        let work = self.work(&resource, &live_update, plan);
        let task = TaskKey::SyncAhead(resource.clone());
        tasks.spawn(task, async move { work.run_ahead().await }, |_| {
            Event::WentAhead { resource, live_update }.into()
        });
    }

    fn work(&self, resource: &str, name: &str, update: Arc<SyncPlan>) -> live_update::LiveUpdate {
        let log = self.logs.writer(resource, &format!("liveupdate:{name}"));
        let sidecars = update.containers.iter().map(|it| self.sidecars.get(&it.id)).collect();
        live_update::LiveUpdate { update, sidecars, log }
    }
}

/// Lists all files below some paths that no ignore rule excludes.
pub(crate) fn list_files<M: DriverMessage>(
    tasks: &mut Tasks<M>,
    (resource, live_update): LiveUpdateId,
    roots: Vec<FilePath>,
    ignores: &[IgnoreDef],
) {
    let filter = Filter::new(ignores);
    let work = move || live_update::list(&roots, &filter);
    tasks.spawn_blocking(TaskKey::ListFiles(resource.clone()), work, |listed| {
        let result = listed.unwrap_or_else(|lost| Err(ListError::Lost(lost.to_string())));
        Event::FilesListed { resource, live_update, result }.into()
    });
}

/// Stops all that is brought into containers of a resource; each part still ends.
pub(crate) fn cancel_syncs<M: DriverMessage>(tasks: &Tasks<M>, resource: &ResourceName) {
    tasks.abort_all(
        |it| matches!(it, TaskKey::Sync(name) | TaskKey::SyncAhead(name) if name == resource),
    );
}

/// Containers whose update has no result: nobody knows what they got.
fn not_synced(containers: Vec<Container>, lost: &Lost) -> Vec<(Container, Outcome)> {
    let outcome = match lost {
        Lost::Panicked(_) => Outcome::Failed(lost.to_string()),
        Lost::Aborted => Outcome::Abandoned,
    };
    containers.into_iter().map(|it| (it, outcome.clone())).collect()
}

/// What is at a path after it changed.
pub(crate) fn found(path: &FilePath) -> Found {
    match path.as_path().symlink_metadata() {
        Ok(metadata) => {
            let micros = metadata.ctime_nsec() / 1_000;
            let changed = metadata.ctime().checked_mul(1_000_000).map(|it| Time(it + micros));
            Found::Present { changed }
        }
        Err(_) => Found::Absent,
    }
}

/// What is at the local paths of sync steps.
pub(crate) fn found_at(roots: BTreeSet<FilePath>) -> Roots {
    roots.into_iter().map(|it| (it.clone(), root(&it))).collect()
}

fn root(path: &FilePath) -> Root {
    match path.as_path().metadata() {
        Ok(metadata) if metadata.is_dir() => Root::Directory,
        Ok(_) => Root::File,
        Err(error) => Root::Missing(format!(
            "stat {path}: {}",
            engine_formats::golang::os_error::errno_text(&error)
        )),
    }
}
