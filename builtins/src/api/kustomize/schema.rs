//! The fields of an overlay's file and their types, under their Go names, which errors mention.
//!
//! They are listed in `schema.txt`, which explains itself.

use std::sync::LazyLock;

static STRUCTS: LazyLock<String> =
    LazyLock::new(|| include_str!("schema.txt").replace(",\n  ", ", "));

/// A type of the Go library, by its name in messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Type(pub(super) &'static str);

/// What a type holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldShape {
    /// Anything at all.
    Any,
    /// Text, which any scalar is.
    Text,
    /// A boolean.
    Bool,
    /// A number.
    Int,
    /// A list.
    List(Type),
    /// A dictionary with any keys.
    Map(Type),
    /// A dictionary with known keys.
    Struct(FieldTypes),
}

/// The fields of a struct.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldTypes(&'static str);

/// The file of an overlay.
pub(super) const KUSTOMIZATION: Type = Type("types.Kustomization");

impl Type {
    /// What it holds.
    pub(super) fn shape(self) -> FieldShape {
        if let Some(item) = self.0.strip_prefix("[]") {
            return FieldShape::List(Self(item.trim_start_matches('*')));
        }
        if let Some(value) = self.0.strip_prefix("map[string]") {
            return FieldShape::Map(Self(value));
        }
        match self.0 {
            "interface {}" => FieldShape::Any,
            "bool" => FieldShape::Bool,
            "int" | "int64" => FieldShape::Int,
            name => STRUCTS
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
                .map_or(FieldShape::Text, |fields| FieldShape::Struct(FieldTypes(fields))),
        }
    }
}

impl FieldTypes {
    /// The name and type of each field.
    fn iter(self) -> impl Iterator<Item = (&'static str, Type)> {
        self.0.split(", ").map(|it| {
            let (name, ty) = it.split_once(' ').unwrap_or((it, "string"));
            (name, Type(ty))
        })
    }

    /// The field of this name, and its type.
    pub(super) fn find(self, name: &str) -> Option<(&'static str, Type)> {
        self.iter().find(|it| it.0 == name)
    }
}
