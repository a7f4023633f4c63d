//! Decides how an API adds types to the language: a Rust type that implements [`ApiValue`] and is named to
//! [`api_value!`](crate::api_value!) is one of them. What it does not define is refused as for every other type.

use std::fmt;

use starlark::{
    any::ProvidesStaticType,
    collections::StarlarkHasher,
    values::{Demand, Heap, Value},
};

use super::{
    attrs::OwnAttributes,
    crate_words::{NOT_HASHABLE, VALUE_OF_TYPE},
    structs::StructConstructor,
};

/// A type of an API, whose values do not change and contain no other values.
pub trait ApiValue: fmt::Debug + fmt::Display + Send + Sync + Sized + 'static {
    /// What `type(value)` says.
    const TYPE: &'static str;

    /// Whether a condition takes the value for true.
    fn is_true(&self) -> bool {
        true
    }

    /// Whether another value of this type is equal; every value equals itself.
    fn is_equal(&self, _other: &Self) -> bool {
        false
    }

    /// Feeds the hasher, or raises an error if the value cannot be a key.
    fn write_hash(&self, _hasher: &mut StarlarkHasher) -> starlark::Result<()> {
        Err(starlark::Error::new_other(NotHashable(Self::TYPE)))
    }

    /// The attribute of a name.
    fn attr<'v>(&self, _name: &str, _heap: Heap<'v>) -> Option<Value<'v>> {
        None
    }

    /// The names of all attributes.
    fn attr_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The name that Go has for the type, if it does not follow from [`ApiValue::TYPE`].
    fn go_type(&self) -> Option<String> {
        None
    }

    /// The constructor of a value that passes for a struct: errors are worded like those of one.
    fn struct_constructor(&self) -> Option<&'static str> {
        None
    }

    /// The name that Go has for the type, if the reference looks for its attributes itself and says
    /// in words of its own that there is none.
    fn attribute_owner(&self) -> Option<&'static str> {
        None
    }
}

/// A type of an API that passes for a dict; [`api_mapping!`](crate::api_mapping) makes it one.
pub trait ApiMapping: ApiValue {
    /// How many keys there are.
    fn n_keys(&self) -> usize;
    /// The keys, in the order of a loop.
    fn keys<'v>(&self, heap: Heap<'v>) -> Vec<Value<'v>>;
    /// Whether there is such a key.
    fn has_key(&self, key: Value<'_>) -> bool;
    /// The value of a key, or an error if there is none.
    fn at<'v>(&self, key: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>>;
    /// Sets the value of a key.
    fn set_at<'v>(&self, key: Value<'v>, value: Value<'v>) -> starlark::Result<()>;
}

/// The name that Go has for the type of a value, if it does not follow from what `type()` says.
pub fn own_go_type(value: Value<'_>) -> Option<String> {
    value.request_value::<GoType>().map(|GoType(name)| name)
}

/// What a value provides to [`own_go_type`].
#[derive(Debug, ProvidesStaticType)]
pub(crate) struct GoType(pub(crate) String);

/// Provided by a value that is no dict but passes for one.
#[derive(Debug, Clone, Copy, ProvidesStaticType)]
pub(crate) struct PassesForDict;

/// Provides what an [`ApiValue`] says about itself.
#[doc(hidden)]
pub fn provide<T: ApiValue>(value: &T, demand: &mut Demand<'_, '_>) {
    if let Some(name) = value.go_type() {
        demand.provide_value(GoType(name));
    }
    if let Some(name) = value.struct_constructor() {
        demand.provide_value(StructConstructor(name));
    }
    if let Some(name) = value.attribute_owner() {
        demand.provide_value(OwnAttributes(name));
    }
}

/// Provides that a value passes for a dict.
#[doc(hidden)]
pub fn provide_mapping(demand: &mut Demand<'_, '_>) {
    demand.provide_value(PassesForDict);
}

/// The error that the crate raises for its own types without a hash.
#[derive(Debug, thiserror::Error)]
#[error("{VALUE_OF_TYPE}{0}` is {NOT_HASHABLE}")]
struct NotHashable(&'static str);

/// Makes a type that implements [`ApiValue`] a type of the language.
#[macro_export]
macro_rules! api_value {
    ($value:ident) => {
        $crate::api_value!(@impl 'v, $value, {
            fn provide(&'v self, demand: &mut starlark::values::Demand<'_, 'v>) {
                $crate::macro_refs::provide(self, demand);
            }
        });
    };
    (@impl $v:lifetime, $value:ident, { $($more:tt)* }) => {
        const _: () = {
            use $crate::macro_refs::{allocative, serde, starlark};
            use $crate::ApiValue;

            // SAFETY: the type has no lifetime, as `ApiValue` asks for `'static`.
            #[allow(unsafe_code, reason = "the crate has no safe way to say so")]
            unsafe impl<$v> starlark::any::ProvidesStaticType<$v> for $value {
                type StaticType = $value;
            }

            impl allocative::Allocative for $value {
                fn visit<'a, 'b: 'a>(&self, visitor: &'a mut allocative::Visitor<'b>) {
                    visitor.enter_self_sized::<Self>().exit();
                }
            }

            impl serde::Serialize for $value {
                fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                    Err(serde::ser::Error::custom("values of an API are not serialized"))
                }
            }

            starlark::starlark_simple_value!($value);

            #[starlark::values::starlark_value(type = <$value as $crate::ApiValue>::TYPE)]
            impl<$v> starlark::values::StarlarkValue<$v> for $value {
                fn to_bool(&self) -> bool {
                    self.is_true()
                }

                fn equals(&self, other: starlark::values::Value<$v>) -> starlark::Result<bool> {
                    Ok(Self::from_value(other).is_some_and(|other| self.is_equal(other)))
                }

                fn write_hash(
                    &self,
                    hasher: &mut starlark::collections::StarlarkHasher,
                ) -> starlark::Result<()> {
                    ApiValue::write_hash(self, hasher)
                }

                fn get_attr(
                    &self,
                    name: &str,
                    heap: starlark::values::Heap<$v>,
                ) -> Option<starlark::values::Value<$v>> {
                    self.attr(name, heap)
                }

                fn dir_attr(&self) -> Vec<String> {
                    self.attr_names()
                }

                $($more)*
            }
        };
    };
}

/// Makes a type that implements [`ApiMapping`] a type of the language.
#[macro_export]
macro_rules! api_mapping {
    ($value:ident) => {
        $crate::api_value!(@impl 'v, $value, {
            fn provide(&'v self, demand: &mut starlark::values::Demand<'_, 'v>) {
                $crate::macro_refs::provide(self, demand);
                $crate::macro_refs::provide_mapping(demand);
            }

            fn length(&self) -> starlark::Result<i32> {
                Ok(i32::try_from($crate::ApiMapping::n_keys(self)).unwrap_or(i32::MAX))
            }

            fn at(
                &self,
                key: starlark::values::Value<'v>,
                heap: starlark::values::Heap<'v>,
            ) -> starlark::Result<starlark::values::Value<'v>> {
                $crate::ApiMapping::at(self, key, heap)
            }

            fn set_at(
                &self,
                key: starlark::values::Value<'v>,
                value: starlark::values::Value<'v>,
            ) -> starlark::Result<()> {
                $crate::ApiMapping::set_at(self, key, value)
            }

            fn is_in(&self, key: starlark::values::Value<'v>) -> starlark::Result<bool> {
                Ok($crate::ApiMapping::has_key(self, key))
            }

            fn iterate_collect(
                &self,
                heap: starlark::values::Heap<'v>,
            ) -> starlark::Result<Vec<starlark::values::Value<'v>>> {
                Ok($crate::ApiMapping::keys(self, heap))
            }
        });
    };
}
