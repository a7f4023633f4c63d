//! Decides the hash of a pod template, by which pods are told to be of the newest deploy.
//!
//! The hash is Tilt's to the letter, as it is a label of the pods: another one would replace all pods of a resource
//! that Tilt deployed. It is taken over the JSON that Go writes, whose fields are in the order of the Go structs.

use serde_json::{Map, Value};
use sha1::{Digest, Sha1};

use super::super::object::Object;
use super::super::schema::{Shape, Struct, TypeId};
use super::super::walk::{Part, change_each};
use crate::golang::hex;
use crate::golang::json::{self, escape_into};

/// The label that pods of a deploy have.
pub const POD_TEMPLATE_HASH_LABEL: &str = "tilt.dev/pod-template-hash";

const POD_TEMPLATE: Part = Part::every("v1.PodTemplateSpec");
const HASH_BYTES: usize = 10;

/// The hashes of all pod templates, in the order of the objects.
pub fn pod_template_hashes(objects: &[Object]) -> Vec<String> {
    let templates = objects.iter().flat_map(Object::pod_template_labels);
    templates
        .map(|labels| {
            let hash = labels.and_then(|labels| labels.get(POD_TEMPLATE_HASH_LABEL));
            hash.and_then(Value::as_str).unwrap_or_default().to_owned()
        })
        .collect()
}

/// Labels every pod template with its hash.
pub(super) fn add_hashes(object: &mut Object) {
    change_each(object, POD_TEMPLATE, &mut |ty, template| {
        let hash = hash(ty, template);
        let metadata = template.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(metadata) = metadata else { return };
        let labels = metadata.entry("labels").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(labels) = labels {
            labels.insert(POD_TEMPLATE_HASH_LABEL.to_owned(), Value::String(hash));
        }
    });
}

fn hash(ty: TypeId, template: &Map<String, Value>) -> String {
    let mut text = String::new();
    if let Shape::Struct(structure) = &ty.get().shape {
        write_struct(ty.get().name, structure, template, &mut text);
    }
    hex::encode(&Sha1::digest(text.as_bytes())[..HASH_BYTES])
}

/// Writes a value as Go's struct would be; reading an object bounds how deep it is.
fn write(ty: TypeId, value: &Value, out: &mut String) {
    match (&ty.get().shape, value) {
        (Shape::Pointer(inner), _) => write(*inner, value, out),
        (Shape::Struct(structure), Value::Object(entries)) => {
            write_struct(ty.get().name, structure, entries, out);
        }
        (Shape::List(item), Value::Array(items)) => {
            out.push('[');
            for (index, value) in items.iter().enumerate() {
                separate(index, out);
                write(*item, value, out);
            }
            out.push(']');
        }
        (Shape::Map(item), Value::Object(entries)) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                separate(index, out);
                write_text(key, out);
                out.push(':');
                write(*item, value, out);
            }
            out.push('}');
        }
        (Shape::String, Value::String(text)) => write_text(text, out),
        _ => out.push_str(&json::encode(value)),
    }
}

fn write_struct(
    name: &'static str,
    structure: &Struct,
    entries: &Map<String, Value>,
    out: &mut String,
) {
    // A time that was never set is left out of YAML, but not of the JSON that is hashed.
    let is_unset_time = |field: &str| name == "v1.ObjectMeta" && field == "creationTimestamp";
    out.push('{');
    let mut written = 0;
    for field in &structure.fields {
        let value = match entries.get(field.name) {
            None if is_unset_time(field.name) => &Value::Null,
            None => continue,
            Some(value) => value,
        };
        separate(written, out);
        written += 1;
        write_text(field.name, out);
        out.push(':');
        write(field.ty, value, out);
    }
    out.push('}');
}

fn separate(index: usize, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
}

/// Escapes as the JSON package that Tilt uses, which knows no `\b` and no `\f`.
fn write_text(text: &str, out: &mut String) {
    let start = out.len();
    escape_into(out, text, true);
    if text.contains(['\u{8}', '\u{c}']) {
        let escaped = out.split_off(start);
        let mut letters = escaped.chars();
        while let Some(letter) = letters.next() {
            let next = if letter == '\\' { letters.next() } else { None };
            match next {
                Some('b') => out.push_str("\\u0008"),
                Some('f') => out.push_str("\\u000c"),
                Some(next) => out.extend([letter, next]),
                None => out.push(letter),
            }
        }
    }
}
