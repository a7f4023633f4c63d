//! Decides how numbers come out of Go: as the text that its JSON package writes, and as the whole number that text
//! stands for if it has no fraction.

use serde_json::{Number, Value};

use crate::golang::float;

/// The text of a number as Go sees it: the text itself in JSON, what Go's JSON package writes for a number of YAML.
pub(crate) fn go_text(number: &Number) -> String {
    let text = number.to_string();
    match number.as_f64() {
        // Only these are written with an exponent, and Go has its own way to do it.
        Some(float)
            if text.contains(['e', 'E'])
                && float != 0.0
                && !(1e-6..1e21).contains(&float.abs()) =>
        {
            float::json(float)
        }
        _ => text,
    }
}

/// The integer that Go reads from the text of a number, if it is one.
pub(crate) fn parse_integer(number: &Number) -> Option<i64> {
    number.as_i64()
}

/// Makes every number inside a value what Go makes of it when nothing says which type it has.
pub(crate) fn normalize(value: &mut Value) {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Number(number) => normalize_number(number),
            Value::Array(items) => pending.extend(items),
            Value::Object(entries) => pending.extend(entries.values_mut()),
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }
}

/// Numbers beyond 64 signed bits are floats, and floats without a fraction are written as whole numbers.
pub(crate) fn normalize_number(number: &mut Number) {
    if number.is_i64() {
        return;
    }
    let Some(float) = number.as_f64() else { return };
    let text = float::json(float);
    let whole =
        text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from));
    if let Some(exact) = whole.ok().or_else(|| Number::from_f64(float)) {
        *number = exact;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_come_out_as_go_writes_them() {
        let cases = [
            (json!(1.0), json!(1)),
            (json!(1e30), json!(1e30)),
            (json!(18_446_744_073_709_551_615_u64), json!(18_446_744_073_709_551_615_f64)),
            (json!(10_000_000_000_000_000_000_u64), json!(10_000_000_000_000_000_000_u64)),
            (json!(-0.0), json!(0)),
            (json!(0.1), json!(0.1)),
            (json!({"a": [2.0]}), json!({"a": [2]})),
        ];
        for (mut value, expected) in cases {
            normalize(&mut value);
            assert_eq!(value, expected);
        }
    }

    #[test]
    fn texts_are_those_of_the_json_package() {
        let text = |float| Number::from_f64(float).map(|number| go_text(&number));
        assert_eq!(text(1.5).as_deref(), Some("1.5"));
        assert_eq!(text(1e21).as_deref(), Some("1e+21"));
        assert_eq!(text(1e-7).as_deref(), Some("1e-7"));
    }
}
