//! The errors of the API server, in the form and words of Kubernetes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{GROUP, GROUP_VERSION, Kind};

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// The HTTP status.
    pub code: u16,
    /// Kubernetes' word for it; empty if it has none.
    pub reason: &'static str,
    /// What people read.
    pub message: String,
    /// The object it is about.
    pub subject: Option<Box<Subject>>,
    /// What is wrong with which field.
    pub causes: Vec<FieldError>,
}

/// The object that an error is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The group.
    pub group: &'static str,
    /// The kind or its plural.
    pub kind: String,
    /// The name; empty if it has none.
    pub name: String,
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The field.
    pub field: String,
    /// What is wrong, beginning with the class of error, such as `Required value: `.
    pub message: String,
}

/// A field that another manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    /// Who, as messages show it.
    pub(super) manager: String,
    /// The field.
    pub(super) field: String,
}

impl FieldError {
    /// The maximum length of a manager's name.
    pub const MAX_MANAGER: usize = 128;

    /// What is wrong with the name of a manager.
    pub fn of_manager(manager: &str) -> Option<Self> {
        let field = "fieldManager";
        if manager.len() > Self::MAX_MANAGER {
            let message = format!("Too long: may not be more than {} bytes", Self::MAX_MANAGER);
            return Some(Self { field: field.to_owned(), message });
        }
        let detail = "should only contain printable characters";
        manager.chars().any(char::is_control).then(|| Self::invalid(field, &json!(manager), detail))
    }

    /// A field with a value that is not allowed.
    pub fn invalid(field: &str, value: &Value, detail: &str) -> Self {
        Self { field: field.to_owned(), message: format!("Invalid value: {value}: {detail}") }
    }

    /// A required field is missing.
    pub fn required(field: &str, detail: &str) -> Self {
        let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
        Self { field: field.to_owned(), message: format!("Required value{detail}") }
    }

    /// Parses an error from `field: message`.
    pub fn printed(text: &str) -> Self {
        let (field, message) = text.split_once(": ").unwrap_or(("", text));
        Self { field: field.to_owned(), message: message.to_owned() }
    }

    fn reason(&self) -> &'static str {
        match self.message.split(':').next().unwrap_or_default() {
            "Required value" => "FieldValueRequired",
            "Duplicate value" => "FieldValueDuplicate",
            "Unsupported value" => "FieldValueNotSupported",
            "Forbidden" => "FieldValueForbidden",
            message if message.starts_with("conflict with ") => "FieldManagerConflict",
            _ => "FieldValueInvalid",
        }
    }
}

impl ApiError {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), subject: None, causes: Vec::new() }
    }

    fn about(mut self, kind: Kind, name: &str) -> Self {
        let subject =
            Subject { group: GROUP, kind: kind.plural().to_owned(), name: name.to_owned() };
        self.subject = Some(Box::new(subject));
        self
    }

    /// The request is invalid.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// The object does not exist.
    pub fn not_found(kind: Kind, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{}.{GROUP} \"{name}\" not found", kind.plural()))
            .about(kind, name)
    }

    /// The object already exists.
    pub fn already_exists(kind: Kind, name: &str) -> Self {
        Self::new(
            409,
            "AlreadyExists",
            format!("{}.{GROUP} \"{name}\" already exists", kind.plural()),
        )
        .about(kind, name)
    }

    /// The object is not as the client believes.
    pub fn conflict(kind: Kind, name: &str, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {}.{GROUP} \"{name}\": {why}", kind.plural());
        Self::new(409, "Conflict", message).about(kind, name)
    }

    /// The object has changed since the client read it.
    pub fn modified(kind: Kind, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(kind, name, why)
    }

    /// Fields that are applied have other managers.
    pub(super) fn apply_conflict(conflicts: Vec<Conflict>) -> Self {
        let mut by_manager: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for conflict in &conflicts {
            by_manager.entry(&conflict.manager).or_default().push(&conflict.field);
        }
        let message = match conflicts.as_slice() {
            [one] => format!(
                "Apply failed with 1 conflict: conflict with {}: {}",
                one.manager, one.field
            ),
            many => {
                let managers = by_manager.iter().map(|(manager, fields)| {
                    format!("conflicts with {manager}:\n- {}", fields.join("\n- "))
                });
                let managers = managers.collect::<Vec<_>>().join("\n");
                format!("Apply failed with {} conflicts: {managers}", many.len())
            }
        };
        let causes = conflicts.into_iter().map(|it| FieldError {
            field: it.field,
            message: format!("conflict with {}", it.manager),
        });
        Self { causes: causes.collect(), ..Self::new(409, "Conflict", message) }
    }

    /// Fields of the object are wrong.
    pub fn invalid(kind: Kind, name: &str, causes: Vec<FieldError>) -> Self {
        let subject = Subject { group: GROUP, kind: kind.name().to_owned(), name: name.to_owned() };
        Self::invalid_subject(&format!("{}.{GROUP}", kind.name()), subject, causes)
    }

    /// Options of the request are wrong.
    pub fn invalid_options(options: &str, cause: FieldError) -> Self {
        let subject =
            Subject { group: "meta.k8s.io", kind: options.to_owned(), name: String::new() };
        Self::invalid_subject(&format!("{options}.meta.k8s.io"), subject, vec![cause])
    }

    /// The patch does not fit the object.
    pub fn invalid_patch(patch: &str, why: &str) -> Self {
        let cause = FieldError::invalid("patch", &json!(patch), why);
        Self::invalid_subject("", Subject::default(), vec![cause])
    }

    /// The patch cannot be applied.
    pub fn rejected_patch() -> Self {
        Self::new(422, "Invalid", "the server rejected our request due to an error in our request")
    }

    /// No resource is served at this path.
    pub fn no_such_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
    }

    /// The path does not support the method.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message)
    }

    /// The server cannot read the format of the body.
    pub fn unsupported_media_type() -> Self {
        Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type")
    }

    /// The server cannot write the requested format.
    pub fn not_acceptable() -> Self {
        let message =
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml";
        Self::new(406, "NotAcceptable", message)
    }

    /// The body exceeds the size limit.
    pub fn too_large() -> Self {
        Self::new(413, "RequestEntityTooLarge", "Request entity too large: limit is 20971520")
    }

    /// The patch exceeds the limits.
    pub(super) fn patch_too_large(why: &str) -> Self {
        Self::new(413, "RequestEntityTooLarge", format!("Request entity too large: {why}"))
    }

    /// The patch has an unknown directive.
    pub(super) fn unknown_directive(directive: &str, patch: &str) -> Self {
        Self::new(500, "", format!("unknown patch type: {directive} in map: {patch}"))
    }

    /// The applied object has unknown fields.
    pub(super) fn undeclared_fields(kind: Kind, name: &str, fields: &[String]) -> Self {
        let errors: Vec<String> =
            fields.iter().map(|it| format!(".{it}: field not declared in schema")).collect();
        let errors = match errors.as_slice() {
            [one] => one.clone(),
            many => format!("errors:\n  {}", many.join("\n  ")),
        };
        let what = format!("/{name}; {GROUP_VERSION}, Kind={}", kind.name());
        Self::new(500, "", format!("failed to create typed patch object ({what}): {errors}"))
    }

    /// The caller did not show the token. `target` is what the caller wanted to do, `subject` what it is about.
    pub fn forbidden(subject: Option<Subject>, target: &str) -> Self {
        let what = match &subject {
            Some(it) if it.name.is_empty() => format!("{}.{} is ", it.kind, it.group),
            Some(it) => format!("{}.{} \"{}\" is ", it.kind, it.group, it.name),
            None => String::new(),
        };
        let message = format!(
            "{what}forbidden: User \"system:anonymous\" cannot {target}: Everything is forbidden."
        );
        Self { subject: subject.map(Box::new), ..Self::new(403, "Forbidden", message) }
    }

    fn invalid_subject(what: &str, subject: Subject, causes: Vec<FieldError>) -> Self {
        let mut printed: Vec<String> = Vec::new();
        for cause in &causes {
            let text = format!("{}: {}", cause.field, cause.message);
            if !printed.contains(&text) {
                printed.push(text);
            }
        }
        let list = match printed.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{what} \"{}\" is invalid: {list}", subject.name);
        Self { subject: Some(Box::new(subject)), causes, ..Self::new(422, "Invalid", message) }
    }

    /// The error as clients get it: a Status object.
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        let mut details = json!({});
        if let Some(subject) = &self.subject {
            for (key, value) in
                [("name", subject.name.as_str()), ("group", subject.group), ("kind", &subject.kind)]
            {
                if !value.is_empty() {
                    details[key] = value.into();
                }
            }
        }
        if !self.causes.is_empty() {
            let causes = self
                .causes
                .iter()
                .map(|it| json!({"reason": it.reason(), "message": it.message, "field": it.field}));
            details["causes"] = causes.collect();
        }
        // Kubernetes has details for what it has a word for, if it is not just that nothing was understood.
        if !matches!(self.reason, "" | "BadRequest") {
            status["details"] = details;
        }
        status["code"] = self.code.into();
        status
    }
}
