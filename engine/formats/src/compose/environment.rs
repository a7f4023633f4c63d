//! Variables from env files, and names without values that stand for the environment's.

use super::dotenv::{self, Variables};
use super::loader::Loader;
use super::value::{Map, Value};
use super::{ComposeError, World, io_problem};
use crate::golang::quote::quote;

/// What `files` define for interpolation; their values may refer to `env`.
pub(super) fn read_env_files(
    loader: &Loader<'_>,
    env: &Variables,
    files: &[String],
) -> Result<Variables, ComposeError> {
    let mut variables = Variables::new();
    for file in files {
        match loader.world.stat(file.as_ref()) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(ComposeError::new(format!("couldn't find env file: {file}")));
            }
            Err(error) => return Err(io_problem("stat", file, &error)),
            Ok(kind) if kind.is_directory() => {
                return Err(ComposeError::new(format!("{file} is a directory")));
            }
            Ok(_) => {}
        }
        let text = loader.read_text(file)?;
        dotenv::parse(&text, &mut variables, &|name| env.get(name).cloned())
            .map_err(|error| ComposeError::new(format!("failed to read {file}: {error}")))?;
    }
    Ok(variables)
}

/// Gives names without values in `environment` lists, and secrets and configs that come from
/// the environment, what `env` has for them.
pub(super) fn resolve_references(tree: &mut Map, env: &Variables) {
    let mut each = |kind: &str, resolve: &dyn Fn(&mut Map)| {
        if let Some(Value::Map(resources)) = tree.get_mut(kind) {
            resources.values_mut().filter_map(Value::as_map_mut).for_each(resolve);
        }
    };
    each("services", &|service| {
        if let Some(Value::Seq(items)) = service.get_mut("environment") {
            items.retain(|item| item.as_str().is_some());
            for item in items {
                if let Value::Str(text) = item
                    && let Some(value) = env.get(text.as_str())
                {
                    *text = format!("{text}={value}");
                }
            }
        }
    });
    each("configs", &|config| {
        let variable = config.get("environment").and_then(Value::as_str);
        if let Some(value) = variable.and_then(|name| env.get(name)) {
            let content = Value::str(value);
            config.insert("content".to_owned(), content);
        }
    });
}

/// Names without values get those of `lookup`; what stays without one is kept or dropped.
pub(super) fn resolve_names(value: &mut Value, env: &Variables, keep_unset: bool) {
    match value {
        Value::Map(map) => {
            for (name, value) in map.iter_mut().filter(|(_, value)| **value == Value::Null) {
                if let Some(found) = env.get(name) {
                    *value = Value::str(found);
                }
            }
            map.retain(|_, value| keep_unset || *value != Value::Null);
        }
        Value::Seq(items) => {
            items.retain_mut(|item| match item {
                Value::Str(text) if !text.contains('=') => match env.get(text.as_str()) {
                    Some(found) => {
                        *text = format!("{text}={found}");
                        true
                    }
                    None => keep_unset,
                },
                item => item.as_str().is_some(),
            });
        }
        _ => {}
    }
}

/// The environment of a bound service with its env files read in; its own values win.
pub(super) fn resolve_service(
    service: &mut Map,
    env: &Variables,
    world: &dyn World,
) -> Result<(), ComposeError> {
    let mut own = match service.shift_remove("environment") {
        Some(Value::Map(own)) => own,
        _ => Map::new(),
    };
    for (name, value) in own.iter_mut().filter(|(_, value)| **value == Value::Null) {
        if let Some(found) = env.get(name) {
            *value = Value::str(found);
        }
    }
    let mut variables: Variables = own
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect();
    let lookup = |name: &str| {
        let own = || own.get(name).and_then(Value::as_str).map(str::to_owned);
        env.get(name).cloned().or_else(own)
    };
    for file in service.get("env_file").and_then(Value::as_seq).unwrap_or_default() {
        let path = file.text("path");
        let required = file.get("required") != Some(&Value::Bool(false));
        let Some(text) = read_mapping_file(world, "env", path, required)? else { continue };
        let format = file.text("format");
        if !matches!(format, "" | ".env") {
            return Err(ComposeError::new(format!(
                "unsupported env_file format {}",
                quote(format)
            )));
        }
        dotenv::parse(&text, &mut variables, &lookup)
            .map_err(|error| ComposeError::new(format!("failed to read {path}: {error}")))?;
    }
    let mut merged: Map =
        variables.into_iter().map(|(name, value)| (name, Value::Str(value))).collect();
    merged.extend(own);
    service.insert("environment".to_owned(), Value::Map(merged));
    Ok(())
}

/// The labels of a bound service with its label files read in; its own values win.
pub(super) fn resolve_labels(service: &mut Map, world: &dyn World) -> Result<(), ComposeError> {
    let mut labels = Variables::new();
    for file in service.get("label_file").and_then(Value::as_seq).unwrap_or_default() {
        let path = file.as_str().unwrap_or_default();
        let Some(text) = read_mapping_file(world, "label", path, true)? else { continue };
        let mut from_file = Variables::new();
        dotenv::parse(&text, &mut from_file, &|name| labels.get(name).cloned())
            .map_err(|error| ComposeError::new(format!("failed to read {path}: {error}")))?;
        labels.extend(from_file);
    }
    if labels.is_empty() {
        return Ok(());
    }
    let mut merged: Map =
        labels.into_iter().map(|(name, value)| (name, Value::Str(value))).collect();
    if let Some(Value::Map(own)) = service.shift_remove("labels") {
        merged.extend(own);
    }
    service.insert("labels".to_owned(), Value::Map(merged));
    Ok(())
}

/// The text of an env or label file, none when it is missing and may be.
fn read_mapping_file(
    world: &dyn World,
    what: &str,
    path: &str,
    required: bool,
) -> Result<Option<String>, ComposeError> {
    match world.stat(path.as_ref()) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            if !required {
                return Ok(None);
            }
            let reason = io_problem("stat", path, &error);
            return Err(ComposeError::new(format!("{what} file {path} not found: {reason}")));
        }
        _ => {}
    }
    let bytes = world.read(path.as_ref()).map_err(|error| io_problem("open", path, &error))?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}
