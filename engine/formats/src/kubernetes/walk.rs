//! Decides where the interesting parts of an object are: containers, environment variables, image volumes and pod
//! templates, in the order in which the Go structs declare them.
//!
//! Only built-in kinds have such parts; what a custom object contains is not known.

use serde_json::{Map, Value};

use super::object::Object;
use super::schema::{Shape, Struct, TypeId, Wanted};

/// A Go type whose values are looked for to be changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The name of the type.
    pub(crate) name: &'static str,
    /// A type whose values are passed over with all that is in them.
    pub(crate) except_in: Option<&'static str>,
}

impl Part {
    /// Every value of a type.
    pub(crate) const fn every(name: &'static str) -> Self {
        Self { name, except_in: None }
    }
}

/// Shows all values of one type to `change`, outermost only; says how many there were.
pub(crate) fn change_each(
    object: &mut Object,
    part: Part,
    change: &mut dyn FnMut(TypeId, &mut Map<String, Value>),
) -> usize {
    let Some(ty) = object.ty else { return 0 };
    let mut changed = 0;
    let mut count = |ty: TypeId, value: &mut Map<String, Value>| {
        changed += 1;
        change(ty, value);
    };
    descend(ty, object.value_mut(), part, &mut count);
    changed
}

/// Mappings and raw JSON are not entered, as in Go's walk over the fields of structs. Reading an object bounds how
/// deep it is, and so this recursion.
fn descend(
    ty: TypeId,
    value: &mut Value,
    part: Part,
    change: &mut dyn FnMut(TypeId, &mut Map<String, Value>),
) {
    match (&ty.get().shape, value) {
        (Shape::Pointer(inner), value) => descend(*inner, value, part, change),
        (Shape::List(item), Value::Array(items)) => {
            for value in items {
                descend(*item, value, part, change);
            }
        }
        (Shape::Struct(_), Value::Object(_)) if part.except_in == Some(ty.get().name) => {}
        (Shape::Struct(_), Value::Object(entries)) if ty.get().name == part.name => {
            change(ty, entries);
        }
        (Shape::Struct(structure), Value::Object(entries)) => {
            for field in &structure.fields {
                if let Some(value) = entries.get_mut(field.name) {
                    descend(field.ty, value, part, change);
                }
            }
        }
        _ => {}
    }
}

/// All parts of one type, outermost only.
pub(crate) fn find(object: &Object, wanted: Wanted) -> Vec<&Value> {
    let mut found = Vec::new();
    if let Some(ty) = object.ty {
        collect(ty, object.value(), wanted, &mut found);
    }
    found
}

/// Recursion ends because only a few types can contain the wanted ones, and none of them contains itself.
fn collect<'a>(ty: TypeId, value: &'a Value, wanted: Wanted, found: &mut Vec<&'a Value>) {
    match (&ty.get().shape, value) {
        (Shape::Pointer(inner), _) => collect(*inner, value, wanted, found),
        (Shape::List(item), Value::Array(items)) if may_contain(*item, wanted) => {
            for value in items {
                collect(*item, value, wanted, found);
            }
        }
        (Shape::Struct(structure), Value::Object(_)) if structure.is(wanted) => found.push(value),
        (Shape::Struct(structure), Value::Object(_)) if structure.reaches(wanted) => {
            collect_fields(structure, value, wanted, found);
        }
        _ => {}
    }
}

fn collect_fields<'a>(
    structure: &Struct,
    value: &'a Value,
    wanted: Wanted,
    found: &mut Vec<&'a Value>,
) {
    for field in structure.fields.iter().filter(|field| may_contain(field.ty, wanted)) {
        if let Some(value) = value.get(field.name) {
            collect(field.ty, value, wanted, found);
        }
    }
}

fn may_contain(ty: TypeId, wanted: Wanted) -> bool {
    match &ty.get().shape {
        Shape::Pointer(inner) | Shape::List(inner) => may_contain(*inner, wanted),
        Shape::Struct(structure) => structure.reaches(wanted),
        _ => false,
    }
}
