//! Text with a source: the result of files, commands and encoders. It does not convert to a string implicitly.

use std::fmt;

use builtins_language::{ApiValue, api_value};

/// Text, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    text: String,
    source: String,
}

api_value!(Blob);

impl Blob {
    /// Text from a source, such as `file: /x`.
    pub fn new(text: impl Into<String>, source: impl Into<String>) -> Self {
        Self { text: text.into(), source: source.into() }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where it comes from.
    pub fn source(&self) -> &str {
        &self.source
    }
}

impl fmt::Display for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl ApiValue for Blob {
    const TYPE: &'static str = "blob";

    fn is_true(&self) -> bool {
        !self.text.is_empty()
    }

    fn is_equal(&self, other: &Self) -> bool {
        self == other
    }
}
