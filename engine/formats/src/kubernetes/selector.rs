//! Decides which objects a selector means: regular expressions over version, kind, name and namespace, as `k8s_kind`,
//! `k8s_image_json_path` and `filter_yaml` take them.

use std::sync::OnceLock;

use engine_model::ObjectSelectorSpec;
use regex::Regex;

use super::object::Object;
use crate::golang::regexp::{self, RegexpError};

/// A selector ready to be matched.
#[derive(Clone, Debug)]
pub struct ObjectSelector {
    spec: ObjectSelectorSpec,
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
    pub fn partial(spec: &ObjectSelectorSpec) -> Result<Self, SelectorError> {
        let any_case = |pattern: &str| {
            if pattern.is_empty() { String::new() } else { format!("(?i){pattern}") }
        };
        let spec = ObjectSelectorSpec {
            api_version_regexp: any_case(&spec.api_version_regexp),
            kind_regexp: any_case(&spec.kind_regexp),
            name_regexp: any_case(&spec.name_regexp),
            namespace_regexp: any_case(&spec.namespace_regexp),
        };
        Self::new(spec)
    }

    /// A selector with patterns as they are shown in results.
    pub fn new(spec: ObjectSelectorSpec) -> Result<Self, SelectorError> {
        Ok(Self {
            api_version: compile("apiVersion", &spec.api_version_regexp)?,
            kind: compile("kind", &spec.kind_regexp)?,
            name: compile("name", &spec.name_regexp)?,
            namespace: compile("namespace", &spec.namespace_regexp)?,
            spec,
        })
    }

    /// The patterns, as they are shown in results.
    pub fn spec(&self) -> &ObjectSelectorSpec {
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
