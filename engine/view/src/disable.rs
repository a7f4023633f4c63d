//! Whether an object takes part, and why.

use engine_core::{World, objects::DisableReason, resource::EnableState};
use engine_formats::golang::quote::quote;
use engine_model::{Kind, ObjectId};
use serde_json::{Value, json};

use crate::time;

/// The `disableStatus` of an object; null for one that nobody reported.
pub fn status(world: &World, kind: Kind, name: &str) -> Value {
    let Some(status) = world.disable_status(&ObjectId::new(kind, name)) else {
        return Value::Null;
    };
    json!({
        "disabled": status.state != EnableState::Enabled,
        "lastUpdateTime": time::seconds(status.since),
        "reason": reason_text(&status.reason),
        "state": state_text(status.state),
    })
}

/// Tilt's word for a state.
pub fn state_text(state: EnableState) -> &'static str {
    match state {
        EnableState::Pending => "",
        EnableState::Enabled => "Enabled",
        EnableState::Disabled => "Disabled",
        EnableState::Error => "Error",
    }
}

fn reason_text(reason: &DisableReason) -> String {
    match reason {
        DisableReason::Unspecified => "object does not specify a DisableSource".to_owned(),
        DisableReason::NoSource => "DisableSource specifies no valid sources".to_owned(),
        DisableReason::NoConfigMap { map } => format!("ConfigMap {} does not exist", quote(map)),
        DisableReason::NoKey { map, key } => {
            format!("ConfigMap {} has no key {}", quote(map), quote(key))
        }
        DisableReason::Unreadable { map, key, text } => {
            let (map, key, text) = (quote(map), quote(key), quote(text));
            format!(
                "error parsing ConfigMap/key {map}/{key} value {text} as a bool: \
                 strconv.ParseBool: parsing {text}: invalid syntax"
            )
        }
        DisableReason::Says { map, key, is_disabled } => {
            format!("ConfigMap/key {}/{} is {is_disabled}", quote(map), quote(key))
        }
        DisableReason::EveryDisabled => "Every ConfigMap disabled".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_in_tilts_words() {
        let (map, key) = ("m".to_owned(), "k".to_owned());
        let text = "\"x\"".to_owned();
        for (reason, expected) in [
            (DisableReason::NoConfigMap { map: map.clone() }, r#"ConfigMap "m" does not exist"#),
            (
                DisableReason::Says { map: map.clone(), key: key.clone(), is_disabled: true },
                r#"ConfigMap/key "m"/"k" is true"#,
            ),
            (
                DisableReason::Unreadable { map, key, text },
                r#"error parsing ConfigMap/key "m"/"k" value "\"x\"" as a bool: strconv.ParseBool: parsing "\"x\"": invalid syntax"#,
            ),
        ] {
            assert_eq!(reason_text(&reason), expected);
        }
    }
}
