//! Decides what a spec is as a value: a frozen dict that knows which constructor made it.

#![expect(unsafe_code, reason = "the starlark crate derives unsafe impls for its values")]

use std::fmt;

use allocative::Allocative;
use serde_json::Value as Json;
use starlark::{
    any::ProvidesStaticType,
    coerce::Coerce,
    starlark_complex_value,
    values::{
        Demand, Freeze, Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Trace, Value,
        ValueLifetimeless, ValueLike, dict::DictRef, starlark_value,
    },
};

use super::{super::coerce::GoType, table::Spec};
use crate::dialect::{Site, attrs, native, raise, raise_at, repr, type_name};

/// What a function for a nested spec returns.
#[derive(
    Debug,
    Clone,
    Trace,
    Coerce,
    Freeze,
    ProvidesStaticType,
    NoSerialize,
    StarlarkPagablePanic,
    Allocative,
)]
#[repr(C)]
pub(super) struct SpecValueGen<V: ValueLifetimeless> {
    /// The fields as they were given; nobody else has this dict.
    dict: V,
    /// The function that made it.
    constructor: String,
    /// The spec in the API, as text.
    json: String,
}

starlark_complex_value!(pub(super) SpecValue);

impl<'v> SpecValue<'v> {
    /// The fields as given, and what they are in the API.
    pub(super) fn new(spec: &Spec, dict: Value<'v>, json: &Json) -> Self {
        Self { dict, constructor: spec.function.to_owned(), json: json.to_string() }
    }

    /// What the value is in the API, if this constructor made it.
    pub(super) fn json_of(value: Value<'v>, spec: &Spec) -> Option<Json> {
        let made = Self::from_value(value).filter(|it| it.constructor == spec.function)?;
        Some(serde_json::from_str(&made.json).expect("it was printed from JSON"))
    }
}

impl<'v, V: ValueLike<'v>> SpecValueGen<V> {
    fn get(&self, key: Value<'v>) -> starlark::Result<Option<Value<'v>>> {
        let key = key.get_hashed().map_err(|_| {
            raise_at(Site::Operator, format!("unhashable type: {}", type_name(key)))
        })?;
        let dict = DictRef::from_value(self.dict.to_value());
        Ok(dict.and_then(|it| it.get_hashed(key)))
    }
}

/// The type of what a function makes: `*v1alpha1.HTTPGetAction` for `http_get_action`.
fn go_type(function: &str) -> String {
    let mut name = String::from("*v1alpha1.");
    for word in function.split('_') {
        match word {
            "http" | "tcp" | "ui" => name.push_str(&word.to_ascii_uppercase()),
            _ => {
                let (first, rest) = word.split_at(word.len().min(1));
                name.push_str(&first.to_ascii_uppercase());
                name.push_str(rest);
            }
        }
    }
    name
}

impl<'v, V: ValueLike<'v>> fmt::Display for SpecValueGen<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&repr(self.dict.to_value()))
    }
}

#[starlark_value(type = "dict")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for SpecValueGen<V>
where
    Self: ProvidesStaticType<'v>,
{
    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        let refusal = match attribute {
            "clear" => native("clear", |_, _| Err(raise("cannot clear frozen hash table"))),
            "pop" | "popitem" => {
                native(attribute, |_, args| Err(args.error("cannot delete from frozen hash table")))
            }
            "setdefault" | "update" => {
                native(attribute, |_, args| Err(args.error("cannot insert into frozen hash table")))
            }
            _ => return attrs::find_attr(self.dict.to_value(), attribute, heap),
        };
        Some(heap.alloc(refusal))
    }

    fn dir_attr(&self) -> Vec<String> {
        attrs::attr_names(self.dict.to_value())
    }

    fn provide(&'v self, demand: &mut Demand<'_, 'v>) {
        demand.provide_value(GoType(go_type(&self.constructor)));
    }

    fn at(&self, index: Value<'v>, _: Heap<'v>) -> starlark::Result<Value<'v>> {
        match self.get(index)? {
            Some(value) => Ok(value),
            None => Err(raise_at(Site::Operator, format!("key {} not in dict", repr(index)))),
        }
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        match DictRef::from_value(other) {
            Some(_) => self.dict.to_value().equals(other),
            None => Ok(false),
        }
    }

    fn set_at(&self, _: Value<'v>, _: Value<'v>) -> starlark::Result<()> {
        Err(raise_at(Site::Operator, "cannot insert into frozen hash table"))
    }

    fn is_in(&self, other: Value<'v>) -> starlark::Result<bool> {
        // A key that cannot be hashed is not in a dict.
        Ok(matches!(self.get(other), Ok(Some(_))))
    }

    fn iterate_collect(&self, heap: Heap<'v>) -> starlark::Result<Vec<Value<'v>>> {
        Ok(self.dict.to_value().iterate(heap)?.collect())
    }

    fn length(&self) -> starlark::Result<i32> {
        self.dict.to_value().length()
    }

    fn to_bool(&self) -> bool {
        self.dict.to_value().to_bool()
    }
}
