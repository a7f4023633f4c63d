//! Decides what the methods of dicts do.

use starlark::{
    eval::Evaluator,
    values::{Value, dict::DictRef, list::AllocList},
};

use super::Method;
use crate::{
    args::Args,
    error::Complaint,
    native::Outcome,
    ops::{change_dict, insert_into},
    value::{elements, hashed, length, mapping, type_name},
};

pub(crate) const METHODS: &[(&str, Method)] = &[
    ("clear", clear),
    ("get", get),
    ("items", items),
    ("keys", keys),
    ("pop", pop),
    ("popitem", popitem),
    ("setdefault", setdefault),
    ("update", update_method),
    ("values", values),
];

fn entries(dict: Value<'_>) -> Vec<(Value<'_>, Value<'_>)> {
    DictRef::from_value(dict).map_or_else(Vec::new, |dict| dict.iter().collect())
}

fn lookup<'v>(dict: Value<'v>, key: Value<'v>) -> Result<Option<Value<'v>>, String> {
    let key = hashed(key)?;
    Ok(DictRef::from_value(dict).and_then(|dict| dict.get_hashed(key)))
}

fn insert<'v>(dict: Value<'v>, key: Value<'v>, value: Value<'v>) -> Result<(), Complaint> {
    let mut dict = insert_into(dict)?;
    dict.aref.insert_hashed(hashed(key)?, value);
    Ok(())
}

fn delete<'v>(dict: Value<'v>, key: Value<'v>) -> Result<Option<Value<'v>>, String> {
    let mut dict = change_dict(dict, "delete from")?;
    Ok(dict.aref.remove_hashed(hashed(key)?))
}

fn clear<'v>(eval: &mut Evaluator<'v, '_, '_>, dict: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    args.unpack_positional(eval, 0, &mut [])?;
    // The reference forgets to say which method it was.
    change_dict(dict, "clear").map_err(crate::error::raise)?.aref.clear();
    Ok(Value::new_none())
}

fn get<'v>(eval: &mut Evaluator<'v, '_, '_>, dict: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let [mut key, mut default] = [Value::new_none(); 2];
    args.unpack_positional(eval, 1, &mut [&mut key, &mut default])?;
    Ok(lookup(dict, key).map_err(|why| args.error(why))?.unwrap_or(default))
}

fn items<'v>(eval: &mut Evaluator<'v, '_, '_>, dict: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    args.unpack_positional(eval, 0, &mut [])?;
    Ok(eval.heap().alloc(AllocList(entries(dict))))
}

fn keys<'v>(eval: &mut Evaluator<'v, '_, '_>, dict: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    args.unpack_positional(eval, 0, &mut [])?;
    Ok(eval.heap().alloc(AllocList(entries(dict).into_iter().map(|entry| entry.0))))
}

fn values<'v>(eval: &mut Evaluator<'v, '_, '_>, dict: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    args.unpack_positional(eval, 0, &mut [])?;
    Ok(eval.heap().alloc(AllocList(entries(dict).into_iter().map(|entry| entry.1))))
}

fn pop<'v>(eval: &mut Evaluator<'v, '_, '_>, dict: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let mut key = Value::new_none();
    let mut default = None::<Value>;
    args.unpack_positional(eval, 1, &mut [&mut key, &mut default])?;
    let found = delete(dict, key).map_err(|why| args.error(why))?;
    found.or(default).ok_or_else(|| args.error("missing key"))
}

fn popitem<'v>(eval: &mut Evaluator<'v, '_, '_>, dict: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    args.unpack_positional(eval, 0, &mut [])?;
    let first = DictRef::from_value(dict).and_then(|dict| dict.iter().next());
    let (key, value) = first.ok_or_else(|| args.error("empty dict"))?;
    delete(dict, key).map_err(|why| args.error(why))?;
    Ok(eval.heap().alloc((key, value)))
}

fn setdefault<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    dict: Value<'v>,
    args: Args<'v>,
) -> Outcome<'v> {
    let [mut key, mut default] = [Value::new_none(); 2];
    args.unpack_positional(eval, 1, &mut [&mut key, &mut default])?;
    if let Some(value) = lookup(dict, key).map_err(|why| args.error(why))? {
        return Ok(value);
    }
    insert(dict, key, default).map_err(|why| args.complain(why))?;
    Ok(default)
}

fn update_method<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    dict: Value<'v>,
    args: Args<'v>,
) -> Outcome<'v> {
    update(eval, dict, &args)?;
    Ok(Value::new_none())
}

/// Adds pairs and named arguments, as `dict(...)` and `dict.update(...)` take them.
pub(crate) fn update<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    dict: Value<'v>,
    args: &Args<'v>,
) -> starlark::Result<()> {
    let given = args.positional.len();
    if given > 1 {
        return Err(args.error(format!("got {given} arguments, want at most 1")));
    }
    let heap = eval.heap();
    if let Some(source) = args.positional.first() {
        let pairs = mapping(*source, heap).map_or_else(|| pairs(*source, heap), Ok);
        for (key, value) in pairs.map_err(|why| args.error(why))? {
            insert(dict, key, value).map_err(|why| args.complain(why))?;
        }
    }
    for (name, value) in &args.named {
        insert(dict, heap.alloc(*name), *value).map_err(|why| args.complain(why))?;
    }
    Ok(())
}

fn pairs<'v>(
    source: Value<'v>,
    heap: starlark::values::Heap<'v>,
) -> Result<Vec<(Value<'v>, Value<'v>)>, String> {
    let items = elements(source, heap)
        .ok_or_else(|| format!("got {}, want iterable", type_name(source)))?;
    let mut pairs = Vec::with_capacity(items.len());
    for (i, item) in items.into_iter().enumerate() {
        let element = format!("dictionary update sequence element #{i}");
        let Some(pair) = elements(item, heap) else {
            return Err(format!("{element} is not iterable ({})", type_name(item)));
        };
        match (length(item), pair[..].as_array()) {
            (Some(_), Some([key, value])) => pairs.push((*key, *value)),
            (Some(n), _) => return Err(format!("{element} has length {n}, want 2")),
            (None, _) => {
                return Err(format!("{element} has unknown length ({})", type_name(item)));
            }
        }
    }
    Ok(pairs)
}
