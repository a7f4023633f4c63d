//! The fields of every kind: their names, types and documentation.
//!
//! One table serves decoding, printing, `OpenAPI` and `explain`.

use serde_json::{Map, Value, json};

pub mod docker;
pub mod kubernetes;
pub mod local;
pub mod meta;
pub mod shared;
pub mod ui;

/// A structure.
#[derive(Debug)]
pub struct Type {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Its fields, in the order in which they are printed.
    pub fields: &'static [Field],
}

/// A field of a structure.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Whether it has to be there.
    pub presence: Presence,
    /// What it holds.
    pub ty: Ty,
    /// What it means.
    pub doc: &'static str,
}

/// Whether a field has to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Documented as needed, and printed even if it is empty.
    Required,
    /// Not needed, but printed even if it is empty.
    Shown,
    /// Not printed if it is empty; structures and times that cannot be missing are never empty.
    Optional,
}

/// What a field holds. Those that end in `Ptr` can be missing, the others are empty instead.
#[derive(Clone, Copy, Debug)]
pub enum Ty {
    /// A text.
    Str,
    /// A text that can be missing.
    StrPtr,
    /// Yes or no.
    Bool,
    /// A number of 32 bits.
    Int32,
    /// A number of 64 bits.
    Int64,
    /// A time in seconds.
    Time,
    /// A time in seconds that can be missing.
    TimePtr,
    /// A time in microseconds.
    MicroTime,
    /// A time in microseconds that can be missing.
    MicroTimePtr,
    /// A span of time.
    Duration,
    /// A span of time that can be missing.
    DurationPtr,
    /// A list of texts.
    Strings,
    /// A list of numbers.
    Ints,
    /// Texts by text.
    Map,
    /// A structure.
    Struct(&'static Type),
    /// A structure that can be missing.
    Ptr(&'static Type),
    /// A list of structures.
    List(&'static Type),
    /// An object of any form, which is not looked into.
    Any,
}

macro_rules! schema {
    ($($id:ident: $name:literal, $doc:literal { $($presence:ident $field:literal: $ty:expr, $field_doc:literal;)* })*) => {
        $(
            #[doc = $doc]
            pub static $id: $crate::schema::Type = $crate::schema::Type {
                name: $name,
                doc: $doc,
                fields: &[$($crate::schema::Field {
                    name: $field,
                    presence: $crate::schema::Presence::$presence,
                    ty: $ty,
                    doc: $field_doc,
                }),*],
            };
        )*
    };
}
use schema;

impl Type {
    /// The field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|it| it.name == name)
    }

    /// A structure in which nothing was set, as it is printed.
    #[must_use]
    pub fn zero(&self) -> Value {
        let mut map = Map::new();
        for field in self.fields {
            if let Some(zero) = field.missing() {
                map.insert(field.name.to_owned(), zero);
            }
        }
        Value::Object(map)
    }
}

impl Field {
    /// How the field is printed if it is missing.
    #[must_use]
    pub fn missing(&self) -> Option<Value> {
        let zero = match self.ty {
            Ty::Struct(nested) => return Some(nested.zero()),
            Ty::Time | Ty::MicroTime => return Some(Value::Null),
            Ty::Duration => return Some(json!("0s")),
            Ty::Any => return None,
            Ty::Str => json!(""),
            Ty::Bool => json!(false),
            Ty::Int32 | Ty::Int64 => json!(0),
            _ => Value::Null,
        };
        (self.presence != Presence::Optional).then_some(zero)
    }

    /// The structure that the field holds, alone or in a list.
    #[must_use]
    pub fn nested(&self) -> Option<&'static Type> {
        match self.ty {
            Ty::Struct(nested) | Ty::Ptr(nested) | Ty::List(nested) => Some(nested),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_structure_shows_what_is_never_left_out() {
        assert_eq!(
            kubernetes::KUBERNETES_APPLY_SPEC.zero(),
            json!({"timeout": "0s", "cluster": ""})
        );
        assert_eq!(
            ui::UI_RESOURCE_STATUS.zero(),
            json!({
                "lastDeployTime": null,
                "pendingBuildSince": null,
                "disableStatus": {"enabledCount": 0, "disabledCount": 0, "state": "", "sources": null},
            })
        );
        assert_eq!(local::CMD_STATUS.zero(), json!({}));
    }
}
