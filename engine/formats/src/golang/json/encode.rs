//! Decides how values are written: escapes, key order, indentation, floats.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

use crate::golang::float;

/// Writes a value as `json.Marshal` does: sorted keys, HTML characters escaped, one line.
pub fn encode(value: &Value) -> String {
    Encoder::default().encode(value)
}

/// How JSON is written.
#[derive(Clone, Copy, Debug)]
pub struct Encoder<'a> {
    /// What one level is indented by; everything stays on one line without it.
    pub indent: Option<&'a str>,
    /// Whether `<`, `>` and `&` are escaped.
    pub escape_html: bool,
}

impl Default for Encoder<'_> {
    fn default() -> Self {
        Self { indent: None, escape_html: true }
    }
}

/// What is left to write of an open collection.
enum Open<'v> {
    Array(std::slice::Iter<'v, Value>),
    Object(std::vec::IntoIter<(&'v String, &'v Value)>),
}

impl Encoder<'_> {
    /// Writes a value, without a line break at the end.
    pub fn encode(&self, value: &Value) -> String {
        let mut out = String::new();
        let mut open = Vec::new();
        self.begin(value, &mut open, &mut out);
        while let Some(last) = open.last_mut() {
            let (key, next) = match last {
                Open::Array(items) => (None, items.next()),
                Open::Object(entries) => {
                    entries.next().map_or((None, None), |(k, v)| (Some(k), Some(v)))
                }
            };
            let Some(next) = next else {
                let close = if matches!(last, Open::Array(_)) { ']' } else { '}' };
                open.pop();
                self.break_line(open.len(), &mut out);
                out.push(close);
                continue;
            };
            if !out.ends_with(['[', '{']) {
                out.push(',');
            }
            self.break_line(open.len(), &mut out);
            if let Some(key) = key {
                escape_into(&mut out, key, self.escape_html);
                out.push_str(if self.indent.is_some() { ": " } else { ":" });
            }
            self.begin(next, &mut open, &mut out);
        }
        out
    }

    fn break_line(&self, depth: usize, out: &mut String) {
        if let Some(indent) = self.indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(indent, depth));
        }
    }

    /// Writes a scalar or an empty collection, or opens a collection.
    fn begin<'v>(&self, value: &'v Value, open: &mut Vec<Open<'v>>, out: &mut String) {
        match value {
            Value::Null => out.push_str("null"),
            Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
            Value::Number(number) => out.push_str(&number_text(number)),
            Value::String(text) => escape_into(out, text, self.escape_html),
            Value::Array(items) if items.is_empty() => out.push_str("[]"),
            Value::Object(entries) if entries.is_empty() => out.push_str("{}"),
            Value::Array(items) => {
                out.push('[');
                open.push(Open::Array(items.iter()));
            }
            Value::Object(entries) => {
                out.push('{');
                open.push(Open::Object(sorted(entries).into_iter()));
            }
        }
    }
}

fn sorted(entries: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = entries.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries
}

/// Writes a number as Go writes an int64, a uint64 or a float64.
pub(crate) fn number_text(number: &Number) -> String {
    match number.as_f64() {
        Some(f) if number.is_f64() => float::json(f),
        _ => number.to_string(),
    }
}

/// Appends a string in quotes, escaped as `encoding/json` does.
pub fn escape_into(out: &mut String, text: &str, html: bool) {
    out.push('"');
    // Most texts have nothing to escape. The first byte of both line separators is 0xe2.
    let is_plain = |it: u8| it >= b' ' && !matches!(it, b'"' | b'\\' | b'<' | b'>' | b'&' | 0xe2);
    if text.bytes().fold(true, |all, it| all & is_plain(it)) {
        out.push_str(text);
        out.push('"');
        return;
    }
    let mut written = 0;
    for (at, c) in text.char_indices() {
        let special = c < ' '
            || matches!(c, '"' | '\\' | '\u{2028}' | '\u{2029}')
            || (html && matches!(c, '<' | '>' | '&'));
        if !special {
            continue;
        }
        out.push_str(&text[written..at]);
        written = at + c.len_utf8();
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
        }
    }
    out.push_str(&text[written..]);
    out.push('"');
}
