//! Decides what `string.elems()` and its relatives give: lazy views of a string's parts.

use std::fmt;

use allocative::Allocative;
use engine_formats::golang::quote::{quote, quote_bytes};
use starlark::{
    any::ProvidesStaticType,
    starlark_simple_value,
    values::{Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, starlark_value},
};

use super::index::byte_slice;

/// The elements or code points of a string, as strings or as numbers.
#[derive(Debug, Clone, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct Elems {
    text: String,
    ords: bool,
}

/// The code points of a string.
#[derive(Debug, Clone, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct Codepoints {
    text: String,
    ords: bool,
}

/// The bytes of a bytes value, as numbers.
#[derive(Debug, Clone, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct BytesElems(pub(crate) Vec<u8>);

starlark_simple_value!(Elems);
starlark_simple_value!(Codepoints);
starlark_simple_value!(BytesElems);

impl Elems {
    pub(crate) fn new(text: &str, ords: bool) -> Self {
        Self { text: text.to_owned(), ords }
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The element at a valid index.
    pub(crate) fn get<'v>(&self, i: usize, heap: Heap<'v>) -> Value<'v> {
        if self.ords {
            heap.alloc(i32::from(self.text.as_bytes()[i]))
        } else {
            heap.alloc(byte_slice(&self.text, i, i + 1).as_ref())
        }
    }
}

impl Codepoints {
    pub(crate) fn new(text: &str, ords: bool) -> Self {
        Self { text: text.to_owned(), ords }
    }
}

impl fmt::Display for Elems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = if self.ords { "elem_ords" } else { "elems" };
        write!(f, "{}.{method}()", quote(&self.text))
    }
}

impl fmt::Display for Codepoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = if self.ords { "codepoint_ords" } else { "codepoints" };
        write!(f, "{}.{method}()", quote(&self.text))
    }
}

impl fmt::Display for BytesElems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}.elems()", quote_bytes(&self.0))
    }
}

#[starlark_value(type = "string.elems")]
impl<'v> StarlarkValue<'v> for Elems {
    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(Elems::from_value(other)
            .is_some_and(|other| self.text == other.text && self.ords == other.ords))
    }

    fn length(&self) -> starlark::Result<i32> {
        Ok(i32::try_from(self.text.len()).unwrap_or(i32::MAX))
    }

    fn iterate_collect(&self, heap: Heap<'v>) -> starlark::Result<Vec<Value<'v>>> {
        Ok((0..self.text.len()).map(|i| self.get(i, heap)).collect())
    }
}

#[starlark_value(type = "string.codepoints")]
impl<'v> StarlarkValue<'v> for Codepoints {
    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(Codepoints::from_value(other)
            .is_some_and(|other| self.text == other.text && self.ords == other.ords))
    }

    // The language knows no length here; the crate asks for one when it unpacks.
    fn length(&self) -> starlark::Result<i32> {
        Ok(i32::try_from(self.text.chars().count()).unwrap_or(i32::MAX))
    }

    fn iterate_collect(&self, heap: Heap<'v>) -> starlark::Result<Vec<Value<'v>>> {
        let chars = self.text.chars();
        Ok(chars
            .map(|c| {
                if self.ords {
                    heap.alloc(u32::from(c))
                } else {
                    heap.alloc(c.encode_utf8(&mut [0; 4]) as &str)
                }
            })
            .collect())
    }
}

#[starlark_value(type = "bytes.elems")]
impl<'v> StarlarkValue<'v> for BytesElems {
    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(BytesElems::from_value(other).is_some_and(|other| self.0 == other.0))
    }

    fn length(&self) -> starlark::Result<i32> {
        Ok(i32::try_from(self.0.len()).unwrap_or(i32::MAX))
    }

    fn iterate_collect(&self, heap: Heap<'v>) -> starlark::Result<Vec<Value<'v>>> {
        Ok(self.0.iter().map(|byte| heap.alloc(i32::from(*byte))).collect())
    }
}
