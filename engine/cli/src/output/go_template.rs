//! `-o go-template={{.metadata.name}}`: Go templates.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use engine_formats::golang::quote::quote;
use gotmpl::{MissingKey, Template, TemplateError, Value as TemplateValue};
use serde_json::Value;

use crate::failure::Failure;

/// A parsed template.
pub(crate) struct GoTemplate {
    text: String,
    template: Template,
}

impl std::fmt::Debug for GoTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GoTemplate").field("text", &self.text).finish_non_exhaustive()
    }
}

impl GoTemplate {
    /// Reads a template.
    pub(super) fn parse(text: &str, allow_missing_keys: bool) -> Result<Self, Failure> {
        let missing = if allow_missing_keys { MissingKey::Invalid } else { MissingKey::Error };
        let template = Template::new("output")
            .missing_key(missing)
            .func("exists", |args| Ok(TemplateValue::Bool(exists(args))))
            .func("base64decode", base64_decode)
            .parse(text)
            .map_err(|cause| unreadable(text, &cause))?;
        Ok(Self { text: text.to_owned(), template })
    }

    /// Renders an object.
    pub(super) fn render(&self, object: &Value) -> Result<String, Failure> {
        self.template.execute_to_string(&to_template_value(object)).map_err(|cause| {
            if let TemplateError::UndefinedFunction(_) = cause {
                return unreadable(&self.text, &cause);
            }
            let cause = match &cause {
                TemplateError::MissingKey { key } => {
                    format!("map has no entry for key {}", quote(key))
                }
                other => other.to_string(),
            };
            Failure::Kubectl(format!("error executing template {}: {cause}", quote(&self.text)))
        })
    }
}

/// Go says in which line of a template something is wrong, and knows all functions at once.
fn unreadable(text: &str, cause: &TemplateError) -> Failure {
    let (line, message) = match cause {
        TemplateError::Parse { line, message, .. } | TemplateError::Lex { line, message, .. } => {
            (*line, message.clone())
        }
        TemplateError::UndefinedFunction(name) => {
            let before = text.find(name.as_str()).map_or("", |at| &text[..at]);
            (before.matches('\n').count() + 1, format!("function {} not defined", quote(name)))
        }
        other => (1, other.to_string()),
    };
    Failure::Kubectl(format!("error parsing template {text}, template: output:{line}: {message}"))
}

/// Numbers are floats, as Go's JSON decoder makes them.
fn to_template_value(value: &Value) -> TemplateValue {
    match value {
        Value::Null => TemplateValue::Nil,
        Value::Bool(bool) => TemplateValue::Bool(*bool),
        Value::Number(number) => TemplateValue::Float(number.as_f64().unwrap_or_default()),
        Value::String(text) => TemplateValue::String(text.as_str().into()),
        Value::Array(items) => TemplateValue::List(items.iter().map(to_template_value).collect()),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(k, v)| (k.as_str().into(), to_template_value(v)));
            TemplateValue::Map(Arc::new(fields.collect()))
        }
    }
}

/// Whether a path of keys and indexes leads to something.
fn exists(args: &[TemplateValue]) -> bool {
    let Some((item, path)) = args.split_first() else { return false };
    let found = path.iter().try_fold(item.clone(), |value, step| match (&value, step) {
        (TemplateValue::Map(fields), TemplateValue::String(key)) => fields.get(key).cloned(),
        (TemplateValue::List(items), TemplateValue::Int(index)) => {
            items.get(usize::try_from(*index).ok()?).cloned()
        }
        _ => None,
    });
    found.is_some_and(|it| !matches!(it, TemplateValue::Nil))
}

fn base64_decode(args: &[TemplateValue]) -> Result<TemplateValue, TemplateError> {
    let text = args.first().and_then(TemplateValue::as_str).unwrap_or_default();
    let bytes = STANDARD
        .decode(text)
        .map_err(|cause| TemplateError::Exec(format!("base64 decode failed: {cause}")))?;
    Ok(TemplateValue::String(String::from_utf8_lossy(&bytes).into()))
}
