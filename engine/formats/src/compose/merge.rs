//! How a later Compose file changes an earlier one, attribute by attribute.

use std::sync::LazyLock;

use serde::Deserialize;

use super::ComposeError;
use super::tree::{Places, TreePath};
use super::value::{Map, Value};

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Rule {
    /// The later value replaces the earlier one.
    Replace,
    /// Both become lists of `key=value` and are put one after the other.
    Append,
    /// Like `Append`, without what is there already.
    AppendNew,
    Build,
    DependsOn,
    Logging,
    /// Both become mappings of names.
    Names,
    IpamConfig,
}

static RULES: LazyLock<Places<Rule>> = LazyLock::new(|| Places::read("merges"));

/// `base` changed by `over`.
pub(super) fn merge(base: Map, over: Map) -> Result<Map, ComposeError> {
    merge_maps(base, over, &mut TreePath::default())
}

/// A service changed by the service that extends it.
pub(super) fn extend_service(base: Map, over: Map) -> Result<Map, ComposeError> {
    merge_maps(base, over, &mut TreePath::of(&["services", "x"]))
}

/// Any value of a tree changed by a later one at the same place.
pub(super) fn merge_value(
    base: Value,
    over: Value,
    path: &mut TreePath,
) -> Result<Value, ComposeError> {
    if let Some(rule) = RULES.at(path) {
        return apply(rule, base, over, path);
    }
    if over == Value::Null {
        return Ok(base);
    }
    match (base, over) {
        (Value::Map(base), Value::Map(over)) => merge_maps(base, over, path).map(Value::Map),
        (Value::Seq(mut base), Value::Seq(over)) => {
            base.extend(over);
            Ok(Value::Seq(base))
        }
        (Value::Map(_) | Value::Seq(_), _) => Err(cannot_override(path)),
        (_, over) => Ok(over),
    }
}

fn cannot_override(path: &TreePath) -> ComposeError {
    ComposeError::new(format!("cannot override {path}"))
}

fn merge_maps(mut base: Map, over: Map, path: &mut TreePath) -> Result<Map, ComposeError> {
    for (key, value) in over {
        match base.get_mut(&key) {
            None => {
                base.insert(key, value);
            }
            Some(slot) => {
                let earlier = std::mem::replace(slot, Value::Null);
                *slot = path.within(&key, |path| merge_value(earlier, value, path))?;
            }
        }
    }
    Ok(base)
}

fn apply(rule: Rule, base: Value, over: Value, path: &mut TreePath) -> Result<Value, ComposeError> {
    match rule {
        Rule::Replace => Ok(over),
        Rule::Append => {
            let mut items = into_sequence(base);
            items.extend(into_sequence(over));
            Ok(Value::Seq(items))
        }
        Rule::AppendNew => {
            let mut items = into_sequence(base);
            let earlier = items.len();
            for item in into_sequence(over) {
                if !items[..earlier].contains(&item) {
                    items.push(item);
                }
            }
            Ok(Value::Seq(items))
        }
        Rule::Build => merge_as(base, over, path, |value| match value {
            Value::Str(context) => Some(Map::from([("context".to_owned(), Value::Str(context))])),
            Value::Map(map) => Some(map),
            _ => None,
        }),
        Rule::DependsOn => merge_as(base, over, path, |value| into_mapping(value, &started())),
        Rule::Names => merge_as(base, over, path, |value| into_mapping(value, &Value::Null)),
        Rule::Logging => merge_logging(base, over, path),
        Rule::IpamConfig => merge_ipam(base, over, path),
    }
}

/// Merges as mappings; a missing earlier value only fits a later one that says nothing.
fn merge_as(
    base: Value,
    over: Value,
    path: &mut TreePath,
    convert: impl Fn(Value) -> Option<Map>,
) -> Result<Value, ComposeError> {
    let over = convert(over).unwrap_or_default();
    match convert(base) {
        Some(base) => merge_maps(base, over, path).map(Value::Map),
        None if over.is_empty() => Ok(Value::Map(Map::new())),
        None => Err(cannot_override(path)),
    }
}

/// What a bare name in `depends_on` stands for.
pub(super) fn started() -> Value {
    Value::Map(Map::from([
        ("condition".to_owned(), Value::str("service_started")),
        ("required".to_owned(), Value::Bool(true)),
    ]))
}

fn into_mapping(value: Value, default: &Value) -> Option<Map> {
    match value {
        Value::Map(map) => Some(map),
        Value::Seq(items) => items
            .into_iter()
            .map(|item| match item {
                Value::Str(name) => Some((name, default.clone())),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

/// The list form of `KEY: value` attributes, sorted; a key without value stands alone.
fn into_sequence(value: Value) -> Vec<Value> {
    match value {
        Value::Map(map) => {
            let mut items = Vec::new();
            for (key, value) in map {
                match value {
                    Value::Null => items.push(key),
                    Value::Seq(values) => {
                        items.extend(values.iter().map(|it| format!("{key}={}", it.sprint())));
                    }
                    value => items.push(format!("{key}={}", value.sprint())),
                }
            }
            items.sort();
            items.into_iter().map(Value::Str).collect()
        }
        Value::Seq(items) => items,
        text @ Value::Str(_) => vec![text],
        _ => Vec::new(),
    }
}

/// Options of a log driver only mean something to that driver.
fn merge_logging(base: Value, over: Value, path: &mut TreePath) -> Result<Value, ComposeError> {
    let (Value::Map(base), Value::Map(over)) = (base, over) else {
        return Err(cannot_override(path));
    };
    let same_driver = match (base.get("driver"), over.get("driver")) {
        (Some(earlier), Some(later)) => earlier == later,
        _ => true,
    };
    if same_driver { merge_maps(base, over, path).map(Value::Map) } else { Ok(Value::Map(over)) }
}

/// Address pools are the same pool when their subnets are equal.
fn merge_ipam(base: Value, over: Value, path: &mut TreePath) -> Result<Value, ComposeError> {
    let unexpected = |value: &Value, path: &TreePath| {
        ComposeError::new(format!("{path}: unexpected type {}", value.type_name()))
    };
    let Value::Seq(earlier) = base else { return Err(unexpected(&base, path)) };
    let Value::Seq(later) = over else {
        return Err(unexpected(&Value::Seq(earlier), path));
    };
    let mut pools: Vec<Value> = Vec::new();
    for pool in earlier {
        let mut pool = into_mapping(pool, &Value::Null).unwrap_or_default();
        for over in &later {
            let over = into_mapping(over.clone(), &Value::Null).unwrap_or_default();
            let subnet = over.get("subnet").cloned();
            let known = pools.iter().position(|it| it.get("subnet") == subnet.as_ref());
            if subnet.as_ref() != pool.get("subnet") && known.is_none() {
                pools.push(Value::Map(over));
                continue;
            }
            pool = merge_maps(pool, over, path)?;
            match pools.iter().position(|it| it.get("subnet") == pool.get("subnet")) {
                Some(at) => pools[at] = Value::Map(pool.clone()),
                None => pools.push(Value::Map(pool.clone())),
            }
        }
    }
    Ok(Value::Seq(pools))
}
