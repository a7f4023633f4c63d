//! Decides where the interesting parts of an object are: containers, environment variables, image volumes and pod
//! templates, in the order in which the Go structs declare them.
//!
//! Only built-in kinds have such parts; what a custom object contains is not known.

use serde_json::Value;

use super::object::Object;
use super::schema::{Shape, Struct, TypeId, Wanted};

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
