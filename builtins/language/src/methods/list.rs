//! Decides what the methods of lists do.

use starlark::{
    eval::Evaluator,
    values::{Value, list::ListRef},
};

use super::Method;
use crate::{
    args::{Args, IterableArg},
    compare::equal,
    crate_words::MUTATES_WHILE_ITERATING,
    error::{Complaint, Mistake, message_of, raise},
    index::{indices, out_of_range, to_usize},
    native::Outcome,
};

pub(crate) const METHODS: &[(&str, Method)] = &[
    ("append", append),
    ("clear", clear),
    ("extend", extend_method),
    ("index", index),
    ("insert", insert),
    ("pop", pop),
    ("remove", remove),
];

/// Changes a list through the crate's own method, which is the only way it offers.
fn change<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    list: Value<'v>,
    verb: &str,
    method: &str,
    args: &[Value<'v>],
) -> Result<Value<'v>, String> {
    if list.unpack_frozen().is_some() {
        return Err(format!("cannot {verb} frozen list"));
    }
    let attr = list.get_attr_error(method, eval.heap()).map_err(|e| message_of(&e))?;
    eval.eval_function(attr, args, &[]).map_err(|error| {
        let message = message_of(&error);
        if message.starts_with(MUTATES_WHILE_ITERATING) {
            format!("cannot {verb} list during iteration")
        } else {
            message
        }
    })
}

/// Appends the items, unless the list is frozen or a loop runs over it.
pub(crate) fn extend<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    list: Value<'v>,
    items: Vec<Value<'v>>,
    verb: &str,
) -> Result<(), String> {
    let items = eval.heap().alloc(items);
    change(eval, list, verb, "extend", &[items]).map(|_| ())
}

fn append<'v>(eval: &mut Evaluator<'v, '_, '_>, list: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let object: Value = args.only_positional(eval)?;
    change(eval, list, "append to", "append", &[object]).map_err(|why| {
        let frozen = list.unpack_frozen().map(|_| Mistake::FrozenList);
        args.complain(Complaint::new(why, frozen))
    })
}

fn clear<'v>(eval: &mut Evaluator<'v, '_, '_>, list: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    args.unpack_positional(eval, 0, &mut [])?;
    change(eval, list, "clear", "clear", &[]).map_err(|why| args.error(why))
}

fn extend_method<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    list: Value<'v>,
    args: Args<'v>,
) -> Outcome<'v> {
    let items: IterableArg = args.only_positional(eval)?;
    extend(eval, list, items.0, "extend").map_err(|why| args.error(why))?;
    Ok(Value::new_none())
}

fn content(list: Value<'_>) -> &[Value<'_>] {
    ListRef::from_value(list).map_or(&[], |list| list.content())
}

fn index<'v>(eval: &mut Evaluator<'v, '_, '_>, list: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let [mut value, mut start, mut end] = [Value::new_none(); 3];
    args.unpack_positional(eval, 1, &mut [&mut value, &mut start, &mut end])?;
    let list = content(list);
    let n = i64::try_from(list.len()).unwrap_or(i64::MAX);
    let (start, end) = indices(start, end, n).map_err(|why| args.error(why))?;
    for i in start..end {
        let element = list[to_usize(i)];
        if equal(element, value).map_err(|why| args.error(why))? {
            return Ok(eval.heap().alloc(i));
        }
    }
    Err(args.error("value not in list"))
}

fn insert<'v>(eval: &mut Evaluator<'v, '_, '_>, list: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let mut index = 0_i64;
    let mut object = Value::new_none();
    args.unpack_positional(eval, 2, &mut [&mut index, &mut object])?;
    let n = i64::try_from(content(list).len()).unwrap_or(i64::MAX);
    let index = if index < 0 { index.saturating_add(n) } else { index };
    let index = eval.heap().alloc(index.clamp(0, n));
    change(eval, list, "insert into", "insert", &[index, object]).map_err(|why| args.error(why))
}

fn pop<'v>(eval: &mut Evaluator<'v, '_, '_>, list: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let n = i64::try_from(content(list).len()).unwrap_or(i64::MAX);
    let mut index = n - 1;
    args.unpack_positional(eval, 0, &mut [&mut index])?;
    let at = if index < 0 { index.saturating_add(n) } else { index };
    if at < 0 || at >= n {
        let wanted = i32::try_from(index).unwrap_or(if index < 0 { i32::MIN } else { i32::MAX });
        return Err(args.error(out_of_range(wanted, n, list)));
    }
    let at = eval.heap().alloc(at);
    change(eval, list, "pop from", "pop", &[at]).map_err(|why| args.error(why))
}

fn remove<'v>(eval: &mut Evaluator<'v, '_, '_>, list: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let value: Value = args.only_positional(eval)?;
    // Says that the list cannot change before it says that the element is not there.
    let nothing = eval.heap().alloc(Vec::<Value>::new());
    change(eval, list, "remove from", "extend", &[nothing]).map_err(|why| args.error(why))?;
    for (i, element) in content(list).iter().enumerate() {
        if equal(*element, value).map_err(|why| args.error(why))? {
            let i = eval.heap().alloc(i64::try_from(i).unwrap_or(i64::MAX));
            change(eval, list, "remove from", "pop", &[i]).map_err(|why| args.error(why))?;
            return Ok(Value::new_none());
        }
    }
    Err(raise("remove: element not found"))
}
