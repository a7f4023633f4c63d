//! Objects of clients and Tiltfiles: tells the world what they ask for, and does what follows.

use engine_api::Change;
use engine_core::{
    Action, Event,
    objects::{ObjectAction, ObjectEvent},
    resource::{ResourceName, ServeId},
    tiltfile::MAIN,
};
use engine_formats::golang::quote::quote;
use engine_model::{Kind, ObjectId};
use engine_view::local;
use serde_json::{Map, Value, json};

use super::{Runtime, load::Declared};
use crate::drivers::commands::CommandKey;

impl Runtime {
    /// Takes in what clients did to objects.
    pub(super) fn objects_changed(&mut self, changes: &[Change]) {
        self.report_objects(changes.iter().map(|it| ObjectId::new(it.kind(), it.name())), false);
    }

    /// Takes in everything that a client may have changed.
    pub(super) fn report_all_objects(&mut self) {
        let changes = self.store.spec_changes();
        self.step(Event::Object(ObjectEvent::SpecsChanged { changes, is_load: false }));
    }

    /// Removes objects that nobody declares any more, with what they meant.
    pub(super) fn remove_objects(&mut self, gone: impl IntoIterator<Item = ObjectId>) {
        let gone: Vec<ObjectId> = gone.into_iter().collect();
        for ObjectId { kind, name } in &gone {
            self.store.remove(*kind, name);
        }
        self.report_objects(gone, false);
    }

    /// Tells the world what objects ask for now.
    pub(super) fn report_objects(
        &mut self,
        objects: impl IntoIterator<Item = ObjectId>,
        is_load: bool,
    ) {
        let objects = objects.into_iter();
        let changes: Vec<_> =
            objects.filter_map(|it| self.store.spec_change(it.kind, &it.name)).collect();
        if !changes.is_empty() {
            self.step(Event::Object(ObjectEvent::SpecsChanged { changes, is_load }));
        }
    }

    /// Tells the world about one object that the engine has written or removed.
    pub(super) fn report_object(&mut self, kind: Kind, name: &str) {
        self.report_objects([ObjectId::new(kind, name)], false);
    }

    /// Does what the world asks for.
    pub(super) fn act_for_object(&mut self, action: ObjectAction) {
        match action {
            ObjectAction::SetConfigMapKey { name, key, value } => {
                let set = |data: &mut Map<String, Value>| drop(data.insert(key, json!(value)));
                if self.store.edit(Kind::ConfigMap, &name, set) {
                    self.report_object(Kind::ConfigMap, &name);
                }
            }
            ObjectAction::DeclareTiltfile { name, path, labels } => {
                let declared = Declared { path, labels };
                if self.tiltfiles.insert(name.clone(), declared).is_none() {
                    self.declare_tiltfile(&name);
                }
            }
            ObjectAction::ForgetTiltfile { name } => {
                self.tiltfiles.remove(&name);
                let gone = self.publisher.forget_tiltfile(&name);
                self.remove_objects(gone);
                self.drivers.loads.forget(&name);
            }
            ObjectAction::PutExtensionTiltfile { name, path, args } => {
                self.publisher.put(engine_view::extension::tiltfile(&name, &path, &args));
                self.report_object(Kind::Tiltfile, &name);
            }
            ObjectAction::RemoveExtensionTiltfile { name } => {
                self.store.remove(Kind::Tiltfile, &name);
                self.report_object(Kind::Tiltfile, &name);
            }
            action => self.drivers.act(&self.world, Action::Object(action)),
        }
    }

    /// Publishes how an object does.
    pub(super) fn publish_object(&mut self, id: &ObjectId) {
        if let Some(gone) = self.publisher.publish(&self.world, id) {
            self.report_object(gone.kind, &gone.name);
        }
    }

    /// Starts the server of a resource, and publishes its command.
    pub(super) fn start_serve(&mut self, id: ServeId, resource: &ResourceName) {
        let Some(target) = self.world.resource(resource).and_then(|it| it.local.clone()) else {
            return;
        };
        self.publisher.put(local::serve_object(id, resource, &target));
        self.report_object(Kind::Cmd, &id.object(resource));
        self.drivers.start_server(id, resource, &target);
    }

    /// Stops a server, whose command is gone at once.
    pub(super) fn stop_serve(&mut self, id: ServeId, resource: &str, is_disabled: bool) {
        self.drivers.commands.stop(&CommandKey::Serve(id));
        let object = id.object(resource);
        self.store.remove(Kind::Cmd, &object);
        self.report_object(Kind::Cmd, &object);
        if is_disabled && let Some(it) = self.world.resource(resource) {
            let argv = it.local.as_ref().and_then(|it| it.serve_cmd.argv.as_ref());
            let argv: Vec<_> = argv.into_iter().flatten().map(|it| quote(it)).collect();
            let log = self.drivers.logs.writer(resource, &format!("CmdServer-{resource}"));
            log.info(&format!("Resource is disabled, stopping cmd [{}]", argv.join(" ")));
        }
    }

    /// Gives the main Tiltfile other arguments, and publishes them.
    pub(super) fn set_args(&mut self, args: &[String]) {
        let is_set = self.store.edit(Kind::Tiltfile, MAIN, |spec| {
            if args.is_empty() {
                spec.shift_remove("args");
            } else {
                spec.insert("args".to_owned(), json!(args));
            }
        });
        if is_set {
            self.report_object(Kind::Tiltfile, MAIN);
        }
    }
}
