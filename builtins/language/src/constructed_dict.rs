//! Decides what a dict is that a function of an API made: nobody can change it, and it knows which function that was.

use std::fmt;

use allocative::Allocative;
use starlark::{
    any::ProvidesStaticType,
    coerce::Coerce,
    starlark_complex_value,
    values::{
        Demand, Freeze, Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Trace, Value,
        ValueLifetimeless, ValueLike, dict::DictRef, starlark_value,
    },
};

use super::{
    api_value::GoType,
    attrs,
    error::{Complaint, Mistake, Site, raise, raise_at},
    native::{Outcome, native},
    value::{repr, type_name},
};

/// A frozen dict with a constructor.
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
pub struct ConstructedDictGen<V: ValueLifetimeless> {
    /// The fields as they were given; nobody else has this dict.
    dict: V,
    /// The function that made it.
    constructor: String,
    /// The name that Go has for its type.
    go_type: String,
    /// What the API wants to know about it, as text.
    payload: String,
}

starlark_complex_value!(pub ConstructedDict);

impl<'v> ConstructedDict<'v> {
    /// A dict that nobody else has, the function that made it, the name that Go has for its type, and
    /// what that function wants to know about it later.
    pub fn new(dict: Value<'v>, constructor: &str, go_type: String, payload: String) -> Self {
        Self { dict, constructor: constructor.to_owned(), go_type, payload }
    }

    /// The payload of the value, if this constructor made it.
    pub fn payload_of(value: Value<'v>, constructor: &str) -> Option<&'v str> {
        let made = Self::from_value(value).filter(|it| it.constructor == constructor)?;
        Some(&made.payload)
    }
}

impl<'v, V: ValueLike<'v>> ConstructedDictGen<V> {
    fn get(&self, key: Value<'v>) -> starlark::Result<Option<Value<'v>>> {
        let key = key.get_hashed().map_err(|_| {
            raise_at(Site::Operator, format!("unhashable type: {}", type_name(key)))
        })?;
        let dict = DictRef::from_value(self.dict.to_value());
        Ok(dict.and_then(|it| it.get_hashed(key)))
    }
}

fn cannot_insert() -> Complaint {
    Complaint::new("cannot insert into frozen hash table", Some(Mistake::FrozenDict))
}

impl<'v, V: ValueLike<'v>> fmt::Display for ConstructedDictGen<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&repr(self.dict.to_value()))
    }
}

#[starlark_value(type = "dict")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for ConstructedDictGen<V>
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
                native(attribute, |_, args| Err(args.complain(cannot_insert())))
            }
            _ => return attrs::find_attr(self.dict.to_value(), attribute, heap),
        };
        Some(heap.alloc(refusal))
    }

    fn dir_attr(&self) -> Vec<String> {
        attrs::attr_names(self.dict.to_value())
    }

    fn provide(&'v self, demand: &mut Demand<'_, 'v>) {
        demand.provide_value(GoType(self.go_type.clone()));
    }

    fn at(&self, index: Value<'v>, _: Heap<'v>) -> Outcome<'v> {
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
        Err(cannot_insert().raise_at(Site::Operator))
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
