//! Decides what a JSON path sees of a value: what is inside it, what type Go gives it, and how Go prints it.

use serde_json::{Map, Value};

use super::super::numbers::go_text;
use super::super::object::Object;
use super::super::schema::{Shape, Struct, TypeId};

/// A value that a path leads to.
#[derive(Clone, Debug)]
pub struct Match<'a>(Seen<'a>);

#[derive(Clone, Debug)]
enum Seen<'a> {
    /// A value of a custom object, or of an untyped part; the root is no interface value.
    Plain {
        value: &'a Value,
        root: bool,
    },
    /// A part of a built-in kind.
    Typed(TypeId, &'a Value),
    /// A part of a built-in kind that the manifest leaves out.
    Zero(TypeId),
    /// A literal of the path itself.
    Text(&'a str),
    Int(i64),
    Float(f64),
    Bool(bool),
    /// A letter of a string, which Go sees as a number.
    Byte(u8),
}

/// A value that comparisons can work with.
#[derive(Debug, PartialEq, PartialOrd)]
pub(super) enum Basic<'a> {
    Bool(bool),
    Int(i64),
    Float(f64),
    String(&'a str),
}

/// What is inside a value.
pub(super) enum Inside<'a> {
    /// Go's nil, which has nothing inside.
    Nil,
    Struct(Vec<Match<'a>>),
    Map(Vec<Match<'a>>),
    List(Vec<Match<'a>>),
    Text(Vec<Match<'a>>),
    Scalar,
}

impl<'a> Match<'a> {
    /// The object a path starts from.
    pub(super) fn root(object: &'a Object) -> Self {
        let value = object.value();
        Self(object.ty.map_or(Seen::Plain { value, root: true }, |ty| Seen::Typed(ty, value)))
    }

    pub(super) fn text(text: &'a str) -> Self {
        Self(Seen::Text(text))
    }

    pub(super) fn int(value: i64) -> Self {
        Self(Seen::Int(value))
    }

    pub(super) fn float(value: f64) -> Self {
        Self(Seen::Float(value))
    }

    pub(super) fn bool(value: bool) -> Self {
        Self(Seen::Bool(value))
    }

    /// The string, if it is one of Go's own string type.
    pub fn plain_string(&self) -> Option<&str> {
        match &self.0 {
            Seen::Text(text) => Some(text),
            Seen::Plain { value, .. } => value.as_str(),
            Seen::Typed(ty, value) if ty.get().name == "string" => value.as_str(),
            Seen::Zero(ty) if ty.get().name == "string" => Some(""),
            _ => None,
        }
    }

    /// The mapping, if it is untyped.
    pub fn plain_map(&self) -> Option<&Map<String, Value>> {
        match &self.0 {
            Seen::Plain { value, .. } => value.as_object(),
            _ => None,
        }
    }

    /// The part of the object that this is; `None` for literals of the path and for what the manifest leaves out.
    pub fn part(&self) -> Option<&'a Value> {
        match &self.0 {
            Seen::Plain { value, .. } | Seen::Typed(_, value) => Some(value),
            _ => None,
        }
    }

    /// The Go type of the value itself.
    pub fn dynamic_type(&self) -> &'static str {
        match &self.0 {
            Seen::Typed(ty, _) | Seen::Zero(ty) => ty.get().name,
            Seen::Plain { value, .. } => plain_type(value),
            Seen::Text(_) => "string",
            Seen::Int(_) => "int",
            Seen::Float(_) => "float64",
            Seen::Bool(_) => "bool",
            Seen::Byte(_) => "uint8",
        }
    }

    /// The Go type of the place the value is in.
    pub fn static_type(&self) -> &'static str {
        match &self.0 {
            Seen::Plain { root: false, .. } => "interface {}",
            _ => self.dynamic_type(),
        }
    }

    /// The value as Go prints it with `%s`.
    pub fn printed(&self) -> String {
        match &self.0 {
            Seen::Text(text) => (*text).to_owned(),
            Seen::Plain { value, .. } => print_plain(value),
            Seen::Typed(ty, value) => print_typed(*ty, value),
            Seen::Zero(ty) => print_typed(*ty, &ty.zero()),
            Seen::Int(value) => format!("%!s(int={value})"),
            Seen::Float(value) => format!("%!s(float64={value})"),
            Seen::Bool(value) => format!("%!s(bool={value})"),
            Seen::Byte(value) => format!("%!s(uint8={value})"),
        }
    }

    /// The value as Go prints its reflection: strings as they are, everything else by type.
    pub fn reflected(&self) -> String {
        match &self.0 {
            Seen::Text(text) => (*text).to_owned(),
            Seen::Typed(ty, Value::String(text)) if matches!(ty.get().shape, Shape::String) => {
                text.clone()
            }
            _ => format!("<{} Value>", self.static_type()),
        }
    }

    /// The value behind pointers and interfaces, as reflection shows it after following them.
    pub(super) fn reflected_inside(&self) -> String {
        match &self.0 {
            Seen::Plain { value: Value::Null, .. } => "<interface {} Value>".to_owned(),
            Seen::Plain { value: Value::String(text), .. } => text.clone(),
            Seen::Plain { value, .. } => format!("<{} Value>", plain_type(value)),
            _ => self.reflected(),
        }
    }

    /// The type behind pointers.
    pub(super) fn inside_type(&self) -> &'static str {
        match &self.0 {
            Seen::Typed(ty, _) | Seen::Zero(ty) => ty.behind_pointers().get().name,
            _ => self.dynamic_type(),
        }
    }

    pub(super) fn inside(&self) -> Inside<'a> {
        match &self.0 {
            Seen::Plain { value, .. } => plain_inside(value),
            Seen::Typed(ty, value) => typed_inside(*ty, Some(value)),
            Seen::Zero(ty) => typed_inside(*ty, None),
            Seen::Text(text) => Inside::Text(letters(text)),
            Seen::Int(_) | Seen::Float(_) | Seen::Bool(_) | Seen::Byte(_) => Inside::Scalar,
        }
    }

    /// The field or entry of this name; `None` if there is none, or nothing to have one.
    pub(super) fn field(&self, name: &str) -> Option<Match<'a>> {
        match &self.0 {
            Seen::Plain { value, .. } => value.get(name).map(Self::plain),
            Seen::Typed(..) | Seen::Zero(_) if self.is_nil() => None,
            Seen::Typed(ty, value) => typed_field(ty.behind_pointers(), Some(value), name),
            Seen::Zero(ty) => typed_field(*ty, None, name),
            _ => None,
        }
    }

    pub(super) fn is_nil(&self) -> bool {
        match &self.0 {
            Seen::Plain { value, .. } => value.is_null(),
            Seen::Typed(ty, value) => {
                value.is_null() && matches!(ty.get().shape, Shape::Pointer(_))
            }
            Seen::Zero(ty) => matches!(ty.get().shape, Shape::Pointer(_)),
            _ => false,
        }
    }

    /// The value for a comparison; `None` if Go cannot compare its type.
    pub(super) fn basic(&self) -> Option<Basic<'_>> {
        match &self.0 {
            Seen::Text(text) => Some(Basic::String(text)),
            Seen::Int(value) => Some(Basic::Int(*value)),
            Seen::Float(value) => Some(Basic::Float(*value)),
            Seen::Bool(value) => Some(Basic::Bool(*value)),
            Seen::Byte(value) => Some(Basic::Int(i64::from(*value))),
            Seen::Plain { value, .. } => basic_value(value),
            Seen::Typed(ty, value) => is_basic(*ty).then(|| basic_value(value)).flatten(),
            Seen::Zero(ty) => match ty.get().shape {
                Shape::String => Some(Basic::String("")),
                Shape::Bool => Some(Basic::Bool(false)),
                Shape::Int32 | Shape::Int64 => Some(Basic::Int(0)),
                Shape::Float64 => Some(Basic::Float(0.0)),
                _ => None,
            },
        }
    }

    fn plain(value: &'a Value) -> Self {
        Self(Seen::Plain { value, root: false })
    }
}

fn is_basic(ty: TypeId) -> bool {
    matches!(
        ty.get().shape,
        Shape::String | Shape::Bool | Shape::Int32 | Shape::Int64 | Shape::Float64
    )
}

fn basic_value(value: &Value) -> Option<Basic<'_>> {
    match value {
        Value::Bool(value) => Some(Basic::Bool(*value)),
        Value::String(text) => Some(Basic::String(text)),
        Value::Number(number) => {
            number.as_i64().map(Basic::Int).or_else(|| number.as_f64().map(Basic::Float))
        }
        _ => None,
    }
}

fn letters(text: &str) -> Vec<Match<'static>> {
    text.bytes().map(|byte| Match(Seen::Byte(byte))).collect()
}

fn plain_inside(value: &Value) -> Inside<'_> {
    match value {
        Value::Null => Inside::Nil,
        Value::Object(entries) => {
            Inside::Map(sorted(entries).map(|(_, value)| Match::plain(value)).collect())
        }
        Value::Array(items) => Inside::List(items.iter().map(Match::plain).collect()),
        Value::String(text) => Inside::Text(letters(text)),
        Value::Bool(_) | Value::Number(_) => Inside::Scalar,
    }
}

/// Go walks mappings in no fixed order; here they are sorted.
fn sorted(entries: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let mut entries: Vec<_> = entries.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| key.as_str());
    entries.into_iter()
}

fn typed(ty: TypeId, value: Option<&Value>) -> Match<'_> {
    Match(value.map_or(Seen::Zero(ty), |value| Seen::Typed(ty, value)))
}

fn typed_inside(ty: TypeId, value: Option<&Value>) -> Inside<'_> {
    let absent = value.is_none_or(Value::is_null);
    match &ty.get().shape {
        Shape::Pointer(_) if absent => Inside::Nil,
        Shape::Pointer(inner) => typed_inside(*inner, value),
        Shape::Struct(structure) => Inside::Struct(struct_fields(structure, value)),
        Shape::List(item) => {
            let items = value.and_then(Value::as_array).into_iter().flatten();
            Inside::List(items.map(|value| typed(*item, Some(value))).collect())
        }
        Shape::Map(item) => {
            let entries = value.and_then(Value::as_object).into_iter().flat_map(sorted);
            Inside::Map(entries.map(|(_, value)| typed(*item, Some(value))).collect())
        }
        Shape::String => Inside::Text(letters(value.and_then(Value::as_str).unwrap_or_default())),
        _ => Inside::Scalar,
    }
}

fn struct_fields<'a>(structure: &Struct, value: Option<&'a Value>) -> Vec<Match<'a>> {
    structure
        .fields
        .iter()
        .map(|field| typed(field.ty, value.and_then(|value| value.get(field.name))))
        .collect()
}

fn typed_field<'a>(ty: TypeId, value: Option<&'a Value>, name: &str) -> Option<Match<'a>> {
    match &ty.get().shape {
        Shape::Struct(structure) => {
            let by_go_name = || structure.fields.iter().find(|field| field.has_go_name(name));
            let field = structure.field(name).or_else(by_go_name)?;
            Some(typed(field.ty, value.and_then(|value| value.get(field.name))))
        }
        Shape::Map(item) => Some(typed(*item, Some(value?.get(name)?))),
        _ => None,
    }
}

fn plain_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn print_plain(value: &Value) -> String {
    if value.is_null() { "%!s(<nil>)".to_owned() } else { print_inside(value) }
}

/// Inside lists and mappings, Go does not complain about nil.
fn print_inside(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(value) => format!("%!s(bool={value})"),
        Value::Number(number) => format!("%!s({}={})", plain_type(value), go_text(number)),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(print_inside).collect::<Vec<_>>().join(" "))
        }
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| format!("{key}:{}", print_inside(value));
            format!("map[{}]", sorted(entries).map(entry).collect::<Vec<_>>().join(" "))
        }
    }
}

/// Numbers and flags carry their type; structs are only sketched, since Go prints addresses inside them.
fn print_typed(ty: TypeId, value: &Value) -> String {
    match (&ty.get().shape, value) {
        (Shape::Int32 | Shape::Int64 | Shape::Float64 | Shape::Bool, value) => {
            format!("%!s({}={value})", ty.get().name)
        }
        // Generated types print themselves, also when there is nothing.
        (Shape::Pointer(inner), Value::Null) if matches!(inner.get().shape, Shape::Struct(_)) => {
            "nil".to_owned()
        }
        (Shape::Pointer(_), Value::Null) => format!("%!s({}=<nil>)", ty.get().name),
        (Shape::List(_) | Shape::Map(_), Value::Null) => print_plain(&Value::Array(Vec::new())),
        _ => print_plain(value),
    }
}
