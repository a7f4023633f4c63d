//! Decides where the documents of a manifest begin and end, and whether they are YAML or JSON.
//!
//! A text that starts with a brace is taken for JSON objects one after another. If that fails within the first two, the
//! rest is taken for YAML, in which JSON objects may stand between `---` lines.

use serde_json::Value;
use serde_json::de::Deserializer;

use super::object::Object;
use super::parse::{Notation, ParseError, parse_document};
use crate::golang::json;
use crate::yaml;

/// All objects of a manifest with any number of documents.
pub fn parse(text: &str) -> Result<Vec<Object>, ParseError> {
    let mut objects = Vec::new();
    let mut rest = text;
    let mut json_error = None;
    if text.trim_start().starts_with('{') {
        match parse_json(text, &mut objects)? {
            None => return Ok(objects),
            Some(stop) => {
                let Some(after_space) = skip_line_space(&text[stop.at..]) else {
                    return Err(stop.error);
                };
                rest = after_space;
                json_error = Some(stop.error);
            }
        }
    }
    for document in yaml::documents(rest) {
        match document.and_then(|document| yaml::decode_v2(document.as_bytes())) {
            Ok(value) => parse_document(value, Notation::Yaml, &mut objects)?,
            Err(error) => {
                return Err(
                    json_error.unwrap_or_else(|| ParseError::new(error.while_unmarshaling()))
                );
            }
        }
        json_error = None;
    }
    Ok(objects)
}

/// Where the text stopped being JSON.
struct Stop {
    at: usize,
    error: ParseError,
}

fn parse_json(text: &str, objects: &mut Vec<Object>) -> Result<Option<Stop>, ParseError> {
    let mut values = Deserializer::from_str(text).into_iter::<Value>();
    let mut at = 0;
    let mut count = 0;
    while let Some(value) = values.next() {
        let rest = &text[at..];
        let Ok(value) = value else {
            return match json::decode_single(rest).and_then(json::Json::into_kubernetes_value) {
                // Go allows deeper nesting; such a value is taken for the last one.
                Ok(value) => {
                    parse_document(value, Notation::Json(Some(rest.trim())), objects).map(|()| None)
                }
                Err(error) if count > 1 => Err(ParseError::new(error.to_string())),
                Err(error) => Ok(Some(Stop { at, error: explain(&error, at) })),
            };
        };
        let end = values.byte_offset();
        parse_document(value, Notation::Json(text.get(at..end).map(str::trim)), objects)?;
        at = end;
        count += 1;
    }
    Ok(None)
}

/// All objects in one text, as they are handed to the cluster.
pub fn to_yaml<'a>(objects: impl IntoIterator<Item = &'a Object>) -> Result<String, yaml::Error> {
    let mut text = String::new();
    for (index, object) in objects.into_iter().enumerate() {
        if index > 0 {
            text.push_str("\n---\n");
        }
        text.push_str(&yaml::emit_v2(object.value())?);
    }
    Ok(text)
}

fn explain(error: &json::JsonError, at: usize) -> ParseError {
    ParseError::new(match error {
        json::JsonError::Syntax { offset, .. } => format!("json: offset {}: {error}", at + offset),
        other => other.to_string(),
    })
}

/// Drops white space up to the end of the line. The library looks four bytes ahead and gives up if there are fewer.
fn skip_line_space(mut text: &str) -> Option<&str> {
    loop {
        let letter = text.chars().next().filter(|_| text.len() >= 4)?;
        if !letter.is_whitespace() {
            return Some(text);
        }
        text = &text[letter.len_utf8()..];
        if letter == '\n' {
            return Some(text);
        }
    }
}
