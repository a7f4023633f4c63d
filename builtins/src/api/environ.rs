//! `os.environ`: the environment as a dict-like value that writes through.

use std::{fmt, sync::Arc};

use builtins_language::{
    AllocList, AllocTuple, ApiMapping, ApiValue, Args, BoundNative, DictRef, EvalResult, Evaluator,
    Heap, MethodFn, Mismatch, Outcome, Site, Value, api_mapping, elements, raise, raise_at, repr,
    type_name,
};
use engine_formats::golang::quote::quote;

use super::coerce::as_text;
use crate::{host::Host, session::Session};

/// The environment of the host.
pub(super) struct Environ {
    host: Arc<dyn Host>,
}

api_mapping!(Environ);

const METHODS: &[(&str, MethodFn)] = &[
    ("clear", clear),
    ("get", get),
    ("items", items),
    ("keys", keys),
    ("pop", pop),
    ("popitem", popitem),
    ("setdefault", setdefault),
    ("update", update),
    ("values", values),
];

impl Environ {
    /// The environment of this host.
    pub(super) fn new(host: Arc<dyn Host>) -> Self {
        Self { host }
    }
}

impl fmt::Debug for Environ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environ")
    }
}

impl fmt::Display for Environ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (index, (name, value)) in self.host.env_vars().iter().enumerate() {
            let separator = if index > 0 { ", " } else { "" };
            write!(f, "{separator}{}: {}", quote(name), quote(value))?;
        }
        f.write_str("}")
    }
}

impl ApiValue for Environ {
    const TYPE: &'static str = "environ";

    fn is_true(&self) -> bool {
        !self.host.env_vars().is_empty()
    }

    fn attr<'v>(&self, name: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        let (name, function) = METHODS.iter().find(|(method, _)| *method == name)?;
        Some(heap.alloc(BoundNative::new(name, "", *function).of(Self::TYPE)))
    }

    fn attr_names(&self) -> Vec<String> {
        METHODS.iter().map(|(name, _)| (*name).to_owned()).collect()
    }
}

impl ApiMapping for Environ {
    fn n_keys(&self) -> usize {
        self.host.env_vars().len()
    }

    fn keys<'v>(&self, heap: Heap<'v>) -> Vec<Value<'v>> {
        self.host.env_vars().into_iter().map(|(name, _)| heap.alloc(name)).collect()
    }

    fn has_key(&self, key: Value<'_>) -> bool {
        as_text(key).is_some_and(|it| self.host.env(it).is_some())
    }

    fn at<'v>(&self, key: Value<'v>, heap: Heap<'v>) -> Outcome<'v> {
        match as_text(key).and_then(|it| self.host.env(it)) {
            Some(value) => Ok(heap.alloc(value)),
            None => Err(raise_at(Site::Operator, format!("key {} not in environ", repr(key)))),
        }
    }

    fn set_at<'v>(&self, key: Value<'v>, value: Value<'v>) -> EvalResult<()> {
        set(self.host.as_ref(), key, value).map_err(|why| raise_at(Site::Operator, why))
    }
}

fn set(host: &dyn Host, name: Value<'_>, value: Value<'_>) -> Result<(), Mismatch> {
    let Some(name_text) = as_text(name) else {
        return Err(format!("putenv() key must be a string, not {}", type_name(name)).into());
    };
    let Some(value_text) = as_text(value) else {
        return Err(format!("putenv() value must be a string, not {}", type_name(value)).into());
    };
    host.set_env(name_text, Some(value_text));
    Ok(())
}

/// Takes a variable out of the environment.
fn take(host: &dyn Host, name: Value<'_>) -> Option<String> {
    let name = as_text(name)?;
    let value = host.env(name)?;
    host.set_env(name, None);
    Some(value)
}

fn clear<'v>(eval: &mut Evaluator<'v, '_, '_>, _: &str, args: &Args<'v>) -> Outcome<'v> {
    args.unpack_positional(eval, 0, &mut [])?;
    let host = &Session::of(eval).host;
    for (name, _) in host.env_vars() {
        host.set_env(&name, None);
    }
    Ok(Value::new_none())
}

fn get<'v>(eval: &mut Evaluator<'v, '_, '_>, _: &str, args: &Args<'v>) -> Outcome<'v> {
    let (mut key, mut default) = (Value::new_none(), Value::new_none());
    args.unpack_positional(eval, 1, &mut [&mut key, &mut default])?;
    let found = as_text(key).and_then(|it| Session::of(eval).host.env(it));
    Ok(found.map_or(default, |it| eval.heap().alloc(it)))
}

fn items<'v>(eval: &mut Evaluator<'v, '_, '_>, _: &str, args: &Args<'v>) -> Outcome<'v> {
    args.unpack_positional(eval, 0, &mut [])?;
    let pairs = Session::of(eval).host.env_vars();
    Ok(eval
        .heap()
        .alloc(AllocList(pairs.into_iter().map(|(name, value)| AllocTuple([name, value])))))
}

fn keys<'v>(eval: &mut Evaluator<'v, '_, '_>, _: &str, args: &Args<'v>) -> Outcome<'v> {
    args.unpack_positional(eval, 0, &mut [])?;
    let pairs = Session::of(eval).host.env_vars();
    Ok(eval.heap().alloc(AllocList(pairs.into_iter().map(|(name, _)| name))))
}

fn values<'v>(eval: &mut Evaluator<'v, '_, '_>, _: &str, args: &Args<'v>) -> Outcome<'v> {
    args.unpack_positional(eval, 0, &mut [])?;
    let pairs = Session::of(eval).host.env_vars();
    Ok(eval.heap().alloc(AllocList(pairs.into_iter().map(|(_, value)| value))))
}

fn pop<'v>(eval: &mut Evaluator<'v, '_, '_>, _: &str, args: &Args<'v>) -> Outcome<'v> {
    let (mut key, mut default) = (Value::new_none(), None::<Value>);
    args.unpack_positional(eval, 1, &mut [&mut key, &mut default])?;
    match (take(Session::of(eval).host.as_ref(), key), default) {
        (Some(value), _) => Ok(eval.heap().alloc(value)),
        (None, Some(default)) => Ok(default),
        (None, None) => Err(raise("pop: missing key")),
    }
}

fn popitem<'v>(eval: &mut Evaluator<'v, '_, '_>, _: &str, args: &Args<'v>) -> Outcome<'v> {
    args.unpack_positional(eval, 0, &mut [])?;
    let host = &Session::of(eval).host;
    let Some((name, value)) = host.env_vars().into_iter().next() else {
        return Err(raise("popitem: empty dict"));
    };
    host.set_env(&name, None);
    Ok(eval.heap().alloc(AllocTuple([name, value])))
}

fn setdefault<'v>(eval: &mut Evaluator<'v, '_, '_>, _: &str, args: &Args<'v>) -> Outcome<'v> {
    let (mut key, mut default) = (Value::new_none(), Value::new_none());
    args.unpack_positional(eval, 1, &mut [&mut key, &mut default])?;
    let session = Session::of(eval);
    if let Some(found) = as_text(key).and_then(|it| session.host.env(it)) {
        return Ok(eval.heap().alloc(found));
    }
    set(session.host.as_ref(), key, default).map_err(|why| raise(format!("setdefault: {why}")))?;
    Ok(default)
}

fn update<'v>(eval: &mut Evaluator<'v, '_, '_>, _: &str, args: &Args<'v>) -> Outcome<'v> {
    if args.positional.len() > 1 {
        let got = args.positional.len();
        return Err(raise(format!("update: got {got} arguments, want at most 1")));
    }
    let heap = eval.heap();
    let host = Session::of(eval).host.as_ref();
    let fail = |why: Mismatch| raise(format!("update: {why}"));
    if let Some(source) = args.positional.first() {
        for (name, value) in pairs_of(*source, heap).map_err(fail)? {
            set(host, name, value).map_err(fail)?;
        }
    }
    for (name, value) in &args.named {
        set(host, heap.alloc(*name), *value).map_err(fail)?;
    }
    Ok(Value::new_none())
}

/// The pairs of a mapping or of a sequence of pairs.
fn pairs_of<'v>(
    source: Value<'v>,
    heap: Heap<'v>,
) -> Result<Vec<(Value<'v>, Value<'v>)>, Mismatch> {
    if let Some(dict) = DictRef::from_value(source) {
        return Ok(dict.iter().collect());
    }
    let Some(items) = elements(source, heap) else {
        return Err(format!("got {}, want iterable", type_name(source)).into());
    };
    let pair = |(index, item): (usize, Value<'v>)| match elements(item, heap) {
        None => Err(Mismatch(format!(
            "dictionary update sequence element #{index} is not iterable ({})",
            type_name(item)
        ))),
        Some(parts) => match parts.as_slice() {
            [name, value] => Ok((*name, *value)),
            _ => Err(Mismatch(format!(
                "dictionary update sequence element #{index} has length {}, want 2",
                parts.len()
            ))),
        },
    };
    items.into_iter().enumerate().map(pair).collect()
}
