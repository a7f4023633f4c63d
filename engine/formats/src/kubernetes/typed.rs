//! Decides how an object of a built-in kind reads and writes: a manifest goes through the Go struct of its kind and
//! comes out with unknown fields, empty optional fields and the status gone, and with required fields filled in.
//!
//! The value is changed in place, so that the strings of a manifest are never copied. Mistakes do not stop the walk:
//! Go reports the first mistake of a wrong type, but the first refusal of a type that reads its own JSON wins over it,
//! so all are collected with their place and one is chosen at the end.

use std::fmt;

use serde_json::{Map, Value};

use super::bytes;
use super::numbers::{go_text, normalize, normalize_number, parse_integer};
use super::quantity;
use super::schema::{Field, Shape, Struct, TypeId};
use super::time::{self, Precision};
use crate::golang::json;

/// Nesting beyond this is refused; no real manifest comes near, and the stack stays small.
const MAX_DEPTH: usize = 1_000;

/// In which order the fields of a mapping are read, which decides the mistake that is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldOrder {
    /// YAML is turned into JSON with sorted keys first.
    Sorted,
    /// JSON is read as it is written.
    Written,
}

/// Why a manifest does not fit its kind, in the words of Go's JSON package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DecodeError {
    Type {
        value: String,
        structure: Option<&'static str>,
        /// Innermost first.
        fields: Vec<&'static str>,
        ty: &'static str,
    },
    Other(String),
}

/// Turns the manifest of an object of a built-in kind into its written form.
pub(crate) fn round_trip(
    ty: TypeId,
    value: &mut Value,
    order: FieldOrder,
) -> Result<(), DecodeError> {
    let mut decoder = Decoder { problems: Vec::new(), order, depth: 0 };
    decoder.value(ty, value);
    choose(decoder.problems).map_or(Ok(()), |problem| Err(problem.error))
}

struct Decoder {
    problems: Vec<Problem>,
    order: FieldOrder,
    depth: usize,
}

struct Problem {
    /// Whether a type that reads its own JSON refused the value.
    refused: bool,
    error: DecodeError,
    /// Where it happened, innermost step first.
    place: Vec<Step>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Index(usize),
    Key(String),
}

fn choose(problems: Vec<Problem>) -> Option<Problem> {
    let before = |a: &Problem, b: &Problem| {
        b.refused.cmp(&a.refused).then_with(|| a.place.iter().rev().cmp(b.place.iter().rev()))
    };
    problems.into_iter().min_by(before)
}

impl Decoder {
    /// Reads and writes one value; says whether Go's `omitempty` would leave it out.
    fn value(&mut self, ty: TypeId, value: &mut Value) -> bool {
        match &ty.get().shape {
            Shape::Pointer(inner) => {
                let absent = value.is_null();
                if !absent {
                    self.value(*inner, value);
                }
                absent
            }
            Shape::Struct(structure) => {
                self.structure(ty, structure, value);
                false
            }
            Shape::List(item) => self.list(ty, *item, value),
            Shape::Map(item) => self.map(ty, *item, value),
            Shape::String => self.string(ty, value),
            Shape::Bool => {
                if !value.is_boolean() {
                    self.expect_null(ty, value);
                    *value = Value::Bool(false);
                }
                *value == Value::Bool(false)
            }
            Shape::Int32 => self.integer(ty, value, i64::from(i32::MIN)..=i64::from(i32::MAX)),
            Shape::Int64 => self.integer(ty, value, i64::MIN..=i64::MAX),
            Shape::Float64 => self.float(ty, value),
            Shape::Bytes => self.bytes(ty, value),
            Shape::Time => self.time(value, Precision::Seconds),
            Shape::MicroTime => {
                self.time(value, Precision::Micros);
                false
            }
            _ => {
                self.special(&ty.get().shape, value);
                false
            }
        }
    }

    fn string(&mut self, ty: TypeId, value: &mut Value) -> bool {
        if let Value::String(text) = value {
            return text.is_empty();
        }
        self.expect_null(ty, value);
        *value = Value::String(String::new());
        true
    }

    fn integer(
        &mut self,
        ty: TypeId,
        value: &mut Value,
        range: std::ops::RangeInclusive<i64>,
    ) -> bool {
        let read = match value {
            Value::Number(number) => {
                parse_integer(number).filter(|integer| range.contains(integer))
            }
            _ => None,
        };
        if read.is_none() {
            if let Value::Number(number) = value {
                self.mistake(format!("number {}", go_text(number)), ty.get().name);
            } else {
                self.expect_null(ty, value);
            }
        }
        *value = Value::from(read.unwrap_or(0));
        read.unwrap_or(0) == 0
    }

    fn float(&mut self, ty: TypeId, value: &mut Value) -> bool {
        if let Value::Number(number) = value {
            normalize_number(number);
        } else {
            self.expect_null(ty, value);
            *value = Value::from(0);
        }
        value.as_f64() == Some(0.0)
    }

    fn bytes(&mut self, ty: TypeId, value: &mut Value) -> bool {
        let bytes = match value {
            Value::String(text) => match bytes::decode(text) {
                Ok(bytes) => Some(bytes),
                Err(error) => {
                    self.problem(false, DecodeError::Other(error.to_string()));
                    None
                }
            },
            Value::Array(items) => Some(self.byte_list(items)),
            _ => {
                self.expect_null(ty, value);
                None
            }
        };
        let empty = bytes.as_ref().is_none_or(Vec::is_empty);
        *value = bytes.map_or(Value::Null, |bytes| Value::String(bytes::encode(&bytes)));
        empty
    }

    fn byte_list(&mut self, items: &[Value]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(items.len());
        for item in items {
            let number = item
                .as_number()
                .and_then(parse_integer)
                .and_then(|number| u8::try_from(number).ok());
            match item {
                Value::Number(text) if number.is_none() => {
                    self.mistake(format!("number {}", go_text(text)), "uint8");
                }
                Value::Number(_) | Value::Null => {}
                other => self.mistake(json::kind(other).to_owned(), "uint8"),
            }
            bytes.push(number.unwrap_or(0));
        }
        bytes
    }

    fn list(&mut self, ty: TypeId, item: TypeId, value: &mut Value) -> bool {
        let Value::Array(items) = value else {
            self.expect_null(ty, value);
            *value = Value::Null;
            return true;
        };
        for (index, element) in items.iter_mut().enumerate() {
            let before = self.problems.len();
            self.value(item, element);
            self.locate(before, |_| Step::Index(index));
        }
        items.is_empty()
    }

    fn map(&mut self, ty: TypeId, item: TypeId, value: &mut Value) -> bool {
        let Value::Object(entries) = value else {
            self.expect_null(ty, value);
            *value = Value::Null;
            return true;
        };
        for (position, (key, element)) in entries.iter_mut().enumerate() {
            let before = self.problems.len();
            self.value(item, element);
            self.locate(before, |order| step(order, position, key));
        }
        entries.is_empty()
    }

    fn structure(&mut self, ty: TypeId, structure: &'static Struct, value: &mut Value) {
        if self.depth >= MAX_DEPTH {
            self.problem(true, DecodeError::Other("exceeded max depth".to_owned()));
            return;
        }
        self.depth += 1;
        if let Value::Object(entries) = value {
            self.fields(ty.get().name, structure, entries);
        } else {
            self.expect_null(ty, value);
            *value = structure.zero();
        }
        self.depth -= 1;
    }

    fn fields(
        &mut self,
        name: &'static str,
        structure: &'static Struct,
        entries: &mut Map<String, Value>,
    ) {
        let mut position = 0;
        entries.retain(|key, value| {
            position += 1;
            let Some(field) = structure.field(key) else { return false };
            let before = self.problems.len();
            let empty = self.value(field.ty, value);
            self.locate(before, |order| step(order, position, key));
            for problem in &mut self.problems[before..] {
                problem.error.add_field(name, field);
            }
            if field.status {
                *value = Value::Null;
            }
            !(field.omit_empty && (empty || field.status))
        });
        for index in &structure.always {
            let field = &structure.fields[usize::from(*index)];
            if !entries.contains_key(field.name) {
                entries.insert(field.name.to_owned(), field.zero());
            }
        }
    }

    fn special(&mut self, shape: &Shape, value: &mut Value) {
        match shape {
            Shape::Quantity => self.quantity(value),
            Shape::IntOrString => self.int_or_string(value),
            Shape::SchemaOrBool(schema) => match value {
                Value::Object(_) => self.separately(*schema, value),
                Value::Bool(_) => {}
                _ => self.problem(
                    true,
                    DecodeError::Other("boolean or JSON schema expected".to_owned()),
                ),
            },
            Shape::SchemaOrList { schema, list } | Shape::SchemaOrStrings { schema, list } => {
                match value {
                    Value::Object(_) => self.separately(*schema, value),
                    Value::Array(items) if !items.is_empty() => self.separately(*list, value),
                    _ => *value = Value::Null,
                }
            }
            _ => normalize(value),
        }
    }

    fn quantity(&mut self, value: &mut Value) {
        let canonical = match value {
            Value::Null => Ok(Some("0".to_owned())),
            Value::Number(number) => {
                let text = go_text(number);
                quantity::canonicalize(&text).map(|canonical| canonical.or(Some(text)))
            }
            Value::String(text) => {
                let trimmed = text
                    .trim_matches(|letter: char| letter.is_whitespace() && !letter.is_control());
                let canonical = quantity::canonicalize(trimmed);
                canonical.map(|canonical| {
                    canonical.or_else(|| (trimmed != text).then(|| trimmed.to_owned()))
                })
            }
            _ => Err(quantity::QuantityError::Format),
        };
        match canonical {
            Ok(None) => {}
            Ok(Some(text)) => *value = Value::String(text),
            Err(error) => self.problem(true, DecodeError::Other(error.to_string())),
        }
    }

    fn int_or_string(&mut self, value: &mut Value) {
        match value {
            Value::String(_) => {}
            Value::Null => *value = Value::from(0),
            Value::Number(number) => {
                match parse_integer(number).and_then(|integer| i32::try_from(integer).ok()) {
                    Some(integer) => *value = Value::from(integer),
                    None => self.problem(
                        true,
                        DecodeError::new(format!("number {}", go_text(number)), "int32"),
                    ),
                }
            }
            other => self.problem(true, DecodeError::new(json::kind(other).to_owned(), "int32")),
        }
    }

    /// Only the zero time that was never set counts as empty.
    fn time(&mut self, value: &mut Value, precision: Precision) -> bool {
        match value {
            Value::Null => return true,
            Value::String(text) => match time::canonicalize(text, precision) {
                Ok(time) => *value = time.map_or(Value::Null, Value::String),
                Err(error) => self.problem(true, DecodeError::Other(error.to_string())),
            },
            other => self.problem(true, DecodeError::new(json::kind(other).to_owned(), "string")),
        }
        false
    }

    /// Reads a part that Go gives to a decoder of its own, whose mistake counts as a refusal.
    fn separately(&mut self, ty: TypeId, value: &mut Value) {
        let before = self.problems.len();
        self.value(ty, value);
        if let Some(mut problem) = choose(self.problems.split_off(before)) {
            problem.error.forget_structure();
            self.problem(true, problem.error);
        }
    }

    /// Null leaves a Go value as it was; anything else here is a mistake.
    fn expect_null(&mut self, ty: TypeId, value: &Value) {
        if !value.is_null() {
            self.mistake(json::kind(value).to_owned(), ty.get().name);
        }
    }

    fn mistake(&mut self, value: String, ty: &'static str) {
        self.problem(false, DecodeError::new(value, ty));
    }

    fn problem(&mut self, refused: bool, error: DecodeError) {
        self.problems.push(Problem { refused, error, place: Vec::new() });
    }

    /// Tells the problems since `before` which step led to them.
    fn locate(&mut self, before: usize, step: impl Fn(FieldOrder) -> Step) {
        let order = self.order;
        for problem in &mut self.problems[before..] {
            problem.place.push(step(order));
        }
    }
}

fn step(order: FieldOrder, position: usize, key: &str) -> Step {
    match order {
        FieldOrder::Sorted => Step::Key(key.to_owned()),
        FieldOrder::Written => Step::Index(position),
    }
}

impl DecodeError {
    fn new(value: String, ty: &'static str) -> Self {
        Self::Type { value, structure: None, fields: Vec::new(), ty }
    }

    fn add_field(&mut self, within: &'static str, field: &Field) {
        if let Self::Type { structure, fields, .. } = self {
            structure.get_or_insert(within.rsplit_once('.').map_or(within, |(_, name)| name));
            fields.push(field.name);
            fields.extend(field.embedded);
        }
    }

    fn forget_structure(&mut self) {
        if let Self::Type { structure, .. } = self {
            *structure = None;
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(text) => f.write_str(text),
            Self::Type { value, structure, fields, ty } => {
                write!(f, "json: cannot unmarshal {value} into Go ")?;
                if fields.is_empty() {
                    return write!(f, "value of type {ty}");
                }
                write!(f, "struct field {}", structure.unwrap_or_default())?;
                for field in fields.iter().rev() {
                    write!(f, ".{field}")?;
                }
                write!(f, " of type {ty}")
            }
        }
    }
}
