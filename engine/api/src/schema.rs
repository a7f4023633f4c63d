//! The fields of every kind: their names, types and documentation.
//!
//! One table, `schema/types.txt`, serves decoding, printing, `OpenAPI` and `explain`.

use std::{collections::HashMap, mem, sync::LazyLock};

use serde_json::{Map, Value, json};

/// A structure.
#[derive(Debug)]
pub struct Type {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Its fields, in the order in which they are printed.
    pub fields: &'static [Field],
}

/// A field of a structure.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Whether it has to be there.
    pub presence: Presence,
    /// What it holds.
    pub ty: Ty,
    /// What it means.
    pub doc: &'static str,
}

/// Whether a field has to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Documented as needed, and printed even if it is empty.
    Required,
    /// Not needed, but printed even if it is empty.
    Shown,
    /// Not printed if it is empty; structures and times that cannot be missing are never empty.
    Optional,
}

/// What a field holds. Those that end in `Ptr` can be missing, the others are empty instead.
#[derive(Clone, Copy, Debug)]
pub enum Ty {
    /// A text.
    Str,
    /// A text that can be missing.
    StrPtr,
    /// Yes or no.
    Bool,
    /// A number of 32 bits.
    Int32,
    /// A number of 64 bits.
    Int64,
    /// A time in seconds.
    Time,
    /// A time in seconds that can be missing.
    TimePtr,
    /// A time in microseconds.
    MicroTime,
    /// A time in microseconds that can be missing.
    MicroTimePtr,
    /// A span of time.
    Duration,
    /// A span of time that can be missing.
    DurationPtr,
    /// A list of texts.
    Strings,
    /// A list of numbers.
    Ints,
    /// Texts by text.
    Map,
    /// A structure.
    Struct(&'static Type),
    /// A structure that can be missing.
    Ptr(&'static Type),
    /// A list of structures.
    List(&'static Type),
    /// An object of any form, which is not looked into.
    Any,
}

/// All types by name, read from the end of the table: a type refers only to types further down.
static TYPES: LazyLock<HashMap<&str, &Type>> = LazyLock::new(|| {
    let mut types = HashMap::new();
    let mut fields = Vec::new();
    for line in include_str!("schema/types.txt").lines().rev().filter(|it| !it.starts_with('#')) {
        if let Some(field) = line.strip_prefix("  ") {
            fields.push(Field::read(field, &types));
        } else if let Some((name, doc)) = line.split_once(' ') {
            fields.reverse();
            let fields = mem::take(&mut fields).leak();
            types.insert(name, &*Box::leak(Box::new(Type { name, doc, fields })));
        }
    }
    types
});

impl Type {
    /// The type of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TYPES.get(name).copied()
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|it| it.name == name)
    }

    /// A structure in which nothing was set, as it is printed.
    pub fn zero(&self) -> Value {
        let mut map = Map::new();
        for field in self.fields {
            if let Some(zero) = field.missing() {
                map.insert(field.name.to_owned(), zero);
            }
        }
        Value::Object(map)
    }
}

impl Field {
    fn read(line: &'static str, types: &HashMap<&str, &'static Type>) -> Self {
        let (name, rest) = line.split_once(' ').expect("a field has a type");
        let (ty, doc) = rest.split_once(' ').expect("a field has a meaning");
        let (name, presence) = if let Some(name) = name.strip_suffix('!') {
            (name, Presence::Required)
        } else if let Some(name) = name.strip_suffix('+') {
            (name, Presence::Shown)
        } else {
            (name, Presence::Optional)
        };
        Self { name, presence, ty: Ty::read(ty, types), doc }
    }

    /// How the field is printed if it is missing.
    pub fn missing(&self) -> Option<Value> {
        let zero = match self.ty {
            Ty::Struct(nested) => return Some(nested.zero()),
            Ty::Time | Ty::MicroTime => return Some(Value::Null),
            Ty::Duration => return Some(json!("0s")),
            Ty::Any => return None,
            Ty::Str => json!(""),
            Ty::Bool => json!(false),
            Ty::Int32 | Ty::Int64 => json!(0),
            _ => Value::Null,
        };
        (self.presence != Presence::Optional).then_some(zero)
    }

    /// The structure that the field holds, alone or in a list.
    pub fn nested(&self) -> Option<&'static Type> {
        match self.ty {
            Ty::Struct(nested) | Ty::Ptr(nested) | Ty::List(nested) => Some(nested),
            _ => None,
        }
    }
}

impl Ty {
    fn read(word: &str, types: &HashMap<&str, &'static Type>) -> Self {
        let nested = |name| *types.get(name).expect("a type refers to types further down");
        match word {
            "string" => Self::Str,
            "*string" => Self::StrPtr,
            "bool" => Self::Bool,
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "time" => Self::Time,
            "*time" => Self::TimePtr,
            "microtime" => Self::MicroTime,
            "*microtime" => Self::MicroTimePtr,
            "duration" => Self::Duration,
            "*duration" => Self::DurationPtr,
            "[]string" => Self::Strings,
            "[]int32" => Self::Ints,
            "map" => Self::Map,
            "any" => Self::Any,
            _ => match (word.strip_prefix('*'), word.strip_prefix("[]")) {
                (Some(name), _) => Self::Ptr(nested(name)),
                (_, Some(name)) => Self::List(nested(name)),
                _ => Self::Struct(nested(word)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Kind, KindSchema};

    #[test]
    fn every_line_of_the_table_is_a_type_or_a_field() {
        let lines = include_str!("schema/types.txt").lines();
        let lines = lines.filter(|it| !it.is_empty() && !it.starts_with('#')).count();
        assert_eq!(TYPES.values().map(|it| 1 + it.fields.len()).sum::<usize>(), lines);
    }

    #[test]
    fn every_type_belongs_to_a_kind_or_to_metadata() {
        fn reach(ty: &'static Type, names: &mut BTreeSet<&'static str>) {
            names.insert(ty.name);
            ty.fields.iter().filter_map(Field::nested).for_each(|it| reach(it, names));
        }
        let metas = ["ObjectMeta", "ListMeta"].map(Type::named);
        let kinds = Kind::ALL.into_iter().flat_map(|it| [it.spec(), it.status()]);
        let mut reached = BTreeSet::new();
        metas.into_iter().chain(kinds).flatten().for_each(|it| reach(it, &mut reached));
        assert_eq!(reached, TYPES.keys().copied().collect());
    }

    #[test]
    fn an_empty_structure_shows_what_is_never_left_out() {
        for (name, expected) in [
            ("KubernetesApplySpec", json!({"timeout": "0s", "cluster": ""})),
            (
                "UIResourceStatus",
                json!({
                    "lastDeployTime": null,
                    "pendingBuildSince": null,
                    "disableStatus": {"enabledCount": 0, "disabledCount": 0, "state": "", "sources": null},
                }),
            ),
            ("CmdStatus", json!({})),
        ] {
            assert_eq!(Type::named(name).map(Type::zero), Some(expected), "{name}");
        }
    }
}
