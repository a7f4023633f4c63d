//! Decides what the built-in Kubernetes kinds look like: which fields they have, of which types, and which are
//! written even when empty.
//!
//! The shapes come from `schema.txt`, which `schema-gen` derives from the Go types of the client library. The file is
//! only split into lines when the first object is looked up; a type is read when an object needs it.

use std::sync::{LazyLock, OnceLock};

use serde_json::{Map, Value};

const TEXT: &str = include_str!("schema.txt");

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::index(TEXT));

struct Schema {
    /// Lines `group/version Kind number`, sorted by everything before the number.
    kinds: Vec<&'static str>,
    types: Vec<(&'static str, OnceLock<Box<Type>>)>,
}

/// The number of a type in the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TypeId(usize);

/// One Go type: its name as Go prints it, and how its values look.
#[derive(Debug)]
pub(crate) struct Type {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
}

/// How the values of a type look in JSON.
#[derive(Debug)]
pub(crate) enum Shape {
    String,
    Bool,
    Int32,
    Int64,
    Float64,
    Bytes,
    Pointer(TypeId),
    List(TypeId),
    Map(TypeId),
    Struct(Struct),
    Quantity,
    IntOrString,
    Time,
    MicroTime,
    /// JSON that is kept as it is.
    Raw,
    SchemaOrBool(TypeId),
    SchemaOrList {
        schema: TypeId,
        list: TypeId,
    },
    SchemaOrStrings {
        schema: TypeId,
        list: TypeId,
    },
}

/// The fields of a struct, those of embedded structs included.
#[derive(Debug)]
pub(crate) struct Struct {
    /// Which of the [`Wanted`] types this is.
    own: u8,
    /// Which of the [`Wanted`] types can be found inside.
    reach: u8,
    /// In the order of the Go struct.
    pub(crate) fields: Vec<Field>,
    /// Indices into `fields`, sorted by name.
    by_name: Vec<u16>,
    /// Fields that are written even when the manifest leaves them out.
    pub(crate) always: Vec<u16>,
    zero: OnceLock<Value>,
}

/// One field of a struct.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// The Go name, where it is not the capitalized JSON name.
    go_name: Option<&'static str>,
    /// The embedded struct the field comes from.
    pub(crate) embedded: Option<&'static str>,
    pub(crate) ty: TypeId,
    pub(crate) omit_empty: bool,
    /// Status is read, so that mistakes in it are reported, but never written.
    pub(crate) status: bool,
}

/// The types that are looked for inside objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Container = 1,
    EnvVar = 2,
    ImageVolume = 4,
    PodTemplate = 8,
}

/// The type registered for a kind, or `None` for a kind that is not built in.
pub(crate) fn lookup(group_version: &str, kind: &str) -> Option<TypeId> {
    let wanted = format!("{group_version} {kind}");
    let kinds = &SCHEMA.kinds;
    let found = kinds.binary_search_by(|line| split_last(line).0.cmp(&wanted)).ok()?;
    Some(type_id(split_last(kinds[found]).1))
}

impl TypeId {
    /// The type with this number.
    pub(crate) fn get(self) -> &'static Type {
        let (line, cell) = &SCHEMA.types[self.0];
        cell.get_or_init(|| Box::new(Type::read(line)))
    }

    /// The type itself, or the one that it points to.
    pub(crate) fn behind_pointers(self) -> Self {
        match &self.get().shape {
            Shape::Pointer(inner) => inner.behind_pointers(),
            _ => self,
        }
    }

    /// The value Go starts from, as it is written.
    pub(crate) fn zero(self) -> Value {
        match &self.get().shape {
            Shape::String => Value::String(String::new()),
            Shape::Bool | Shape::SchemaOrBool(_) => Value::Bool(false),
            Shape::Int32 | Shape::Int64 | Shape::Float64 | Shape::IntOrString => Value::from(0),
            Shape::Quantity => Value::from("0"),
            Shape::Struct(structure) => structure.zero(),
            Shape::Bytes
            | Shape::Pointer(_)
            | Shape::List(_)
            | Shape::Map(_)
            | Shape::Time
            | Shape::MicroTime
            | Shape::Raw
            | Shape::SchemaOrList { .. }
            | Shape::SchemaOrStrings { .. } => Value::Null,
        }
    }

    /// Whether Go's `omitempty` never leaves a value of this type out.
    fn is_never_empty(self) -> bool {
        matches!(
            self.get().shape,
            Shape::Struct(_)
                | Shape::Quantity
                | Shape::IntOrString
                | Shape::MicroTime
                | Shape::Raw
                | Shape::SchemaOrBool(_)
                | Shape::SchemaOrList { .. }
                | Shape::SchemaOrStrings { .. }
        )
    }
}

impl Struct {
    /// The field with this JSON name.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let found = self
            .by_name
            .binary_search_by(|index| self.fields[usize::from(*index)].name.cmp(name))
            .ok()?;
        Some(&self.fields[usize::from(self.by_name[found])])
    }

    /// Whether this struct is the wanted one.
    pub(crate) fn is(&self, wanted: Wanted) -> bool {
        self.own & wanted as u8 != 0
    }

    /// Whether the wanted struct can be found inside.
    pub(crate) fn reaches(&self, wanted: Wanted) -> bool {
        self.reach & wanted as u8 != 0
    }

    /// What an empty struct is written as.
    pub(crate) fn zero(&self) -> Value {
        let fill = || {
            let fields = self.always.iter().map(|index| &self.fields[usize::from(*index)]);
            Value::Object(
                fields.map(|field| (field.name.to_owned(), field.zero())).collect::<Map<_, _>>(),
            )
        };
        self.zero.get_or_init(fill).clone()
    }

    fn read(words: &mut dyn Iterator<Item = &'static str>) -> Self {
        let own = words.next().map_or(0, number);
        let reach = words.next().map_or(0, number);
        let fields: Vec<Field> = words.map(Field::read).collect();
        let mut by_name: Vec<u16> = (0..).take(fields.len()).collect();
        by_name.sort_by_key(|index| fields[usize::from(*index)].name);
        let always = (0..)
            .zip(&fields)
            .filter(|(_, field)| field.is_always_written())
            .map(|(index, _)| index)
            .collect();
        Self { own, reach, fields, by_name, always, zero: OnceLock::new() }
    }
}

impl Field {
    /// Whether the Go field has this name.
    pub(crate) fn has_go_name(&self, name: &str) -> bool {
        self.go_name.map_or_else(|| is_capitalized(self.name, name), |own| own == name)
    }

    /// What the field is written as when the manifest leaves it out.
    pub(crate) fn zero(&self) -> Value {
        if self.status { Value::Null } else { self.ty.zero() }
    }

    fn is_always_written(&self) -> bool {
        !self.omit_empty || (!self.status && self.ty.is_never_empty())
    }

    /// Reads `name=GoName/Embedded:12?!`, where all but the name and the number may be missing.
    fn read(word: &'static str) -> Self {
        let (names, ty) = word.split_once(':').unwrap_or((word, "0"));
        let (names, embedded) =
            names.split_once('/').map_or((names, None), |(rest, path)| (rest, Some(path)));
        let (name, go_name) =
            names.split_once('=').map_or((names, None), |(json, go)| (json, Some(go)));
        let ty_number = ty.trim_end_matches(['?', '!']);
        let (omit_empty, status) = (ty.contains('?'), ty.contains('!'));
        Self { name, go_name, embedded, ty: type_id(ty_number), omit_empty, status }
    }
}

impl Type {
    fn read(line: &'static str) -> Self {
        let mut words = line.split(' ');
        let shape = words.next().unwrap_or_default();
        let name = words.next().unwrap_or_default();
        let mut id = || words.next().map_or(TypeId(0), type_id);
        let shape = match shape {
            "bool" => Shape::Bool,
            "int32" => Shape::Int32,
            "int64" => Shape::Int64,
            "float64" => Shape::Float64,
            "bytes" => Shape::Bytes,
            "pointer" => Shape::Pointer(id()),
            "list" => Shape::List(id()),
            "map" => Shape::Map(id()),
            "struct" => Shape::Struct(Struct::read(&mut words)),
            "quantity" => Shape::Quantity,
            "intorstring" => Shape::IntOrString,
            "time" => Shape::Time,
            "microtime" => Shape::MicroTime,
            "raw" => Shape::Raw,
            "schemaorbool" => Shape::SchemaOrBool(id()),
            "schemaorlist" => Shape::SchemaOrList { schema: id(), list: id() },
            "schemaorstrings" => Shape::SchemaOrStrings { schema: id(), list: id() },
            _ => Shape::String,
        };
        Self { name, shape }
    }
}

impl Schema {
    fn index(text: &'static str) -> Self {
        let mut lines = text.lines().skip_while(|line| line.starts_with('#'));
        let kinds = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        let types = lines.map(|line| (line, OnceLock::new())).collect();
        Self { kinds, types }
    }
}

fn split_last(line: &'static str) -> (&'static str, &'static str) {
    line.rsplit_once(' ').unwrap_or((line, "0"))
}

fn number(word: &str) -> u8 {
    word.parse().unwrap_or(0)
}

fn type_id(word: &str) -> TypeId {
    TypeId(word.parse().unwrap_or(0))
}

fn is_capitalized(json: &str, go: &str) -> bool {
    let mut letters = json.chars();
    letters.next().is_some_and(|first| {
        go.starts_with(first.to_ascii_uppercase())
            && go.get(first.len_utf8()..) == Some(letters.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_and_every_type_can_be_read() {
        for line in &SCHEMA.kinds {
            let (group_version, kind) =
                split_last(line).0.split_once(' ').expect("a kind has two words");
            assert!(lookup(group_version, kind).is_some(), "{line}");
        }
        for index in 0..SCHEMA.types.len() {
            let ty = TypeId(index).get();
            assert!(!ty.name.is_empty());
            if let Shape::Struct(structure) = &ty.shape {
                for field in &structure.fields {
                    assert!(field.ty.0 < SCHEMA.types.len(), "{} {}", ty.name, field.name);
                    assert_eq!(structure.field(field.name).map(|found| found.ty), Some(field.ty));
                }
            }
            let _ = TypeId(index).zero();
        }
    }

    #[test]
    fn kinds_are_looked_up_by_group_version_and_kind() {
        let name = |group_version, kind| lookup(group_version, kind).map(|ty| ty.get().name);
        assert_eq!(name("apps/v1", "Deployment"), Some("v1.Deployment"));
        assert_eq!(name("v1", "Pod"), Some("v1.Pod"));
        assert_eq!(name("apps/v1", "Pod"), None);
        assert_eq!(name("example.com/v1", "Deployment"), None);
    }
}
