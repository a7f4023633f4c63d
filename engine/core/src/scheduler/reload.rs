//! Takes in what a Tiltfile says: what is new, what changed in a way that matters, what is gone.

use std::{collections::HashSet, sync::Arc};

use engine_model::{DeployTarget, Manifest};

use crate::{
    resource::{ConfigChange, Resource, ResourceName, live_targets, local_of},
    scheduler::{Action, Leaving, Loaded, Scheduler, invalidates},
    time::Time,
};

impl Scheduler {
    /// Takes in the resources of a Tiltfile; those of others stay as they are.
    pub(super) fn take_in_load(
        &mut self,
        now: Time,
        tiltfile: &ResourceName,
        files: &[Arc<str>],
        loaded: &Loaded,
    ) {
        if let Some(max_parallel) = loaded.max_parallel {
            self.max_parallel = max_parallel.max(1);
        }
        let names: HashSet<&str> = loaded.manifests.iter().map(|it| it.name.as_str()).collect();
        self.remove_resources(|it| it.tiltfile == *tiltfile && !names.contains(&*it.name));
        for manifest in &loaded.manifests {
            match self.index.get(manifest.name.as_str()).copied() {
                Some(at) if self.resources[at].tiltfile != *tiltfile => {
                    self.actions.push(Action::DeclaredTwice {
                        resource: Arc::clone(&self.resources[at].name),
                        tiltfile: Arc::clone(tiltfile),
                        other: Arc::clone(&self.resources[at].tiltfile),
                    });
                }
                Some(at) => self.replace(now, at, manifest, files),
                None => self.add(Resource::new(Arc::clone(manifest), Arc::clone(tiltfile))),
            }
        }
        for manifest in &loaded.manifests {
            if let Some(&state) = loaded.enabled.get(manifest.name.as_str())
                && let Some(&at) = self.index.get(manifest.name.as_str())
                && self.resources[at].tiltfile == *tiltfile
            {
                self.switch(at, state);
            }
        }
        self.renumber();
    }

    fn add(&mut self, resource: Resource) {
        self.index.insert(Arc::clone(&resource.name), self.resources.len());
        self.resources.push(resource);
    }

    fn replace(&mut self, now: Time, at: usize, manifest: &Arc<Manifest>, files: &[Arc<str>]) {
        let old = Arc::clone(&self.resources[at].manifest);
        if kind(&old) != kind(manifest) {
            let fresh =
                Resource::new(Arc::clone(manifest), Arc::clone(&self.resources[at].tiltfile));
            let mut old = std::mem::replace(&mut self.resources[at], fresh);
            self.abandon(&mut old);
            return;
        }
        let resource = &mut self.resources[at];
        resource.trigger_mode = manifest.trigger_mode;
        let is_equal = *old == **manifest;
        resource.manifest = Arc::clone(manifest);
        resource.live_targets = live_targets(manifest);
        if is_equal {
            return;
        }
        resource.local = local_of(manifest);
        if invalidates(&old, manifest) {
            // Whatever changed before is part of what is done anew.
            resource.pending.clear();
            resource.config_change = Some(ConfigChange { at: now, files: files.to_vec() });
        }
    }

    /// Removes resources, and stops what they run.
    pub(super) fn remove_resources(&mut self, is_gone: impl Fn(&Resource) -> bool) {
        if !self.resources.iter().any(&is_gone) {
            return;
        }
        self.name_shown();
        let (gone, kept): (Vec<Resource>, Vec<Resource>) =
            std::mem::take(&mut self.resources).into_iter().partition(is_gone);
        self.resources = kept;
        self.renumber();
        for mut resource in gone {
            self.abandon(&mut resource);
            self.show_name(&resource.name);
            self.actions.push(Action::Removed { resource: resource.name });
        }
    }

    fn abandon(&mut self, resource: &mut Resource) {
        self.queue.retain(|it| *it != resource.name);
        if let Some(update) = resource.current.take() {
            let (name, is_exclusive) = (Arc::clone(&resource.name), resource.is_exclusive());
            let leaving = Leaving { resource: Arc::clone(&name), is_exclusive };
            self.leaving_updates.insert(update.id, leaving);
            self.actions.push(Action::CancelUpdate { id: update.id, resource: name });
        }
        self.abandon_server(resource);
    }
}

fn kind(manifest: &Manifest) -> u8 {
    match manifest.deploy_target {
        DeployTarget::Kubernetes(_) => 0,
        DeployTarget::Compose(_) => 1,
        DeployTarget::Local(_) => 2,
    }
}
