//! Tiltfile objects: the main one, those of extensions, and those that somebody made. Each says which Tiltfile runs, with
//! which arguments, and whose events start and stop it.

use std::sync::Arc;

use engine_core::{Event, Time, reason::Reason, resource::ResourceName, tiltfile::MAIN};
use serde_json::json;

use super::{Runtime, buttons::meta_of, declare::Declared, specs};
use crate::api::kind;

impl Runtime {
    /// Takes in what an object says; a Tiltfile that is not known yet runs.
    pub(super) fn look_at_tiltfile(&mut self, name: &str) {
        let Some(object) = self.store.get(kind::TILTFILE, name) else { return };
        let specs::Tiltfile { path, labels, args, .. } = specs::of(&object);
        let tiltfile: ResourceName = name.into();
        if let Some(declared) = self.tiltfiles.get_mut(name) {
            // Another path matters from the next run on, which only arguments cause at once.
            (declared.path, declared.labels) = (path, labels);
            if self.scheduler.tiltfile(name).is_some_and(|it| it.args != args) {
                self.step(Event::ArgsChanged { tiltfile, args });
            }
            return;
        }
        let declared = Declared { labels, ..Declared::new(path) };
        self.tiltfiles.insert(Arc::clone(&tiltfile), declared);
        self.declare_tiltfile(&tiltfile);
        self.step(Event::TiltfileAdded { name: tiltfile, args });
    }

    /// Takes a Tiltfile away, with all it declared.
    pub(super) fn tiltfile_removed(&mut self, name: &str) {
        let Some(declared) = self.tiltfiles.remove(name) else { return };
        self.step(Event::TiltfileRemoved { name: name.into() });
        for (kind, object) in declared.objects {
            self.store.remove(kind, &object);
            self.object_removed(kind, &object);
        }
        self.shown.forget(name);
        self.watch_all();
    }

    /// Gives the main Tiltfile other arguments, and shows them.
    pub(super) fn set_args(&mut self, args: &[String]) {
        let Some(object) = self.store.get(kind::TILTFILE, MAIN) else { return };
        let mut spec = object.spec();
        if let Some(fields) = spec.as_object_mut() {
            if args.is_empty() {
                fields.shift_remove("args");
            } else {
                fields.insert("args".to_owned(), json!(args));
            }
        }
        let meta = meta_of(&object);
        self.store.put(kind::TILTFILE, MAIN, &meta, &spec);
        self.look_at_tiltfile(MAIN);
    }

    /// Runs the Tiltfiles again whose objects name a file watch that saw changes.
    pub(super) fn restart_tiltfiles_of_watch(&mut self, watch: &str, files: &[Arc<str>], at: Time) {
        for name in
            self.tiltfiles_where(|it| it.restart_on.file_watches.iter().any(|it| it == watch))
        {
            let files = files.to_vec();
            self.step(Event::ConfigFilesChanged { tiltfile: name, files, at });
        }
    }

    /// Runs or stops the Tiltfiles whose objects name a button that was clicked.
    pub(super) fn click_tiltfiles_of_button(&mut self, button: &str, at: Time) {
        for name in
            self.tiltfiles_where(|it| it.restart_on.ui_buttons.iter().any(|it| it == button))
        {
            let (reason, with_deps) = (Reason::TRIGGER_UNKNOWN, false);
            self.step(Event::Triggered { resource: name, reason, with_deps });
        }
        for name in self.tiltfiles_where(|it| it.stop_on.ui_buttons.iter().any(|it| it == button)) {
            self.step(Event::StopRequested { resource: name, at });
        }
    }

    fn tiltfiles_where(&self, is_meant: impl Fn(&specs::Tiltfile) -> bool) -> Vec<ResourceName> {
        let objects = self.store.list(kind::TILTFILE);
        let meant = objects.iter().filter(|it| is_meant(&specs::of(it)));
        meant.map(|it| it.name().into()).collect()
    }
}
