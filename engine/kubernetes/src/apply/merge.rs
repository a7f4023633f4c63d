//! Three-way merge by field: what we last applied, what is wanted now, what is there.
//!
//! A field whose wanted value changed since the last apply is written. One that somebody else
//! changed while the wanted value stayed the same is kept and reported, unless it is to be
//! overwritten. What nobody asked for (defaults, the work of controllers) is left alone.

use serde_json::{Map, Value};

use super::{
    Drift,
    equal::{covers, is_zero, same},
    shape::{Shape, key_of},
};

/// One step on the way to a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Into a field of a map.
    Field(String),
    /// Into the item of a list that has these fields.
    Item(Vec<(&'static str, Value)>),
}

/// A field that somebody else changed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KeptField {
    pub(super) path: Vec<Step>,
    pub(super) theirs: Option<Value>,
    pub(super) ours: Value,
}

/// The merged object, and what was kept in it.
pub(super) struct Merged {
    pub(super) object: Value,
    pub(super) kept: Vec<KeptField>,
}

/// Merges what is wanted into what is there.
pub(super) fn merge(
    original: Option<&Value>,
    wanted: &Value,
    live: &Value,
    shape: Shape,
    drift: Drift,
) -> Merged {
    let mut merge = Merge { drift, path: Vec::new(), kept: Vec::new() };
    let object = merge.value(Sides { original, wanted, live: Some(live) }, shape, "");
    Merged { object: object.unwrap_or_else(|| live.clone()), kept: merge.kept }
}

/// One field as the three sides have it.
#[derive(Clone, Copy)]
struct Sides<'a> {
    original: Option<&'a Value>,
    wanted: &'a Value,
    live: Option<&'a Value>,
}

impl Sides<'_> {
    /// Whether the wanted value is the one that was applied last.
    fn is_unchanged(&self) -> bool {
        self.original.is_some_and(|it| same(it, self.wanted))
    }
}

struct Merge {
    drift: Drift,
    path: Vec<Step>,
    kept: Vec<KeptField>,
}

impl Merge {
    /// What the field shall be; nothing if it shall not be there.
    fn value(&mut self, sides: Sides<'_>, shape: Shape, field: &str) -> Option<Value> {
        match (sides.wanted, sides.live) {
            (Value::Object(wanted), Some(Value::Object(live))) => {
                Some(self.map(sides, wanted, live, shape, field))
            }
            (Value::Array(wanted), Some(Value::Array(live))) => match shape {
                Shape::Keyed { keys, item } => self
                    .keyed(sides.original, wanted, live, (keys, item.shape))
                    .or_else(|| self.whole(sides, field)),
                Shape::Set => Some(self.set(sides.original, wanted, live)),
                Shape::Plain(_) | Shape::Open | Shape::Union => self.whole(sides, field),
            },
            _ => self.whole(sides, field),
        }
    }

    /// A value that is not looked into.
    fn whole(&mut self, sides: Sides<'_>, field: &str) -> Option<Value> {
        let is_unchanged = sides.is_unchanged();
        match sides.live {
            Some(live) if covers(live, sides.wanted, field) => {
                // A part that is not wanted any more may be among what the live value has more.
                let is_leaf = !matches!(live, Value::Array(_) | Value::Object(_));
                if is_unchanged || is_leaf || sides.original.is_none() {
                    return Some(live.clone());
                }
            }
            None if is_unchanged && is_zero(sides.wanted) => return None,
            _ => {}
        }
        if is_unchanged && self.drift == Drift::Keep {
            let (path, ours) = (self.path.clone(), sides.wanted.clone());
            self.kept.push(KeptField { path, theirs: sides.live.cloned(), ours });
            return sides.live.cloned();
        }
        Some(without_nulls(sides.wanted))
    }

    fn map(
        &mut self,
        sides: Sides<'_>,
        wanted: &Map<String, Value>,
        live: &Map<String, Value>,
        shape: Shape,
        field: &str,
    ) -> Value {
        let original = sides.original.and_then(Value::as_object);
        let mut merged = live.clone();
        if matches!(shape, Shape::Union) && !sides.is_unchanged() {
            merged.retain(|key, _| wanted.contains_key(key));
        }
        for (key, original) in original.into_iter().flatten() {
            match (original, merged.get_mut(key)) {
                _ if wanted.contains_key(key) => {}
                // There was nothing of ours in it.
                (Value::Object(ours), _) if ours.is_empty() => {}
                (Value::Array(ours), _) if ours.is_empty() => {}
                (Value::Null, _) => {}
                (Value::Object(ours), Some(Value::Object(all)))
                    if matches!(shape.field(key), Shape::Open) =>
                {
                    all.retain(|name, _| !ours.contains_key(name));
                }
                _ => {
                    merged.shift_remove(key);
                }
            }
        }
        for (key, wanted) in wanted {
            let original = original.and_then(|it| it.get(key));
            if wanted.is_null() {
                if original != Some(&Value::Null) {
                    merged.shift_remove(key);
                }
                continue;
            }
            self.path.push(Step::Field(key.clone()));
            let sides = Sides { original, wanted, live: live.get(key) };
            let name = if super::equal::is_amounts(field) { field } else { key };
            match self.value(sides, shape.field(key), name) {
                Some(value) => merged.insert(key.clone(), value),
                None => merged.shift_remove(key),
            };
            self.path.pop();
        }
        Value::Object(merged)
    }

    /// A list of items that are known by keys; nothing if their keys do not tell them apart.
    fn keyed(
        &mut self,
        original: Option<&Value>,
        wanted: &[Value],
        live: &[Value],
        (keys, shape): (&'static [&'static str], Shape),
    ) -> Option<Value> {
        let originals = original.and_then(Value::as_array).map(Vec::as_slice);
        let original = Keyed::new(originals.unwrap_or_default(), keys)?;
        let (wanted, live) = (Keyed::new(wanted, keys)?, Keyed::new(live, keys)?);
        let mut merged: Vec<(usize, Value)> = Vec::new();
        for (place, (key, item)) in wanted.0.iter().enumerate() {
            self.path.push(Step::Item(keys.iter().copied().zip(key.iter().cloned()).collect()));
            let sides = Sides { original: original.get(key), wanted: item, live: live.get(key) };
            if let Some(item) = self.value(sides, shape, "") {
                merged.push((place, item));
            }
            self.path.pop();
        }
        let is_reordered = originals.is_none()
            || self.drift == Drift::Overwrite
            || original.order_of(&wanted) != wanted.order_of(&original);
        Some(Value::Array(arrange(merged, &original, &wanted, &live, is_reordered)))
    }

    /// A list of plain values in any order.
    fn set(&mut self, original: Option<&Value>, wanted: &[Value], live: &[Value]) -> Value {
        let original = original.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut merged: Vec<Value> = live
            .iter()
            .filter(|it| wanted.contains(it) || !original.contains(it))
            .cloned()
            .collect();
        for value in wanted.iter().filter(|it| !live.contains(it)) {
            if original.contains(value) && self.drift == Drift::Keep {
                let (path, ours) = (self.path.clone(), value.clone());
                self.kept.push(KeptField { path, theirs: None, ours });
            } else {
                merged.push(value.clone());
            }
        }
        Value::Array(merged)
    }
}

/// The items of a list by their keys, in order.
struct Keyed<'a>(Vec<(Vec<Value>, &'a Value)>);

impl<'a> Keyed<'a> {
    /// Nothing if an item has no key, or two have the same.
    fn new(items: &'a [Value], keys: &[&str]) -> Option<Self> {
        let mut keyed: Vec<(Vec<Value>, &Value)> = Vec::with_capacity(items.len());
        for item in items {
            let key = key_of(item, keys)?;
            if keyed.iter().any(|(other, _)| *other == key) {
                return None;
            }
            keyed.push((key, item));
        }
        Some(Self(keyed))
    }

    fn get(&self, key: &[Value]) -> Option<&'a Value> {
        self.0.iter().find(|(other, _)| other == key).map(|(_, item)| *item)
    }

    /// The keys that another list has too, in the order of this one.
    fn order_of(&self, other: &Self) -> Vec<&[Value]> {
        let shared = self.0.iter().filter(|(key, _)| other.get(key).is_some());
        shared.map(|(key, _)| key.as_slice()).collect()
    }
}

/// Puts merged items among those of others, which stay where they are.
fn arrange(
    mut merged: Vec<(usize, Value)>,
    original: &Keyed<'_>,
    wanted: &Keyed<'_>,
    live: &Keyed<'_>,
    is_reordered: bool,
) -> Vec<Value> {
    let mut items = Vec::new();
    for (key, item) in &live.0 {
        match wanted.0.iter().position(|(other, _)| other == key) {
            Some(place) => {
                let next = if is_reordered {
                    (!merged.is_empty()).then_some(0)
                } else {
                    merged.iter().position(|(it, _)| *it == place)
                };
                items.extend(next.map(|it| merged.remove(it).1));
            }
            None if original.get(key).is_some() => {}
            None => items.push((*item).clone()),
        }
    }
    items.extend(merged.into_iter().map(|(_, item)| item));
    items
}

/// A value as it is sent: a field that is null is not there.
pub(super) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let present = fields.iter().filter(|(_, it)| !it.is_null());
            Value::Object(present.map(|(key, it)| (key.clone(), without_nulls(it))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        plain => plain.clone(),
    }
}
