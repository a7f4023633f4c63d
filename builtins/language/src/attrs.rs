//! Decides what `value.name` is, and what is said when there is no such attribute.

use engine_formats::golang::{
    quote::quote,
    spell::{nearest, similar},
};
use starlark::{
    any::ProvidesStaticType,
    values::{Heap, Value},
};

use super::{
    error::{Complaint, Site},
    methods,
    native::{BoundMethod, Outcome},
    structs::{StructConstructor, StructRef},
    value::type_name,
};

/// The name that Go has for the type of a value, which it provides if Tilt looks for its attributes
/// itself and says in words of its own that there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ProvidesStaticType)]
pub(crate) struct OwnAttributes(pub(crate) &'static str);

/// The attribute, if the value has it.
pub(crate) fn find_attr<'v>(value: Value<'v>, name: &str, heap: Heap<'v>) -> Option<Value<'v>> {
    if let Some(s) = StructRef::of(value) {
        return s.field(name);
    }
    if methods::has_methods(value) {
        return methods::find(value, name).map(|_| heap.alloc(BoundMethod::new(value, name)));
    }
    if is_plain(value) {
        return None;
    }
    value.get_attr(name, heap).ok().flatten()
}

/// The attribute, or the error that the dot reports.
pub(crate) fn get_attr<'v>(value: Value<'v>, name: &str, heap: Heap<'v>) -> Outcome<'v> {
    find_attr(value, name, heap).ok_or_else(|| no_such_attribute(value, name))
}

/// The names `dir(value)` lists, sorted.
pub(crate) fn attr_names(value: Value<'_>) -> Vec<String> {
    if let Some(s) = StructRef::of(value) {
        return s.fields().map(|(name, _)| name.to_owned()).collect();
    }
    if methods::has_methods(value) {
        return methods::names(value).map(str::to_owned).collect();
    }
    if is_plain(value) {
        return Vec::new();
    }
    let mut names = value.dir_attr();
    names.sort();
    names
}

/// Types of the crate that have attributes there but none in this language.
fn is_plain(value: Value<'_>) -> bool {
    matches!(value.get_type(), "function" | "int" | "float" | "bool" | "NoneType" | "tuple")
}

/// `list has no .sort field or method`, with a hint if a similar name exists.
pub(crate) fn no_such_attribute(value: Value<'_>, name: &str) -> starlark::Error {
    let message = missing(value, name);
    let names = attr_names(value);
    if value.request_value::<OwnAttributes>().is_some() {
        let meant = similar(name, names.iter().map(String::as_str)).map(|it| format!(".{it}"));
        let complaint = Complaint::from(message).meaning(meant.as_deref());
        return complaint.raise_at(Site::Attribute);
    }
    let hint = nearest(name, names.iter().map(String::as_str)).map(|it| format!(".{it}"));
    Complaint::with_hint(message, hint.as_deref(), None).raise_at(Site::Attribute)
}

/// The same without a hint, as `getattr` says it.
pub(crate) fn missing(value: Value<'_>, name: &str) -> String {
    if let Some(OwnAttributes(go_type)) = value.request_value() {
        return format!("{go_type} has no attribute '{name}'");
    }
    match StructRef::of(value) {
        Some(s) if s.constructor() == "struct" => format!("struct has no .{name} attribute"),
        Some(s) => format!("{} struct has no .{name} attribute", quote(s.constructor())),
        None => match value.request_value::<StructConstructor>() {
            Some(StructConstructor(it)) => {
                format!("{} struct has no .{name} attribute", quote(it))
            }
            None => format!("{} has no .{name} field or method", type_name(value)),
        },
    }
}
