//! A bound service as YAML text.

use std::borrow::Cow;

use super::value::Value;
use crate::golang::float;
use crate::yaml::emit::{Tree, emit_v3};

/// The text of a bound service, in the order it is in.
pub(super) fn to_yaml(value: &Value) -> String {
    emit_v3(&tree(value))
}

fn tree(value: &Value) -> Tree<'_> {
    let plain = |text: String| Tree::Plain(Cow::Owned(text));
    match value {
        Value::Null => plain("null".to_owned()),
        Value::Bool(flag) => plain(flag.to_string()),
        Value::Int(number) => plain(number.to_string()),
        Value::Uint(number) => plain(number.to_string()),
        Value::Float(number) => plain(yaml_float(*number, float::shortest_g(*number))),
        Value::Float32(number) => {
            plain(yaml_float(f64::from(*number), float::shortest_g32(*number)))
        }
        Value::Str(text) => Tree::Text(Cow::Borrowed(text)),
        Value::Time(time) => plain(time.rfc3339.clone()),
        Value::Seq(items) => Tree::Sequence(items.iter().map(tree).collect()),
        Value::Map(map) => Tree::Mapping(
            map.iter().map(|(key, value)| (Cow::Borrowed(key.as_str()), tree(value))).collect(),
        ),
    }
}

fn yaml_float(number: f64, text: String) -> String {
    if number.is_nan() {
        ".nan".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "+.inf" } else { "-.inf" }.to_owned()
    } else {
        text
    }
}
