//! Switches: config maps that say whether something takes part.

use builtins::golang::{boolean, quote::quote};
use engine_core::{
    Event,
    resource::{EnableState, ResourceName},
};
use serde_json::{Value, json};

use super::{
    Runtime, clock,
    specs::{self, DisableSource, Switch, Switched},
};
use crate::api::{KindRef, kind};

/// Where a switch keeps its value.
pub(super) const KEY: &str = "isDisabled";

impl Runtime {
    /// What a resource's switch says.
    pub(super) fn switch_state(&self, config_map: &str) -> EnableState {
        self.switch(&Switch { name: config_map.to_owned(), key: KEY.to_owned() }).0
    }

    /// What a switch says, and why.
    fn switch(&self, switch: &Switch) -> (EnableState, String) {
        let (map, key) = (quote(&switch.name), quote(&switch.key));
        let Some(object) = self.store.get(kind::CONFIG_MAP, &switch.name) else {
            return (EnableState::Pending, format!("ConfigMap {map} does not exist"));
        };
        let data = object.spec();
        let Some(text) = data.get(&switch.key).and_then(Value::as_str) else {
            return (EnableState::Error, format!("ConfigMap {map} has no key {key}"));
        };
        let (state, value) = match boolean::parse(text).ok() {
            Some(true) => (EnableState::Disabled, "true"),
            Some(false) => (EnableState::Enabled, "false"),
            None => {
                let text = quote(text);
                let reason = format!(
                    "error parsing ConfigMap/key {map}/{key} value {text} as a bool: \
                     strconv.ParseBool: parsing {text}: invalid syntax"
                );
                return (EnableState::Error, reason);
            }
        };
        (state, format!("ConfigMap/key {map}/{key} is {value}"))
    }

    /// What the switches of an object say together, and why.
    pub(super) fn disable_state(&self, source: Option<&DisableSource>) -> (EnableState, String) {
        let Some(source) = source else {
            let reason = "object does not specify a DisableSource".to_owned();
            return (EnableState::Enabled, reason);
        };
        if let Some(switch) = &source.config_map {
            return self.switch(switch);
        }
        if source.every_config_map.is_empty() {
            let reason = "DisableSource specifies no valid sources".to_owned();
            return (EnableState::Error, reason);
        }
        let mut states = source.every_config_map.iter().map(|it| self.switch(it));
        let other = states.find(|(state, _)| *state != EnableState::Disabled);
        other.unwrap_or_else(|| (EnableState::Disabled, "Every ConfigMap disabled".to_owned()))
    }

    /// How an object shows what its switches say; the time is that of the latest change.
    pub(super) fn disable_status(&self, kind: KindRef, name: &str) -> Value {
        let object = self.store.get(kind, name);
        let spec: Switched = object.as_deref().map(specs::of).unwrap_or_default();
        let (state, reason) = self.disable_state(spec.disable_source.as_ref());
        let old = object.map(|it| it.status()["disableStatus"].take()).unwrap_or_default();
        if old["state"] == *state_text(state) && old["reason"] == *reason {
            return old;
        }
        json!({
            "disabled": state != EnableState::Enabled,
            "lastUpdateTime": clock::seconds(clock::now()),
            "reason": reason,
            "state": state_text(state),
        })
    }

    /// Shows what an object's switches say, and leaves the rest of its status as it is.
    pub(super) fn show_disable_status(&self, kind: KindRef, name: &str) {
        let Some(object) = self.store.get(kind, name) else { return };
        let mut status = object.status();
        if !status.is_object() {
            status = json!({});
        }
        status["disableStatus"] = self.disable_status(kind, name);
        self.store.set_status(kind, name, &status);
    }

    /// The names of the objects of a kind that follow switches of this config map.
    pub(super) fn switched_by(&self, config_map: &str, kind: KindRef) -> Vec<String> {
        let quoted = Value::from(config_map).to_string();
        let objects = self.store.list(kind);
        // Looking for the name in the text is much faster than reading thousands of specs.
        let objects = objects.iter().filter(|it| it.json().contains(&quoted));
        let followers = objects.filter(|it| {
            let source = specs::of::<Switched>(it).disable_source;
            source.is_some_and(|it| it.names(config_map))
        });
        followers.map(|it| it.name().to_owned()).collect()
    }

    /// Takes in a config map that somebody has written or removed.
    pub(super) fn switch_changed(&mut self, config_map: &str) {
        let resource = config_map.strip_suffix("-disable");
        if let Some(resource) = resource.filter(|it| self.scheduler.resource(it).is_some()) {
            let state = self.switch_state(config_map);
            let resource = resource.into();
            self.step(Event::EnableChanged { resource, state });
            self.watch_all();
        }
        self.look_at_followers_of(config_map);
    }

    /// Looks at everything else that a config map may drive.
    pub(super) fn look_at_followers_of(&mut self, config_map: &str) {
        self.show_toggles_of(config_map);
        for name in self.switched_by(config_map, kind::CMD) {
            self.look_at_cmd(&name);
        }
        let watches = self.switched_by(config_map, kind::FILE_WATCH);
        if !watches.is_empty() {
            self.watch_all();
        }
        for name in watches {
            self.show_disable_status(kind::FILE_WATCH, &name);
        }
    }

    /// Says that a resource was switched on or off.
    pub(super) fn switched(&mut self, resource: &ResourceName, is_enabled: bool) {
        let verb = if is_enabled { "enabled" } else { "disabled" };
        let log = self.logs.writer(resource, &format!("disabletoggle-{resource}"));
        log.info(&format!(
            "Resource \"{resource}\" {verb}. To enable/disable it, use the Tilt Web UI."
        ));
        if is_enabled {
            self.keep_service(resource);
        } else {
            self.service_left(resource);
            self.workload_left(resource);
        }
        self.show_disable_status(kind::KUBERNETES_APPLY, resource);
    }
}

/// Tilt's word for a state.
pub(super) fn state_text(state: EnableState) -> &'static str {
    match state {
        EnableState::Pending => "",
        EnableState::Enabled => "Enabled",
        EnableState::Disabled => "Disabled",
        EnableState::Error => "Error",
    }
}
