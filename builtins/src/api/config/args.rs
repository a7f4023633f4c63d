//! Parses the arguments of a Tiltfile to settings.

use std::collections::BTreeMap;

use builtins_language::{AllocList, Heap, Value};
use engine_formats::golang::{
    json,
    pflag::{Flag, FlagError, FlagSet, parse_bool},
    quote::quote,
};
use serde_json::Value as Json;

use super::object;
use crate::{
    declarations::config::{Config, SettingKind},
    diagnostic::Advice,
};

/// The width that the table of flags in a message is wrapped to.
const COLUMNS: usize = 80;

/// The value of a setting that was given.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Given {
    /// A text.
    String(String),
    /// Any number of texts.
    List(Vec<String>),
    /// Yes or no.
    Bool(bool),
    /// Any JSON.
    Object(Json),
}

impl Given {
    /// The value in the Tiltfile.
    pub(super) fn alloc<'v>(&self, heap: Heap<'v>) -> Value<'v> {
        match self {
            Self::String(it) => heap.alloc(it.as_str()),
            Self::List(items) => heap.alloc(AllocList(items.iter().map(String::as_str))),
            Self::Bool(it) => Value::new_bool(*it),
            Self::Object(it) => object::alloc(it, heap),
        }
    }
}

/// Why the arguments do not fit the settings.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArgsError {
    #[error("invalid Tiltfile config args: {why}{usage}")]
    Flags { why: FlagError, usage: String },
    #[error(
        "invalid Tiltfile config args: positional CLI args ({}) were specified, but none were expected.\n\
         See https://docs.tilt.dev/tiltfile_config.html#positional-arguments for examples.",
        quote(.0)
    )]
    Positional(String),
    #[error("invalid Tiltfile config args: invalid positional args ({name}): {why}")]
    InvalidPositional { name: String, why: SettingError },
}

/// Why an argument does not fit its setting.
#[derive(Debug, thiserror::Error)]
pub(super) enum SettingError {
    #[error(
        "{kind} settings can only be specified once. multiple values found (last value: {value})"
    )]
    Twice { kind: &'static str, value: String },
    /// It is neither yes nor no, in the words of the reference.
    #[error("{0}")]
    Bool(String),
    #[error("decoding JSON, got {}: {why}", quote(.text))]
    Json { text: String, why: String },
}

impl ArgsError {
    /// The way out.
    pub(super) fn advice(&self) -> Option<Advice> {
        let is_unknown = matches!(self, Self::Flags { why: FlagError::UnknownFlag(_), .. });
        is_unknown.then_some(Advice::DefineFlag)
    }
}

/// What came out of the arguments.
pub(super) struct Outcome {
    /// What to print, if help was asked for.
    pub(super) help: String,
    /// The settings that were given, by name.
    pub(super) settings: Result<BTreeMap<String, Given>, ArgsError>,
}

/// Reads the arguments: flags, and positional ones if a setting takes them.
pub(super) fn parse(args: &[String], config: &Config) -> Outcome {
    let mut flags = FlagSet::new();
    for (name, setting) in &config.settings {
        if config.positional.as_ref() != Some(name) {
            flags.add(flag(name, setting.kind, &setting.usage));
        }
    }
    let mut settings = BTreeMap::new();
    let positional = flags.parse(args, |name, text| {
        set(&mut settings, config, name, text).map_err(|why| why.to_string())
    });
    let help = match positional {
        Err(FlagError::Help) => flags.help_text(),
        _ => String::new(),
    };
    let settings = positional
        .map_err(|why| ArgsError::Flags { why, usage: usage(&flags) })
        .and_then(|positional| set_positional(settings, config, &positional));
    Outcome { help, settings }
}

fn usage(flags: &FlagSet) -> String {
    let table = flags.usages(COLUMNS);
    if table.trim().is_empty() { table } else { format!("\nUsage:\n{table}") }
}

fn set_positional(
    mut settings: BTreeMap<String, Given>,
    config: &Config,
    positional: &[String],
) -> Result<BTreeMap<String, Given>, ArgsError> {
    for text in positional {
        let Some(name) = &config.positional else {
            return Err(ArgsError::Positional(positional.join(" ")));
        };
        set(&mut settings, config, name, text)
            .map_err(|why| ArgsError::InvalidPositional { name: name.clone(), why })?;
    }
    Ok(settings)
}

fn flag(name: &str, kind: SettingKind, usage: &str) -> Flag {
    let (type_name, default_text) = match kind {
        SettingKind::String => ("string", ""),
        SettingKind::StringList => ("list[string]", ""),
        SettingKind::Bool => ("bool", "false"),
        SettingKind::Object => ("object", "None"),
    };
    Flag {
        name: name.to_owned(),
        usage: usage.to_owned(),
        type_name: type_name.to_owned(),
        default_text: default_text.to_owned(),
        value_without_argument: (kind == SettingKind::Bool).then(|| "true".to_owned()),
    }
}

/// JSON, refused in the words of the reference.
fn decode(text: &str) -> Result<Json, SettingError> {
    let refuse = |why: String| SettingError::Json { text: text.to_owned(), why };
    json::decode(text).map_err(|why| refuse(why.to_string()))?;
    serde_json::from_str(text).map_err(|why| refuse(why.to_string()))
}

/// Notes one more occurrence of a setting.
fn set(
    settings: &mut BTreeMap<String, Given>,
    config: &Config,
    name: &str,
    text: &str,
) -> Result<(), SettingError> {
    let twice = |kind, value: &str| Err(SettingError::Twice { kind, value: value.to_owned() });
    let kind = config.settings.get(name).map(|it| it.kind);
    let given = match (kind, settings.get_mut(name)) {
        (None, _) => return Ok(()),
        (_, Some(Given::List(items))) => {
            items.push(text.to_owned());
            return Ok(());
        }
        (_, Some(Given::String(_))) => return twice("string", text),
        (_, Some(Given::Bool(_))) => return twice("bool", text),
        (_, Some(Given::Object(earlier))) => return twice("object", &object::repr(earlier)),
        (Some(SettingKind::String), None) => Given::String(text.to_owned()),
        (Some(SettingKind::StringList), None) => Given::List(vec![text.to_owned()]),
        (Some(SettingKind::Bool), None) => {
            Given::Bool(parse_bool(text).map_err(|why| SettingError::Bool(why.clone()))?)
        }
        (Some(SettingKind::Object), None) => Given::Object(decode(text)?),
    };
    settings.insert(name.to_owned(), given);
    Ok(())
}
