//! Version 2 of the documents in protobuf, the only form that some clients of Kubernetes read.
//!
//! What they need is written: the definitions, for `explain` and for checking objects before they are sent, and which
//! parameters a patch takes, for dry runs. The numbers are those of `gnostic`'s `openapi.v2.Document`.

use serde_json::{Map, Value};

/// A message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: usize) {
        while number >= 0x80 {
            self.0.push(u8::try_from(number & 0x7f).unwrap_or_default() | 0x80);
            number >>= 7;
        }
        self.0.push(u8::try_from(number).unwrap_or_default());
    }

    /// A field that holds bytes: a text or another message.
    fn bytes(&mut self, field: usize, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: usize, value: &Value) {
        if let Some(text) = value.as_str() {
            self.bytes(field, text.as_bytes());
        }
    }

    fn texts(&mut self, field: usize, value: &Value) {
        value.as_array().into_iter().flatten().for_each(|it| self.text(field, it));
    }

    fn message(&mut self, field: usize, message: &Self) {
        self.bytes(field, &message.0);
    }

    /// What stands for an entry of a map: a name and a value.
    fn named(&mut self, field: usize, name: &str, value: &Self) {
        let mut entry = Self::default();
        entry.bytes(1, name.as_bytes());
        entry.message(2, value);
        self.message(field, &entry);
    }

    /// Fields that are not of the standard, as YAML.
    fn extensions(&mut self, field: usize, object: &Value) {
        for (name, value) in entries(object).filter(|(name, _)| name.starts_with("x-")) {
            let mut any = Self::default();
            // JSON is YAML, too.
            any.bytes(2, value.to_string().as_bytes());
            self.named(field, name, &any);
        }
    }
}

/// The document in protobuf.
pub(super) fn encode(document: &Value) -> Vec<u8> {
    let mut out = Message::default();
    out.text(1, &document["swagger"]);
    let mut info = Message::default();
    info.text(1, &document["info"]["title"]);
    info.text(2, &document["info"]["version"]);
    out.message(2, &info);
    let mut paths = Message::default();
    for (name, item) in entries(&document["paths"]) {
        paths.named(2, name, &path_item(item));
    }
    out.message(8, &paths);
    out.message(9, &named_schemas(&document["definitions"]));
    out.0
}

fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter).map(|(name, it)| (name.as_str(), it))
}

fn path_item(item: &Value) -> Message {
    let mut out = Message::default();
    for (field, method) in [(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (8, "patch")] {
        if let Some(it) = item.get(method) {
            out.message(field, &operation(it));
        }
    }
    out
}

fn operation(operation: &Value) -> Message {
    let mut out = Message::default();
    out.text(5, &operation["operationId"]);
    out.texts(7, &operation["consumes"]);
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let mut query = Message::default();
        query.text(2, &parameter["in"]);
        query.text(3, &parameter["description"]);
        query.text(4, &parameter["name"]);
        query.text(6, &parameter["type"]);
        // A parameter, that is not in the body, but in the query.
        let wrapped = [3, 2, 1].into_iter().fold(query, |inner, field| {
            let mut outer = Message::default();
            outer.message(field, &inner);
            outer
        });
        out.message(8, &wrapped);
    }
    out.extensions(13, operation);
    out
}

fn named_schemas(schemas: &Value) -> Message {
    let mut out = Message::default();
    for (name, it) in entries(schemas) {
        out.named(1, name, &schema(it));
    }
    out
}

fn schema(value: &Value) -> Message {
    let mut out = Message::default();
    out.text(1, &value["$ref"]);
    out.text(2, &value["format"]);
    out.text(4, &value["description"]);
    out.texts(19, &value["required"]);
    for (field, key) in [(21, "additionalProperties"), (23, "items")] {
        if let Some(nested) = value.get(key) {
            let mut item = Message::default();
            item.message(1, &schema(nested));
            out.message(field, &item);
        }
    }
    if let Some(ty) = value.get("type") {
        let mut item = Message::default();
        item.text(1, ty);
        out.message(22, &item);
    }
    if let Some(properties) = value.get("properties") {
        out.message(25, &named_schemas(properties));
    }
    out.extensions(31, value);
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_have_numbers_and_lengths() {
        let document =
            json!({"swagger": "2.0", "definitions": {"T": {"type": "object", "x-k": [1.5]}}});
        let expected = b"\x0a\x032.0\x12\x00\x42\x00\x4a\x23\
            \x0a\x21\x0a\x01T\x12\x1c\
            \xb2\x01\x08\x0a\x06object\
            \xfa\x01\x0e\x0a\x03x-k\x12\x07\x12\x05[1.5]";
        assert_eq!(encode(&document), expected);
    }

    #[test]
    fn long_texts_have_long_lengths() {
        let mut message = Message::default();
        message.text(1, &json!("x".repeat(300)));
        assert_eq!(message.0[..3], [0x0a, 0xac, 0x02]);
        assert_eq!(message.0.len(), 303);
    }
}
