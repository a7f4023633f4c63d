//! Text with a source: what files, commands and encoders yield. It does not mix with strings by itself.

use std::fmt;

use allocative::Allocative;
use starlark::{
    any::ProvidesStaticType,
    starlark_simple_value,
    values::{NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, ValueLike, starlark_value},
};

/// Text, and where it comes from.
#[derive(
    Clone, Debug, PartialEq, Eq, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative,
)]
pub struct Blob {
    text: String,
    source: String,
}

starlark_simple_value!(Blob);

impl Blob {
    /// Text from a source, such as `file: /x`.
    pub fn new(text: impl Into<String>, source: impl Into<String>) -> Self {
        Self { text: text.into(), source: source.into() }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where it comes from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

impl fmt::Display for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[starlark_value(type = "blob")]
impl<'v> StarlarkValue<'v> for Blob {
    fn to_bool(&self) -> bool {
        !self.text.is_empty()
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(other.downcast_ref::<Self>() == Some(self))
    }
}
