//! Requests of clients: every check between a request and the store.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    Kind,
    error::{ApiError, FieldError},
    incoming::{Incoming, ReadError},
    managed::{self, Managed, Writer},
    object::{Object, Parts, keyed},
    patch::Patch,
    selector::Selector,
    store::{Store, Write, now},
    validate,
};

/// Which part of an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subresource {
    /// Everything but the status.
    Main,
    /// Only the status.
    Status,
}

/// How unknown fields are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Validation {
    /// They are dropped.
    Ignore,
    /// They are dropped, and the client is told.
    #[default]
    Warn,
    /// The request is refused.
    Strict,
}

/// Options of a write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Whether nothing is stored.
    pub dry_run: bool,
    /// How unknown fields are treated.
    pub validation: Validation,
    /// Who writes, for the record of who manages which field.
    pub manager: String,
    /// Whether fields that others manage may be applied.
    pub force: bool,
    /// Fields that the client gave more than once.
    pub duplicates: Vec<String>,
}

/// The result of a write.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The object as it is now.
    pub object: Arc<Object>,
    /// Whether it is new.
    pub created: bool,
    /// What the client should know.
    pub warnings: Vec<String>,
}

impl Store {
    /// Creates an object of a client; a status that it has is kept.
    ///
    /// # Errors
    /// If it is invalid, or already exists.
    pub fn create(
        &self,
        kind: Kind,
        body: &Value,
        options: &WriteOptions,
    ) -> Result<Saved, ApiError> {
        let incoming = read(kind, body, options)?;
        incoming.create(self.write(true), kind, options)
    }

    /// Replaces an object, or its status, with the version that a client sends.
    ///
    /// # Errors
    /// If it is invalid, does not exist, or has changed since the client read it.
    pub fn update(
        &self,
        kind: Kind,
        name: &str,
        body: &Value,
        part: Subresource,
        options: &WriteOptions,
    ) -> Result<Saved, ApiError> {
        let incoming = read(kind, body, options)?;
        incoming.require_name(name)?;
        let write = self.write(true);
        let old = write.get(kind, name).ok_or_else(|| ApiError::not_found(kind, name))?;
        if incoming.text("resourceVersion") != old.resource_version().to_string() {
            return Err(ApiError::modified(kind, name));
        }
        incoming.replace(write, &old, part, options)
    }

    /// Changes fields of an object, or of its status.
    ///
    /// # Errors
    /// If the result is invalid, or the object does not exist.
    pub fn patch(
        &self,
        kind: Kind,
        name: &str,
        patch: &Patch,
        part: Subresource,
        options: &WriteOptions,
    ) -> Result<Saved, ApiError> {
        let write = self.write(true);
        let old = write.get(kind, name);
        if let Patch::Apply(wanted) = patch {
            return self::apply(write, (kind, name), old.as_ref(), wanted, part, options);
        }
        let old = old.ok_or_else(|| ApiError::not_found(kind, name))?;
        let patched = patch.apply(old.value())?;
        let incoming = Incoming::read(kind, &patched, options.validation).map_err(|error| {
            ApiError::invalid_patch(&patch.shown(&patched), &error.why_patch(patch))
        })?;
        incoming.require_name(name)?;
        let version = incoming.text("resourceVersion");
        if !version.is_empty() && version != old.resource_version().to_string() {
            return Err(ApiError::modified(kind, name));
        }
        incoming.replace(write, &old, part, options)
    }

    /// Deletes an object; one with finalizers is only marked.
    ///
    /// # Errors
    /// If the object does not exist, or is not the one that the client means.
    pub fn delete(
        &self,
        kind: Kind,
        name: &str,
        preconditions: &Value,
        dry_run: bool,
    ) -> Result<Arc<Object>, ApiError> {
        let mut write = self.write(true);
        let old = write.get(kind, name).ok_or_else(|| ApiError::not_found(kind, name))?;
        for (field, what, actual) in [
            ("uid", "UID", old.uid().to_owned()),
            ("resourceVersion", "ResourceVersion", old.resource_version().to_string()),
        ] {
            if let Some(wanted) = preconditions[field].as_str().filter(|it| *it != actual) {
                let why = format!(
                    "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {actual}"
                );
                return Err(ApiError::conflict(kind, name, &why));
            }
        }
        Ok(if dry_run { old } else { delete(&mut write, &old) })
    }

    /// Deletes the objects that are meant.
    #[expect(
        clippy::must_use_candidate,
        reason = "whoever wants them gone need not know which there were"
    )]
    pub fn delete_collection(
        &self,
        kind: Kind,
        selector: &Selector,
        dry_run: bool,
    ) -> Vec<Arc<Object>> {
        let mut write = self.write(true);
        let meant: Vec<_> =
            write.list(kind).into_iter().filter(|it| selector.matches(it)).collect();
        if !dry_run {
            for object in &meant {
                delete(&mut write, object);
            }
        }
        meant
    }
}

/// The object that a client sent.
fn read(kind: Kind, body: &Value, options: &WriteOptions) -> Result<Incoming, ApiError> {
    Incoming::read_text(kind, body, &options.duplicates, options.validation)
        .map_err(ReadError::into_refusal)
}

/// Makes an object what a client wants it to be, and makes it if there is none.
fn apply(
    write: Write<'_>,
    (kind, name): (Kind, &str),
    old: Option<&Arc<Object>>,
    wanted: &Value,
    part: Subresource,
    options: &WriteOptions,
) -> Result<Saved, ApiError> {
    // What is applied has to make sense by itself, whatever it is merged into.
    let read = |object: &Value, validation| {
        Incoming::read(kind, object, validation).map_err(ReadError::into_refusal)
    };
    if wanted["kind"].as_str().is_none() || wanted["apiVersion"].as_str().is_none() {
        return Err(ApiError::bad_request("invalid object type: /, Kind="));
    }
    let given = read(wanted, Validation::Warn)?;
    given.check_name(name)?;
    if !given.unknown.is_empty() {
        return Err(ApiError::undeclared_fields(kind, name, &given.unknown));
    }
    if given.managed.is_some() {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    let current = old.map_or_else(|| json!({"metadata": {"name": name}}), |it| it.value());
    let writer = Writer { manager: &options.manager, part };
    let (new, applied) = managed::apply(kind, writer, &current, wanted);
    let mut incoming = read(&new, Validation::Ignore)?;
    incoming.applied = Some(applied);
    let Some(old) = old else {
        if part == Subresource::Status {
            return Err(ApiError::not_found(kind, name));
        }
        return incoming.create(write, kind, options);
    };
    let version = given.metadata.get("resourceVersion").and_then(Value::as_str).unwrap_or_default();
    if !version.is_empty() && version != old.resource_version().to_string() {
        return Err(ApiError::modified(kind, name));
    }
    incoming.replace(write, old, part, options)
}

fn delete(write: &mut Write<'_>, object: &Arc<Object>) -> Arc<Object> {
    let metadata = object.metadata();
    let held = metadata["finalizers"].as_array().is_some_and(|it| !it.is_empty());
    if !held {
        return write.remove(object.kind(), object.name()).unwrap_or_else(|| object.clone());
    }
    if metadata.get("deletionTimestamp").is_some() {
        return object.clone();
    }
    let Value::Object(mut metadata) = metadata else { return object.clone() };
    metadata.insert("deletionTimestamp".to_owned(), now().into());
    metadata.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
    let parts = Parts { tail: tail(&metadata, &object.created()), ..object.parts() };
    write.replace(object, &parts).0
}

impl Incoming {
    fn create(
        mut self,
        mut write: Write<'_>,
        kind: Kind,
        options: &WriteOptions,
    ) -> Result<Saved, ApiError> {
        let prefix = self.text("generateName").to_owned();
        if self.text("name").is_empty() && !prefix.is_empty() {
            let random = uuid::Uuid::new_v4().simple().to_string();
            self.metadata.insert("name".to_owned(), format!("{prefix}{}", &random[..5]).into());
        }
        let name = self.text("name").to_owned();
        if name.is_empty() {
            let cause = FieldError::required("metadata.name", "name or generateName is required");
            return Err(ApiError::invalid(kind, &name, vec![cause]));
        }
        self.problems.splice(0..0, validate::name(&name));
        if !self.problems.is_empty() {
            return Err(ApiError::invalid(kind, &name, self.problems));
        }
        if write.get(kind, &name).is_some() {
            return Err(ApiError::already_exists(kind, &name));
        }
        self.metadata.shift_remove("deletionTimestamp");
        self.metadata.shift_remove("deletionGracePeriodSeconds");
        let created = now();
        let mut parts =
            Parts { tail: tail(&self.metadata, &created), body: self.body, status: self.status };
        let value = parts.value(kind);
        let managed = match self.applied {
            Some(applied) => applied.finish(kind, &json!({}), &value, options.force)?,
            None => {
                let writer = Writer { manager: &options.manager, part: Subresource::Main };
                Managed::created(kind, writer, &value)
            }
        };
        self.metadata.insert("managedFields".to_owned(), managed.to_json());
        parts.tail = tail(&self.metadata, &created);
        let object = if options.dry_run {
            write.imagine(kind, &name, &uuid::Uuid::new_v4().to_string(), &parts)
        } else {
            write.insert(kind, &name, &parts)
        };
        Ok(Saved { object, created: true, warnings: self.warnings })
    }

    /// Replaces a part of an object. Only metadata is validated here: Tilt checks a spec when an object is created,
    /// and scripts rely on being able to change it freely afterwards.
    fn replace(
        mut self,
        mut write: Write<'_>,
        old: &Arc<Object>,
        part: Subresource,
        options: &WriteOptions,
    ) -> Result<Saved, ApiError> {
        let mut parts = match part {
            Subresource::Status => {
                let Value::Object(metadata) = old.metadata() else {
                    return Err(ApiError::rejected_patch());
                };
                self.metadata = metadata;
                Parts { status: std::mem::take(&mut self.status), ..old.parts() }
            }
            Subresource::Main => self.main_parts(old)?,
        };
        let (current, new) = (old.value(), parts.value(old.kind()));
        let managed = match self.applied.take() {
            Some(applied) => applied.finish(old.kind(), &current, &new, options.force)?,
            None => {
                let writer = Writer { manager: &options.manager, part };
                Managed::updated(old.kind(), writer, &current, &new, self.managed.as_ref())
            }
        };
        self.metadata.insert("managedFields".to_owned(), managed.to_json());
        parts.tail = tail(&self.metadata, &old.created());
        let object = if options.dry_run {
            write.imagine(old.kind(), old.name(), old.uid(), &parts)
        } else {
            let object = write.replace(old, &parts).0;
            let released = self.metadata.contains_key("deletionTimestamp")
                && !self.metadata.contains_key("finalizers");
            if part == Subresource::Main && released {
                write.remove(object.kind(), object.name());
            }
            object
        };
        Ok(Saved { object, created: false, warnings: self.warnings })
    }

    /// The parts of an object whose metadata and body are replaced.
    fn main_parts(&mut self, old: &Arc<Object>) -> Result<Parts, ApiError> {
        let before = old.metadata();
        let deleted = before.get("deletionTimestamp");
        let mut problems = validate::metadata(&self.metadata);
        let uid = self.text("uid");
        if !uid.is_empty() && uid != old.uid() {
            problems.push(FieldError::invalid("metadata.uid", &json!(uid), "field is immutable"));
        }
        if deleted.is_some() {
            problems.extend(validate::new_finalizers(&before["finalizers"], &self.metadata));
        }
        if !problems.is_empty() {
            return Err(ApiError::invalid(old.kind(), old.name(), problems));
        }
        for key in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
            match before.get(key) {
                Some(value) => self.metadata.insert(key.to_owned(), value.clone()),
                None => self.metadata.shift_remove(key),
            };
        }
        Ok(Parts {
            tail: tail(&self.metadata, &old.created()),
            body: std::mem::take(&mut self.body),
            status: old.status_text().to_owned(),
        })
    }
}

/// The metadata that clients decide on, as it is stored.
fn tail(metadata: &Map<String, Value>, created: &str) -> String {
    let mut out = format!(r#","creationTimestamp":"{created}""#);
    for key in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
        "managedFields",
    ] {
        if let Some(value) = metadata.get(key).filter(|it| !it.is_null()) {
            out.push_str(&keyed(key, value));
        }
    }
    out.push('}');
    out
}
