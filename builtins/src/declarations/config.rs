//! Declared settings of the Tiltfile itself, and the resources it enables.

use std::collections::BTreeMap;

/// What kind of value a setting has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// A text.
    String,
    /// Any number of texts.
    StringList,
    /// Yes or no.
    Bool,
    /// Anything that JSON can express.
    Object,
}

/// A setting that users can pass as an argument or in `tilt_config.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// What kind of value it has.
    pub kind: SettingKind,
    /// What it is for.
    pub usage: String,
}

/// Which resources the Tiltfile enables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// It says nothing: those that the arguments name, or all.
    #[default]
    Unsaid,
    /// These and what they depend on.
    Only(Vec<String>),
    /// None.
    Nothing,
}

/// The declarations of the `config` module.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The defined settings, by name.
    pub settings: BTreeMap<String, Setting>,
    /// The setting that takes the positional arguments.
    pub positional: Option<String>,
    /// The directory that `config.parse` was called from.
    pub parsed_from: Option<String>,
    /// Which resources are enabled.
    pub selection: Selection,
}
