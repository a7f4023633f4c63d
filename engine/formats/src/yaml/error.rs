//! The errors of the YAML readers, worded exactly as the Go libraries word them.

use thiserror::Error as ThisError;

/// Why a text could not be read as YAML.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum Error {
    /// go-yaml rejects the text; the message includes the line where go-yaml gives one.
    #[error("yaml: {0}")]
    Yaml(String),
    /// The YAML is fine, but holds a value that JSON cannot express.
    #[error("{0}")]
    Json(String),
    /// The document is nested deeper than Go's JSON decoder accepts.
    #[error("invalid character '{0}' exceeded max depth")]
    TooDeep(char),
    /// A line that starts with `---` goes on with text.
    #[error("invalid Yaml document separator: {0}")]
    Separator(String),
}

impl Error {
    pub(super) fn yaml(message: impl Into<String>) -> Self {
        Self::Yaml(message.into())
    }

    /// Words the error as `sigs.k8s.io/yaml`'s `Unmarshal` does, which is what Tilt prints.
    pub fn while_unmarshaling(&self) -> String {
        match self {
            Self::Yaml(_) | Self::Json(_) => format!("error converting YAML to JSON: {self}"),
            Self::TooDeep(_) => format!("error unmarshaling JSON: while decoding JSON: {self}"),
            Self::Separator(_) => self.to_string(),
        }
    }
}
