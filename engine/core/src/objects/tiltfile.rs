//! Tiltfile objects: the main one, those of extensions, and those that somebody made. Each says which Tiltfile runs, with
//! which arguments, and whose events start and stop it.

use engine_model::spec::TiltfileSpec;

use super::ObjectAction;
use crate::{World, resource::ResourceName};

impl World {
    /// What a Tiltfile object asks for.
    pub fn tiltfile_object(&self, name: &str) -> Option<&TiltfileSpec> {
        self.objects.tiltfiles.get(name)
    }

    /// Takes in what an object says; a Tiltfile that is not known yet runs.
    pub(super) fn reconcile_tiltfile(&mut self, name: &str) {
        let Some(spec) = self.objects.tiltfiles.get(name) else { return };
        let TiltfileSpec { path, labels, args, .. } = spec.clone();
        let name: ResourceName = name.into();
        // Another path matters from the next run on, which only arguments cause at once.
        self.do_for_object(ObjectAction::DeclareTiltfile { name: name.clone(), path, labels });
        match self.tiltfile(&name) {
            Some(it) if it.args == args => {}
            Some(_) => self.set_args(&name, args),
            None => self.add_tiltfile(name, args),
        }
    }

    /// Takes a Tiltfile away, with all it declared.
    pub(super) fn tiltfile_object_removed(&mut self, name: &str) {
        if self.tiltfile(name).is_some() {
            let name: ResourceName = name.into();
            self.remove_tiltfile(&name);
            self.do_for_object(ObjectAction::ForgetTiltfile { name });
        }
    }

    /// The Tiltfiles whose objects are like this.
    pub(super) fn tiltfiles_where(
        &self,
        is_meant: impl Fn(&TiltfileSpec) -> bool,
    ) -> Vec<ResourceName> {
        let meant = self.objects.tiltfiles.iter().filter(|(_, it)| is_meant(it));
        meant.map(|(name, _)| name.as_str().into()).collect()
    }
}
