//! Decides which objects a selector means: regular expressions over version, kind, name and namespace, as `k8s_kind`,
//! `k8s_image_json_path` and `filter_yaml` take them.

use std::sync::OnceLock;

use regex::Regex;

use super::object::Object;
use crate::golang::regexp::{self, RegexpError};

/// The patterns of a selector as they are shown in results; empty patterns match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectorSpec {
    /// Matched against group and version.
    pub api_version: String,
    /// Matched against the kind.
    pub kind: String,
    /// Matched against the name.
    pub name: String,
    /// Matched against the namespace, `default` if there is none.
    pub namespace: String,
}

/// A selector ready to be matched.
#[derive(Clone, Debug)]
pub struct ObjectSelector {
    spec: SelectorSpec,
    api_version: Option<Pattern>,
    kind: Option<Pattern>,
    name: Option<Pattern>,
    namespace: Option<Pattern>,
}

/// A regular expression; compiling one takes longer than evaluating many a Tiltfile, so plain words
/// are compiled when they are first needed.
#[derive(Clone, Debug)]
struct Pattern {
    text: String,
    regex: OnceLock<Regex>,
}

impl Pattern {
    fn new(text: &str) -> Result<Self, RegexpError> {
        let pattern = Self { text: text.to_owned(), regex: OnceLock::new() };
        let words = text.strip_prefix("(?i)").unwrap_or(text);
        if !words.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'/') {
            // The cell is empty, so this sets it.
            let _ = pattern.regex.set(regexp::compile(text)?);
        }
        Ok(pattern)
    }

    fn is_match(&self, text: &str) -> bool {
        let compile = || regexp::compile(&self.text).expect("plain words are valid expressions");
        self.regex.get_or_init(compile).is_match(text)
    }
}

/// A selector with a pattern that is no regular expression.
#[derive(Debug, thiserror::Error)]
#[error("error parsing {field} regexp: {error}")]
pub struct SelectorError {
    field: &'static str,
    error: RegexpError,
}

impl ObjectSelector {
    /// A selector whose patterns may match anywhere, without regard to case.
    pub fn partial(spec: &SelectorSpec) -> Result<Self, SelectorError> {
        let any_case = |pattern: &str| {
            if pattern.is_empty() { String::new() } else { format!("(?i){pattern}") }
        };
        let spec = SelectorSpec {
            api_version: any_case(&spec.api_version),
            kind: any_case(&spec.kind),
            name: any_case(&spec.name),
            namespace: any_case(&spec.namespace),
        };
        Self::new(spec)
    }

    /// A selector with patterns as they are shown in results.
    pub fn new(spec: SelectorSpec) -> Result<Self, SelectorError> {
        Ok(Self {
            api_version: compile("apiVersion", &spec.api_version)?,
            kind: compile("kind", &spec.kind)?,
            name: compile("name", &spec.name)?,
            namespace: compile("namespace", &spec.namespace)?,
            spec,
        })
    }

    /// The patterns, as they are shown in results.
    pub fn spec(&self) -> &SelectorSpec {
        &self.spec
    }

    /// Whether all patterns match.
    pub fn matches(&self, object: &Object) -> bool {
        let matches = |pattern: &Option<Pattern>, text: &str| {
            pattern.as_ref().is_none_or(|it| it.is_match(text))
        };
        matches(&self.kind, object.kind())
            && matches(&self.name, object.name())
            && matches(&self.namespace, object.namespace())
            && self.api_version.as_ref().is_none_or(|it| it.is_match(&object.api_version()))
    }
}

fn compile(field: &'static str, pattern: &str) -> Result<Option<Pattern>, SelectorError> {
    if pattern.is_empty() {
        return Ok(None);
    }
    Pattern::new(pattern).map(Some).map_err(|error| SelectorError { field, error })
}
