//! How an object divides into fields that can have different managers: where two versions differ, and how an applied
//! configuration is merged into the existing object.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::fields::FieldSet;
use crate::{
    Kind, KindSchema,
    schema::{Ty, Type},
};

/// How a value divides into fields.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// A whole object.
    Object(Kind),
    /// A structure with these fields.
    Struct(&'static Type),
    /// Texts by text.
    Map,
    /// A list without order, each item of which is a field.
    Set,
    /// A list whose items are told apart by a key, each of which is a field.
    Keyed(&'static str),
    /// Not at all.
    Leaf,
}

/// In which fields two versions differ.
#[derive(Debug, Default)]
pub(super) struct Difference {
    pub(super) added: FieldSet,
    pub(super) changed: FieldSet,
    pub(super) removed: FieldSet,
}

impl Shape {
    fn field(self, name: &str) -> Self {
        let structure = |ty: Option<&'static Type>| ty.map_or(Self::Leaf, Self::Struct);
        match self {
            Self::Object(kind) => match name {
                "metadata" => structure(Type::named("ObjectMeta")),
                "spec" => structure(kind.spec()),
                "status" => structure(kind.status()),
                "data" => Self::Map,
                _ => Self::Leaf,
            },
            Self::Struct(ty) => match ty.field(name).map(|it| it.ty) {
                Some(Ty::Struct(nested) | Ty::Ptr(nested)) => Self::Struct(nested),
                Some(Ty::Map) => Self::Map,
                // Only metadata has lists that several may own.
                Some(Ty::List(_)) if name == "ownerReferences" => Self::Keyed("uid"),
                Some(Ty::Strings) if name == "finalizers" => Self::Set,
                _ => Self::Leaf,
            },
            _ => Self::Leaf,
        }
    }

    /// The parts of a value that are fields of their own, by name; none if it is a field as a whole.
    fn parts(self, value: &Value) -> Vec<(String, &Value, Self)> {
        match (self, value) {
            (Self::Object(_) | Self::Struct(_) | Self::Map, Value::Object(map)) => {
                map.iter().map(|(key, it)| (format!("f:{key}"), it, self.field(key))).collect()
            }
            (Self::Set | Self::Keyed(_), Value::Array(items)) => {
                items.iter().map(|it| (self.item(it), it, Self::Leaf)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The name of an item of a list.
    fn item(self, item: &Value) -> String {
        match self {
            Self::Keyed(key) => {
                let map = Map::from_iter([(key.to_owned(), item[key].clone())]);
                format!("k:{}", Value::Object(map))
            }
            _ => format!("v:{item}"),
        }
    }
}

/// All fields that a value sets.
pub(super) fn fields(value: &Value, shape: Shape) -> FieldSet {
    let parts = shape.parts(value);
    if parts.is_empty() {
        return FieldSet::leaf();
    }
    let mut set = FieldSet::default();
    for (name, part, shape) in parts {
        set.insert(name, fields(part, shape));
    }
    set
}

/// In which fields two versions of a value differ; one of them may be missing.
pub(super) fn difference(old: Option<&Value>, new: Option<&Value>, shape: Shape) -> Difference {
    let mut found = Difference::default();
    let mut parts: BTreeMap<String, (Option<&Value>, Option<&Value>, Shape)> = BTreeMap::new();
    for (name, part, shape) in old.map(|it| shape.parts(it)).unwrap_or_default() {
        parts.insert(name, (Some(part), None, shape));
    }
    for (name, part, shape) in new.map(|it| shape.parts(it)).unwrap_or_default() {
        parts.entry(name).or_insert((None, None, shape)).1 = Some(part);
    }
    match (old, new) {
        (None, None) => {}
        (None, Some(_)) => found.added.is_member = true,
        (Some(_), None) => found.removed.is_member = true,
        // With parts, it is they that differ.
        (Some(old), Some(new)) => found.changed.is_member = parts.is_empty() && old != new,
    }
    for (name, (old, new, shape)) in parts {
        let part = difference(old, new, shape);
        found.added.insert(name.clone(), part.added);
        found.changed.insert(name.clone(), part.changed);
        found.removed.insert(name, part.removed);
    }
    found
}

/// Merges an applied value into an existing one; other fields stay.
pub(super) fn merge(target: &mut Value, wanted: &Value, shape: Shape) {
    match (&mut *target, wanted, shape) {
        (
            Value::Object(map),
            Value::Object(wanted),
            Shape::Object(_) | Shape::Struct(_) | Shape::Map,
        ) => {
            for (key, wanted) in wanted {
                merge(map.entry(key.clone()).or_insert(Value::Null), wanted, shape.field(key));
            }
        }
        (Value::Array(items), Value::Array(wanted), Shape::Set | Shape::Keyed(_)) => {
            for wanted in wanted {
                let name = shape.item(wanted);
                match items.iter_mut().find(|it| shape.item(it) == name) {
                    Some(item) => item.clone_from(wanted),
                    None => items.push(wanted.clone()),
                }
            }
        }
        _ => target.clone_from(wanted),
    }
}

/// Removes the `gone` fields from a value, unless another manager still `owns` them.
pub(super) fn prune(value: &mut Value, shape: Shape, gone: &FieldSet, owned: Option<&FieldSet>) {
    let owned_below = |name: &str| owned.and_then(|it| it.child(name));
    match value {
        Value::Object(map) => {
            for (name, gone) in gone.children() {
                let Some(key) = name.strip_prefix("f:") else { continue };
                let Some(part) = map.get_mut(key) else { continue };
                let (shape, owned) = (shape.field(key), owned_below(name));
                let has_parts = !shape.parts(part).is_empty();
                if has_parts {
                    prune(part, shape, gone, owned);
                }
                let is_left = has_parts && !shape.parts(part).is_empty();
                if owned.is_none() && !is_left {
                    map.shift_remove(key);
                }
            }
        }
        Value::Array(items) => items.retain(|it| {
            let name = shape.item(it);
            gone.child(&name).is_none() || owned_below(&name).is_some()
        }),
        _ => {}
    }
}
