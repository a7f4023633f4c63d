//! Switches: config maps that say whether something takes part.

use std::collections::BTreeSet;

use engine_model::{
    Kind, ObjectId, Time,
    spec::{DisableSource, Switch},
};

use super::Objects;
use crate::{World, resource::EnableState};

/// Where the switch of a resource keeps its value.
pub const SWITCH_KEY: &str = "isDisabled";

/// Whether an object takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisableStatus {
    /// Whether it does.
    pub state: EnableState,
    /// Why.
    pub reason: DisableReason,
    /// Since when it is so.
    pub since: Time,
}

/// Why an object takes part or does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DisableReason {
    /// It names no switches.
    Unspecified,
    /// It has a list of switches with nothing in it.
    NoSource,
    /// There is no such config map.
    NoConfigMap {
        /// Its name.
        map: String,
    },
    /// The config map has no such text.
    NoKey {
        /// The config map.
        map: String,
        /// The key.
        key: String,
    },
    /// The text is not a truth value.
    Unreadable {
        /// The config map.
        map: String,
        /// The key.
        key: String,
        /// The text.
        text: String,
    },
    /// The switch says so.
    Says {
        /// The config map.
        map: String,
        /// The key.
        key: String,
        /// Its value.
        is_disabled: bool,
    },
    /// All switches of a list say that it does not.
    EveryDisabled,
}

impl Objects {
    /// What a switch says, and why.
    fn switch(&self, switch: &Switch) -> (EnableState, DisableReason) {
        let (map, key) = (switch.name.clone(), switch.key.clone());
        let Some(data) = self.config_maps.get(&map) else {
            return (EnableState::Pending, DisableReason::NoConfigMap { map });
        };
        let Some(text) = data.get(&key).and_then(Option::as_deref) else {
            return (EnableState::Error, DisableReason::NoKey { map, key });
        };
        let Some(is_disabled) = truth(text) else {
            let text = text.to_owned();
            return (EnableState::Error, DisableReason::Unreadable { map, key, text });
        };
        let state = if is_disabled { EnableState::Disabled } else { EnableState::Enabled };
        (state, DisableReason::Says { map, key, is_disabled })
    }

    /// What the switches of an object say together, and why.
    pub(super) fn disable_state(
        &self,
        source: Option<&DisableSource>,
    ) -> (EnableState, DisableReason) {
        let Some(source) = source else {
            return (EnableState::Enabled, DisableReason::Unspecified);
        };
        if let Some(switch) = &source.config_map {
            return self.switch(switch);
        }
        if source.every_config_map.is_empty() {
            return (EnableState::Error, DisableReason::NoSource);
        }
        let mut states = source.every_config_map.iter().map(|it| self.switch(it));
        let other = states.find(|(state, _)| *state != EnableState::Disabled);
        other.unwrap_or((EnableState::Disabled, DisableReason::EveryDisabled))
    }
}

impl World {
    /// What the switch of a resource says.
    pub fn switch_state(&self, config_map: &str) -> EnableState {
        let (name, key) = (config_map.to_owned(), SWITCH_KEY.to_owned());
        self.objects.switch(&Switch { name, key }).0
    }

    /// Whether an object takes part; nothing is known of objects that nobody reported.
    pub fn disable_status(&self, id: &ObjectId) -> Option<&DisableStatus> {
        self.objects.disabled.get(id)
    }

    /// Takes in config maps that were written or removed.
    ///
    /// A load says itself which of its resources take part: their manifests may have changed too.
    pub(super) fn config_maps_changed(
        &mut self,
        now: Time,
        maps: &BTreeSet<String>,
        is_load: bool,
    ) {
        let mut followers = BTreeSet::new();
        for map in maps {
            let resource = map.strip_suffix("-disable").and_then(|it| self.place_of(it));
            if resource.is_some() && is_load {
                continue;
            }
            if let Some(at) = resource {
                self.switch(now, at, self.switch_state(map));
            }
            followers.extend(self.objects.followers.get(map).into_iter().flatten().cloned());
        }
        let (toggles, followers): (Vec<_>, Vec<_>) =
            followers.into_iter().partition(|it| it.kind == Kind::ToggleButton);
        for id in toggles {
            self.refresh_toggle(&id.name);
        }
        for id in followers {
            self.refresh_disabled(now, &id);
            match id.kind {
                Kind::Cmd => self.reconcile_cmd(&id.name),
                Kind::FileWatch => self.objects.watches.is_stale = true,
                _ => {}
            }
        }
    }

    /// Finds out whether an object takes part; the time is that of the latest change.
    pub(super) fn refresh_disabled(&mut self, now: Time, id: &ObjectId) {
        if !matches!(
            id.kind,
            Kind::Cmd | Kind::FileWatch | Kind::KubernetesApply | Kind::DockerComposeService
        ) {
            return;
        }
        let (state, reason) = self.objects.disable_state(self.objects.disable_source(id));
        let old = self.objects.disabled.get(id);
        if old.is_none_or(|it| it.state != state || it.reason != reason) {
            let status = DisableStatus { state, reason, since: now };
            self.objects.disabled.insert(id.clone(), status);
            self.effects.changed.insert(id.clone());
        }
    }
}

/// A truth value as Go reads it.
fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}
