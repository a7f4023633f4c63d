//! Reads `tilt_config.json`.

use std::{collections::BTreeMap, io};

use engine_formats::golang::{json::valid_utf8, os_error::PathError};
use serde_json::Value as Json;

use super::{args::Given, object::go_type};
use crate::{
    declarations::config::{Config, SettingKind},
    host::Host,
};

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    #[error("error opening {path}: {source}")]
    Open { path: String, source: PathError },
    #[error("error parsing json from {path}: {why}")]
    Json { path: String, why: JsonError },
    #[error("{path} specified unknown setting name '{name}'")]
    Unknown { path: String, name: String },
    #[error("{path} specified invalid value for setting {name}: {why}")]
    Invalid { path: String, name: String, why: ValueError },
}

/// Why the file holds no settings.
#[derive(Debug, thiserror::Error)]
pub(super) enum JsonError {
    #[error(transparent)]
    File(#[from] PathError),
    #[error("EOF")]
    Empty,
    #[error(transparent)]
    Syntax(#[from] serde_json::Error),
    /// It begins with something else than an object.
    #[error("ReadMapCB: expect {{ or n, but found {0}")]
    NoObject(String),
}

/// Why a value does not fit its setting; each names the type that was found.
#[derive(Debug, thiserror::Error)]
pub(super) enum ValueError {
    #[error("expected string, found {0}")]
    String(&'static str),
    #[error("expected bool, found {0}")]
    Bool(&'static str),
    #[error("expected string, got {0}")]
    Item(&'static str),
    #[error("expected array")]
    List,
}

/// The settings of the file, by name; none if there is no file.
pub(super) fn read(
    path: &str,
    config: &Config,
    host: &dyn Host,
) -> Result<BTreeMap<String, Given>, FileError> {
    let text = match host.read(path) {
        Ok(bytes) => valid_utf8(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            let why = PathError::new("read", path, &error).into();
            return Err(FileError::Json { path: path.to_owned(), why });
        }
        Err(error) => {
            let source = PathError::new("open", path, &error);
            return Err(FileError::Open { path: path.to_owned(), source });
        }
    };
    settings(&text, path, config)
}

pub(super) fn settings(
    text: &str,
    path: &str,
    config: &Config,
) -> Result<BTreeMap<String, Given>, FileError> {
    let entries = parse(text).map_err(|why| FileError::Json { path: path.to_owned(), why })?;
    let mut settings = BTreeMap::new();
    for (name, json) in entries {
        let Some(setting) = config.settings.get(&name) else {
            return Err(FileError::Unknown { path: path.to_owned(), name });
        };
        let given = convert(setting.kind, json).map_err(|why| FileError::Invalid {
            path: path.to_owned(),
            name: name.clone(),
            why,
        })?;
        settings.insert(name, given);
    }
    Ok(settings)
}

/// The first JSON value of the text, which has to be an object or null; what follows is ignored.
fn parse(text: &str) -> Result<BTreeMap<String, Json>, JsonError> {
    match serde_json::Deserializer::from_str(text).into_iter::<Json>().next() {
        None => Err(JsonError::Empty),
        Some(Err(why)) => Err(why.into()),
        Some(Ok(Json::Null)) => Ok(BTreeMap::new()),
        Some(Ok(Json::Object(entries))) => Ok(entries.into_iter().collect()),
        Some(Ok(_)) => Err(JsonError::NoObject(around_start(text))),
    }
}

/// What the text begins with, and what is around.
fn around_start(text: &str) -> String {
    let bytes = text.as_bytes();
    let head = bytes.iter().position(|it| !it.is_ascii_whitespace()).map_or(0, |it| it + 1);
    let around = |reach: usize| {
        let end = (head + reach).min(bytes.len());
        valid_utf8(&bytes[head.saturating_sub(reach)..end])
    };
    let found = valid_utf8(&bytes[head.saturating_sub(1)..head]).into_owned();
    format!(
        "{found}, error found in #{} byte of ...|{}|..., bigger context ...|{}|...",
        head.min(10),
        around(10),
        around(50)
    )
}

/// A setting's value; null stands for an empty one.
fn convert(kind: SettingKind, json: Json) -> Result<Given, ValueError> {
    match (kind, json) {
        (SettingKind::String, Json::Null) => Ok(Given::String(String::new())),
        (SettingKind::String, Json::String(text)) => Ok(Given::String(text)),
        (SettingKind::String, other) => Err(ValueError::String(go_type(&other))),
        (SettingKind::Bool, Json::Null) => Ok(Given::Bool(false)),
        (SettingKind::Bool, Json::Bool(it)) => Ok(Given::Bool(it)),
        (SettingKind::Bool, other) => Err(ValueError::Bool(go_type(&other))),
        (SettingKind::StringList, Json::Null) => Ok(Given::List(Vec::new())),
        (SettingKind::StringList, Json::Array(items)) => {
            let text = |item| match item {
                Json::String(text) => Ok(text),
                other => Err(ValueError::Item(go_type(&other))),
            };
            items.into_iter().map(text).collect::<Result<_, _>>().map(Given::List)
        }
        (SettingKind::StringList, _) => Err(ValueError::List),
        (SettingKind::Object, json) => Ok(Given::Object(json)),
    }
}
