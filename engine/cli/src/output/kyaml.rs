//! `-o kyaml`: YAML with braces and quotes, so that no value is ambiguous.

use engine_formats::golang::{json, quote::quote};
use serde_json::Value;

/// Writes a value, without a line break at the end.
pub(super) fn write(value: &Value) -> String {
    let mut out = String::new();
    put(value, 0, &mut out);
    out
}

fn put(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(fields) if fields.is_empty() => out.push_str("{}"),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|it| it.0);
            out.push_str("{\n");
            for (key, value) in fields {
                indent(depth + 1, out);
                put_key(key, out);
                out.push_str(": ");
                put(value, depth + 1, out);
                out.push_str(",\n");
            }
            indent(depth, out);
            out.push('}');
        }
        Value::Array(items) => put_list(items, depth, out),
        Value::String(text) => put_text(text, depth, out),
        other => out.push_str(&json::encode(other)),
    }
}

/// Collections cuddle with the brackets of their list; plain values get lines of their own.
fn put_list(items: &[Value], depth: usize, out: &mut String) {
    if items.is_empty() {
        out.push_str("[]");
        return;
    }
    let is_collection = |it: &Value| it.is_object() || it.is_array();
    if items.iter().all(is_collection) {
        out.push('[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            put(item, depth, out);
        }
        out.push(']');
        return;
    }
    out.push_str("[\n");
    for item in items {
        indent(depth + 1, out);
        put(item, depth + 1, out);
        out.push_str(",\n");
    }
    indent(depth, out);
    out.push(']');
}

/// A text of several lines is folded, one line of the text in each.
fn put_text(text: &str, depth: usize, out: &mut String) {
    if !text.contains('\n') {
        out.push_str(&quote(text));
        return;
    }
    out.push_str("\"\\\n");
    for line in text.split_inclusive('\n') {
        indent(depth + 1, out);
        let inner = quote(line);
        let inner = &inner[1..inner.len() - 1];
        // A leading space would be lost in the folding, unless it is escaped.
        out.push_str(if inner.starts_with([' ', '\t']) { "\\" } else { " " });
        out.push_str(inner);
        out.push_str("\\\n");
    }
    indent(depth + 1, out);
    out.push('"');
}

fn put_key(key: &str, out: &mut String) {
    let is_plain = key.chars().next().is_some_and(|it| it.is_ascii_alphabetic() || it == '_')
        && key.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '.' | '/'))
        && !is_ambiguous(key);
    if is_plain {
        out.push_str(key);
    } else {
        out.push_str(&quote(key));
    }
}

/// Words that some YAML reader takes for something other than text.
fn is_ambiguous(key: &str) -> bool {
    const WORDS: &[&str] = &["null", "true", "false", "y", "n", "yes", "no", "on", "off"];
    WORDS.contains(&key.to_lowercase().as_str())
}

fn indent(depth: usize, out: &mut String) {
    out.extend(std::iter::repeat_n("  ", depth));
}
