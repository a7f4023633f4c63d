//! Decides what `a[i]` and `a[x:y:z]` mean, as values and as targets.
//!
//! Strings are indexed by byte. A part that cuts through a character has no valid encoding, and
//! each of its bytes is shown as U+FFFD.

use std::borrow::Cow;

use starlark::{
    eval::{Arguments, Evaluator},
    values::{
        Heap, Value, ValueLike,
        bytes::StarlarkBytes,
        dict::DictRef,
        list::{AllocList, ListRef},
        tuple::{AllocTuple, TupleRef},
    },
};

use super::{
    elems::Elems,
    error::{Site, message_of, raise_at},
    native::{HelperFn, Outcome},
    ops::{augmented, insert_into},
    range::Range,
    value::{as_i32, decode_utf8, hashed, length, repr, type_name},
};

/// What rewritten text calls for index and slice expressions.
pub(crate) const HELPERS: &[(&str, HelperFn)] = &[
    ("__index__", |eval, args| {
        let heap = eval.heap();
        let [x, i] = args.positional(heap)?;
        index(x, i, heap).map_err(|message| raise_at(Site::Operator, message))
    }),
    ("__slice__", |eval, args| {
        let heap = eval.heap();
        let [x, lo, hi, step] = args.positional(heap)?;
        slice(x, lo, hi, step, heap).map_err(|message| raise_at(Site::Operator, message))
    }),
    ("__setindex__", |eval, args| {
        // The value is computed before the place it goes to.
        let [value, x, i] = args.positional(eval.heap())?;
        set_index(x, i, value)?;
        Ok(Value::new_none())
    }),
    ("__augindex__", augmented_index),
];

fn augmented_index<'v>(eval: &mut Evaluator<'v, '_, '_>, args: &Arguments<'v, '_>) -> Outcome<'v> {
    let [x, i, op, y] = args.positional(eval.heap())?;
    let old = index(x, i, eval.heap()).map_err(|message| raise_at(Site::Operator, message))?;
    let new = augmented(eval, op.unpack_str().unwrap_or_default(), old, y)?;
    set_index(x, i, new)?;
    Ok(Value::new_none())
}

/// `x[i]`.
pub(crate) fn index<'v>(x: Value<'v>, i: Value<'v>, heap: Heap<'v>) -> Result<Value<'v>, String> {
    if let Some(dict) = DictRef::from_value(x) {
        return match dict.get_hashed(hashed(i)?) {
            Some(value) => Ok(value),
            None => Err(format!("key {} not in dict", repr(i))),
        };
    }
    if !is_indexable(x) {
        return foreign_index(x, i, heap);
    }
    let n = length(x).unwrap_or_default();
    let wanted = as_i32(i).map_err(|why| format!("{} index: {why}", type_name(x)))?;
    let at = position(x, n, wanted)?;
    Ok(element(x, at, heap))
}

fn is_indexable(x: Value<'_>) -> bool {
    matches!(x.get_type(), "list" | "tuple" | "string" | "bytes" | "range" | "string.elems")
}

/// The element at an index that is known to exist.
fn element<'v>(x: Value<'v>, at: usize, heap: Heap<'v>) -> Value<'v> {
    if let Some(list) = ListRef::from_value(x) {
        list.content()[at]
    } else if let Some(tuple) = TupleRef::from_value(x) {
        tuple.content()[at]
    } else if let Some(text) = x.unpack_str() {
        heap.alloc(byte_slice(text, at, at + 1).as_ref())
    } else if let Some(bytes) = x.downcast_ref::<StarlarkBytes>() {
        heap.alloc(StarlarkBytes::new(&bytes.as_bytes()[at..=at]))
    } else if let Some(range) = Range::from_value(x) {
        heap.alloc(range.get(i64::try_from(at).unwrap_or(i64::MAX)))
    } else if let Some(elems) = Elems::from_value(x) {
        elems.get(at, heap)
    } else {
        Value::new_none()
    }
}

/// Types of other modules say themselves what an index does.
fn foreign_index<'v>(x: Value<'v>, i: Value<'v>, heap: Heap<'v>) -> Result<Value<'v>, String> {
    let unhandled = || format!("unhandled index operation {}[{}]", type_name(x), type_name(i));
    if matches!(x.get_type(), "int" | "float" | "bool" | "NoneType" | "function") {
        return Err(unhandled());
    }
    x.at(i, heap).map_err(|error| match super::error::native_error(&error) {
        Some(_) => message_of(&error),
        None => unhandled(),
    })
}

fn position(x: Value<'_>, n: i64, wanted: i32) -> Result<usize, String> {
    let at = if wanted < 0 { i64::from(wanted) + n } else { i64::from(wanted) };
    if at < 0 || at >= n { Err(out_of_range(wanted, n, x)) } else { Ok(to_usize(at)) }
}

/// The message for an index that does not exist.
pub(crate) fn out_of_range(wanted: i32, n: i64, x: Value<'_>) -> String {
    let x = type_name(x);
    if n == 0 {
        format!("index {wanted} out of range: empty {x}")
    } else {
        format!("{x} index {wanted} out of range [{}:{}]", -n, n - 1)
    }
}

/// `x[i] = value`.
fn set_index<'v>(x: Value<'v>, i: Value<'v>, value: Value<'v>) -> starlark::Result<()> {
    let fail = |message| raise_at(Site::Operator, message);
    if DictRef::from_value(x).is_some() {
        // The reference looks at the table before it hashes the key, but says so only if the
        // key can be hashed at all.
        let mut dict = insert_into(x).map_err(|why| why.raise_at(Site::Operator))?;
        dict.aref.insert_hashed(hashed(i).map_err(fail)?, value);
        return Ok(());
    }
    if let Some(list) = ListRef::from_value(x) {
        let n = i64::try_from(list.len()).unwrap_or(i64::MAX);
        let wanted = as_i32(i).map_err(fail)?;
        position(x, n, wanted).map_err(fail)?;
        return x.set_at(i, value).map_err(|_| {
            let state = if x.unpack_frozen().is_some() { "frozen list" } else { "list" };
            let during = if state == "list" { " during iteration" } else { "" };
            fail(format!("cannot assign to element of {state}{during}"))
        });
    }
    x.set_at(i, value).map_err(|error| match super::error::native_error(&error) {
        Some(_) => fail(message_of(&error)),
        None => fail(format!("{} value does not support item assignment", type_name(x))),
    })
}

/// `x[lo:hi:step]`, where `None` stands for an absent part.
pub(crate) fn slice<'v>(
    x: Value<'v>,
    lo: Value<'v>,
    hi: Value<'v>,
    step: Value<'v>,
    heap: Heap<'v>,
) -> Result<Value<'v>, String> {
    if !matches!(x.get_type(), "list" | "tuple" | "string" | "bytes" | "range") {
        return Err(format!("invalid slice operand {}", type_name(x)));
    }
    let n = length(x).unwrap_or_default();
    let mut stride = 1;
    if !step.is_none() {
        stride = i64::from(as_i32(step).map_err(|why| format!("invalid slice step: {why}"))?);
        if stride == 0 {
            return Err("zero is not a valid slice step".to_owned());
        }
    }
    let (start, end) = if stride > 0 {
        let (start, end) = indices(lo, hi, n)?;
        (start, end.max(start))
    } else {
        let start = bound(lo, n, n - 1, "start")?.min(n - 1);
        let end = bound(hi, n, -1, "end")?.max(-1);
        (start.max(end), end)
    };
    Ok(take(x, start, end, stride, heap))
}

/// The part of a sequence between two valid bounds.
fn take<'v>(x: Value<'v>, start: i64, end: i64, stride: i64, heap: Heap<'v>) -> Value<'v> {
    if let Some(range) = Range::from_value(x) {
        return heap.alloc(range.slice(start, end, stride));
    }
    let (from, to) = (to_usize(start.max(0)), to_usize(end.max(0)));
    let picked = Range::new(start, end, stride);
    let picks = || (0..picked.len()).map(|i| to_usize(picked.get(i)));
    if let Some(text) = x.unpack_str() {
        return if stride == 1 {
            heap.alloc(byte_slice(text, from, to).as_ref())
        } else {
            let bytes: Vec<u8> = picks().map(|i| text.as_bytes()[i]).collect();
            heap.alloc(decode_utf8(&bytes))
        };
    }
    if let Some(bytes) = x.downcast_ref::<StarlarkBytes>() {
        let bytes: Vec<u8> = picks().map(|i| bytes.as_bytes()[i]).collect();
        return heap.alloc(StarlarkBytes::from_vec(bytes));
    }
    if let Some(list) = ListRef::from_value(x) {
        let list = list.content();
        return heap.alloc(AllocList(picks().map(|i| list[i])));
    }
    let tuple = TupleRef::from_value(x).map_or(&[] as &[Value], TupleRef::content);
    heap.alloc(AllocTuple(picks().map(|i| tuple[i]).collect::<Vec<_>>()))
}

/// An index or length that is known not to be negative.
pub(crate) fn to_usize(i: i64) -> usize {
    usize::try_from(i).unwrap_or_default()
}

/// The bytes of a string between two valid bounds.
pub(crate) fn byte_slice(text: &str, start: usize, end: usize) -> Cow<'_, str> {
    match text.get(start..end) {
        Some(part) => Cow::Borrowed(part),
        None => Cow::Owned(decode_utf8(&text.as_bytes()[start..end])),
    }
}

/// The bounds of `[lo:hi]` within `0..=n`; the first may exceed the second.
pub(crate) fn indices(lo: Value<'_>, hi: Value<'_>, n: i64) -> Result<(i64, i64), String> {
    let start = bound(lo, n, 0, "start")?.clamp(0, n);
    let end = bound(hi, n, n, "end")?.clamp(0, n);
    Ok((start, end))
}

fn bound(value: Value<'_>, n: i64, default: i64, which: &str) -> Result<i64, String> {
    if value.is_none() {
        return Ok(default);
    }
    let bound = as_i32(value).map_err(|why| format!("invalid {which} index: {why}"))?;
    Ok(if bound < 0 { i64::from(bound) + n } else { i64::from(bound) })
}
