//! Decides which values of an object are secret and must not appear in logs.

use serde_json::Value;

use super::bytes;
use super::object::Object;

/// One value of a Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretValue {
    /// The name of the Secret.
    pub name: String,
    /// The key of the value.
    pub key: String,
    /// The value itself, decoded.
    pub value: Vec<u8>,
}

/// The values of a Secret: those of `data`, then those of `stringData`.
pub fn secret_values(object: &Object) -> Vec<SecretValue> {
    if !object.is_type("v1", "Secret") {
        return Vec::new();
    }
    let entries =
        |field| object.value().get(field).and_then(Value::as_object).into_iter().flatten();
    let secret = |key: &str, value| SecretValue {
        name: object.name().to_owned(),
        key: key.to_owned(),
        value,
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let data = entries("data")
        .map(|(key, value)| secret(key, bytes::decode(&text(value)).unwrap_or_default()));
    let plain = entries("stringData").map(|(key, value)| secret(key, text(value).into_bytes()));
    data.chain(plain).collect()
}
