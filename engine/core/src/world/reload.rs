//! Takes in what a Tiltfile says: what is new, what changed in a way that matters, what is gone.

use std::{collections::HashSet, sync::Arc};

use engine_model::{DeployTarget, FilePath, Manifest};

use crate::{
    resource::{ConfigChange, Resource, ResourceName, Update, local_of},
    time::Time,
    world::{Action, Leaving, Loaded, World, invalidates},
};

impl World {
    /// Takes in the resources of a Tiltfile; those of others stay as they are.
    pub(super) fn take_in_load(
        &mut self,
        now: Time,
        tiltfile: &ResourceName,
        files: &[FilePath],
        loaded: &Loaded,
    ) {
        if let Some(max_parallel) = loaded.max_parallel {
            self.max_parallel = Some(max_parallel.max(1));
        }
        let names: HashSet<&str> = loaded.manifests.iter().map(|it| it.name.as_str()).collect();
        self.remove_resources(|it| it.tiltfile == *tiltfile && !names.contains(&*it.name));
        for manifest in &loaded.manifests {
            match self.index.get(manifest.name.as_str()).copied() {
                Some(at) if self.resources[at].tiltfile != *tiltfile => {
                    self.effects.actions.push(Action::DeclaredTwice {
                        resource: self.resources[at].name.clone(),
                        tiltfile: tiltfile.clone(),
                        other: self.resources[at].tiltfile.clone(),
                    });
                }
                Some(at) => self.replace(now, at, manifest, files),
                None => self.add(Resource::new(Arc::clone(manifest), tiltfile.clone())),
            }
        }
        for manifest in &loaded.manifests {
            let Some(&at) = self.index.get(manifest.name.as_str()) else { continue };
            if self.resources[at].tiltfile != *tiltfile {
                continue;
            }
            self.define_live_updates(now, at);
            if let Some(&state) = loaded.enabled.get(manifest.name.as_str()) {
                self.switch(now, at, state);
            }
        }
        self.renumber();
        self.forget_images();
        self.need_docker();
    }

    fn add(&mut self, resource: Resource) {
        self.index.insert(resource.name.clone(), self.resources.len());
        self.resources.push(resource);
    }

    fn replace(&mut self, now: Time, at: usize, manifest: &Arc<Manifest>, files: &[FilePath]) {
        let old = Arc::clone(&self.resources[at].manifest);
        if kind(&old) != kind(manifest) {
            let fresh = Resource::new(Arc::clone(manifest), self.resources[at].tiltfile.clone());
            let mut old = std::mem::replace(&mut self.resources[at], fresh);
            // What it deployed stays until the resource is gone.
            self.resources[at].workload = old.workload.take();
            self.abandon(&mut old);
            return;
        }
        let resource = &mut self.resources[at];
        resource.trigger_mode = manifest.trigger_mode;
        let is_equal = *old == **manifest;
        resource.manifest = Arc::clone(manifest);
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
        let (mut gone, kept): (Vec<Resource>, Vec<Resource>) =
            std::mem::take(&mut self.resources).into_iter().partition(is_gone);
        self.resources = kept;
        self.renumber();
        let mut rest = gone.as_mut_slice();
        while let Some((resource, others)) = rest.split_first_mut() {
            self.abandon(resource);
            self.remove_workload(resource, others);
            self.show_name(&resource.name);
            let resource = resource.name.clone();
            self.effects.actions.push(Action::Removed { resource });
            rest = others;
        }
    }

    fn abandon(&mut self, resource: &mut Resource) {
        self.queue.retain(|it| *it != resource.name);
        if let Some(update) = resource.current.take() {
            self.abandon_update(resource, &update);
        }
        self.abandon_server(resource);
        if let Some(mut service) = resource.service.take() {
            self.service_left(&resource.name, &mut service, true);
        }
    }

    fn abandon_update(&mut self, resource: &Resource, update: &Update) {
        if update.is_live {
            return self.abandon_live_update(resource);
        }
        let (name, is_exclusive) = (resource.name.clone(), resource.is_exclusive());
        let leaving = Leaving { resource: name.clone(), is_exclusive };
        self.leaving_updates.insert(update.id, leaving);
        self.effects.actions.push(Action::CancelUpdate { id: update.id, resource: name });
    }
}

fn kind(manifest: &Manifest) -> u8 {
    match manifest.deploy_target {
        DeployTarget::Kubernetes(_) => 0,
        DeployTarget::Compose(_) => 1,
        DeployTarget::Local(_) => 2,
    }
}
