//! Attributes that map texts to texts, in all the ways they may be written, and the order in
//! which their keys are.

use std::cmp::Ordering;

use super::super::value::{Map, Value};

type Bound = Result<Option<Value>, String>;

fn bound(mut map: Map) -> Option<Value> {
    map.sort_by(|a, _, b, _| natural_order(a, b));
    (!map.is_empty()).then_some(Value::Map(map))
}

/// The key and the value of each entry, whichever way they are written; a list item without
/// `=` has no value.
fn pairs(value: &Value, what: &str) -> Result<Vec<(String, Option<Value>)>, String> {
    match value {
        Value::Map(map) => Ok(map
            .iter()
            .map(|(key, value)| (key.clone(), (*value != Value::Null).then(|| value.clone())))
            .collect()),
        Value::Seq(items) => Ok(items
            .iter()
            .map(|item| {
                let text = item.sprint();
                match text.split_once('=') {
                    Some((key, value)) => (key.to_owned(), Some(Value::str(value))),
                    None => (text, None),
                }
            })
            .collect()),
        other => Err(format!("unexpected value type {} for {what}", other.type_name())),
    }
}

fn texts(pairs: Vec<(String, Option<Value>)>) -> Map {
    let text = |value: Option<Value>| Value::Str(value.map_or(String::new(), |it| it.sprint()));
    pairs.into_iter().map(|(key, value)| (key, text(value))).collect()
}

pub(super) fn mapping(value: &Value) -> Bound {
    pairs(value, "mapping").map(|pairs| bound(texts(pairs)))
}

pub(super) fn labels(value: &Value) -> Bound {
    pairs(value, "labels").map(|pairs| bound(texts(pairs)))
}

/// Variables keep the difference between no value and an empty one.
pub(super) fn variables(value: &Value) -> Bound {
    let list = value.as_seq().is_some();
    let mut map = Map::new();
    for (key, value) in pairs(value, "mapping")? {
        if list && key.ends_with(char::is_whitespace) {
            return Err(format!("environment variable {key} is declared with a trailing space"));
        }
        map.insert(key, value.map_or(Value::Null, |it| Value::Str(it.sprint())));
    }
    Ok(bound(map))
}

pub(super) fn options(value: &Value) -> Bound {
    match value {
        Value::Map(_) => mapping(value),
        other => Err(format!("invalid type {} for options", other.type_name())),
    }
}

pub(super) fn multi_options(value: &Value) -> Bound {
    let Value::Map(map) = value else {
        return Err(format!("invalid type {} for options", value.type_name()));
    };
    let list = |value: &Value| match value {
        Value::Seq(items) => items.iter().map(|it| Value::Str(it.sprint())).collect(),
        other => vec![Value::Str(other.sprint())],
    };
    Ok(bound(map.iter().map(|(key, value)| (key.clone(), Value::Seq(list(value)))).collect()))
}

/// Hosts are written as a sorted list of `host=address`.
pub(super) fn hosts(value: &Value) -> Bound {
    let mut hosts: Vec<(String, String)> = Vec::new();
    match value {
        Value::Map(map) => {
            for (host, addresses) in map {
                match addresses {
                    Value::Null => hosts.push((host.clone(), String::new())),
                    Value::Str(address) => hosts.push((host.clone(), address.clone())),
                    Value::Seq(items) => {
                        hosts.extend(items.iter().map(|it| (host.clone(), it.sprint())));
                    }
                    _ => {
                        return Err(format!(
                            "unexpected value type {} for extra_hosts entry",
                            value.type_name()
                        ));
                    }
                }
            }
        }
        Value::Seq(items) => {
            for item in items {
                let text = item.sprint();
                let Some((host, addresses)) = text.split_once('=').or_else(|| text.split_once(':'))
                else {
                    return Err(format!("invalid additional host, missing IP: {text}"));
                };
                hosts.extend(addresses.split(',').map(|it| (host.to_owned(), it.to_owned())));
            }
        }
        other => {
            return Err(format!("unexpected value type {} for extra_hosts", other.type_name()));
        }
    }
    let mut lines = Vec::with_capacity(hosts.len());
    for (host, address) in hosts {
        if host.is_empty() || host.contains([':', '=']) {
            return Err(format!("bad host name '{host}'"));
        }
        let bare = address.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let address = bare.filter(|it| !it.is_empty()).unwrap_or(&address);
        lines.push(format!("{host}={address}"));
    }
    lines.sort();
    let lines: Vec<_> = lines.into_iter().map(Value::Str).collect();
    Ok((!lines.is_empty()).then_some(Value::Seq(lines)))
}

pub(super) fn ssh(value: &Value) -> Bound {
    let Value::Map(map) = value else {
        return Err(format!("invalid ssh config type {}", value.type_name()));
    };
    let mut keys: Vec<_> = map
        .iter()
        .map(|(id, path)| match path {
            Value::Null => id.clone(),
            path => match path.sprint() {
                path if path.is_empty() => id.clone(),
                path => format!("{id}: {path}"),
            },
        })
        .collect();
    keys.sort();
    let keys: Vec<_> = keys.into_iter().map(Value::Str).collect();
    Ok((!keys.is_empty()).then_some(Value::Seq(keys)))
}

/// The same value with the keys of all mappings in written order.
pub(super) fn sorted(value: Value) -> Value {
    match value {
        Value::Map(map) => {
            let mut map: Map = map.into_iter().map(|(key, it)| (key, sorted(it))).collect();
            map.sort_by(|a, _, b, _| natural_order(a, b));
            Value::Map(map)
        }
        Value::Seq(items) => Value::Seq(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// The order YAML writers put keys in: letters after everything else, numbers by value.
pub(crate) fn natural_order(first: &str, second: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (first.chars().collect(), second.chars().collect());
    let mut in_digits = false;
    for at in 0..a.len().min(b.len()) {
        if a[at] == b[at] {
            in_digits = a[at].is_ascii_digit();
            continue;
        }
        let (left, right) = (a[at].is_alphabetic(), b[at].is_alphabetic());
        if left && right {
            return a[at].cmp(&b[at]);
        }
        if left || right {
            let less = if in_digits { left } else { right };
            return if less { Ordering::Less } else { Ordering::Greater };
        }
        return compare_numbers(&a, &b, at);
    }
    a.len().cmp(&b.len())
}

/// Compares from the first difference on, as numbers where both have digits.
fn compare_numbers(a: &[char], b: &[char], at: usize) -> Ordering {
    // A zero counts when it stands inside a number.
    let zero = a[at] == '0' || b[at] == '0';
    let mut before = a[..at].iter().rev().take_while(|c| c.is_ascii_digit());
    let start = i64::from(zero && before.any(|c| *c != '0'));
    let number = |text: &[char]| {
        let digits = text[at..].iter().map_while(|c| c.to_digit(10)).map(i64::from);
        digits.fold((0, start), |(len, value), digit| {
            (len + 1, value.wrapping_mul(10).wrapping_add(digit))
        })
    };
    let ((len_a, value_a), (len_b, value_b)) = (number(a), number(b));
    value_a.cmp(&value_b).then(len_a.cmp(&len_b)).then(a[at].cmp(&b[at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_in_natural_order() {
        let ordered =
            ["", "#x", "1", "2", "10", "A", "A_B", "A1", "A2", "A10", "AB", "B", "a", "a-b"];
        for pair in ordered.windows(2) {
            assert_eq!(natural_order(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
    }
}
