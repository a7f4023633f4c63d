//! Toggle buttons: which state their config map says, and what a click writes to it.

use std::fmt;

use engine_model::{
    Kind,
    spec::{Click, ToggleKey, ToggleSpec},
};

use super::ObjectAction;
use crate::World;

/// The name of the button that a toggle has begins with this.
const PREFIX: &str = "toggle-";

/// What is wrong with a click on the button of a toggle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClickError {
    UnknownValue { button: String, value: String },
    NotHidden { button: String },
    NoAction { button: String },
}

impl fmt::Display for ClickError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownValue { button, value } => {
                write!(f, "button \"{button}\" input \"action\" had unexpected value \"{value}\"")
            }
            Self::NotHidden { button } => {
                write!(f, "button \"{button}\" input \"action\" was not of type 'Hidden'")
            }
            Self::NoAction { button } => {
                write!(f, "UIButton \"{button}\" does not have an input named \"action\"")
            }
        }
    }
}

impl World {
    /// What a toggle asks for.
    pub fn toggle(&self, name: &str) -> Option<&ToggleSpec> {
        self.objects.toggles.get(name).map(|it| &**it)
    }

    /// Whether a toggle is on, and what is wrong with it, if anything.
    pub fn toggle_state(&self, name: &str) -> Option<(bool, String)> {
        let (is_on, error) = self.state_of(self.toggle(name)?);
        let click_error = self.objects.click_errors.get(name);
        Some((is_on, click_error.map_or(error, ToString::to_string)))
    }

    /// The toggle that a button belongs to, if its name says so.
    pub(super) fn toggle_of(button: &str) -> Option<&str> {
        button.strip_prefix(PREFIX)
    }

    /// Something that a toggle depends on has changed.
    pub(super) fn refresh_toggle(&mut self, name: &str) {
        self.objects.click_errors.remove(name);
        self.publish_object(Kind::ToggleButton, name);
    }

    /// A click writes the value that it stands for.
    pub(super) fn toggle_clicked(&mut self, toggle: &str, button: &str, click: &Click) {
        let Some(spec) = self.toggle(toggle) else { return };
        let is_on = match action_of(button, click) {
            Ok(is_on) => is_on,
            Err(error) => {
                self.objects.click_errors.insert(toggle.to_owned(), error);
                return self.publish_object(Kind::ToggleButton, toggle);
            }
        };
        let Some((name, key, source)) = key_of(spec) else { return };
        if self.objects.config_maps.get(name).is_some() {
            let value = if is_on { &source.on_value } else { &source.off_value };
            let (name, key, value) = (name.to_owned(), key.to_owned(), value.clone());
            self.do_for_object(ObjectAction::SetConfigMapKey { name, key, value });
        }
    }

    fn state_of(&self, spec: &ToggleSpec) -> (bool, String) {
        let default = spec.default_on;
        let Some((map, key, source)) = key_of(spec) else {
            return (default, "Spec.StateSource.ConfigMap is nil".to_owned());
        };
        let Some(data) = self.objects.config_maps.get(map) else {
            return (default, format!("no such ConfigMap \"{map}\""));
        };
        let Some(value) = data.get(key) else { return (default, String::new()) };
        let value = value.as_deref().unwrap_or_default();
        let on = source.on_value.as_deref().unwrap_or_default();
        let off = source.off_value.as_deref().unwrap_or_default();
        if value == on {
            (true, String::new())
        } else if value == off {
            (false, String::new())
        } else {
            let error = format!(
                "ConfigMap \"{map}\" key \"{key}\" has unknown value \"{value}\". expected \"{on}\" or \"{off}\""
            );
            (default, error)
        }
    }
}

/// What a click on the button of a toggle asks for.
fn action_of(button: &str, click: &Click) -> Result<bool, ClickError> {
    let action = click.inputs.iter().find(|it| it.name == "action");
    let button = button.to_owned();
    match action.map(|it| it.hidden.as_ref().map(|it| it.value.as_str())) {
        Some(Some("on")) => Ok(true),
        Some(Some("off")) => Ok(false),
        Some(Some(value)) => Err(ClickError::UnknownValue { button, value: value.to_owned() }),
        Some(None) => Err(ClickError::NotHidden { button }),
        None => Err(ClickError::NoAction { button }),
    }
}

/// The config map and the key that say whether a toggle is on.
fn key_of(spec: &ToggleSpec) -> Option<(&str, &str, &ToggleKey)> {
    let source = spec.state_source.config_map.as_ref()?;
    Some((source.name.as_deref()?, source.key.as_deref()?, source))
}
