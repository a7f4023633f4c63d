//! Decides which values a JSON path leads to.

use std::cmp::Ordering;

use super::matched::{Basic, Inside};
use super::{JsonPathError, Match, PathNode, Slice};

/// Ranges inside ranges go this deep.
const MAX_RANGES: usize = 64;

/// Everything that the nodes of a template lead to, starting from one value.
pub(super) fn find<'a>(
    nodes: &'a [PathNode],
    root: Match<'a>,
) -> Result<Vec<Match<'a>>, JsonPathError> {
    let mut evaluation = Evaluation::default();
    let mut found = Vec::new();
    evaluation.template(nodes, root, 0, &mut found)?;
    Ok(found)
}

/// Where the evaluation is with respect to `{range …}` and `{end}`.
#[derive(Default)]
struct Evaluation<'a> {
    stack: Vec<Vec<Match<'a>>>,
    current: Vec<Match<'a>>,
    begun: usize,
    inside: usize,
    ended: usize,
}

impl<'a> Evaluation<'a> {
    fn template(
        &mut self,
        nodes: &'a [PathNode],
        root: Match<'a>,
        depth: usize,
        found: &mut Vec<Match<'a>>,
    ) -> Result<(), JsonPathError> {
        if depth > MAX_RANGES {
            return Err(error("not in range, nothing to end"));
        }
        self.current = vec![root];
        for (index, node) in nodes.iter().enumerate() {
            let results = self.walk(self.current.clone(), node)?;
            if self.ended > 0 && self.ended <= self.inside {
                self.ended -= 1;
                break;
            }
            if self.begun > 0 {
                self.begun -= 1;
                self.inside += 1;
                let last = results.len();
                for (count, value) in results.into_iter().enumerate() {
                    // After the last value the rest of the template continues beyond the end of the range.
                    if count + 1 == last {
                        self.inside -= 1;
                    }
                    self.template(&nodes[index + 1..], value, depth + 1, found)?;
                }
                break;
            }
            found.extend(results);
        }
        Ok(())
    }

    fn walk(
        &mut self,
        input: Vec<Match<'a>>,
        node: &'a PathNode,
    ) -> Result<Vec<Match<'a>>, JsonPathError> {
        let repeat = |literal: Match<'a>| Ok(vec![literal; input.len()]);
        match node {
            PathNode::List(nodes) => self.list(input, nodes),
            PathNode::Text(text) => Ok(vec![Match::text(text)]),
            PathNode::Field(name) => field(&input, name),
            PathNode::Wildcard => Ok(input.iter().flat_map(children).collect()),
            PathNode::Recursive => Ok(descendants(input)),
            PathNode::Slice(slice) => sliced(&input, *slice),
            PathNode::Filter { left, right, operator } => {
                self.filter(&input, left, right, operator)
            }
            PathNode::Union(parts) => {
                let mut results = Vec::new();
                for part in parts {
                    results.extend(self.list(input.clone(), part)?);
                }
                Ok(results)
            }
            PathNode::Int(value) => repeat(Match::int(*value)),
            PathNode::Float(value) => repeat(Match::float(*value)),
            PathNode::Bool(value) => repeat(Match::bool(*value)),
            PathNode::Identifier(name) => self.identifier(input, name),
        }
    }

    fn list(
        &mut self,
        input: Vec<Match<'a>>,
        nodes: &'a [PathNode],
    ) -> Result<Vec<Match<'a>>, JsonPathError> {
        nodes.iter().try_fold(input, |input, node| self.walk(input, node))
    }

    fn identifier(
        &mut self,
        input: Vec<Match<'a>>,
        name: &str,
    ) -> Result<Vec<Match<'a>>, JsonPathError> {
        match name {
            "range" => {
                self.stack.push(self.current.clone());
                self.begun += 1;
                Ok(input)
            }
            "end" if self.ended < self.inside => {
                self.ended += 1;
                Ok(Vec::new())
            }
            "end" => {
                self.current = self
                    .stack
                    .pop()
                    .ok_or_else(|| error_without_values("not in range, nothing to end"))?;
                Ok(Vec::new())
            }
            other => Err(error(&format!("unrecognized identifier {other}"))),
        }
    }

    fn filter(
        &mut self,
        input: &[Match<'a>],
        left: &'a [PathNode],
        right: &'a [PathNode],
        operator: &str,
    ) -> Result<Vec<Match<'a>>, JsonPathError> {
        let mut results = Vec::new();
        for value in input {
            let (Inside::List(items) | Inside::Map(items)) = value.inside() else {
                let value = value.reflected_inside();
                return Err(error(&format!(
                    "{value} is not array, slice or map and cannot be filtered"
                )));
            };
            for item in items {
                let lefts = self.list(vec![item.clone()], left);
                if operator == "exists" {
                    if lefts.map_or_else(|error| error.keeps_input, |lefts| !lefts.is_empty()) {
                        results.push(item);
                    }
                    continue;
                }
                let Some(left) = single(lefts?)? else { continue };
                let Some(right) = single(self.list(vec![item.clone()], right)?)? else { continue };
                if compare(&left, &right, operator)? {
                    results.push(item);
                }
            }
        }
        Ok(results)
    }
}

fn single(mut values: Vec<Match<'_>>) -> Result<Option<Match<'_>>, JsonPathError> {
    if values.len() > 1 {
        return Err(error("can only compare one element at a time"));
    }
    Ok(values.pop())
}

fn compare(left: &Match<'_>, right: &Match<'_>, operator: &str) -> Result<bool, JsonPathError> {
    if !matches!(operator, "<" | ">" | "==" | "!=" | "<=" | ">=") {
        return Err(error_without_values(&format!("unrecognized filter operator {operator}")));
    }
    let invalid = || error_without_values("invalid type for comparison");
    let (left, right) = (left.basic().ok_or_else(invalid)?, right.basic().ok_or_else(invalid)?);
    if std::mem::discriminant(&left) != std::mem::discriminant(&right) {
        return Err(error_without_values("incompatible types for comparison"));
    }
    if matches!(left, Basic::Bool(_)) && !matches!(operator, "==" | "!=") {
        return Err(invalid());
    }
    let order = left.partial_cmp(&right);
    Ok(match operator {
        "<" => order == Some(Ordering::Less),
        "<=" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        ">" => !matches!(order, Some(Ordering::Less | Ordering::Equal)),
        ">=" => order != Some(Ordering::Less),
        "==" => order == Some(Ordering::Equal),
        _ => order != Some(Ordering::Equal),
    })
}

fn field<'a>(input: &[Match<'a>], name: &str) -> Result<Vec<Match<'a>>, JsonPathError> {
    let results: Vec<_> = input.iter().filter_map(|value| value.field(name)).collect();
    if results.is_empty() && !input.is_empty() {
        return Err(error_without_values(&format!("{name} is not found")));
    }
    Ok(results)
}

fn sliced<'a>(input: &[Match<'a>], slice: Slice) -> Result<Vec<Match<'a>>, JsonPathError> {
    let mut results = Vec::new();
    for value in input {
        if value.is_nil() {
            continue;
        }
        let Inside::List(items) = value.inside() else {
            return Err(error(&format!("{} is not array or slice", value.inside_type())));
        };
        match slice.take(items).map_err(|why| error(&why.to_string()))? {
            Some(items) => results.extend(items),
            None => break,
        }
    }
    Ok(results)
}

fn children<'a>(value: &Match<'a>) -> Vec<Match<'a>> {
    match value.inside() {
        Inside::Struct(items) | Inside::Map(items) | Inside::List(items) | Inside::Text(items) => {
            items
        }
        Inside::Nil | Inside::Scalar => Vec::new(),
    }
}

/// Every value that has something inside, outer ones first.
fn descendants(input: Vec<Match<'_>>) -> Vec<Match<'_>> {
    let mut results = Vec::new();
    let mut pending: Vec<_> = input.into_iter().rev().collect();
    while let Some(value) = pending.pop() {
        let inside = children(&value);
        if !inside.is_empty() {
            results.push(value);
            pending.extend(inside.into_iter().rev());
        }
    }
    results
}

fn error(text: &str) -> JsonPathError {
    JsonPathError { message: text.to_owned(), keeps_input: true }
}

fn error_without_values(text: &str) -> JsonPathError {
    JsonPathError { message: text.to_owned(), keeps_input: false }
}
