//! What clients do to objects: clicks, switches, arguments.

use std::collections::HashSet;

use engine_core::{Event, Time, resource::ResourceName};
use serde_json::{Value, json};

use super::{
    Runtime,
    declare::BUTTON_TYPE,
    names,
    specs::{self, ButtonStatus},
};
use crate::api::{self, Change, KindRef, Meta, Owner, kind};

impl Runtime {
    /// Takes in what a client did to an object.
    pub(super) fn object_changed(&mut self, change: &Change) {
        let name = change.name();
        if change.event == api::Event::Deleted {
            self.object_removed(change.kind(), name);
            return;
        }
        self.look_at_object(change.kind(), name);
    }

    /// Looks at everything that a client may have changed.
    pub(super) fn look_at_all_objects(&mut self) {
        let kinds = [
            kind::CONFIG_MAP,
            kind::UI_BUTTON,
            kind::TOGGLE_BUTTON,
            kind::TILTFILE,
            kind::FILE_WATCH,
            kind::CMD,
            kind::EXTENSION_REPO,
            kind::EXTENSION,
        ];
        for kind in kinds {
            for object in self.store.list(kind) {
                self.look_at_object(kind, object.name());
            }
        }
    }

    /// Looks at the objects that a load has just written.
    pub(super) fn look_at_declared_objects(&mut self, tiltfile: &ResourceName) {
        let Some(declared) = self.tiltfiles.get(tiltfile) else { return };
        let mut objects: Vec<(KindRef, String)> = declared.objects.iter().cloned().collect();
        objects.sort_by_key(|(kind, name)| (kind.index(), name.clone()));
        let switches: HashSet<String> =
            self.scheduler.resources().iter().map(|it| names::switch(&it.name)).collect();
        let maps = objects.iter().filter(|(it, name)| {
            // The switches of resources are taken in with the load.
            *it == kind::CONFIG_MAP && !switches.contains(name)
        });
        for (_, name) in maps {
            self.look_at_followers_of(name);
        }
        // Repositories before extensions, buttons before the commands that wait for them; files are
        // watched all at once when the load is done.
        let order = [kind::TOGGLE_BUTTON, kind::EXTENSION_REPO, kind::EXTENSION, kind::CMD];
        for kind in order {
            for (_, name) in objects.iter().filter(|(it, _)| *it == kind) {
                self.look_at_object(kind, name);
            }
        }
    }

    /// What an object meant is over.
    pub(super) fn object_removed(&mut self, kind: KindRef, name: &str) {
        if kind == kind::TOGGLE_BUTTON {
            self.store.remove(kind::UI_BUTTON, &toggle_name(name));
        } else if kind == kind::CONFIG_MAP {
            self.switch_changed(name);
        } else if kind == kind::CMD {
            self.cmd_removed(name);
        } else if kind == kind::FILE_WATCH {
            self.watch_all();
        } else if kind == kind::TILTFILE {
            self.tiltfile_removed(name);
        } else if kind == kind::EXTENSION {
            self.extension_removed(name);
        } else if kind == kind::EXTENSION_REPO {
            self.look_at_extensions_of(name);
        }
    }

    fn look_at_object(&mut self, kind: KindRef, name: &str) {
        if kind == kind::CONFIG_MAP {
            self.switch_changed(name);
        } else if kind == kind::UI_BUTTON {
            self.look_at_button(name);
        } else if kind == kind::TOGGLE_BUTTON {
            self.show_toggle(name);
        } else if kind == kind::TILTFILE {
            self.look_at_tiltfile(name);
        } else if kind == kind::CMD {
            self.look_at_cmd(name);
        } else if kind == kind::FILE_WATCH {
            self.watch_all();
        } else if kind == kind::EXTENSION_REPO {
            self.look_at_repo(name);
        } else if kind == kind::EXTENSION {
            self.look_at_extension(name);
        }
    }

    fn look_at_button(&mut self, name: &str) {
        let Some(object) = self.store.get(kind::UI_BUTTON, name) else { return };
        let status: ButtonStatus = specs::status_of(&object);
        let clicked = status.clicked();
        if clicked == 0 || self.clicks.insert(name.to_owned(), clicked) == Some(clicked) {
            return;
        }
        let at = Time(i64::try_from(clicked).unwrap_or(i64::MAX));
        let resource = name.strip_suffix("-stopbuild");
        if let Some(resource) = resource.filter(|it| self.scheduler.resource(it).is_some()) {
            self.step(Event::StopRequested { resource: resource.into(), at });
        } else if let Some(toggle) = name.strip_prefix("toggle-") {
            self.toggle_clicked(toggle, name, &status);
        }
        self.click_tiltfiles_of_button(name, at);
        self.look_at_cmds_of_button(name);
    }

    /// A click on a toggle writes the value that the click stands for.
    fn toggle_clicked(&mut self, toggle: &str, button: &str, status: &ButtonStatus) {
        let Some(object) = self.store.get(kind::TOGGLE_BUTTON, toggle) else { return };
        let action = status.inputs.iter().find(|it| it.name == "action");
        let is_on = match action.map(|it| it.hidden.as_ref().map(|it| it.value.as_str())) {
            Some(Some("on")) => true,
            Some(Some("off")) => false,
            Some(Some(other)) => {
                let error = format!(
                    "button \"{button}\" input \"action\" had unexpected value \"{other}\""
                );
                return self.toggle_failed(toggle, &error);
            }
            Some(None) => {
                let error =
                    format!("button \"{button}\" input \"action\" was not of type 'Hidden'");
                return self.toggle_failed(toggle, &error);
            }
            None => {
                let error =
                    format!("UIButton \"{button}\" does not have an input named \"action\"");
                return self.toggle_failed(toggle, &error);
            }
        };
        let spec = object.spec();
        let source = &spec["stateSource"]["configMap"];
        let (Some(map), Some(key)) = (source["name"].as_str(), source["key"].as_str()) else {
            return;
        };
        let value = &source[if is_on { "onValue" } else { "offValue" }];
        let Some(old) = self.store.get(kind::CONFIG_MAP, map) else { return };
        let mut data = old.spec();
        if data.is_null() {
            data = json!({});
        }
        data[key] = value.clone();
        let meta = meta_of(&old);
        self.store.put(kind::CONFIG_MAP, map, &meta, &data);
        self.look_at_object(kind::CONFIG_MAP, map);
    }

    fn toggle_failed(&mut self, toggle: &str, error: &str) {
        self.store.set_status(kind::TOGGLE_BUTTON, toggle, &json!({"error": error}));
    }

    pub(super) fn show_toggles_of(&mut self, config_map: &str) {
        for object in self.store.list(kind::TOGGLE_BUTTON) {
            if object.spec()["stateSource"]["configMap"]["name"] == *config_map {
                self.show_toggle(object.name());
            }
        }
    }

    /// The button that a toggle has, in the state that its config map says.
    pub(super) fn show_toggle(&mut self, toggle: &str) {
        let Some(object) = self.store.get(kind::TOGGLE_BUTTON, toggle) else { return };
        let spec = object.spec();
        let (is_on, error) = self.is_on(&spec);
        let (face, action) = if is_on { ("on", "off") } else { ("off", "on") };
        let mut button = json!({"location": spec["location"]});
        for key in ["text", "iconName", "iconSVG", "requiresConfirmation"] {
            if let Some(value) = spec[face].get(key) {
                button[key] = value.clone();
            }
        }
        button["inputs"] = json!([{"name": "action", "label": "", "hidden": {"value": action}}]);
        let mut meta = Meta::default();
        let kind = object.annotations().remove(BUTTON_TYPE).unwrap_or_default();
        meta.annotations.insert(BUTTON_TYPE.to_owned(), kind);
        let (name, uid) = (toggle.to_owned(), object.uid().to_owned());
        meta.owner = Some(Owner { kind: kind::TOGGLE_BUTTON, name, uid });
        self.store.put(kind::UI_BUTTON, &toggle_name(toggle), &meta, &button);
        self.store.set_status(kind::TOGGLE_BUTTON, toggle, &json!({"error": error}));
    }

    fn is_on(&self, spec: &Value) -> (bool, String) {
        let default = spec["defaultOn"].as_bool().unwrap_or(false);
        let source = &spec["stateSource"]["configMap"];
        let (Some(map), Some(key)) = (source["name"].as_str(), source["key"].as_str()) else {
            return (default, "Spec.StateSource.ConfigMap is nil".to_owned());
        };
        let Some(object) = self.store.get(kind::CONFIG_MAP, map) else {
            return (default, format!("no such ConfigMap \"{map}\""));
        };
        let data = object.spec();
        let Some(value) = data.get(key) else { return (default, String::new()) };
        let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
        let (on, off) = (text(&source["onValue"]), text(&source["offValue"]));
        match text(value) {
            it if it == on => (true, String::new()),
            it if it == off => (false, String::new()),
            it => (
                default,
                format!(
                    "ConfigMap \"{map}\" key \"{key}\" has unknown value \"{it}\". expected \"{on}\" or \"{off}\""
                ),
            ),
        }
    }
}

fn toggle_name(toggle: &str) -> String {
    format!("toggle-{toggle}")
}

/// The metadata of an object that stays as it is.
pub(super) fn meta_of(object: &api::Object) -> Meta {
    let owner = object.metadata().pointer("/ownerReferences/0").and_then(|it| {
        let kind = api::Kind::named(it["kind"].as_str()?)?;
        let text = |key: &str| Some(it[key].as_str()?.to_owned());
        Some(Owner { kind, name: text("name")?, uid: text("uid")? })
    });
    Meta { labels: object.labels(), annotations: object.annotations(), owner }
}
