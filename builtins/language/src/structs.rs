//! Decides what `struct(...)` values are: sorted fields, merging with `+`, equality by content.

use std::fmt;

use allocative::Allocative;
use engine_formats::golang::quote::quote;
use starlark::{
    any::ProvidesStaticType,
    coerce::Coerce,
    collections::StarlarkHasher,
    eval::Evaluator,
    starlark_complex_value,
    values::{
        Freeze, Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Trace, Value,
        ValueLifetimeless, ValueLike, starlark_value,
    },
};

use super::{
    args::Args,
    error::raise,
    native::{ModuleValue, Outcome},
};

/// The constructor of a value that is no [`Struct`] but passes for one, which it provides so that
/// its errors are worded like those of a struct.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ProvidesStaticType)]
pub(crate) struct StructConstructor(pub(crate) &'static str);

/// A struct value; its constructor is `struct` unless a builtin such as `link` made it.
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
pub struct StructGen<V: ValueLifetimeless> {
    constructor: String,
    /// Sorted by name.
    fields: Vec<(String, V)>,
}

starlark_complex_value!(pub Struct);

impl<'v> Struct<'v> {
    /// A struct with the given fields, in any order.
    pub fn new(constructor: &str, mut fields: Vec<(String, Value<'v>)>) -> Self {
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        Self { constructor: constructor.to_owned(), fields }
    }
}

impl<'v, V: ValueLike<'v>> fmt::Display for StructGen<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.constructor)?;
        for (i, (name, value)) in self.fields.iter().enumerate() {
            let separator = if i > 0 { ", " } else { "" };
            write!(f, "{separator}{name} = {}", super::value::repr(value.to_value()))?;
        }
        f.write_str(")")
    }
}

#[starlark_value(type = "struct")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for StructGen<V>
where
    Self: ProvidesStaticType<'v>,
{
    fn get_attr(&self, attribute: &str, _heap: Heap<'v>) -> Option<Value<'v>> {
        let i = self.fields.binary_search_by(|(name, _)| name.as_str().cmp(attribute)).ok()?;
        Some(self.fields[i].1.to_value())
    }

    fn dir_attr(&self) -> Vec<String> {
        self.fields.iter().map(|(name, _)| name.clone()).collect()
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        let Some(other) = Struct::from_value(other) else { return Ok(false) };
        if self.constructor != other.constructor || self.fields.len() != other.fields.len() {
            return Ok(false);
        }
        for ((a, x), (b, y)) in self.fields.iter().zip(&other.fields) {
            if a != b || !x.to_value().equals(*y)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn write_hash(&self, hasher: &mut StarlarkHasher) -> starlark::Result<()> {
        for (name, value) in &self.fields {
            std::hash::Hash::hash(name, hasher);
            value.write_hash(hasher)?;
        }
        Ok(())
    }
}

/// A struct seen through a value, frozen or not.
#[derive(Clone, Copy)]
pub struct StructRef<'v>(&'v Struct<'v>);

impl<'v> StructRef<'v> {
    /// The struct in a value.
    pub fn of(value: Value<'v>) -> Option<Self> {
        Struct::from_value(value).map(Self)
    }

    /// The name the struct is printed with.
    pub fn constructor(self) -> &'v str {
        &self.0.constructor
    }

    /// Fields in order of their names.
    pub fn fields(self) -> impl Iterator<Item = (&'v str, Value<'v>)> {
        self.0.fields.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// One field.
    pub fn field(self, name: &str) -> Option<Value<'v>> {
        let fields = &self.0.fields;
        let i = fields.binary_search_by(|(field, _)| field.as_str().cmp(name)).ok()?;
        Some(fields[i].1)
    }

    /// `self + other`: the fields of both, those of `other` winning.
    pub(crate) fn merge(self, other: Self) -> Result<Struct<'v>, String> {
        if self.constructor() != other.constructor() {
            return Err(format!(
                "cannot add structs of different constructors: {} + {}",
                quote(self.constructor()),
                quote(other.constructor())
            ));
        }
        let mut fields = other.0.fields.clone();
        fields
            .extend(self.0.fields.iter().filter(|(name, _)| other.field(name).is_none()).cloned());
        Ok(Struct::new(self.constructor(), fields))
    }
}

/// The builtin `struct(**fields)`.
pub(crate) fn make_struct<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    if !args.positional.is_empty() {
        return Err(raise("struct: unexpected positional arguments"));
    }
    let fields = args.named.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Ok(eval.heap().alloc(Struct::new("struct", fields)))
}

/// The builtin `module(name, **members)`.
pub(crate) fn make_module<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let Args { function, positional, named } = args;
    let mut name = String::new();
    let name_only = Args { function, positional, named: Vec::new() };
    name_only.unpack_positional(eval, 1, &mut [&mut name])?;
    let members = named.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Ok(eval.heap().alloc(ModuleValue::user(&name, members)))
}
