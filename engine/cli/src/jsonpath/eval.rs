//! Evaluates a template against a value.

use std::{borrow::Cow, cmp::Ordering};

use engine_formats::kubernetes::jsonpath::{PathNode, Slice};
use serde_json::Value;

use super::JsonPathError;

type Found<'v> = Vec<Cow<'v, Value>>;

/// Evaluates each part of a template.
pub(super) fn run<'v>(
    parts: &'v [PathNode],
    data: &'v Value,
    allow_missing_keys: bool,
) -> Result<Vec<Found<'v>>, JsonPathError> {
    let mut walk = Walk { allow_missing_keys, begins: 0, inside: 0, ends: 0, last_end: None };
    walk.parts(parts, 0, &Cow::Borrowed(data))
}

/// The state of an evaluation with regard to `range` and `end`.
struct Walk {
    allow_missing_keys: bool,
    /// A `range` was just met.
    begins: usize,
    /// How many of them are open.
    inside: usize,
    /// An `end` was just met.
    ends: usize,
    /// Which part the last one was.
    last_end: Option<usize>,
}

impl Walk {
    fn parts<'v>(
        &mut self,
        parts: &'v [PathNode],
        start: usize,
        data: &Cow<'v, Value>,
    ) -> Result<Vec<Found<'v>>, JsonPathError> {
        let mut all = Vec::new();
        let mut at = start;
        while at < parts.len() {
            let results = self.node(vec![data.clone()], &parts[at])?;
            if self.ends > 0 && self.ends <= self.inside {
                self.ends -= 1;
                self.last_end = Some(at);
                break;
            }
            if self.begins == 0 {
                all.push(results);
                at += 1;
                continue;
            }
            self.begins -= 1;
            self.inside += 1;
            if results.is_empty() {
                // What is inside is walked through once, only to find its end.
                self.parts(parts, at + 1, &Cow::Owned(Value::Null))?;
            }
            for value in &results {
                all.extend(self.parts(parts, at + 1, value)?);
            }
            self.inside -= 1;
            at = self.last_end.filter(|end| *end > at).unwrap_or(at) + 1;
        }
        Ok(all)
    }

    fn nodes<'v>(
        &mut self,
        input: Found<'v>,
        nodes: &'v [PathNode],
    ) -> Result<Found<'v>, JsonPathError> {
        nodes.iter().try_fold(input, |input, node| self.node(input, node))
    }

    fn node<'v>(
        &mut self,
        input: Found<'v>,
        node: &'v PathNode,
    ) -> Result<Found<'v>, JsonPathError> {
        let literal = |value: Value| input.iter().map(|_| Cow::Owned(value.clone())).collect();
        Ok(match node {
            PathNode::List(nodes) => return self.nodes(input, nodes),
            PathNode::Text(text) => vec![Cow::Owned(Value::String(text.clone()))],
            PathNode::Int(int) => literal(Value::from(*int)),
            PathNode::Float(float) => literal(Value::from(*float)),
            PathNode::Bool(bool) => literal(Value::from(*bool)),
            PathNode::Identifier(name) => return self.keyword(input, name),
            PathNode::Field(name) => return self.field(input, name),
            PathNode::Wildcard => input.into_iter().flat_map(children).collect(),
            PathNode::Recursive => {
                let mut found = Vec::new();
                for value in input {
                    descend(value, &mut found);
                }
                found
            }
            PathNode::Slice(slice) => return sliced(input, *slice),
            PathNode::Union(lists) => {
                let mut found = Vec::new();
                for list in lists {
                    found.extend(self.nodes(input.clone(), list)?);
                }
                found
            }
            PathNode::Filter { left, operator, right } => {
                return self.filtered(input, left, operator, right);
            }
        })
    }

    fn keyword<'v>(&mut self, input: Found<'v>, name: &str) -> Result<Found<'v>, JsonPathError> {
        match name {
            "range" => {
                self.begins += 1;
                Ok(input)
            }
            "end" if self.inside > 0 => {
                self.ends += 1;
                Ok(Vec::new())
            }
            "end" => Err(JsonPathError::EndWithoutRange),
            other => Err(JsonPathError::UnknownIdentifier(other.to_owned())),
        }
    }

    fn field<'v>(&self, input: Found<'v>, name: &str) -> Result<Found<'v>, JsonPathError> {
        if input.is_empty() {
            return Ok(input);
        }
        let found: Found<'v> = input.into_iter().filter_map(|it| member(it, name)).collect();
        if found.is_empty() && !self.allow_missing_keys {
            return Err(JsonPathError::FieldNotFound(name.to_owned()));
        }
        Ok(found)
    }

    fn filtered<'v>(
        &mut self,
        input: Found<'v>,
        left: &'v [PathNode],
        operator: &str,
        right: &'v [PathNode],
    ) -> Result<Found<'v>, JsonPathError> {
        let mut found = Vec::new();
        for value in input {
            if !value.is_array() {
                return Err(JsonPathError::NotFilterable(super::printed(&value)));
            }
            for item in children(value) {
                let lefts = self.nodes(vec![item.clone()], left);
                if operator == "exists" {
                    if lefts.is_ok_and(|it| !it.is_empty()) {
                        found.push(item);
                    }
                    continue;
                }
                let rights = self.nodes(vec![item.clone()], right);
                let (Some(left), Some(right)) = (only(lefts?)?, only(rights?)?) else { continue };
                if holds(&left, operator, &right)? {
                    found.push(item);
                }
            }
        }
        Ok(found)
    }
}

fn only(mut values: Found<'_>) -> Result<Option<Cow<'_, Value>>, JsonPathError> {
    if values.len() > 1 {
        return Err(JsonPathError::SeveralElements);
    }
    Ok(values.pop())
}

fn holds(left: &Value, operator: &str, right: &Value) -> Result<bool, JsonPathError> {
    let order = compare(left, right);
    match operator {
        "==" => order.map(Ordering::is_eq),
        "!=" => order.map(Ordering::is_ne),
        "<" => order.map(Ordering::is_lt),
        "<=" => order.map(Ordering::is_le),
        ">" => order.map(Ordering::is_gt),
        ">=" => order.map(Ordering::is_ge),
        other => Err(JsonPathError::UnknownOperator(other.to_owned())),
    }
}

fn compare(left: &Value, right: &Value) -> Result<Ordering, JsonPathError> {
    match (left, right) {
        (Value::String(a), Value::String(b)) => Ok(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Ok(a.cmp(b)),
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => Ok(a.cmp(&b)),
            _ if a.is_f64() && b.is_f64() => {
                a.as_f64().partial_cmp(&b.as_f64()).ok_or(JsonPathError::IncompatibleTypes)
            }
            _ => Err(JsonPathError::IncompatibleTypes),
        },
        (Value::Null | Value::Array(_) | Value::Object(_), _)
        | (_, Value::Null | Value::Array(_) | Value::Object(_)) => Err(JsonPathError::InvalidType),
        _ => Err(JsonPathError::IncompatibleTypes),
    }
}

fn member<'v>(value: Cow<'v, Value>, name: &str) -> Option<Cow<'v, Value>> {
    match value {
        Cow::Borrowed(value) => value.get(name).map(Cow::Borrowed),
        Cow::Owned(mut value) => value.get_mut(name).map(|it| Cow::Owned(it.take())),
    }
}

/// What a collection holds; objects by key.
fn children(value: Cow<'_, Value>) -> Vec<Cow<'_, Value>> {
    match value {
        Cow::Borrowed(Value::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Object(fields)) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|it| it.0);
            fields.into_iter().map(|(_, value)| Cow::Borrowed(value)).collect()
        }
        Cow::Owned(Value::Array(items)) => items.into_iter().map(Cow::Owned).collect(),
        Cow::Owned(Value::Object(fields)) => {
            let mut fields: Vec<_> = fields.into_iter().collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            fields.into_iter().map(|(_, value)| Cow::Owned(value)).collect()
        }
        _ => Vec::new(),
    }
}

/// Collects all non-empty values, from the outside in.
fn descend<'v>(value: Cow<'v, Value>, found: &mut Found<'v>) {
    let children = children(value.clone());
    if children.is_empty() && value.as_str().is_none_or(str::is_empty) {
        return;
    }
    found.push(value);
    for child in children {
        descend(child, found);
    }
}

fn sliced(input: Found<'_>, slice: Slice) -> Result<Found<'_>, JsonPathError> {
    let mut found = Vec::new();
    for value in input {
        if value.is_null() {
            continue;
        }
        if !value.is_array() {
            return Err(JsonPathError::NotAList(go_type(&value)));
        }
        match slice.take(children(value))? {
            Some(items) => found.extend(items),
            None => break,
        }
    }
    Ok(found)
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "map[string]interface {}",
        Value::Array(_) => "[]interface {}",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::Null => "nil",
    }
}
