//! Decides what the methods of sets do.

use starlark::{
    collections::{Hashed, SmallSet},
    eval::Evaluator,
    values::Value,
};

use super::Method;
use crate::{
    args::{Args, IterableArg},
    native::Outcome,
    set::{Set, SetRef},
    value::hashed,
};

pub(crate) const METHODS: &[(&str, Method)] = &[
    ("add", add),
    ("clear", clear),
    ("difference", difference),
    ("discard", discard),
    ("intersection", intersection),
    ("issubset", issubset),
    ("issuperset", issuperset),
    ("pop", pop),
    ("remove", remove),
    ("symmetric_difference", symmetric_difference),
    ("union", union),
];

fn set_of(value: Value<'_>) -> starlark::Result<SetRef<'_, '_>> {
    SetRef::of(value).ok_or_else(|| crate::error::raise("not a set"))
}

/// What can be compared with elements, in the argument of a set operation.
fn other<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    args: &Args<'v>,
) -> starlark::Result<Vec<Hashed<Value<'v>>>> {
    let mut other = IterableArg::default();
    args.unpack_positional(eval, 0, &mut [&mut other])?;
    let hashed = |it| hashed(it).map_err(|why| args.error(why));
    other.0.into_iter().map(hashed).collect()
}

fn add<'v>(eval: &mut Evaluator<'v, '_, '_>, set: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let element: Value = args.only_positional(eval)?;
    let set = set_of(set)?;
    let element = hashed(element).map_err(|why| args.error(why))?;
    if !set.contains(element) {
        set.change("insert into", |set| set.insert_hashed(element))
            .map_err(|why| args.error(why))?;
    }
    Ok(Value::new_none())
}

fn clear<'v>(eval: &mut Evaluator<'v, '_, '_>, set: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    args.unpack_positional(eval, 0, &mut [])?;
    let set = set_of(set)?;
    if set.len() > 0 {
        set.change("clear", SmallSet::clear).map_err(|why| args.error(why))?;
    }
    Ok(Value::new_none())
}

fn discard<'v>(eval: &mut Evaluator<'v, '_, '_>, set: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let element: Value = args.only_positional(eval)?;
    let set = set_of(set)?;
    let element = hashed(element).map_err(|why| args.error(why))?;
    if set.contains(element) {
        set.change("delete from", |set| set.shift_remove_hashed(element.as_ref()))
            .map_err(|why| args.error(why))?;
    }
    Ok(Value::new_none())
}

fn pop<'v>(eval: &mut Evaluator<'v, '_, '_>, set: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    args.unpack_positional(eval, 0, &mut [])?;
    let set = set_of(set)?;
    let Some(first) = set.hashed_items().first().copied() else {
        return Err(args.error("empty set"));
    };
    set.change("delete from", |set| set.shift_remove_hashed(first.as_ref()))
        .map_err(|why| args.error(why))?;
    Ok(*first.key())
}

fn remove<'v>(eval: &mut Evaluator<'v, '_, '_>, set: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let element: Value = args.only_positional(eval)?;
    let set = set_of(set)?;
    // Whether the set may change comes before whether the key can be one.
    set.change("delete from", |_| ()).map_err(|why| args.error(why))?;
    let element = hashed(element).map_err(|why| args.error(why))?;
    let found = set
        .change("delete from", |set| set.shift_remove_hashed(element.as_ref()))
        .map_err(|why| args.error(why))?;
    if found { Ok(Value::new_none()) } else { Err(args.error("missing key")) }
}

fn union<'v>(eval: &mut Evaluator<'v, '_, '_>, set: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let other = other(eval, &args)?;
    let mut union = set_of(set)?.copy();
    for element in other {
        union.insert_hashed(element);
    }
    Ok(eval.heap().alloc(Set::new(union)))
}

fn difference<'v>(eval: &mut Evaluator<'v, '_, '_>, set: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let other = other(eval, &args)?;
    let mut difference = set_of(set)?.copy();
    for element in other {
        difference.shift_remove_hashed(element.as_ref());
    }
    Ok(eval.heap().alloc(Set::new(difference)))
}

fn intersection<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    set: Value<'v>,
    args: Args<'v>,
) -> Outcome<'v> {
    let other = other(eval, &args)?;
    let set = set_of(set)?;
    let mut common = SmallSet::new();
    for element in other {
        if set.contains(element) {
            common.insert_hashed(element);
        }
    }
    Ok(eval.heap().alloc(Set::new(common)))
}

fn symmetric_difference<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    set: Value<'v>,
    args: Args<'v>,
) -> Outcome<'v> {
    let other = other(eval, &args)?;
    let mut difference = set_of(set)?.copy();
    for element in other {
        if !difference.shift_remove_hashed(element.as_ref()) {
            difference.insert_hashed(element);
        }
    }
    Ok(eval.heap().alloc(Set::new(difference)))
}

fn issubset<'v>(eval: &mut Evaluator<'v, '_, '_>, set: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let other = other(eval, &args)?;
    let set = set_of(set)?;
    let mut seen = SmallSet::new();
    for element in other {
        if set.contains(element) {
            seen.insert_hashed(element);
        }
    }
    Ok(Value::new_bool(seen.len() == set.len()))
}

fn issuperset<'v>(eval: &mut Evaluator<'v, '_, '_>, set: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let mut other = IterableArg::default();
    args.unpack_positional(eval, 0, &mut [&mut other])?;
    let set = set_of(set)?;
    // What comes behind the first element that is missing need not be a possible one.
    for element in other.0 {
        if !set.contains(hashed(element).map_err(|why| args.error(why))?) {
            return Ok(Value::new_bool(false));
        }
    }
    Ok(Value::new_bool(true))
}
