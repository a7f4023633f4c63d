//! Lists in which a later entry takes the place of an earlier one with the same key.

use indexmap::IndexMap;

use super::ComposeError;
use super::short_forms::parse_volume;
use super::tree::{Pattern, TreePath, lookup};
use super::value::{Map, Value};

#[derive(Debug, Clone, Copy)]
enum Index {
    KeyValue,
    Volume,
    Device,
    Expose,
    Mount(&'static str),
    Port,
    EnvFile,
}

macro_rules! indexes {
    ($($($part:literal).+ => $index:expr,)*) => {
        &[$((Pattern(&[$($part),+]), $index)),*]
    };
}

const INDEXES: &[(Pattern, Index)] = indexes![
    "networks"."*"."labels" => Index::KeyValue,
    "networks"."*"."ipam"."options" => Index::KeyValue,
    "services"."*"."annotations" => Index::KeyValue,
    "services"."*"."build"."args" => Index::KeyValue,
    "services"."*"."build"."additional_contexts" => Index::KeyValue,
    "services"."*"."build"."platform" => Index::KeyValue,
    "services"."*"."build"."tags" => Index::KeyValue,
    "services"."*"."build"."labels" => Index::KeyValue,
    "services"."*"."cap_add" => Index::KeyValue,
    "services"."*"."cap_drop" => Index::KeyValue,
    "services"."*"."devices" => Index::Device,
    "services"."*"."configs" => Index::Mount(""),
    "services"."*"."deploy"."labels" => Index::KeyValue,
    "services"."*"."dns" => Index::KeyValue,
    "services"."*"."dns_opt" => Index::KeyValue,
    "services"."*"."dns_search" => Index::KeyValue,
    "services"."*"."environment" => Index::KeyValue,
    "services"."*"."env_file" => Index::EnvFile,
    "services"."*"."expose" => Index::Expose,
    "services"."*"."labels" => Index::KeyValue,
    "services"."*"."links" => Index::KeyValue,
    "services"."*"."networks"."*"."aliases" => Index::KeyValue,
    "services"."*"."networks"."*"."link_local_ips" => Index::KeyValue,
    "services"."*"."ports" => Index::Port,
    "services"."*"."profiles" => Index::KeyValue,
    "services"."*"."secrets" => Index::Mount("/run/secrets"),
    "services"."*"."sysctls" => Index::KeyValue,
    "services"."*"."tmpfs" => Index::KeyValue,
    "services"."*"."volumes" => Index::Volume,
];

/// Drops redefined entries from every list of `tree` that has a notion of key.
pub(super) fn enforce_unicity(tree: &mut Map) -> Result<(), ComposeError> {
    let mut path = TreePath::default();
    for (key, value) in tree.iter_mut() {
        path.within(key, |path| enforce(value, path))?;
    }
    Ok(())
}

fn enforce(value: &mut Value, path: &mut TreePath) -> Result<(), ComposeError> {
    match value {
        Value::Map(map) => {
            for (key, value) in map.iter_mut() {
                path.within(key, |path| enforce(value, path))?;
            }
        }
        Value::Seq(items) => {
            if let Some(index) = lookup(INDEXES, path) {
                let mut unique: IndexMap<String, Value> = IndexMap::new();
                for (at, item) in std::mem::take(items).into_iter().enumerate() {
                    let key = path.within(&format!("[{at}]"), |path| key_of(&item, index, path))?;
                    unique.insert(key, item);
                }
                items.extend(unique.into_values());
            }
        }
        _ => {}
    }
    Ok(())
}

fn key_of(item: &Value, index: Index, path: &TreePath) -> Result<String, ComposeError> {
    let missing = |what: &str, of: &str| {
        ComposeError::new(format!("service {what} {path} is missing a {of}"))
    };
    match (index, item) {
        (Index::KeyValue, Value::Str(text)) => {
            Ok(text.split_once('=').map_or(text.as_str(), |(key, _)| key).to_owned())
        }
        (Index::KeyValue, other) => {
            Err(ComposeError::new(format!("{path}: unexpected type {}", other.type_name())))
        }
        (Index::Volume, Value::Map(map)) => {
            text_of(map, "target").ok_or_else(|| missing("volume", "mount target"))
        }
        (Index::Volume, Value::Str(text)) => Ok(parse_volume(text)?.target),
        (Index::Device, Value::Map(map)) => {
            text_of(map, "target").ok_or_else(|| missing("device", "mount target"))
        }
        (Index::Device, Value::Str(text)) => Ok(text.split(':').nth(1).unwrap_or(text).to_owned()),
        (Index::Expose | Index::Port | Index::EnvFile, Value::Str(text)) => Ok(text.clone()),
        (Index::Expose | Index::Port, Value::Int(number)) => Ok(number.to_string()),
        (Index::Mount(default), Value::Str(name)) => Ok(format!("{default}/{name}")),
        (Index::Mount(default), Value::Map(map)) => match map.get("target") {
            Some(target) => Ok(target.sprint()),
            None => Ok(format!("{default}/{}", map.get("source").unwrap_or(&Value::Null).sprint())),
        },
        (Index::Expose | Index::Mount(_), other) => Err(ComposeError::new(format!(
            "{path}: unsupported expose value {}",
            other.as_message()
        ))),
        (Index::Port, Value::Map(map)) => {
            port_key(map).ok_or_else(|| missing("ports", "target port"))
        }
        (Index::EnvFile, Value::Map(map)) => text_of(map, "path").ok_or_else(|| {
            ComposeError::new(format!("environment path attribute {path} is missing"))
        }),
        _ => Ok(String::new()),
    }
}

fn text_of(map: &Map, key: &str) -> Option<String> {
    map.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Two ports are the same when address, both numbers and protocol agree, in the same spelling.
fn port_key(map: &Map) -> Option<String> {
    let part = |key: &str, default: &str| match map.get(key) {
        Some(Value::Str(text)) => text.clone(),
        Some(other) => format!("{}={}", other.type_name(), other.sprint()),
        None => default.to_owned(),
    };
    let target = match map.get("target")? {
        Value::Str(text) => format!("string={text}"),
        number => number.sprint(),
    };
    let (host, published) = (part("host_ip", "0.0.0.0"), part("published", "<nil>"));
    Some(format!("{host}:{published}:{target}/{}", part("protocol", "tcp")))
}
