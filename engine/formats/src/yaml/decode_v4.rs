//! Decides which value a node is to go-yaml v4, the library that reads Compose files.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Number, Value};

use super::alias::AliasGuard;
use super::decode_v2::binary;
use super::error::Error;
use super::node::{Kind, Node, NodeId, Stream};
use super::resolve::{self, Scalar};
use super::{Dialect, MAX_DEPTH, go_syntax, timestamp};
use crate::golang::{float, quote::quote};

type Entries = [(NodeId, NodeId)];

/// Decodes a node.
pub(super) fn decode(stream: &Stream<'_>, root: NodeId) -> Result<Value, Error> {
    let mut decoder = Decoder { stream, guard: AliasGuard::new(), issues: Vec::new() };
    let value = decoder.value(root, 0)?;
    if decoder.issues.is_empty() {
        return Ok(value);
    }
    Err(Error::yaml(format!("unmarshal errors:\n  {}", decoder.issues.join("\n  "))))
}

struct Decoder<'s, 't> {
    stream: &'s Stream<'t>,
    guard: AliasGuard,
    /// Mistakes that do not end the decoding, so that all of them are reported.
    issues: Vec<String>,
}

impl Decoder<'_, '_> {
    fn value(&mut self, id: NodeId, depth: usize) -> Result<Value, Error> {
        self.guard.count()?;
        if depth > MAX_DEPTH {
            return Err(Error::yaml("exceeded max depth of 10000"));
        }
        let stream = self.stream;
        match &stream[id].kind {
            Kind::Alias { name, target } => {
                self.guard.enter(id, name)?;
                let value = self.value(*target, depth)?;
                self.guard.leave(id);
                Ok(value)
            }
            Kind::Scalar { value, .. } => scalar(&stream[id], value),
            Kind::Sequence { items, .. } => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.push(self.value(*item, depth + 1)?);
                }
                Ok(Value::Array(values))
            }
            Kind::Mapping { entries, .. } => {
                let mut map = Map::with_capacity(entries.len());
                self.fill(entries, &mut map, None, depth + 1)?;
                Ok(Value::Object(map))
            }
        }
    }

    /// Puts entries into a map. `merged` holds the keys that are taken while merging.
    fn fill(
        &mut self,
        entries: &Entries,
        map: &mut Map<String, Value>,
        mut merged: Option<&mut HashSet<String>>,
        depth: usize,
    ) -> Result<(), Error> {
        if self.report_duplicates(entries) {
            return Ok(());
        }
        let mut merge = None;
        for (key, value) in entries {
            if self.stream[*key].is_merge_key() {
                merge = Some(*value);
                continue;
            }
            let key = self.key(*key, depth)?;
            if let Some(taken) = &mut merged
                && !taken.insert(key.clone())
            {
                continue;
            }
            let value = self.value(*value, depth)?;
            map.insert(key, value);
        }
        let Some(merge) = merge else { return Ok(()) };
        if let Some(taken) = merged {
            return self.merge(merge, map, taken, depth);
        }
        let mut taken = HashSet::new();
        for (key, _) in entries {
            taken.insert(self.key(*key, depth)?);
        }
        self.merge(merge, map, &mut taken, depth)
    }

    fn merge(
        &mut self,
        id: NodeId,
        map: &mut Map<String, Value>,
        taken: &mut HashSet<String>,
        depth: usize,
    ) -> Result<(), Error> {
        let stream = self.stream;
        match &stream[id].kind {
            Kind::Sequence { items, .. } => {
                for item in items {
                    self.merge_one(*item, map, taken, depth + 1)?;
                }
                Ok(())
            }
            _ => self.merge_one(id, map, taken, depth),
        }
    }

    fn merge_one(
        &mut self,
        id: NodeId,
        map: &mut Map<String, Value>,
        taken: &mut HashSet<String>,
        depth: usize,
    ) -> Result<(), Error> {
        let stream = self.stream;
        let Kind::Mapping { entries, .. } = &stream[stream.resolve_alias(id)].kind else {
            return Err(Error::yaml("map merge requires map or sequence of maps as the value"));
        };
        if depth > MAX_DEPTH {
            return Err(Error::yaml("exceeded max depth of 10000"));
        }
        self.guard.count()?;
        if let Kind::Alias { name, .. } = &stream[id].kind {
            self.guard.enter(id, name)?;
            self.guard.count()?;
            self.fill(entries, map, Some(taken), depth + 1)?;
            self.guard.leave(id);
            return Ok(());
        }
        self.fill(entries, map, Some(taken), depth + 1)
    }

    /// Records an issue for every pair of equal keys; says whether there was one.
    fn report_duplicates(&mut self, entries: &Entries) -> bool {
        let stream = self.stream;
        let mut seen: HashMap<(std::mem::Discriminant<Kind<'_>>, &str), Vec<NodeId>> =
            HashMap::with_capacity(entries.len());
        let mut pairs = Vec::new();
        for (key, _) in entries {
            let node = &stream[*key];
            let same = seen.entry((std::mem::discriminant(&node.kind), node.text())).or_default();
            // One report for each earlier twin; a thousand are enough for any reader.
            pairs.extend(same.iter().take(1000).map(|first| (*first, *key)));
            same.push(*key);
        }
        pairs.sort();
        for (first, second) in &pairs {
            let (first, second) = (&stream[*first], &stream[*second]);
            let key = quote(second.text());
            self.issues.push(format!(
                "line {}: mapping key {key} already defined at line {}",
                second.line, first.line
            ));
        }
        !pairs.is_empty()
    }

    fn key(&mut self, id: NodeId, depth: usize) -> Result<String, Error> {
        let target = self.stream.resolve_alias(id);
        match self.value(id, depth)? {
            Value::String(text) => Ok(text),
            Value::Null => Ok("<nil>".to_owned()),
            Value::Bool(bool) => Ok(bool.to_string()),
            Value::Number(number) => Ok(match number.as_f64() {
                Some(f) if number.is_f64() => float::shortest_g(f),
                _ => number.to_string(),
            }),
            Value::Array(_) | Value::Object(_) => {
                let printed = go_syntax::print(self.stream, target, Dialect::V4);
                Err(Error::yaml(format!(
                    "cannot use '{printed}' as a map key; try decoding into yaml.Node"
                )))
            }
        }
    }
}

fn scalar(node: &Node<'_>, text: &str) -> Result<Value, Error> {
    if let Some(binary) = binary(node, text)? {
        return Ok(Value::String(binary));
    }
    let tag = node.tag();
    let typed = match &*tag {
        "!!str" | "!!merge" => Scalar::Str,
        tag => resolve::resolve_tagged(Dialect::V4, tag, text)?,
    };
    Ok(match typed {
        Scalar::Null => Value::Null,
        Scalar::Bool(bool) => Value::Bool(bool),
        Scalar::Int(int) => Value::from(int),
        Scalar::Uint(uint) => Value::from(uint),
        Scalar::Float(f) => match Number::from_f64(f) {
            Some(number) => Value::Number(number),
            None => Value::String(float::shortest_g(f)),
        },
        Scalar::Timestamp => {
            Value::String(timestamp::go_string(text).unwrap_or_else(|| text.to_owned()))
        }
        Scalar::Str => Value::String(text.to_owned()),
    })
}
