//! The long form of everything that may be written short, and defaults for what is left out.

use std::sync::LazyLock;

use serde::Deserialize;

use super::ComposeError;
use super::merge::started;
use super::short_forms::{parse_ports, parse_volume};
use super::tree::{Places, TreePath};
use super::value::{Map, Value};
use crate::golang::quote::quote;

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    Build,
    FileMount,
    Text,
    KeyValue,
    DependsOn,
    EnvFile,
    TextOrList,
    Extends,
    Gpus,
    Names,
    Volume,
    Device,
    Ports,
    Ssh,
    Ulimit,
    MaybeExternal,
    Include,
}

static FORMS: LazyLock<Places<Form>> = LazyLock::new(|| Places::read("forms"));

/// Rewrites every short form of `tree`.
pub(super) fn canonicalize(tree: &mut Map) -> Result<(), ComposeError> {
    TreePath::default().each_entry(tree, &mut canonicalize_value)?;
    if let Some(Value::Map(services)) = tree.get_mut("services") {
        services.values_mut().for_each(drop_empty_dns);
    }
    Ok(())
}

/// A DNS server may come from a variable that is not set.
fn drop_empty_dns(service: &mut Value) {
    if let Some(Value::Seq(dns)) = service.as_map_mut().and_then(|it| it.get_mut("dns")) {
        dns.retain(|it| *it != Value::Null && it.as_str() != Some(""));
    }
}

fn canonicalize_value(value: &mut Value, path: &mut TreePath) -> Result<(), ComposeError> {
    match FORMS.at(path) {
        Some(form) => rewrite(form, value, path),
        None => path.each_child(value, &mut canonicalize_value),
    }
}

fn invalid(path: &TreePath, value: &Value, what: &str) -> ComposeError {
    ComposeError::new(format!("{path}: invalid type {} for {what}", value.type_name()))
}

fn single(key: &str, value: Value) -> Value {
    Value::Map(Map::from([(key.to_owned(), value)]))
}

fn rewrite(form: Form, value: &mut Value, path: &mut TreePath) -> Result<(), ComposeError> {
    match form {
        Form::Build => text_or_mapping(value, path, "context", "build"),
        Form::Extends => text_or_mapping(value, path, "service", "extends"),
        Form::FileMount => match value {
            Value::Map(_) => Ok(()),
            Value::Str(source) => {
                *value = single("source", Value::Str(std::mem::take(source)));
                Ok(())
            }
            other => {
                Err(ComposeError::new(format!("{path}: unsupported type {}", other.type_name())))
            }
        },
        Form::Text => {
            *value = Value::Str(value.sprint());
            Ok(())
        }
        Form::TextOrList => {
            if let Value::Str(text) = value {
                *value = Value::Seq(vec![Value::Str(std::mem::take(text))]);
            }
            Ok(())
        }
        Form::KeyValue => key_values(value, path),
        Form::DependsOn => depends_on(value, path),
        Form::EnvFile => env_file(value, path),
        Form::Gpus => match value {
            Value::Seq(_) => path.each_child(value, &mut canonicalize_value),
            Value::Str(_) => {
                *value = Value::Seq(vec![single("count", Value::str("all"))]);
                Ok(())
            }
            other => Err(invalid(path, other, "gpus")),
        },
        Form::Names => names(value, path),
        Form::Volume => match value {
            Value::Map(_) => Ok(()),
            Value::Str(spec) => {
                *value = parse_volume(spec)?.into_value(spec);
                Ok(())
            }
            other => Err(invalid(path, other, "service volume mount")),
        },
        Form::Device => device(value, path),
        Form::Ports => ports(value, path),
        Form::Ssh => ssh(value, path),
        Form::Ulimit => match value {
            Value::Map(_) | Value::Int(_) => Ok(()),
            other => Err(invalid(path, other, "external")),
        },
        Form::MaybeExternal => maybe_external(value, path),
        Form::Include => match value {
            Value::Map(_) => Ok(()),
            Value::Str(file) => {
                *value = single("path", Value::Str(std::mem::take(file)));
                Ok(())
            }
            other => Err(invalid(path, other, "external")),
        },
    }
}

fn text_or_mapping(
    value: &mut Value,
    path: &mut TreePath,
    key: &str,
    what: &str,
) -> Result<(), ComposeError> {
    match value {
        Value::Map(_) => path.each_child(value, &mut canonicalize_value),
        Value::Str(text) => {
            *value = single(key, Value::Str(std::mem::take(text)));
            Ok(())
        }
        other => Err(invalid(path, other, what)),
    }
}

fn key_values(value: &mut Value, path: &TreePath) -> Result<(), ComposeError> {
    let items = match value {
        Value::Map(_) => return Ok(()),
        Value::Seq(items) => items,
        other => {
            return Err(ComposeError::new(format!("{path}: invalid type {}", other.type_name())));
        }
    };
    let mut map = Map::new();
    for item in items {
        let text = item.sprint();
        let Some((key, value)) = text.split_once('=') else {
            return Err(ComposeError::new(format!(
                "{path}: invalid value {text}, expected key=value"
            )));
        };
        map.insert(key.to_owned(), Value::str(value));
    }
    *value = Value::Map(map);
    Ok(())
}

fn depends_on(value: &mut Value, path: &TreePath) -> Result<(), ComposeError> {
    match value {
        Value::Map(map) => {
            let shown = Value::Map(map.clone());
            for (name, dependency) in map.iter_mut() {
                let Value::Map(dependency) = dependency else {
                    return Err(ComposeError::new(format!(
                        "{path}.{name}: unsupported value {}",
                        shown.as_message()
                    )));
                };
                let Value::Map(defaults) = started() else { continue };
                for (key, default) in defaults {
                    dependency.entry(key).or_insert(default);
                }
            }
            Ok(())
        }
        Value::Seq(items) => {
            *value = Value::Map(items.iter().map(|it| (it.sprint(), started())).collect());
            Ok(())
        }
        other => Err(invalid(path, other, "depend_on")),
    }
}

fn env_file(value: &mut Value, path: &TreePath) -> Result<(), ComposeError> {
    let entry = |value: Value| match value {
        Value::Str(file) => Value::Map(Map::from([
            ("path".to_owned(), Value::Str(file)),
            ("required".to_owned(), Value::Bool(true)),
        ])),
        Value::Map(mut map) => {
            map.entry("required".to_owned()).or_insert(Value::Bool(true));
            Value::Map(map)
        }
        _ => Value::Null,
    };
    *value = match std::mem::replace(value, Value::Null) {
        text @ Value::Str(_) => Value::Seq(vec![entry(text)]),
        Value::Seq(items) => Value::Seq(items.into_iter().map(entry).collect()),
        other => return Err(invalid(path, &other, "env_file")),
    };
    Ok(())
}

fn names(value: &mut Value, path: &TreePath) -> Result<(), ComposeError> {
    if let Value::Seq(items) = value {
        let names = items.iter().map(|it| match it {
            Value::Str(name) => Ok((name.clone(), Value::Null)),
            other => Err(invalid(path, other, "name")),
        });
        *value = Value::Map(names.collect::<Result<_, _>>()?);
    }
    Ok(())
}

fn device(value: &mut Value, path: &TreePath) -> Result<(), ComposeError> {
    let spec = match value {
        Value::Map(_) => return Ok(()),
        Value::Str(spec) => spec,
        other => return Err(invalid(path, other, "service volume mount")),
    };
    let parts: Vec<_> = spec.split(':').collect();
    if parts.len() > 3 {
        return Err(ComposeError::new(format!(
            "confusing device mapping, please use long syntax: {spec}"
        )));
    }
    let source = parts[0];
    let target = parts.get(1).copied().filter(|it| !it.is_empty()).unwrap_or(source);
    let permissions = parts.get(2).copied().unwrap_or("rwm");
    *value = Value::Map(Map::from([
        ("source".to_owned(), Value::str(source)),
        ("target".to_owned(), Value::str(target)),
        ("permissions".to_owned(), Value::str(permissions)),
    ]));
    Ok(())
}

fn ports(value: &mut Value, path: &TreePath) -> Result<(), ComposeError> {
    let Value::Seq(items) = value else { return Err(invalid(path, value, "port")) };
    let mut ports = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        match item {
            Value::Int(number) => ports.extend(parse_ports(&number.to_string())?),
            Value::Str(spec) => ports.extend(parse_ports(&spec)?),
            map @ Value::Map(_) => ports.push(map),
            other => return Err(invalid(path, &other, "port")),
        }
    }
    *items = ports;
    Ok(())
}

fn ssh(value: &mut Value, path: &TreePath) -> Result<(), ComposeError> {
    let items = match value {
        Value::Map(_) => return Ok(()),
        Value::Seq(items) => items,
        other => return Err(invalid(path, other, "ssh")),
    };
    let mut keys = Map::new();
    for item in items {
        let Some(text) = item.as_str() else {
            return Err(ComposeError::new(format!("invalid ssh key type {}", item.type_name())));
        };
        match text.split_once('=') {
            Some((id, file)) => keys.insert(id.to_owned(), Value::str(file)),
            None if text == "default" => keys.insert(text.to_owned(), Value::Null),
            None => {
                return Err(ComposeError::new(format!("invalid ssh key {}", quote(text))));
            }
        };
    }
    *value = Value::Map(keys);
    Ok(())
}

/// `external: {name: x}` is the old spelling of `external: true` and `name: x`.
fn maybe_external(value: &mut Value, path: &mut TreePath) -> Result<(), ComposeError> {
    path.each_child(value, &mut canonicalize_value)?;
    let Some(resource) = value.as_map_mut() else { return Ok(()) };
    let Some(Value::Map(external)) = resource.get("external") else { return Ok(()) };
    let name = external.get("name").cloned();
    resource.insert("external".to_owned(), Value::Bool(true));
    match (name, resource.get("name")) {
        (Some(name), Some(named)) if name != *named => Err(ComposeError::new(format!(
            "{path}: name and external.name conflict; only use name"
        ))),
        (Some(name), None) => {
            resource.insert("name".to_owned(), name);
            Ok(())
        }
        _ => Ok(()),
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Default {
    BuildContext,
    SecretTarget,
    Port,
    DeviceCount,
    Bind,
}

static DEFAULTS: LazyLock<Places<Default>> = LazyLock::new(|| Places::read("defaults"));

/// Fills in what may be left out.
pub(super) fn set_defaults(tree: &mut Map) -> Result<(), ComposeError> {
    TreePath::default().each_entry(tree, &mut set_default)
}

fn set_default(value: &mut Value, path: &mut TreePath) -> Result<(), ComposeError> {
    match DEFAULTS.at(path) {
        Some(default) => fill(default, value, path),
        None => path.each_child(value, &mut set_default),
    }
}

fn fill(default: Default, value: &mut Value, path: &TreePath) -> Result<(), ComposeError> {
    let Value::Map(map) = value else {
        return match default {
            Default::BuildContext | Default::Port => Ok(()),
            Default::SecretTarget => {
                Err(ComposeError::new(format!("{path}: unsupported type {}", value.type_name())))
            }
            Default::DeviceCount => Err(invalid(path, &Value::Map(Map::new()), "device request")),
            Default::Bind => Err(invalid(path, value, "service volume bind")),
        };
    };
    let mut put = |key: &str, default: Value| {
        map.entry(key.to_owned()).or_insert(default);
    };
    match default {
        Default::BuildContext => put("context", Value::str(".")),
        Default::Port => {
            put("protocol", Value::str("tcp"));
            put("mode", Value::str("ingress"));
        }
        Default::Bind => put("create_host_path", Value::Bool(true)),
        Default::SecretTarget => {
            let source = map.get("source").map_or_else(String::new, Value::sprint);
            map.entry("target".to_owned())
                .or_insert_with(|| Value::Str(format!("/run/secrets/{source}")));
        }
        Default::DeviceCount => {
            if !map.contains_key("device_ids") {
                map.entry("count".to_owned()).or_insert_with(|| Value::str("all"));
            }
        }
    }
    Ok(())
}
