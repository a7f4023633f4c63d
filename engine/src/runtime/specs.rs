//! What objects say that clients and Tiltfiles make, as far as the engine acts on it.

use std::collections::BTreeMap;

use engine_model::{CmdSpec, IgnoreDef, Probe};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{api::Object, logs};

/// Reads a spec; the store has checked its fields when the object was written.
pub(super) fn of<T: DeserializeOwned + Default>(object: &Object) -> T {
    serde_json::from_value(object.spec()).unwrap_or_default()
}

/// Reads a status.
pub(super) fn status_of<T: DeserializeOwned + Default>(object: &Object) -> T {
    serde_json::from_value(object.status()).unwrap_or_default()
}

/// A point in time that an object names, in microseconds; zero if it names none.
pub(super) fn micros(time: Option<&str>) -> u64 {
    time.and_then(logs::parse_micros).unwrap_or(0)
}

/// The spec of a `Cmd`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Cmd {
    #[serde(flatten)]
    pub(super) exec: Exec,
    pub(super) restart_on: RestartOn,
    pub(super) start_on: StartOn,
    pub(super) disable_source: Option<DisableSource>,
}

/// The fields of a `Cmd` that make it run again when they change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Exec {
    #[serde(flatten)]
    pub(super) cmd: CmdSpec,
    pub(super) readiness_probe: Option<Probe>,
}

/// Whose events make something run again.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RestartOn {
    pub(super) file_watches: Vec<String>,
    pub(super) ui_buttons: Vec<String>,
}

/// Whose clicks make something run at all.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct StartOn {
    /// Clicks before this do not count.
    pub(super) start_after: Option<String>,
    pub(super) ui_buttons: Vec<String>,
}

/// Whose clicks stop something.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct StopOn {
    pub(super) ui_buttons: Vec<String>,
}

/// The switches that an object follows.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct DisableSource {
    pub(super) config_map: Option<Switch>,
    pub(super) every_config_map: Vec<Switch>,
}

/// A switch: a key of a config map.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Switch {
    pub(super) name: String,
    pub(super) key: String,
}

impl DisableSource {
    /// Whether one of the switches is in this config map.
    pub(super) fn names(&self, config_map: &str) -> bool {
        let mut switches = self.config_map.iter().chain(&self.every_config_map);
        switches.any(|it| it.name == config_map)
    }
}

/// The field that all objects with switches have.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Switched {
    pub(super) disable_source: Option<DisableSource>,
}

/// The spec of a `FileWatch`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FileWatch {
    pub(super) watched_paths: Vec<std::path::PathBuf>,
    pub(super) ignores: Vec<IgnoreDef>,
    pub(super) disable_source: Option<DisableSource>,
}

/// The status of a `FileWatch`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FileWatchStatus {
    pub(super) last_event_time: Option<String>,
}

/// The spec of a `UIButton`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Button {
    pub(super) inputs: Vec<Input>,
}

/// What can be typed or chosen beside a button.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Input {
    pub(super) name: String,
    pub(super) bool: BoolInput,
    pub(super) choice: ChoiceInput,
}

/// How a truth value is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BoolInput {
    pub(super) true_string: Option<String>,
    pub(super) false_string: Option<String>,
}

/// What there is to choose from.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChoiceInput {
    pub(super) choices: Vec<String>,
}

/// The status of a `UIButton`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ButtonStatus {
    pub(super) last_clicked_at: Option<String>,
    pub(super) inputs: Vec<InputStatus>,
}

/// What was typed or chosen with the latest click.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InputStatus {
    pub(super) name: String,
    pub(super) text: Option<Given<String>>,
    pub(super) bool: Option<Given<bool>>,
    pub(super) hidden: Option<Given<String>>,
    pub(super) choice: Option<Given<String>>,
}

/// A value of an input.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Given<T: Default> {
    pub(super) value: T,
}

/// The spec of a `Tiltfile`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Tiltfile {
    pub(super) path: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) args: Vec<String>,
    pub(super) restart_on: RestartOn,
    pub(super) stop_on: StopOn,
}

/// The spec of an `Extension`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Extension {
    pub(super) repo_name: String,
    pub(super) repo_path: String,
    pub(super) args: Vec<String>,
}

/// The spec of an `ExtensionRepo`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ExtensionRepo {
    pub(super) url: String,
    pub(super) r#ref: String,
    pub(super) git_subpath: String,
}

impl ButtonStatus {
    /// The latest click; zero if there was none.
    pub(super) fn clicked(&self) -> u64 {
        micros(self.last_clicked_at.as_deref())
    }
}

/// What was typed and chosen beside a button, as variables.
pub(super) fn inputs_of(button: &Object) -> Vec<String> {
    let (spec, status) = (of::<Button>(button), status_of::<ButtonStatus>(button));
    let given = |name: &str| status.inputs.iter().rev().find(|it| it.name == name);
    let variable = |input: &Input| {
        let value = given(&input.name).map_or(String::new(), |it| it.text_for(input));
        format!("{}={value}", input.name)
    };
    spec.inputs.iter().map(variable).collect()
}

impl InputStatus {
    /// The value as a command gets it.
    fn text_for(&self, input: &Input) -> String {
        if let Some(it) = &self.text {
            return it.value.clone();
        }
        if let Some(it) = &self.bool {
            let word = if it.value { &input.bool.true_string } else { &input.bool.false_string };
            return word.clone().unwrap_or_else(|| it.value.to_string());
        }
        if let Some(it) = &self.hidden {
            return it.value.clone();
        }
        let Some(it) = &self.choice else { return String::new() };
        let choices = &input.choice.choices;
        let is_one = choices.contains(&it.value);
        // What is not among the choices counts as the first one.
        if is_one { it.value.clone() } else { choices.first().cloned().unwrap_or_default() }
    }
}
