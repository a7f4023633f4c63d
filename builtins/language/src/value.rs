//! Decides how values are named, printed, hashed and measured, whatever Rust type they have.

use std::fmt::Write as _;

use engine_formats::golang::quote::{quote_bytes, quote_into};
use starlark::{
    collections::Hashed,
    eval::ParametersSpec,
    values::{
        Heap, Value, ValueLike, bytes::StarlarkBytes, dict::DictRef, float::StarlarkFloat,
        list::ListRef, tuple::TupleRef,
    },
};

use super::{
    api_value::PassesForDict,
    elems::Elems,
    error::{Complaint, Mistake, native_error},
    memory,
    native::{BoundMethod, Native},
    number::{Int, format_float},
    range::Range,
    set::SetRef,
    structs::StructRef,
};

/// Beyond this nesting, values are printed as `...` instead of exhausting the stack.
const MAX_PRINT_DEPTH: usize = 20_000;

/// How much is printed between two looks at the memory.
const PRINT_STEP: usize = 16 << 20;

/// What `type(value)` says.
pub fn type_name(value: Value<'_>) -> &'static str {
    match value.get_type() {
        "function" if value.parameters_spec().is_none() => "builtin_function_or_method",
        other => other,
    }
}

/// Whether `value(...)` can be a call.
pub fn is_callable(value: Value<'_>) -> bool {
    matches!(type_name(value), "function" | "builtin_function_or_method")
}

/// What `repr(value)` gives.
pub fn repr(value: Value<'_>) -> String {
    let mut out = String::new();
    write_repr(&mut out, value);
    out
}

/// What `str(value)` gives.
pub fn to_str(value: Value<'_>) -> String {
    if let Some(s) = value.unpack_str() {
        return s.to_owned();
    }
    if let Some(bytes) = value.downcast_ref::<StarlarkBytes>() {
        return decode_utf8(bytes.as_bytes());
    }
    repr(value)
}

/// Appends strings as they are and everything else as `repr` prints it.
pub(crate) fn write_str(out: &mut String, value: Value<'_>) {
    match value.unpack_str() {
        Some(s) => out.push_str(s),
        None => write_repr(out, value),
    }
}

/// Appends what `repr(value)` gives.
pub(crate) fn write_repr(out: &mut String, value: Value<'_>) {
    Printer { checked_len: out.len(), out, path: Vec::new(), depth: 0, is_stopped: false }
        .write(value);
}

struct Printer<'a, 'v> {
    out: &'a mut String,
    /// The lists and dicts being printed, to stop at one that contains itself.
    path: Vec<Value<'v>>,
    depth: usize,
    /// How long the text was when memory was looked at last.
    checked_len: usize,
    /// Whether there is no memory for more.
    is_stopped: bool,
}

impl<'v> Printer<'_, 'v> {
    fn write(&mut self, value: Value<'v>) {
        if let Some(s) = value.unpack_str() {
            quote_into(self.out, s);
        } else if let Some(int) = value.unpack_i32() {
            let _ = write!(self.out, "{int}");
        } else if value.is_none() {
            self.out.push_str("None");
        } else if let Some(b) = value.unpack_bool() {
            self.out.push_str(if b { "True" } else { "False" });
        } else if self.depth >= MAX_PRINT_DEPTH {
            self.out.push_str("...");
        } else {
            self.depth += 1;
            self.write_composite(value);
            self.depth -= 1;
        }
    }

    fn write_composite(&mut self, value: Value<'v>) {
        // A value that contains others many times over is much longer in print.
        if self.out.len() > self.checked_len + PRINT_STEP {
            self.checked_len = self.out.len();
            self.is_stopped |= memory::reserve(self.out.len()).is_err();
        }
        if self.is_stopped {
            return;
        }
        if let Some(list) = ListRef::from_value(value) {
            self.out.push('[');
            self.guarded(value, |p| p.elements(list.iter()));
            self.out.push(']');
        } else if let Some(tuple) = TupleRef::from_value(value) {
            self.out.push('(');
            self.elements(tuple.iter());
            self.out.push_str(if tuple.len() == 1 { ",)" } else { ")" });
        } else if let Some(dict) = DictRef::from_value(value) {
            self.out.push('{');
            self.guarded(value, |p| {
                for (i, (k, v)) in dict.iter().enumerate() {
                    p.out.push_str(if i > 0 { ", " } else { "" });
                    p.write(k);
                    p.out.push_str(": ");
                    p.write(v);
                }
            });
            self.out.push('}');
        } else if let Some(set) = SetRef::of(value) {
            self.out.push_str("set([");
            self.elements(set.items().into_iter());
            self.out.push_str("])");
        } else if let Some(s) = StructRef::of(value) {
            self.out.push_str(s.constructor());
            self.out.push('(');
            for (i, (name, field)) in s.fields().enumerate() {
                let _ = write!(self.out, "{}{name} = ", if i > 0 { ", " } else { "" });
                self.write(field);
            }
            self.out.push(')');
        } else {
            self.write_atom(value);
        }
    }

    fn write_atom(&mut self, value: Value<'v>) {
        if let Some(float) = value.downcast_ref::<StarlarkFloat>() {
            self.out.push_str(&format_float(float.0, 'g'));
        } else if let Some(bytes) = value.downcast_ref::<StarlarkBytes>() {
            self.out.push('b');
            self.out.push_str(&quote_bytes(bytes.as_bytes()));
        } else if type_name(value) == "function" {
            let name = value.function_name().unwrap_or("lambda");
            let _ = write!(self.out, "<function {name}>");
        } else {
            // Integers beyond 32 bits and every type of ours print themselves.
            let _ = write!(self.out, "{value}");
        }
    }

    fn elements(&mut self, elements: impl Iterator<Item = Value<'v>>) {
        for (i, element) in elements.enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.write(element);
        }
    }

    fn guarded(&mut self, value: Value<'v>, write: impl FnOnce(&mut Self)) {
        if self.path.iter().any(|outer| outer.ptr_eq(value)) {
            self.out.push_str("...");
            return;
        }
        self.path.push(value);
        write(self);
        self.path.pop();
    }
}

/// Decodes UTF-8 with one replacement character per byte that is not part of it.
pub fn decode_utf8(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    out
}

/// The length of a sequence, or `None` for a value that has none.
pub(crate) fn length(value: Value<'_>) -> Option<i64> {
    if let Some(s) = value.unpack_str() {
        return i64::try_from(s.len()).ok();
    }
    if let Some(range) = value.downcast_ref::<Range>() {
        return Some(range.len());
    }
    if let Some(elems) = value.downcast_ref::<Elems>() {
        return i64::try_from(elems.len()).ok();
    }
    if matches!(value.get_type(), "struct" | "string.codepoints" | "bytes.elems") {
        return None;
    }
    value.length().ok().map(i64::from)
}

/// The elements of an iterable value, or `None` if it cannot be iterated.
pub fn elements<'v>(value: Value<'v>, heap: Heap<'v>) -> Option<Vec<Value<'v>>> {
    if let Some(list) = ListRef::from_value(value) {
        return Some(list.content().to_vec());
    }
    if let Some(tuple) = TupleRef::from_value(value) {
        return Some(tuple.content().to_vec());
    }
    if let Some(set) = SetRef::of(value) {
        return Some(set.items());
    }
    if let Some(range) = value.downcast_ref::<Range>() {
        let len = usize::try_from(range.len()).unwrap_or(usize::MAX);
        if memory::reserve(len.saturating_mul(2 * size_of::<Value>())).is_err() {
            return Some(Vec::new());
        }
    }
    if value.unpack_str().is_some() || value.downcast_ref::<StarlarkBytes>().is_some() {
        return None;
    }
    value.iterate(heap).ok().map(Iterator::collect)
}

/// The entries of a dict, or of a value that passes for one.
pub(crate) fn mapping<'v>(value: Value<'v>, heap: Heap<'v>) -> Option<Vec<(Value<'v>, Value<'v>)>> {
    if let Some(dict) = DictRef::from_value(value) {
        return Some(dict.iter().collect());
    }
    if !passes_for_dict(value) {
        return None;
    }
    elements(value, heap)?.into_iter().map(|key| Some((key, value.at(key, heap).ok()?))).collect()
}

/// Whether a value is a dict, or one of an API that passes for one.
pub(crate) fn passes_for_dict(value: Value<'_>) -> bool {
    value.get_type() == "dict" || value.request_value::<PassesForDict>().is_some()
}

/// Whether a value can be iterated.
pub(crate) fn is_iterable<'v>(value: Value<'v>, heap: Heap<'v>) -> bool {
    match value.get_type() {
        "list" | "tuple" | "dict" | "set" | "range" => true,
        "string" | "bytes" | "int" | "float" | "bool" | "NoneType" | "function" => false,
        _ => value.iterate(heap).is_ok(),
    }
}

/// What is said about a value that cannot be iterated.
pub(crate) fn not_iterable(value: Value<'_>) -> Complaint {
    let is_string = value.unpack_str().is_some();
    let message = format!("{} value is not iterable", type_name(value));
    Complaint::new(message, is_string.then_some(Mistake::IteratedString))
}

/// The value with its hash, or the message that says why it cannot be a key.
pub(crate) fn hashed(value: Value<'_>) -> Result<Hashed<Value<'_>>, String> {
    value.get_hashed().map_err(|error| {
        native_error(&error).map_or_else(|| unhashable(value), ToString::to_string)
    })
}

fn unhashable(value: Value<'_>) -> String {
    let parts: Vec<Value> = match (TupleRef::from_value(value), StructRef::of(value)) {
        (Some(tuple), _) => tuple.content().to_vec(),
        (_, Some(s)) => s.fields().map(|(_, v)| v).collect(),
        _ => Vec::new(),
    };
    if let Some(part) = parts.into_iter().find(|part| part.get_hashed().is_err()) {
        return unhashable(part);
    }
    unhashable_type(type_name(value))
}

/// What is said about a type that cannot be a key.
pub(crate) fn unhashable_type(name: &str) -> String {
    match name {
        "range" | "module" | "string.elems" | "string.codepoints" | "bytes.elems" => {
            format!("unhashable: {name}")
        }
        _ => format!("unhashable type: {name}"),
    }
}

/// An integer argument within 32 bits, or the message that says why it is none.
pub(crate) fn as_i32(value: Value<'_>) -> Result<i32, String> {
    match Int::of(value) {
        Some(int) => int.to_i32().ok_or_else(|| format!("{int} out of range")),
        None => Err(format!("got {}, want int", type_name(value))),
    }
}

/// How many parameters a function of a file has.
pub fn n_params(function: Value<'_>) -> usize {
    function.parameters_spec().map_or(0, ParametersSpec::len)
}

/// The name by which a callable is known in messages and tracebacks.
pub fn callable_name(value: Value<'_>) -> String {
    if let Some(native) = value.downcast_ref::<Native>() {
        return native.name().to_owned();
    }
    if let Some(method) = BoundMethod::of(value) {
        return method.to_owned();
    }
    value.function_name().unwrap_or("lambda").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_utf8_becomes_replacement_characters() {
        assert_eq!(decode_utf8(b"a\xc3b\xff\xfe"), "a\u{fffd}b\u{fffd}\u{fffd}");
    }
}
