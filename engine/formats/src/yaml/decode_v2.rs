//! Decides which JSON value a document is, as `sigs.k8s.io/yaml` over go-yaml v2 does.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value};

use super::alias::AliasGuard;
use super::error::Error;
use super::node::{Kind, Node, NodeId, Stream, Style, short_tag};
use super::resolve::{self, Scalar};
use super::{Dialect, MAX_DEPTH, go_syntax};
use crate::golang::{float, json};

/// Decodes a document.
pub(super) fn decode(stream: &Stream<'_>, root: NodeId) -> Result<Value, Error> {
    let mut decoder = Decoder { stream, guard: AliasGuard::new(), bad_key: None, bad_float: None };
    decoder.guard.count()?;
    let value = decoder.value(root, 0)?;
    // Go finds these only after the whole document was decoded.
    match decoder.bad_key.or(decoder.bad_float) {
        Some(error) => Err(error),
        None => Ok(value),
    }
}

struct Decoder<'s, 't> {
    stream: &'s Stream<'t>,
    guard: AliasGuard,
    bad_key: Option<Error>,
    bad_float: Option<Error>,
}

impl Decoder<'_, '_> {
    fn value(&mut self, id: NodeId, depth: usize) -> Result<Value, Error> {
        self.guard.count()?;
        let stream = self.stream;
        match &stream[id].kind {
            Kind::Alias { name, target } => {
                self.guard.enter(id, name)?;
                let value = self.value(*target, depth)?;
                self.guard.leave(id);
                Ok(value)
            }
            Kind::Scalar { value, .. } => self.scalar(&stream[id], value),
            Kind::Sequence { .. } if depth >= MAX_DEPTH => Err(Error::TooDeep('[')),
            Kind::Mapping { .. } if depth >= MAX_DEPTH => Err(Error::TooDeep('{')),
            Kind::Sequence { items, .. } => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.push(self.value(*item, depth + 1)?);
                }
                Ok(Value::Array(values))
            }
            Kind::Mapping { entries, .. } => {
                let mut map = Map::with_capacity(entries.len());
                self.fill(entries, &mut map, depth + 1)?;
                Ok(Value::Object(map))
            }
        }
    }

    /// Puts entries into a map; the last of equal keys wins, merged keys count where they stand.
    fn fill(
        &mut self,
        entries: &[(NodeId, NodeId)],
        map: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Error> {
        for (key, value) in entries {
            if is_merge(&self.stream[*key]) {
                self.merge(*value, map, depth)?;
                continue;
            }
            let key_text = self.key(*key, *value, depth)?;
            let decoded = self.value(*value, depth)?;
            map.insert(key_text, decoded);
        }
        Ok(())
    }

    fn merge(
        &mut self,
        id: NodeId,
        map: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Error> {
        if depth >= MAX_DEPTH {
            return Err(Error::TooDeep('{'));
        }
        let stream = self.stream;
        match &stream[id].kind {
            Kind::Sequence { items, .. } => {
                // Earlier mappings take precedence, so they come last.
                for item in items.iter().rev() {
                    self.merge_one(*item, map, depth + 1)?;
                }
                Ok(())
            }
            _ => self.merge_one(id, map, depth),
        }
    }

    fn merge_one(
        &mut self,
        id: NodeId,
        map: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Error> {
        let stream = self.stream;
        let target = stream.resolve_alias(id);
        let Kind::Mapping { entries, .. } = &stream[target].kind else {
            return Err(Error::yaml("map merge requires map or sequence of maps as the value"));
        };
        self.guard.count()?;
        if let Kind::Alias { name, .. } = &stream[id].kind {
            self.guard.enter(id, name)?;
            self.guard.count()?;
            self.fill(entries, map, depth + 1)?;
            self.guard.leave(id);
            return Ok(());
        }
        self.fill(entries, map, depth + 1)
    }

    /// Returns a key as text.
    fn key(&mut self, key: NodeId, value: NodeId, depth: usize) -> Result<String, Error> {
        let stream = self.stream;
        let target = stream.resolve_alias(key);
        let node = &stream[target];
        let Kind::Scalar { value: text, .. } = &node.kind else {
            self.value(key, depth)?;
            let printed = go_syntax::print(stream, target, Dialect::V2);
            return Err(Error::yaml(format!("invalid map key: {printed}")));
        };
        self.guard.count()?;
        if let Kind::Alias { name, .. } = &stream[key].kind {
            self.guard.enter(key, name)?;
            self.guard.count()?;
            self.guard.leave(key);
        }
        if let Some(binary) = binary(node, text)? {
            return Ok(binary);
        }
        let unsupported = match typed(node, text)? {
            Scalar::Str | Scalar::Timestamp => return Ok(text.clone().into_owned()),
            Scalar::Bool(bool) => return Ok(bool.to_string()),
            Scalar::Int(int) => return Ok(int.to_string()),
            Scalar::Float(f) => return Ok(float_key(f)),
            Scalar::Uint(_) => "uint64",
            Scalar::Null => "%!s(<nil>)",
        };
        if self.bad_key.is_none() {
            let key = go_syntax::print(stream, target, Dialect::V2);
            let value = go_syntax::print(stream, value, Dialect::V2);
            self.bad_key = Some(Error::Json(format!(
                "unsupported map key of type: {unsupported}, key: {key}, value: {value}"
            )));
        }
        Ok(text.clone().into_owned())
    }

    fn scalar(&mut self, node: &Node<'_>, text: &str) -> Result<Value, Error> {
        if let Some(binary) = binary(node, text)? {
            return Ok(Value::String(binary));
        }
        Ok(match typed(node, text)? {
            Scalar::Null => Value::Null,
            Scalar::Bool(bool) => Value::Bool(bool),
            Scalar::Int(int) => Value::from(int),
            // JSON numbers beyond an int64 are read back as floats.
            #[expect(clippy::cast_precision_loss, reason = "Go rounds in the same way")]
            Scalar::Uint(uint) => Value::from(uint as f64),
            Scalar::Float(f) => self.float(f),
            Scalar::Str | Scalar::Timestamp => Value::String(text.to_owned()),
        })
    }

    /// Sends a float through its JSON text: integral floats come back as integers.
    fn float(&mut self, f: f64) -> Value {
        if !f.is_finite() && self.bad_float.is_none() {
            let text = float::shortest_g(f);
            self.bad_float = Some(Error::Json(format!("json: unsupported value: {text}")));
        }
        float_through_json(f)
    }
}

/// Reads a float back from the JSON text that Go writes for it.
pub(super) fn float_through_json(f: f64) -> Value {
    if f.abs() < 1e21
        && f.fract() == 0.0
        && let Ok(int) = float::shortest_f(f).parse::<i64>()
    {
        return Value::from(int);
    }
    Number::from_f64(f).map_or(Value::Null, Value::Number)
}

fn float_key(f: f64) -> String {
    match f {
        f64::INFINITY => ".inf".to_owned(),
        f64::NEG_INFINITY => "-.inf".to_owned(),
        f if f.is_nan() => ".nan".to_owned(),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the keys are printed as 32-bit floats"
        )]
        f => float::shortest_g32(f as f32),
    }
}

fn is_merge(node: &Node<'_>) -> bool {
    let Kind::Scalar { value, style } = &node.kind else { return false };
    value == "<<"
        && match node.explicit_tag.as_deref() {
            None => *style == Style::Plain,
            Some(tag) => tag == "!" || tag == "tag:yaml.org,2002:merge",
        }
}

fn typed(node: &Node<'_>, text: &str) -> Result<Scalar, Error> {
    match node.explicit_tag.as_deref() {
        Some(tag) => resolve::resolve_tagged(Dialect::V2, &short_tag(tag), text),
        None if matches!(node.kind, Kind::Scalar { style: Style::Plain, .. }) => {
            Ok(resolve::resolve(Dialect::V2, text))
        }
        None => Ok(Scalar::Str),
    }
}

/// Decodes the text of a `!!binary` node; other nodes give nothing.
pub(super) fn binary(node: &Node<'_>, text: &str) -> Result<Option<String>, Error> {
    match node.explicit_tag.as_deref() {
        Some("tag:yaml.org,2002:binary") => decode_binary(text).map(Some),
        _ => Ok(None),
    }
}

pub(super) fn decode_binary(text: &str) -> Result<String, Error> {
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    let bytes = STANDARD
        .decode(text)
        .map_err(|_| Error::yaml("!!binary value contains invalid base64 data"))?;
    Ok(json::valid_utf8(&bytes).into_owned())
}
