//! `--sort-by`: sorts objects by a field.

use std::cmp::Ordering;

use engine_formats::golang::quote::quote;
use serde_json::Value;

use crate::{
    failure::Failure,
    jsonpath::{self, JsonPath},
};

/// Sorts; objects without the field come first.
pub(super) fn objects(objects: Vec<Value>, field: &str) -> Result<Vec<Value>, Failure> {
    let field = jsonpath::relaxed(field).map_err(Failure::kubectl)?;
    let path = JsonPath::parse(&field).map_err(Failure::kubectl)?;
    let mut keyed = Vec::with_capacity(objects.len());
    for object in objects {
        let found = path.find(&object, true).map_err(Failure::kubectl)?;
        let key = found.into_iter().next().and_then(|it| it.into_iter().next());
        let key = key.map(std::borrow::Cow::into_owned);
        keyed.push((key, object));
    }
    if keyed.iter().all(|(key, _)| key.is_none()) {
        let text =
            format!("couldn't find any field with path {} in the list of objects", quote(&field));
        return Err(Failure::Kubectl(text));
    }
    keyed.sort_by(|(a, _), (b, _)| match (a, b) {
        (None, None) => Ordering::Equal,
        (None, _) => Ordering::Less,
        (_, None) => Ordering::Greater,
        (Some(a), Some(b)) => compare(a, b),
    });
    Ok(keyed.into_iter().map(|(_, object)| object).collect())
}

fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal)
        }
        (Value::String(a), Value::String(b)) => match (a.parse::<f64>(), b.parse::<f64>()) {
            // Quantities are compared as such.
            (Ok(a), Ok(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            _ => a.cmp(b),
        },
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sorted(field: &str) -> Result<String, String> {
        let all = vec![
            json!({"name": "c", "order": 10, "size": "10"}),
            json!({"name": "a"}),
            json!({"name": "b", "order": 9, "size": "9"}),
        ];
        let names = |it: Vec<Value>| it.iter().filter_map(|it| it["name"].as_str()).collect();
        objects(all, field).map(names).map_err(|it| it.to_string())
    }

    #[test]
    fn numbers_and_quantities_sort_by_value_and_gaps_come_first() {
        for field in [".order", "{.order}", "order", ".size"] {
            assert_eq!(sorted(field).as_deref(), Ok("abc"), "{field}");
        }
        assert_eq!(sorted("name").as_deref(), Ok("abc"));
    }

    #[test]
    fn a_field_that_nothing_has_is_an_error() {
        let error = sorted(".nope").unwrap_err();
        assert_eq!(
            error,
            "error: couldn't find any field with path \"{.nope}\" in the list of objects"
        );
    }
}
