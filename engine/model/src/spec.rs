//! What API objects ask for that clients and Tiltfiles make, as far as the engine acts on it.
//!
//! Fields that serde skips come from the metadata of an object. Times are read before: they are numbers here.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use serde::Deserialize;
use serde_json::Value;

use crate::{CmdSpec, GoDuration, IgnoreDef, ObjectId, Probe, RestartOn, TargetId, Time};

/// An object that was written or removed.
#[derive(Clone, Debug, PartialEq)]
pub struct SpecChange {
    /// Which one.
    pub id: ObjectId,
    /// Later writes of an object have higher versions.
    pub version: u64,
    /// What it asks for; nothing if it is gone.
    pub spec: Option<Spec>,
}

/// What an object asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    /// A `Cmd`.
    Cmd(Box<CmdObject>),
    /// A `ConfigMap`.
    ConfigMap(ConfigMapData),
    /// A `FileWatch`.
    FileWatch(FileWatchSpec),
    /// A `UIButton`.
    UiButton(ButtonSpec),
    /// A `ToggleButton`.
    ToggleButton(Box<ToggleSpec>),
    /// A `Tiltfile`.
    Tiltfile(TiltfileSpec),
    /// An `Extension`.
    Extension(ExtensionSpec),
    /// An `ExtensionRepo`.
    ExtensionRepo(ExtensionRepoSpec),
    /// A `Session`: how long `ci` waits.
    Session(CiLimits),
    /// Any other object that follows switches.
    Switched(Switched),
}

impl Spec {
    /// The switches that the object follows.
    pub fn disable_source(&self) -> Option<&DisableSource> {
        match self {
            Self::Cmd(it) => it.disable_source.as_ref(),
            Self::FileWatch(it) => it.disable_source.as_ref(),
            Self::Switched(it) => it.disable_source.as_ref(),
            Self::ConfigMap(_)
            | Self::UiButton(_)
            | Self::ToggleButton(_)
            | Self::Tiltfile(_)
            | Self::Extension(_)
            | Self::ExtensionRepo(_)
            | Self::Session(_) => None,
        }
    }

    /// The config maps whose changes matter to the object.
    pub fn config_maps(&self) -> BTreeSet<&str> {
        let toggled = match self {
            Self::ToggleButton(it) => it.state_source.config_map.as_ref(),
            _ => None,
        };
        let source = self.disable_source().into_iter();
        let switches = source.flat_map(|it| it.config_map.iter().chain(&it.every_config_map));
        switches
            .map(|it| it.name.as_str())
            .chain(toggled.and_then(|it| it.name.as_deref()))
            .collect()
    }
}

/// How long `ci` waits; no limit if that is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CiLimits {
    /// For everything.
    pub timeout: GoDuration,
    /// For a server to become ready.
    pub readiness_timeout: GoDuration,
    /// For a pod that fails to recover.
    pub grace_period: GoDuration,
}

/// The data of a config map; what is not a text has no value.
pub type ConfigMapData = BTreeMap<String, Option<String>>;

/// The spec of a `Cmd`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CmdObject {
    /// What it runs.
    #[serde(flatten)]
    pub exec: Exec,
    /// What makes it run again.
    pub restart_on: RestartOn,
    /// What makes it run at all.
    pub start_on: StartOn,
    /// The switches that it follows.
    pub disable_source: Option<DisableSource>,
    /// Who decides when it runs.
    #[serde(skip)]
    pub driver: CmdDriver,
    /// Whose log it writes to; empty for none.
    #[serde(skip)]
    pub resource: String,
    /// The span within that log, if one is named.
    #[serde(skip)]
    pub span: Option<String>,
}

/// Who decides when a `Cmd` runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CmdDriver {
    /// The object itself.
    #[default]
    Object,
    /// The updates of a resource.
    Update,
    /// The server of a resource.
    Server,
}

/// The fields of a `Cmd` that make it run again when they change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Exec {
    /// The command.
    #[serde(flatten)]
    pub cmd: CmdSpec,
    /// How it says that it is ready.
    pub readiness_probe: Option<Probe>,
}

/// Whose clicks make something run at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StartOn {
    /// Clicks before this do not count.
    pub start_after: Time,
    /// Names of buttons.
    pub ui_buttons: Vec<String>,
}

/// Whose clicks stop something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StopOn {
    /// Names of buttons.
    pub ui_buttons: Vec<String>,
}

/// The switches that an object follows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DisableSource {
    /// The one that decides.
    pub config_map: Option<Switch>,
    /// Those that decide together, if there is no such one.
    pub every_config_map: Vec<Switch>,
}

/// A switch: a key of a config map.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Switch {
    /// The config map.
    pub name: String,
    /// The key.
    pub key: String,
}

/// The field that all objects with switches have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Switched {
    /// The switches.
    pub disable_source: Option<DisableSource>,
}

/// The spec of a `FileWatch`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FileWatchSpec {
    /// Files and directories.
    pub watched_paths: Vec<String>,
    /// What does not count.
    pub ignores: Vec<IgnoreDef>,
    /// The switches that it follows.
    pub disable_source: Option<DisableSource>,
    /// Whether it stands for a target of a resource or Tiltfile, which says what is watched.
    #[serde(skip)]
    pub is_target: bool,
}

/// What a part of a resource, a Tiltfile or a `FileWatch` object wants to know about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchTarget {
    /// What its changes are reported for.
    pub id: TargetId,
    /// The name of the `FileWatch` object that shows it.
    pub object: String,
    /// Files and directories; directories count with everything below, and none has to exist.
    pub paths: Vec<PathBuf>,
    /// What does not count.
    pub ignores: Vec<IgnoreDef>,
    /// Whether it wants to know of files while others of the same burst still change.
    pub is_early: bool,
}

/// The spec of a `UIButton`, and the latest click that a client has written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ButtonSpec {
    /// What can be typed or chosen beside it.
    pub inputs: Vec<ButtonInput>,
    /// The latest click, if there was one.
    #[serde(skip)]
    pub click: Option<Click>,
}

/// What can be typed or chosen beside a button.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ButtonInput {
    /// Its name.
    pub name: String,
    /// How a truth value is written.
    pub bool: BoolInput,
    /// What there is to choose from.
    pub choice: ChoiceInput,
}

/// How a truth value is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BoolInput {
    /// For yes.
    pub true_string: Option<String>,
    /// For no.
    pub false_string: Option<String>,
}

/// What there is to choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ChoiceInput {
    /// The texts.
    pub choices: Vec<String>,
}

/// The latest click, as the status of a `UIButton` has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Click {
    /// When; zero if there was none.
    #[serde(rename = "lastClickedAt")]
    pub at: Time,
    /// What was typed or chosen.
    pub inputs: Vec<GivenInput>,
}

/// What was typed or chosen with a click.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct GivenInput {
    /// The name of the input.
    pub name: String,
    /// What was typed.
    pub text: Option<Given<String>>,
    /// What was ticked.
    pub bool: Option<Given<bool>>,
    /// What the button has without being asked.
    pub hidden: Option<Given<String>>,
    /// What was chosen.
    pub choice: Option<Given<String>>,
}

/// A value of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Given<T: Default> {
    /// The value.
    pub value: T,
}

impl ButtonSpec {
    /// What was typed and chosen with the latest click, as variables.
    pub fn variables(&self) -> Vec<String> {
        let given =
            |name: &str| self.click.iter().flat_map(|it| &it.inputs).rfind(|it| it.name == name);
        let variable = |input: &ButtonInput| {
            let value = given(&input.name).map_or(String::new(), |it| it.text_for(input));
            format!("{}={value}", input.name)
        };
        self.inputs.iter().map(variable).collect()
    }
}

impl GivenInput {
    /// The value as a command gets it.
    fn text_for(&self, input: &ButtonInput) -> String {
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

/// The spec of a `ToggleButton`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ToggleSpec {
    /// Where it is shown.
    pub location: Value,
    /// How it looks when it is on.
    pub on: Value,
    /// How it looks when it is off.
    pub off: Value,
    /// Whether it is on while nothing says so.
    pub default_on: bool,
    /// What says so.
    pub state_source: ToggleSource,
    /// What it is for, as an annotation says.
    #[serde(skip)]
    pub button_type: String,
}

/// What says whether a toggle is on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ToggleSource {
    /// A key of a config map.
    pub config_map: Option<ToggleKey>,
}

/// A key of a config map, and its values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ToggleKey {
    /// The config map.
    pub name: Option<String>,
    /// The key.
    pub key: Option<String>,
    /// Its value when the toggle is on.
    pub on_value: Option<String>,
    /// Its value when the toggle is off.
    pub off_value: Option<String>,
}

/// The spec of a `Tiltfile`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TiltfileSpec {
    /// Where it is.
    pub path: String,
    /// Labels of everything it declares.
    pub labels: BTreeMap<String, String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// What makes it run again.
    pub restart_on: RestartOn,
    /// What stops a run.
    pub stop_on: StopOn,
    /// Whether it belongs to the extension of the same name.
    #[serde(skip)]
    pub is_extension: bool,
}

/// The spec of an `Extension`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtensionSpec {
    /// The repository.
    pub repo_name: String,
    /// The directory within it.
    pub repo_path: String,
    /// Arguments of its Tiltfile.
    pub args: Vec<String>,
    /// Whether a Tiltfile loads from it; then it does not run by itself.
    #[serde(skip)]
    pub is_loaded: bool,
}

/// The spec of an `ExtensionRepo`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtensionRepoSpec {
    /// Where it is fetched from.
    pub url: String,
    /// The commit, branch or tag.
    pub r#ref: String,
    /// The directory within it that has the extensions.
    pub git_subpath: String,
}

impl ExtensionRepoSpec {
    /// The folder that it is, if it is one of this machine.
    pub fn folder(&self) -> Option<&str> {
        self.url.strip_prefix("file://")
    }
}
