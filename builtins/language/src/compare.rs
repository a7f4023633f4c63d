//! Decides equality and order of values.

use std::cmp::Ordering;

use starlark::values::{
    Value, ValueLike, bytes::StarlarkBytes, dict::DictRef, list::ListRef, tuple::TupleRef,
};

use super::{
    number::{Num, compare_floats},
    set::SetRef,
    structs::StructRef,
    value::{hashed, type_name},
};

/// Values nested deeper than this cannot be compared.
const MAX_DEPTH: u32 = 10;

/// A comparison operator.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    fn symbol(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }

    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Comparison::Equal => ordering.is_eq(),
            Comparison::NotEqual => ordering.is_ne(),
            Comparison::Less => ordering.is_lt(),
            Comparison::LessOrEqual => ordering.is_le(),
            Comparison::Greater => ordering.is_gt(),
            Comparison::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

/// `x == y`.
pub(crate) fn equal<'v>(x: Value<'v>, y: Value<'v>) -> Result<bool, String> {
    compare(Comparison::Equal, x, y)
}

/// `x op y`.
pub(crate) fn compare<'v>(op: Comparison, x: Value<'v>, y: Value<'v>) -> Result<bool, String> {
    compare_to_depth(op, x, y, MAX_DEPTH)
}

fn compare_to_depth<'v>(
    op: Comparison,
    x: Value<'v>,
    y: Value<'v>,
    depth: u32,
) -> Result<bool, String> {
    if let (Some(a), Some(b)) = (x.unpack_i32(), y.unpack_i32()) {
        return Ok(op.holds(a.cmp(&b)));
    }
    if let (Some(a), Some(b)) = (x.unpack_str(), y.unpack_str()) {
        return Ok(op.holds(a.cmp(b)));
    }
    if depth < 1 {
        return Err("comparison exceeded maximum recursion depth".to_owned());
    }
    if let (Some(a), Some(b)) = (Num::of(x), Num::of(y)) {
        return Ok(op.holds(match (a, b) {
            (Num::Int(a), Num::Int(b)) => a.compare(&b),
            (Num::Float(a), Num::Float(b)) => compare_floats(a, b),
            (Num::Int(a), Num::Float(b)) => a.compare_float(b),
            (Num::Float(a), Num::Int(b)) => b.compare_float(a).reverse(),
        }));
    }
    if let (Some(a), Some(b)) = (ListRef::from_value(x), ListRef::from_value(y)) {
        return sequences(op, a.content(), b.content(), depth);
    }
    if let (Some(a), Some(b)) = (TupleRef::from_value(x), TupleRef::from_value(y)) {
        return sequences(op, a.content(), b.content(), depth);
    }
    if let (Some(a), Some(b)) = (x.unpack_bool(), y.unpack_bool()) {
        return Ok(op.holds(a.cmp(&b)));
    }
    if let (Some(a), Some(b)) =
        (x.downcast_ref::<StarlarkBytes>(), y.downcast_ref::<StarlarkBytes>())
    {
        return Ok(op.holds(a.as_bytes().cmp(b.as_bytes())));
    }
    if let (Some(a), Some(b)) = (SetRef::of(x), SetRef::of(y)) {
        return Ok(sets(op, a, b));
    }
    let equal = match op {
        Comparison::Equal | Comparison::NotEqual => same_content(x, y, depth)?,
        _ => {
            let (x, y) = (type_name(x), type_name(y));
            return Err(format!("{x} {} {y} not implemented", op.symbol()));
        }
    };
    Ok(equal == (op == Comparison::Equal))
}

fn same_content<'v>(x: Value<'v>, y: Value<'v>, depth: u32) -> Result<bool, String> {
    if let (Some(a), Some(b)) = (DictRef::from_value(x), DictRef::from_value(y)) {
        if a.len() != b.len() {
            return Ok(false);
        }
        for (key, value) in a.iter_hashed() {
            match b.get_hashed(key) {
                Some(other) if equal_to_depth(value, other, depth - 1)? => {}
                _ => return Ok(false),
            }
        }
        return Ok(true);
    }
    if let (Some(a), Some(b)) = (StructRef::of(x), StructRef::of(y)) {
        if a.constructor() != b.constructor()
            || !a.fields().map(|f| f.0).eq(b.fields().map(|f| f.0))
        {
            return Ok(false);
        }
        for ((_, x), (_, y)) in a.fields().zip(b.fields()) {
            if !equal_to_depth(x, y, depth - 1)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    // Everything else is a value of ours or a function, which know no nesting.
    Ok(x.ptr_eq(y) || x.get_type() == y.get_type() && x.equals(y).unwrap_or(false))
}

fn equal_to_depth<'v>(x: Value<'v>, y: Value<'v>, depth: u32) -> Result<bool, String> {
    compare_to_depth(Comparison::Equal, x, y, depth)
}

fn sequences<'v>(
    op: Comparison,
    x: &[Value<'v>],
    y: &[Value<'v>],
    depth: u32,
) -> Result<bool, String> {
    if x.len() != y.len() && matches!(op, Comparison::Equal | Comparison::NotEqual) {
        return Ok(op == Comparison::NotEqual);
    }
    for (a, b) in x.iter().zip(y) {
        if !equal_to_depth(*a, *b, depth - 1)? {
            return match op {
                Comparison::Equal => Ok(false),
                Comparison::NotEqual => Ok(true),
                _ => compare_to_depth(op, *a, *b, depth - 1),
            };
        }
    }
    Ok(op.holds(x.len().cmp(&y.len())))
}

fn sets<'v>(op: Comparison, x: SetRef<'v, 'v>, y: SetRef<'v, 'v>) -> bool {
    let within = |inner: SetRef<'v, 'v>, outer: SetRef<'v, 'v>| {
        inner.hashed_items().into_iter().all(|element| outer.contains(element))
    };
    match op {
        Comparison::Equal => x.same(y),
        Comparison::NotEqual => !x.same(y),
        Comparison::LessOrEqual => x.len() <= y.len() && within(x, y),
        Comparison::Less => x.len() < y.len() && within(x, y),
        Comparison::GreaterOrEqual => x.len() >= y.len() && within(y, x),
        Comparison::Greater => x.len() > y.len() && within(y, x),
    }
}

/// `x in y` for a dict or another mapping; a key that cannot be hashed is not in it.
pub(crate) fn in_dict<'v>(x: Value<'v>, dict: &DictRef<'v>) -> bool {
    hashed(x).is_ok_and(|key| dict.get_hashed(key).is_some())
}
