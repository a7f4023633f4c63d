//! Decides which methods the built-in types have.

use starlark::{
    eval::Evaluator,
    values::{Value, ValueLike, bytes::StarlarkBytes, dict::DictRef, list::ListRef},
};

use super::{args::Args, native::Outcome, set::SetRef};

pub(crate) mod dict;
pub(crate) mod list;
pub(crate) mod set;
pub(crate) mod string;

/// The Rust side of a method.
pub(crate) type Method = for<'v> fn(&mut Evaluator<'v, '_, '_>, Value<'v>, Args<'v>) -> Outcome<'v>;

/// The methods of one type, sorted by name.
type Table = &'static [(&'static str, Method)];

/// Every type with methods.
const TABLES: [Table; 5] =
    [string::METHODS, list::METHODS, dict::METHODS, set::METHODS, string::BYTES_METHODS];

fn table_index(value: Value<'_>) -> Option<usize> {
    if value.unpack_str().is_some() {
        Some(0)
    } else if ListRef::from_value(value).is_some() {
        Some(1)
    } else if DictRef::from_value(value).is_some() {
        Some(2)
    } else if SetRef::of(value).is_some() {
        Some(3)
    } else if value.downcast_ref::<StarlarkBytes>().is_some() {
        Some(4)
    } else {
        None
    }
}

/// Whether the value is of a type whose attributes are its methods.
pub(crate) fn has_methods(value: Value<'_>) -> bool {
    table_index(value).is_some()
}

/// The method of that name.
pub(crate) fn find(value: Value<'_>, name: &str) -> Option<Method> {
    lookup(TABLES[table_index(value)?], name)
}

fn lookup(table: Table, name: &str) -> Option<Method> {
    let i = table.binary_search_by(|(method, _)| (*method).cmp(name)).ok()?;
    Some(table[i].1)
}

/// Whether any type has a method of that name.
pub(crate) fn is_method(name: &str) -> bool {
    TABLES.iter().any(|table| lookup(table, name).is_some())
}

/// The names of all methods of the value, sorted.
pub(crate) fn names(value: Value<'_>) -> impl Iterator<Item = &'static str> {
    let table = table_index(value).map_or(&[] as Table, |i| TABLES[i]);
    table.iter().map(|(name, _)| *name)
}

/// The names of the methods of a type (`string`, `list`, `dict`), or of all types.
pub fn method_names(ty: Option<&str>) -> Vec<&'static str> {
    let table = match ty {
        Some("string") => string::METHODS,
        Some("list") => list::METHODS,
        Some("dict") => dict::METHODS,
        _ => return all_names(),
    };
    table.iter().map(|(name, _)| *name).collect()
}

/// The names of all methods there are.
pub(crate) fn all_names() -> Vec<&'static str> {
    let mut names: Vec<_> = TABLES.iter().flat_map(|t| t.iter().map(|(name, _)| *name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The methods of one name, by type of receiver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidates([Option<Method>; 5]);

impl Candidates {
    pub(crate) fn of(name: &str) -> Self {
        Self(TABLES.map(|table| lookup(table, name)))
    }

    pub(crate) fn find(&self, receiver: Value<'_>) -> Option<Method> {
        self.0[table_index(receiver)?]
    }
}
