//! Binding: from a tree that may still spell things in several ways to the one way Compose
//! writes them, with everything that says nothing left out.
//!
//! Which attributes exist, in which order they are written and what they hold is the table in
//! `bind/shapes.txt`.

mod shapes;
mod text_maps;

use engine_model::GoDuration;
use serde::Deserialize;

use super::ComposeError;
use super::interpolate::{parse_bool, parse_float, parse_int};
use super::units::{parse_bytes, parse_duration, split_command};
use super::value::{Map, Value};
use crate::golang::quote::quote;

use shapes::shape;

/// Where extensions are kept until they are bound; no YAML key can collide with it.
const EXTENSIONS: &str = "#extensions";

/// What an attribute holds.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Text,
    Flag,
    /// A flag that is written even when false.
    OptionalFlag,
    /// A flag that is left out when true.
    OptOut,
    Int,
    Uint16,
    Uint32,
    Uint64,
    /// A number that is written even when zero.
    OptionalInt,
    OptionalUnsigned,
    Float32,
    Cpus,
    Bytes,
    Duration,
    OptionalDuration,
    FileMode,
    DeviceCount,
    Texts,
    TextOrTexts,
    TextsOrNumbers,
    Command,
    HealthTest,
    /// `KEY=value`, where a key without value is empty.
    Mapping,
    /// `KEY=value`, where a key without value is null.
    Variables,
    Labels,
    Options,
    MultiOptions,
    TextMap,
    Hosts,
    Ssh,
    Ulimit,
    /// A mapping with these attributes that is left out when nothing is in it.
    #[serde(skip)]
    Struct(&'static str),
    /// A mapping with these attributes that is written even when nothing is in it.
    #[serde(skip)]
    Pointer(&'static str),
    #[serde(skip)]
    List(Box<Kind>),
    /// A mapping from names; values may be null.
    #[serde(skip)]
    Named(Box<Kind>),
}

/// The attributes of a mapping, in the order they are written.
#[derive(Debug)]
struct Shape {
    fields: Vec<Field>,
    /// Whether `x-…` keys are kept.
    extensible: bool,
}

/// An attribute.
#[derive(Debug)]
struct Field {
    name: &'static str,
    kind: Kind,
    /// Whether it is written even when it says nothing.
    always: bool,
}

/// Binds a whole project.
pub(super) fn bind_project(mut tree: Map) -> Result<Map, ComposeError> {
    collect_extensions(&mut tree, &mut Vec::new());
    let bound = bind_struct(shape("project"), &tree, "").map_err(|problem| {
        ComposeError::new(format!("decoding failed due to the following error(s):\n\n{problem}"))
    })?;
    Ok(bound)
}

/// Puts the attributes of a bound service back in their order after some were added.
pub(super) fn restore_order(service: &mut Map) {
    if let Some(Value::Map(deploy)) = service.get_mut("deploy") {
        order_fields(deploy, shape("deploy"));
    }
    for key in ["environment", "labels"] {
        match service.get_mut(key) {
            Some(Value::Map(map)) if map.is_empty() => {
                service.shift_remove(key);
            }
            Some(Value::Map(map)) => map.sort_by(|a, _, b, _| text_maps::natural_order(a, b)),
            _ => {}
        }
    }
    order_fields(service, shape("service"));
}

fn order_fields(map: &mut Map, shape: &Shape) {
    map.sort_by_cached_key(|key, _| {
        shape.fields.iter().position(|field| field.name == key).unwrap_or(usize::MAX)
    });
}

/// Moves `x-…` keys aside, except where keys are names the user chose.
fn collect_extensions(map: &mut Map, path: &mut Vec<String>) {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let names = matches!(
        parts.as_slice(),
        ["services" | "volumes" | "networks" | "secrets" | "configs"]
            | ["services", _, "depends_on"]
    );
    let mut extensions = Map::new();
    if !names {
        map.retain(|key, value| {
            let extension = key.starts_with("x-");
            if extension {
                extensions.insert(key.clone(), std::mem::replace(value, Value::Null));
            }
            !extension
        });
    }
    for (key, value) in map.iter_mut() {
        path.push(key.clone());
        match value {
            Value::Map(map) => collect_extensions(map, path),
            Value::Seq(items) => {
                for map in items.iter_mut().filter_map(Value::as_map_mut) {
                    path.push(String::new());
                    collect_extensions(map, path);
                    path.pop();
                }
            }
            _ => {}
        }
        path.pop();
    }
    if !extensions.is_empty() {
        map.insert(EXTENSIONS.to_owned(), Value::Map(extensions));
    }
}

/// Binds the attributes of `shape`; `name` says in messages where they are.
fn bind_struct(shape: &Shape, map: &Map, name: &str) -> Result<Map, String> {
    let mut bound = Map::new();
    for field in &shape.fields {
        let field_name =
            if name.is_empty() { field.name.to_owned() } else { format!("{name}.{}", field.name) };
        let value = match map.get(field.name) {
            None | Some(Value::Null) => None,
            Some(value) => bind(&field.kind, value, &field_name)?,
        };
        if let Some(value) = value.or_else(|| field.always.then(|| zero(&field.kind))) {
            bound.insert(field.name.to_owned(), value);
        }
    }
    if let (true, Some(Value::Map(extensions))) = (shape.extensible, map.get(EXTENSIONS)) {
        let mut keys: Vec<_> = extensions.keys().collect();
        keys.sort_by(|a, b| text_maps::natural_order(a, b));
        for key in keys {
            bound.insert(key.clone(), text_maps::sorted(extensions[key].clone()));
        }
    }
    Ok(bound)
}

fn zero(kind: &Kind) -> Value {
    match kind {
        Kind::Flag => Value::Bool(false),
        Kind::Int | Kind::Uint16 | Kind::Uint32 | Kind::Uint64 => Value::Int(0),
        Kind::Bytes => Value::str("0"),
        _ => Value::str(""),
    }
}

/// Binds a value that is there; none when it says nothing.
fn bind(kind: &Kind, value: &Value, name: &str) -> Result<Option<Value>, String> {
    let at = |problem: String| format!("'{name}' {problem}");
    Ok(match kind {
        Kind::Text => non_empty(text(value).ok_or_else(|| at(expected("string", value)))?),
        Kind::Flag => flag(value).map_err(at)?.then_some(Value::Bool(true)),
        Kind::OptionalFlag => Some(Value::Bool(flag(value).map_err(at)?)),
        Kind::OptOut => (!flag(value).map_err(at)?).then_some(Value::Bool(false)),
        Kind::Int => non_zero(integer(value, "int64").map_err(at)?),
        Kind::Uint16 => non_zero(unsigned(value, "uint16").map_err(at)?),
        Kind::Uint32 => non_zero(unsigned(value, "uint32").map_err(at)?),
        Kind::Uint64 => non_zero(unsigned(value, "uint64").map_err(at)?),
        Kind::OptionalInt => Some(Value::Int(integer(value, "int").map_err(at)?)),
        Kind::OptionalUnsigned => Some(Value::Int(unsigned(value, "uint64").map_err(at)?)),
        Kind::Float32 => float(value, "float32").map_err(at)?,
        Kind::Cpus => cpus(value).map_err(at)?,
        Kind::Bytes => bytes(value).map_err(at)?,
        Kind::Duration => match parse_duration(&value.sprint()).map_err(at)? {
            0 => None,
            nanoseconds => Some(Value::Str(GoDuration(nanoseconds).to_string())),
        },
        Kind::OptionalDuration => {
            let nanoseconds = parse_duration(&value.sprint()).map_err(at)?;
            Some(Value::Str(GoDuration(nanoseconds).to_string()))
        }
        Kind::FileMode => Some(Value::Str(format!("0{:o}", file_mode(value).map_err(at)?))),
        Kind::DeviceCount => non_zero(device_count(value).map_err(at)?),
        Kind::Texts => bind_list(&Kind::Text, value, name, true)?,
        Kind::TextOrTexts => texts(value, |item| item.as_str().map(str::to_owned)).map_err(at)?,
        Kind::TextsOrNumbers => texts(value, |item| Some(item.sprint())).map_err(at)?,
        Kind::Command => command(value).map_err(at)?,
        Kind::HealthTest => health_test(value).map_err(at)?,
        Kind::Mapping => text_maps::mapping(value).map_err(at)?,
        Kind::Variables => text_maps::variables(value).map_err(at)?,
        Kind::Labels => text_maps::labels(value).map_err(at)?,
        Kind::Options => text_maps::options(value).map_err(at)?,
        Kind::MultiOptions => text_maps::multi_options(value).map_err(at)?,
        Kind::Hosts => text_maps::hosts(value).map_err(at)?,
        Kind::Ssh => text_maps::ssh(value).map_err(at)?,
        Kind::TextMap => bind_named(&Kind::Text, value, name)?,
        Kind::Ulimit => Some(ulimit(value).map_err(at)?),
        Kind::Struct(inner) => {
            let bound = bind_struct(shape(inner), mapping(value, name)?, name)?;
            (!bound.is_empty()).then_some(Value::Map(bound))
        }
        Kind::Pointer(inner) => {
            Some(Value::Map(bind_struct(shape(inner), mapping(value, name)?, name)?))
        }
        Kind::List(item) => bind_list(item, value, name, false)?,
        Kind::Named(item) => bind_named(item, value, name)?,
    })
}

fn mapping<'a>(value: &'a Value, name: &str) -> Result<&'a Map, String> {
    value
        .as_map()
        .ok_or_else(|| format!("'{name}' expected a map or struct, got {}", quoted_kind(value)))
}

/// The kind of a value, in the quotes messages put around it.
pub(super) fn quoted_kind(value: &Value) -> String {
    let kind = match value {
        Value::Seq(_) => "slice",
        Value::Map(_) => "map",
        other => other.type_name(),
    };
    format!("\"{kind}\"")
}

fn expected(wanted: &str, value: &Value) -> String {
    format!("expected type '{wanted}', got unconvertible type '{}'", value.type_name())
}

fn bind_list(
    item: &Kind,
    value: &Value,
    name: &str,
    keep_empty_items: bool,
) -> Result<Option<Value>, String> {
    let Some(items) = value.as_seq() else {
        return Err(format!(
            "'{name}' source data must be an array or slice, got {}",
            value.type_name()
        ));
    };
    let mut bound = Vec::with_capacity(items.len());
    for (at, value) in items.iter().enumerate() {
        let element = match value {
            Value::Null => None,
            value => bind(item, value, &format!("{name}[{at}]"))?,
        };
        let empty = if keep_empty_items { Value::str("") } else { Value::Map(Map::new()) };
        bound.push(element.unwrap_or(empty));
    }
    Ok((!bound.is_empty()).then_some(Value::Seq(bound)))
}

fn bind_named(item: &Kind, value: &Value, name: &str) -> Result<Option<Value>, String> {
    let Some(entries) = value.as_map() else {
        return Err(format!("'{name}' expected a map, got '{}'", go_kind(value)));
    };
    let mut bound = Map::new();
    for (key, value) in entries {
        let element = match value {
            Value::Null => None,
            value => bind(item, value, &format!("{name}[{key}]"))?,
        };
        let element = element.unwrap_or(match (item, value) {
            (Kind::Text, _) => Value::str(""),
            (Kind::Struct(_), _) => Value::Map(Map::new()),
            _ => Value::Null,
        });
        bound.insert(key.clone(), element);
    }
    bound.sort_by(|a, _, b, _| text_maps::natural_order(a, b));
    Ok((!bound.is_empty()).then_some(Value::Map(bound)))
}

fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Seq(_) => "slice",
        other => other.type_name(),
    }
}

fn non_empty(text: String) -> Option<Value> {
    (!text.is_empty()).then_some(Value::Str(text))
}

fn non_zero(number: i64) -> Option<Value> {
    (number != 0).then_some(Value::Int(number))
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Str(text) => Some(text.clone()),
        Value::Int(number) => Some(number.to_string()),
        _ => None,
    }
}

fn flag(value: &Value) -> Result<bool, String> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::Str(text) => parse_bool(text),
        other => Err(expected("bool", other)),
    }
}

/// 2^63, the first number that does not fit.
const TOO_LARGE: f64 = 9_223_372_036_854_775_808.0;

#[expect(clippy::cast_possible_truncation, reason = "Compose cuts fractions off")]
fn integer(value: &Value, type_name: &str) -> Result<i64, String> {
    match value {
        Value::Int(number) => Ok(*number),
        Value::Uint(number) => Ok(number.cast_signed()),
        // What does not fit becomes the smallest number, as on the machines Compose runs on.
        Value::Float(number) if number.abs() >= TOO_LARGE => Ok(i64::MIN),
        Value::Float(number) => Ok(*number as i64),
        Value::Float32(number) => Ok(*number as i64),
        Value::Str(text) if type_name == "int" => parse_int(text, "Atoi"),
        Value::Str(text) => parse_int(text, "ParseInt"),
        other => Err(expected(type_name, other)),
    }
}

fn unsigned(value: &Value, type_name: &str) -> Result<i64, String> {
    let number = match value {
        Value::Str(_) => return Err(expected(type_name, value)),
        value => integer(value, type_name)?,
    };
    if number < 0 {
        return Err(format!("cannot parse value as '{type_name}': {number} overflows uint"));
    }
    Ok(number)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "single precision is what Compose keeps"
)]
fn float(value: &Value, type_name: &str) -> Result<Option<Value>, String> {
    let number = match value {
        Value::Int(number) => *number as f32,
        Value::Uint(number) => *number as f32,
        Value::Float(number) => *number as f32,
        Value::Float32(number) => *number,
        Value::Str(text) => parse_float(text)? as f32,
        other => return Err(expected(type_name, other)),
    };
    Ok((number != 0.0).then_some(Value::Float32(number)))
}

fn cpus(value: &Value) -> Result<Option<Value>, String> {
    match value {
        Value::Int(_) | Value::Float(_) | Value::Float32(_) | Value::Str(_) => {
            float(value, "float32")
        }
        other => Err(format!("unexpected value type {} for cpus", other.type_name())),
    }
}

/// A size in bytes, written as text; numbers with a fraction count for nothing.
fn bytes(value: &Value) -> Result<Option<Value>, String> {
    let bytes = match value {
        Value::Int(number) => *number,
        Value::Str(text) => parse_bytes(text)?,
        _ => 0,
    };
    Ok((bytes != 0).then(|| Value::Str(bytes.to_string())))
}

fn file_mode(value: &Value) -> Result<i64, String> {
    match value {
        Value::Int(mode) => Ok(*mode),
        Value::Str(text) => i64::from_str_radix(text, 8)
            .map_err(|_| format!("strconv.ParseInt: parsing {}: invalid syntax", quote(text))),
        other => Err(format!("unexpected value type {} for mode", other.type_name())),
    }
}

fn device_count(value: &Value) -> Result<i64, String> {
    match value {
        Value::Int(count) => Ok(*count),
        Value::Str(text) if text.eq_ignore_ascii_case("all") => Ok(-1),
        Value::Str(text) => parse_int(text, "ParseInt").map_err(|_| {
            format!("invalid value {}, the only value allowed is 'all' or a number", quote(text))
        }),
        other => Err(format!("invalid type {} for device count", other.type_name())),
    }
}

fn texts(value: &Value, item: impl Fn(&Value) -> Option<String>) -> Result<Option<Value>, String> {
    let problem = || format!("invalid type {} for string list", value.type_name());
    let items = match value {
        Value::Str(text) => vec![Value::str(text)],
        Value::Seq(items) => items
            .iter()
            .map(|it| item(it).map(Value::Str))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(problem)?,
        _ => return Err(problem()),
    };
    Ok((!items.is_empty()).then_some(Value::Seq(items)))
}

/// A command; an empty one is kept, because it clears that of the image.
fn command(value: &Value) -> Result<Option<Value>, String> {
    match value {
        Value::Str(line) => {
            let words = split_command(line)?;
            Ok(Some(Value::Seq(words.into_iter().map(Value::Str).collect())))
        }
        Value::Seq(items) => {
            Ok(Some(Value::Seq(items.iter().map(|it| Value::Str(it.sprint())).collect())))
        }
        other => Err(format!("source data must be an array or slice, got {}", other.type_name())),
    }
}

fn health_test(value: &Value) -> Result<Option<Value>, String> {
    let test = match value {
        Value::Str(line) => vec![Value::str("CMD-SHELL"), Value::str(line)],
        Value::Seq(items) => items.iter().map(|it| Value::Str(it.sprint())).collect(),
        other => {
            return Err(format!(
                "unexpected value type {} for healthcheck.test",
                other.type_name()
            ));
        }
    };
    Ok((!test.is_empty()).then_some(Value::Seq(test)))
}

fn ulimit(value: &Value) -> Result<Value, String> {
    let limits = |soft: i64, hard: i64| {
        Value::Map(Map::from([
            ("soft".to_owned(), Value::Int(soft)),
            ("hard".to_owned(), Value::Int(hard)),
        ]))
    };
    match value {
        Value::Int(0) => Ok(limits(0, 0)),
        Value::Int(single) => Ok(Value::Int(*single)),
        Value::Map(map) => {
            let part = |key: &str| match map.get(key) {
                None => Ok(0),
                Some(Value::Int(number)) => Ok(*number),
                Some(other) => Err(expected("int", other)),
            };
            Ok(limits(part("soft")?, part("hard")?))
        }
        other => Err(format!("unexpected value type {} for ulimit", other.type_name())),
    }
}
