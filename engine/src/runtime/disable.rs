//! Switches: config maps that say whether something takes part.

use engine_core::{Event, resource::EnableState};
use serde_json::{Value, json};

use super::{Runtime, clock};
use crate::api::kind;

/// Where a switch keeps its value.
pub(super) const KEY: &str = "isDisabled";

impl Runtime {
    /// What a switch says.
    pub(super) fn switch_state(&self, config_map: &str, key: &str) -> EnableState {
        let Some(object) = self.store.get(kind::CONFIG_MAP, config_map) else {
            return EnableState::Pending;
        };
        match object.spec().get(key).and_then(Value::as_str).map(parse_bool) {
            Some(Some(true)) => EnableState::Disabled,
            Some(Some(false)) => EnableState::Enabled,
            Some(None) | None => EnableState::Error,
        }
    }

    /// Takes in a switch that somebody has set.
    pub(super) fn switch_changed(&mut self, config_map: &str) {
        let Some(resource) = config_map.strip_suffix("-disable") else { return };
        if self.scheduler.resource(resource).is_none() {
            return;
        }
        let state = self.switch_state(config_map, KEY);
        let resource = resource.into();
        self.step(Event::EnableChanged { resource, state });
        self.watch_all();
    }

    /// Says that a resource was switched on or off.
    pub(super) fn switched(&mut self, resource: &str, is_enabled: bool) {
        let verb = if is_enabled { "enabled" } else { "disabled" };
        let log = self.logs.writer(resource, &format!("disabletoggle-{resource}"));
        log.info(&format!(
            "Resource \"{resource}\" {verb}. To enable/disable it, use the Tilt Web UI."
        ));
    }

    /// How an object that follows this switch shows it.
    pub(super) fn disable_status(&self, resource: Option<&str>) -> Value {
        let Some(resource) = resource else {
            return json!({
                "disabled": false,
                "lastUpdateTime": clock::seconds(self.settings.started),
                "reason": "object does not specify a DisableSource",
                "state": "Enabled",
            });
        };
        let state = self.scheduler.resource(resource).map_or(EnableState::Pending, |it| it.enable);
        let name = super::names::switch(resource);
        let (is_disabled, reason) = match state {
            EnableState::Disabled => (true, format!("ConfigMap/key \"{name}\"/\"{KEY}\" is true")),
            EnableState::Enabled => (false, format!("ConfigMap/key \"{name}\"/\"{KEY}\" is false")),
            EnableState::Pending => (true, format!("ConfigMap \"{name}\" does not exist")),
            EnableState::Error => {
                (true, format!("error parsing ConfigMap/key \"{name}\"/\"{KEY}\" as a bool"))
            }
        };
        json!({
            "disabled": is_disabled,
            "lastUpdateTime": clock::seconds(self.settings.started),
            "reason": reason,
            "state": state_text(state),
        })
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

/// What Go takes for a truth value.
fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}
