//! Whether two values mean the same to the API server.

use serde_json::Value;

/// Whether two values are the same, numbers by their value.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|it| same(one, it)))
        }
        (one, other) => one == other,
    }
}

/// Whether a live value has all that is wanted; the server may have added defaults to it.
pub(super) fn covers(live: &Value, wanted: &Value, field: &str) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => wanted.iter().all(|(key, wanted)| {
            match live.get(key) {
                // Amounts are in a map under the name of what is counted.
                Some(live) => covers(live, wanted, if is_amounts(field) { field } else { key }),
                None => is_zero(wanted),
            }
        }),
        (Value::Array(live), Value::Array(wanted)) => {
            live.len() == wanted.len()
                && live.iter().zip(wanted).all(|(live, wanted)| covers(live, wanted, field))
        }
        (live, wanted) if is_amounts(field) || is_amount(field) => {
            same(live, wanted) || amount(live).is_some_and(|it| amount(wanted) == Some(it))
        }
        (live, wanted) => same(live, wanted),
    }
}

/// Whether a value is what the server takes for no value.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// Fields that hold a map of amounts, which the server writes in its own way.
pub(super) fn is_amounts(field: &str) -> bool {
    matches!(
        field,
        "limits"
            | "requests"
            | "capacity"
            | "hard"
            | "default"
            | "defaultRequest"
            | "max"
            | "min"
            | "maxLimitRequestRatio"
            | "overhead"
            | "podFixed"
            | "allocatable"
    )
}

/// Fields that hold one amount.
fn is_amount(field: &str) -> bool {
    matches!(field, "sizeLimit" | "divisor" | "averageValue")
}

/// An amount in billionths, as Kubernetes reads it.
fn amount(value: &Value) -> Option<i128> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-')));
    let (digits, suffix) = text.split_at(end.unwrap_or(text.len()));
    let scale: i128 = match suffix {
        "n" => 1,
        "u" => 1_000,
        "m" => 1_000_000,
        "" => 1_000_000_000,
        "k" => 1_000_000_000_000,
        "M" => 1_000_000_000_000_000,
        "G" => 1_000_000_000_000_000_000,
        "T" => 1_000_000_000_000_000_000_000,
        "P" => 1_000_000_000_000_000_000_000_000,
        "Ki" => 1_000_000_000 << 10,
        "Mi" => 1_000_000_000 << 20,
        "Gi" => 1_000_000_000 << 30,
        "Ti" => 1_000_000_000 << 40,
        "Pi" => 1_000_000_000 << 50,
        _ => return None,
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.get(..9).unwrap_or(fraction);
    let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let places = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    whole.checked_mul(scale)?.checked_add(part.checked_mul(scale)? / places)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_server_writes_in_its_own_way_is_the_same() {
        for (live, wanted, is_same) in [
            (json!({"a": 1}), json!({"a": 1.0}), true),
            (json!({"a": 1, "b": 2}), json!({"a": 1}), true),
            (json!({"a": 1}), json!({"a": 1, "b": 2}), false),
            (json!({"a": 1}), json!({"a": 1, "b": ""}), true),
            (json!({"limits": {"cpu": "1"}}), json!({"limits": {"cpu": "1000m"}}), true),
            (json!({"limits": {"cpu": "1"}}), json!({"limits": {"cpu": 1}}), true),
            (json!({"limits": {"memory": "1Gi"}}), json!({"limits": {"memory": "1024Mi"}}), true),
            (json!({"limits": {"memory": "1Gi"}}), json!({"limits": {"memory": "1G"}}), false),
            (json!({"limits": {"cpu": "500m"}}), json!({"limits": {"cpu": "0.5"}}), true),
            (json!({"data": {"cpu": "1"}}), json!({"data": {"cpu": "1000m"}}), false),
            (json!([{"port": 1, "protocol": "TCP"}]), json!([{"port": 1}]), true),
            (json!([1, 2]), json!([1]), false),
            (json!([2, 1]), json!([1, 2]), false),
        ] {
            assert_eq!(covers(&live, &wanted, ""), is_same, "{live} for {wanted}");
        }
    }
}
