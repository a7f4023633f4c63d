//! Tracks which manager owns which fields of an object, so that a client that applies an object learns of conflicts.
//!
//! The rules are those of Kubernetes' server-side apply. The engine's own writes are not recorded; they are
//! attributed to the engine as soon as a client applies something to the object.

use serde_json::{Value, json};

use self::{
    entry::{Entry, Operation},
    fields::FieldSet,
    shape::{Shape, difference, merge, prune},
};
use super::{
    Kind, KindSchema,
    client::Subresource,
    error::{ApiError, Conflict},
};

mod entry;
mod fields;
mod shape;
#[cfg(test)]
mod tests;

/// The maximum number of `Update` entries; older ones are merged.
const MAX_UPDATERS: usize = 10;
/// The manager of merged `Update` entries.
const ANCIENT: &str = "ancient-changes";
/// The manager of fields without an entry: the engine.
const ENGINE: &str = "tilt";
/// The default manager name of `kubectl apply`.
const KUBECTL: &str = "kubectl";
/// The annotation that holds the last applied configuration of client-side apply.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Metadata that nobody manages.
const UNMANAGED: [&str; 8] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "generation",
    "managedFields",
    "resourceVersion",
];

/// Who writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writer<'a> {
    /// The name that the client gave itself.
    pub(super) manager: &'a str,
    /// Which part of an object it writes.
    pub(super) part: Subresource,
}

/// The managers of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Managed {
    entries: Vec<Entry>,
}

impl Managed {
    /// The managers that an object states; nothing if the statement makes no sense.
    fn of_json(value: &Value) -> Option<Self> {
        let entries = match value {
            Value::Null => Vec::new(),
            _ => value.as_array()?.iter().map(Entry::of_json).collect::<Option<_>>()?,
        };
        Some(Self { entries })
    }

    /// The managers as `managedFields`; null if there are none.
    pub(super) fn to_json(&self) -> Value {
        match self.entries.as_slice() {
            [] => Value::Null,
            entries => entries.iter().map(Entry::to_json).collect(),
        }
    }

    /// The managers after an object was created.
    pub(super) fn created(kind: Kind, writer: Writer<'_>, object: &Value) -> Self {
        let mut managed = Self::default();
        managed.record(kind, writer, &nothing(kind), object);
        managed
    }

    /// The managers after an update. The client may set them itself, if they are valid.
    pub(super) fn updated(
        kind: Kind,
        writer: Writer<'_>,
        old: &Value,
        new: &Value,
        stated: Option<&Value>,
    ) -> Self {
        let known = || Self::of_json(&old["metadata"]["managedFields"]).unwrap_or_default();
        let mut managed = match stated.filter(|_| writer.part == Subresource::Main) {
            Some(stated) if is_reset(stated) => Self::default(),
            Some(stated) => match Self::of_json(stated) {
                Some(managed) if !managed.entries.is_empty() => managed,
                _ => known(),
            },
            None => known(),
        };
        // What was never recorded cannot be completed any more.
        if !managed.entries.is_empty() {
            managed.record(kind, writer, old, new);
        }
        managed
    }

    fn record(&mut self, kind: Kind, writer: Writer<'_>, old: &Value, new: &Value) {
        let found = differences(kind, old, new);
        let mut taken = found.added;
        taken.unite(&found.changed);
        for entry in &mut self.entries {
            entry.fields.subtract(&taken);
            entry.fields.subtract(&found.removed);
        }
        if !taken.is_empty() {
            let mut own = Entry::new(writer, Operation::Update);
            own.fields = taken;
            match self.entries.iter_mut().find(|it| it.is_same(&own)) {
                Some(entry) => {
                    entry.fields.unite(&own.fields);
                    entry.time = own.time;
                }
                None => self.entries.push(own),
            }
        }
        self.tidy();
    }

    /// Empty managers go, the oldest are taken together, and the rest has an order.
    fn tidy(&mut self) {
        self.entries.retain(|it| !it.fields.is_empty());
        self.entries.sort_by(|a, b| {
            let key = |it: &Entry| (it.operation, it.time.clone(), it.manager.clone());
            key(a).cmp(&key(b)).then_with(|| a.subresource.cmp(&b.subresource))
        });
        let updaters =
            |it: &Self| it.entries.iter().filter(|it| it.operation == Operation::Update).count();
        while updaters(self) > MAX_UPDATERS {
            let Some(first) = self.entries.iter().position(|it| it.operation == Operation::Update)
            else {
                return;
            };
            let oldest = self.entries.remove(first);
            // There are more than two, and the next one is the next older.
            let Some(next) = self.entries.get_mut(first) else { return };
            ANCIENT.clone_into(&mut next.manager);
            next.subresource.clear();
            next.fields.unite(&oldest.fields);
        }
    }
}

/// Applies a configuration to an object: the new object and its managers.
pub(super) fn apply(
    kind: Kind,
    writer: Writer<'_>,
    old: &Value,
    wanted: &Value,
) -> (Value, Applied) {
    let mut managed = Managed::of_json(&old["metadata"]["managedFields"]).unwrap_or_default();
    if managed.entries.is_empty() && old["metadata"]["uid"].is_string() {
        let engine = Writer { manager: ENGINE, part: Subresource::Main };
        managed = Managed::created(kind, engine, old);
    }
    let mut fields = bare(wanted);
    if let Value::Object(map) = &mut fields {
        let is_status = writer.part == Subresource::Status;
        map.retain(|key, _| (key == "status") == is_status);
    }
    let mut own = Entry::new(writer, Operation::Apply);
    own.fields = shape::fields(&fields, Shape::Object(kind));
    unmanage_metadata(&mut own.fields);
    let last = managed.entries.iter().position(|it| it.is_same(&own));
    let last = last.map(|at| managed.entries.remove(at));

    let mut new = old.clone();
    merge(&mut new, &fields, Shape::Object(kind));
    if let Some(last) = &last {
        let mut owned = own.fields.clone();
        managed.entries.iter().for_each(|it| owned.unite(&it.fields));
        prune(&mut new, Shape::Object(kind), &last.fields, Some(&owned));
    }
    update_last_applied(writer, &mut new, wanted);
    (new, Applied { managed, own, last })
}

/// An applied configuration before conflicts are checked.
#[derive(Debug)]
pub(super) struct Applied {
    managed: Managed,
    own: Entry,
    last: Option<Entry>,
}

impl Applied {
    /// The managers after the object became `new`.
    ///
    /// # Errors
    /// If fields of other managers would change without `force`.
    pub(super) fn finish(
        self,
        kind: Kind,
        old: &Value,
        new: &Value,
        force: bool,
    ) -> Result<Managed, ApiError> {
        let Self { mut managed, mut own, last } = self;
        let empty = nothing(kind);
        let is_new = old.get("metadata").is_none();
        let found = differences(kind, if is_new { &empty } else { old }, new);
        let mut taken = found.added;
        taken.unite(&found.changed);
        let mut conflicts = Vec::new();
        let mut all_lost = FieldSet::default();
        for entry in &mut managed.entries {
            let mut lost = entry.fields.common(&taken);
            if let Some(annotations) =
                lost.child_mut("f:metadata").and_then(|it| it.child_mut("f:annotations"))
            {
                // It is kept up to date for whoever manages it.
                annotations.subtract(&last_applied_only());
            }
            let shown = entry.shown();
            conflicts.extend(
                lost.paths().into_iter().map(|field| Conflict { manager: shown.clone(), field }),
            );
            entry.fields.subtract(&lost);
            entry.fields.subtract(&found.removed);
            all_lost.unite(&lost);
        }
        if own.manager == KUBECTL {
            all_lost.subtract(&applied_before(kind, old));
        }
        if !force && !all_lost.is_empty() {
            return Err(ApiError::apply_conflict(conflicts));
        }
        if taken.is_empty() && found.removed.is_empty() {
            own.time = last.and_then(|it| it.time);
        }
        managed.entries.push(own);
        managed.tidy();
        Ok(managed)
    }
}

/// Whether a client wants all managers to be forgotten.
fn is_reset(stated: &Value) -> bool {
    let is_zero = |entry: &Value| {
        entry.as_object().is_some_and(|it| it.values().all(|value| value.is_null() || value == ""))
    };
    match stated.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([entry]) => is_zero(entry),
        _ => false,
    }
}

fn differences(kind: Kind, old: &Value, new: &Value) -> shape::Difference {
    let mut found = difference(Some(&bare(old)), Some(&bare(new)), Shape::Object(kind));
    for set in [&mut found.added, &mut found.changed, &mut found.removed] {
        unmanage_metadata(set);
    }
    found
}

/// An object without what nobody manages.
fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    if let Value::Object(map) = &mut object {
        map.shift_remove("kind");
        map.shift_remove("apiVersion");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| !UNMANAGED.contains(&key.as_str()));
    }
    object
}

/// Metadata is always there; only what is in it has managers.
fn unmanage_metadata(set: &mut FieldSet) {
    set.is_member = false;
    if let Some(metadata) = set.child_mut("f:metadata") {
        metadata.is_member = false;
        set.tidy("f:metadata");
    }
}

fn last_applied_only() -> FieldSet {
    let mut set = FieldSet::default();
    set.insert(format!("f:{LAST_APPLIED}"), FieldSet::leaf());
    set
}

/// Keeps what clients remember for merging on their own side up to date, so that both ways can be used in turn.
fn update_last_applied(writer: Writer<'_>, object: &mut Value, wanted: &Value) {
    let Some(kept) =
        object.pointer_mut("/metadata/annotations").and_then(|it| it.get_mut(LAST_APPLIED))
    else {
        return;
    };
    if writer.manager != KUBECTL || kept.as_str().is_none_or(str::is_empty) {
        return;
    }
    let mut wanted = wanted.clone();
    if let Some(own) = wanted.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        own.shift_remove(LAST_APPLIED);
    }
    wanted.sort_all_objects();
    *kept = format!("{wanted}\n").into();
}

/// The fields that were applied on the side of the client and are still so: whoever did that may go on here.
fn applied_before(kind: Kind, object: &Value) -> FieldSet {
    let text = object["metadata"]["annotations"][LAST_APPLIED].as_str().unwrap_or_default();
    let Ok(applied @ Value::Object(_)) = serde_json::from_str::<Value>(text) else {
        return FieldSet::default();
    };
    let mut fields = shape::fields(&bare(&applied), Shape::Object(kind));
    let found = differences(kind, &applied, object);
    for changed in [&found.added, &found.changed, &found.removed] {
        fields.subtract(changed);
    }
    fields
}

/// An object in which nothing was set yet: what is always there is not added by anybody.
fn nothing(kind: Kind) -> Value {
    let mut object = json!({"metadata": {}});
    for (key, ty) in [("spec", kind.spec()), ("status", kind.status())] {
        if let Some(ty) = ty {
            object[key] = ty.zero();
        }
    }
    object
}
