//! Decides what can be iterated and unpacked, and how attributes are read.

use starlark::values::Value;

use super::{
    attrs,
    error::{Site, raise_at},
    native::HelperFn,
    value,
    value::type_name,
};

/// What rewritten text calls for loops, unpacking and attributes.
pub(crate) const HELPERS: &[(&str, HelperFn)] = &[
    ("__iter__", |eval, args| {
        let [x] = args.positional(eval.heap())?;
        if value::is_iterable(x, eval.heap()) {
            return Ok(x);
        }
        Err(value::not_iterable(x).raise_at(Site::Operator))
    }),
    ("__unpack__", |eval, args| {
        let heap = eval.heap();
        let [x, n] = args.positional(heap)?;
        let want = n.unpack_i32().unwrap_or_default();
        unpack(x, i64::from(want), heap).map_err(|message| raise_at(Site::Operator, message))
    }),
    ("__b__", |eval, args| {
        let [literal] = args.positional(eval.heap())?;
        Ok(literal)
    }),
    ("__attr__", |eval, args| {
        let [x, name] = args.positional(eval.heap())?;
        attrs::get_attr(x, name.unpack_str().unwrap_or_default(), eval.heap())
    }),
];

fn unpack<'v>(
    x: Value<'v>,
    want: i64,
    heap: starlark::values::Heap<'v>,
) -> Result<Value<'v>, String> {
    if !value::is_iterable(x, heap) {
        return Err(format!("got {} in sequence assignment", type_name(x)));
    }
    let items = value::elements(x, heap).unwrap_or_default();
    let got = i64::try_from(items.len()).unwrap_or(i64::MAX);
    if got > want {
        let len = value::length(x).unwrap_or(-1);
        return Err(format!("too many values to unpack (got {len}, want {want})"));
    }
    if got < want {
        return Err(format!("too few values to unpack (got {got}, want {want})"));
    }
    Ok(x)
}
