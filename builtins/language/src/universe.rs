//! Decides what the functions of the language itself do, `len` and `sorted` and their kin.

use std::borrow::Cow;

use starlark::{
    environment::GlobalsBuilder,
    eval::Evaluator,
    values::{
        Value, ValueLike, bytes::StarlarkBytes, dict::Dict, list::AllocList, tuple::AllocTuple,
    },
};

use super::{
    args::{Args, CallableArg, FromArg, IterableArg},
    attrs,
    call::call,
    compare::{Comparison, compare},
    error::raise,
    exec,
    format::to_int,
    memory,
    methods::dict,
    native::{BuiltinsExt, NativeFn, Outcome, native},
    number::{Num, parse_int},
    range::Range,
    set::Set,
    structs, value,
    value::{as_i32, type_name},
};

const FUNCTIONS: &[(&str, NativeFn)] = &[
    ("abs", abs),
    ("all", |eval, args| quantifier(eval, &args, false)),
    ("any", |eval, args| quantifier(eval, &args, true)),
    ("bool", |eval, args| {
        let mut x = Value::new_bool(false);
        args.unpack_positional(eval, 0, &mut [&mut x])?;
        Ok(Value::new_bool(x.to_bool()))
    }),
    ("bytes", bytes),
    ("chr", chr),
    ("dict", |eval, args| {
        let dict = eval.heap().alloc(Dict::default());
        dict::update(eval, dict, &args)?;
        Ok(dict)
    }),
    ("dir", |eval, args| {
        let x = only_argument(&args, "want 1")?;
        Ok(eval.heap().alloc(attrs::attr_names(x)))
    }),
    ("enumerate", enumerate),
    ("float", float),
    ("getattr", getattr),
    ("hasattr", |eval, args| {
        let (mut object, mut name) = (Value::new_none(), "");
        args.unpack_positional(eval, 2, &mut [&mut object, &mut name])?;
        Ok(Value::new_bool(attrs::find_attr(object, name, eval.heap()).is_some()))
    }),
    ("hash", hash),
    ("int", int),
    ("len", |eval, args| {
        let x: Value = args.only_positional(eval)?;
        let no_len = || raise(format!("len: value of type {} has no len", type_name(x)));
        Ok(eval.heap().alloc(value::length(x).ok_or_else(no_len)?))
    }),
    ("list", |eval, args| {
        let mut items = IterableArg::default();
        args.unpack_positional(eval, 0, &mut [&mut items])?;
        Ok(eval.heap().alloc(items.0))
    }),
    ("max", |eval, args| extremum(eval, &args, Comparison::Greater)),
    ("min", |eval, args| extremum(eval, &args, Comparison::Less)),
    ("ord", ord),
    ("print", print),
    ("range", range),
    ("repr", |eval, args| {
        let x: Value = args.only_positional(eval)?;
        Ok(eval.heap().alloc(value::repr(x)))
    }),
    ("reversed", |eval, args| {
        let items: IterableArg = args.only_positional(eval)?;
        Ok(eval.heap().alloc(AllocList(items.0.into_iter().rev())))
    }),
    ("set", |eval, args| {
        let mut items = IterableArg::default();
        args.unpack_positional(eval, 0, &mut [&mut items])?;
        memory::reserve(items.0.len().saturating_mul(48)).map_err(raise)?;
        Ok(eval.heap().alloc(Set::collect(items.0).map_err(|why| args.error(why))?))
    }),
    ("sorted", sorted),
    ("str", |eval, args| {
        let x = only_argument(&args, "want exactly 1")?;
        Ok(if x.unpack_str().is_some() { x } else { eval.heap().alloc(value::to_str(x)) })
    }),
    ("tuple", |eval, args| {
        let mut items = IterableArg::default();
        args.unpack_positional(eval, 0, &mut [&mut items])?;
        Ok(eval.heap().alloc(AllocTuple(items.0)))
    }),
    ("type", |eval, args| {
        let x = only_argument(&args, "want exactly 1")?;
        Ok(eval.heap().alloc(type_name(x)))
    }),
    ("zip", zip),
];

/// Defines the functions of the language.
pub(crate) fn register(globals: &mut GlobalsBuilder) {
    for (name, function) in FUNCTIONS {
        globals.set(name, native(name, *function).of_language());
    }
    globals.function("module", structs::make_module);
    globals.function("struct", structs::make_struct);
}

/// The single argument of a function that takes no keywords.
fn only_argument<'v>(args: &Args<'v>, want: &str) -> Outcome<'v> {
    if !args.named.is_empty() {
        return Err(raise(format!("{} does not accept keyword arguments", args.function)));
    }
    match args.positional[..] {
        [x] => Ok(x),
        _ => Err(args.error(format!("got {} arguments, {want}", args.positional.len()))),
    }
}

fn abs<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let x: Value = args.only_positional(eval)?;
    match Num::of(x) {
        Some(Num::Float(f)) => Ok(eval.heap().alloc(f.abs())),
        Some(Num::Int(i)) if i.is_negative() => Ok(i.negate().alloc(eval.heap())),
        Some(Num::Int(_)) => Ok(x),
        None => Err(raise(format!("got {}, want int or float", type_name(x)))),
    }
}

/// Whether some element is true (`any`), or none is false (`all`).
fn quantifier<'v>(eval: &mut Evaluator<'v, '_, '_>, args: &Args<'v>, wanted: bool) -> Outcome<'v> {
    let items: IterableArg = args.only_positional(eval)?;
    let found = items.0.iter().any(|x| x.to_bool() == wanted);
    Ok(Value::new_bool(found == wanted))
}

fn bytes<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let x = only_argument(&args, "want exactly 1")?;
    if x.downcast_ref::<StarlarkBytes>().is_some() {
        return Ok(x);
    }
    if let Some(text) = x.unpack_str() {
        return Ok(eval.heap().alloc(StarlarkBytes::new(text.as_bytes())));
    }
    let Some(items) = value::elements(x, eval.heap()) else {
        let x = type_name(x);
        return Err(args.error(format!("got {x}, want string, bytes, or iterable of ints")));
    };
    let mut bytes = Vec::with_capacity(items.len());
    for (i, item) in items.into_iter().enumerate() {
        let byte = u8::from_arg(item, eval);
        bytes.push(byte.map_err(|why| args.error(format!("at index {i}, {}", why.0)))?);
    }
    Ok(eval.heap().alloc(StarlarkBytes::from_vec(bytes)))
}

fn chr<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let code = as_i32(only_argument(&args, "want 1")?).map_err(|why| args.error(why))?;
    let Ok(code) = u32::try_from(code) else {
        return Err(args.error(format!("Unicode code point {code} out of range (<0)")));
    };
    if code > u32::from(char::MAX) {
        return Err(args.error(format!("Unicode code point U+{code:X} out of range (>0x10FFFF)")));
    }
    let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    Ok(eval.heap().alloc(c.encode_utf8(&mut [0; 4]) as &str))
}

fn enumerate<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut items, mut start) = (IterableArg::default(), 0_i64);
    args.unpack_positional(eval, 1, &mut [&mut items, &mut start])?;
    memory::reserve(items.0.len().saturating_mul(64)).map_err(raise)?;
    let numbers = (0_i64..).map(|i| start.wrapping_add(i));
    Ok(eval.heap().alloc(AllocList(numbers.zip(items.0))))
}

fn float<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    if !args.named.is_empty() {
        return Err(raise("float does not accept keyword arguments"));
    }
    let x = match args.positional[..] {
        [] => return Ok(eval.heap().alloc(0.0)),
        [x] => x,
        _ => {
            let given = args.positional.len();
            return Err(raise(format!("float got {given} arguments, wants 1")));
        }
    };
    let float = if let Some(b) = x.unpack_bool() {
        f64::from(u8::from(b))
    } else if let Some(num) = Num::of(x) {
        match num {
            Num::Int(int) => int.finite_f64().map_err(raise)?,
            Num::Float(float) => float,
        }
    } else if let Some(text) = x.unpack_str() {
        parse_float(text).map_err(raise)?
    } else {
        return Err(raise(format!("float got {}, want number or string", type_name(x))));
    };
    Ok(eval.heap().alloc(float))
}

fn parse_float(text: &str) -> Result<f64, String> {
    if text.is_empty() {
        return Err("float: empty string".to_owned());
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let infinity = if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY };
    match unsigned.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => return Ok(infinity),
        "nan" => return Ok(f64::NAN),
        _ => {}
    }
    let invalid = || format!("invalid float literal: {text}");
    let parsed = match unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        Some(hex) => {
            let value = parse_hex_float(hex).ok_or_else(invalid)?;
            if text.starts_with('-') { -value } else { value }
        }
        None => without_underscores(text).ok_or_else(invalid)?.parse().map_err(|_| invalid())?,
    };
    if parsed.is_infinite() {
        Err("floating-point number too large".to_owned())
    } else {
        Ok(parsed)
    }
}

/// A decimal number without the underscores that separate its digits, if they are nowhere else.
fn without_underscores(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('_') {
        return Some(Cow::Borrowed(text));
    }
    let bytes = text.as_bytes();
    let is_digit =
        |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let fits = |(at, _): (usize, &str)| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
    text.match_indices('_').all(fits).then(|| Cow::Owned(text.replace('_', "")))
}

/// `1.8p3`, the part of a hexadecimal float after its prefix; the exponent is mandatory.
fn parse_hex_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0;
    for c in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(c.to_digit(16)?);
    }
    let scale = exponent.saturating_sub(i32::try_from(fraction.len()).ok()?.saturating_mul(4));
    Some(value * 2_f64.powi(scale))
}

fn getattr<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut object, mut name, mut default) = (Value::new_none(), "", None::<Value>);
    args.unpack_positional(eval, 2, &mut [&mut object, &mut name, &mut default])?;
    attrs::find_attr(object, name, eval.heap())
        .or(default)
        .ok_or_else(|| args.error(attrs::missing(object, name)))
}

fn hash<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let x: Value = args.only_positional(eval)?;
    let hash = if let Some(text) = x.unpack_str() {
        // Java's hash, but over code points.
        text.chars()
            .fold(0_i32, |h, c| {
                h.wrapping_mul(31).wrapping_add(i32::try_from(u32::from(c)).unwrap_or_default())
            })
            .into()
    } else if let Some(bytes) = x.downcast_ref::<StarlarkBytes>() {
        // FNV-1a of 32 bits.
        let fnv = |h: u32, b: &u8| (h ^ u32::from(*b)).wrapping_mul(16_777_619);
        i64::from(bytes.as_bytes().iter().fold(2_166_136_261, fnv))
    } else {
        return Err(args.error(format!("got {}, want string or bytes", type_name(x))));
    };
    Ok(eval.heap().alloc(hash))
}

fn int<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut x, mut base) = (Value::new_none(), None::<Value>);
    args.unpack(eval, &mut [("x", &mut x), ("base?", &mut base)])?;
    if let Some(text) = x.unpack_str() {
        let radix = match base {
            None => 10,
            Some(base) => as_i32(base)
                .map_err(|_| args.error(format!("for base, got {}, want int", type_name(base))))?,
        };
        let Some(radix) = u32::try_from(radix).ok().filter(|r| *r == 0 || (2..=36).contains(r))
        else {
            return Err(args.error("base must be an integer >= 2 && <= 36"));
        };
        let int = parse_int(text, radix);
        let invalid = || args.error(format!("invalid literal with base {radix}: {text}"));
        return Ok(int.ok_or_else(invalid)?.alloc(eval.heap()));
    }
    if base.is_some() {
        return Err(args.error("can't convert non-string with explicit base"));
    }
    if let Some(b) = x.unpack_bool() {
        return Ok(eval.heap().alloc(i32::from(b)));
    }
    Ok(to_int(x).map_err(|why| args.error(why))?.alloc(eval.heap()))
}

fn extremum<'v>(eval: &mut Evaluator<'v, '_, '_>, args: &Args<'v>, op: Comparison) -> Outcome<'v> {
    let name = args.function;
    if args.positional.is_empty() {
        return Err(raise(format!("{name} requires at least one positional argument")));
    }
    let mut key = None::<CallableArg>;
    let keywords = Args { function: name, positional: Vec::new(), named: args.named.clone() };
    keywords.unpack(eval, &mut [("key?", &mut key)])?;
    let items = match args.positional[..] {
        [x] => {
            value::elements(x, eval.heap()).ok_or_else(|| args.complain(value::not_iterable(x)))?
        }
        _ => args.positional.clone(),
    };
    let mut best: Option<(Value, Value)> = None;
    for x in items {
        let rank = match key {
            Some(key) => call(eval, key.0, &[x], &[])?,
            None => x,
        };
        let better = match best {
            Some((_, best)) => compare(op, rank, best).map_err(|why| args.error(why))?,
            None => true,
        };
        if better {
            best = Some((x, rank));
        }
    }
    best.map(|(x, _)| x).ok_or_else(|| args.error("argument is an empty sequence"))
}

fn ord<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let x = only_argument(&args, "want 1")?;
    if let Some(text) = x.unpack_str() {
        let mut chars = text.chars();
        return if let (Some(c), None) = (chars.next(), chars.next()) {
            Ok(eval.heap().alloc(u32::from(c)))
        } else {
            let n = text.chars().count();
            Err(args.error(format!("string encodes {n} Unicode code points, want 1")))
        };
    }
    match x.downcast_ref::<StarlarkBytes>().map(StarlarkBytes::as_bytes) {
        Some([byte]) => Ok(eval.heap().alloc(i32::from(*byte))),
        Some(bytes) => Err(args.error(format!("bytes has length {}, want 1", bytes.len()))),
        None => Err(args.error(format!("got {}, want string or bytes", type_name(x)))),
    }
}

/// What `print` shows for its arguments.
pub fn print_text(values: &[Value<'_>], separator: &str) -> String {
    let mut out = String::new();
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push_str(separator);
        }
        match value.downcast_ref::<StarlarkBytes>() {
            Some(bytes) => out.push_str(&value::decode_utf8(bytes.as_bytes())),
            None => value::write_str(&mut out, *value),
        }
    }
    out
}

fn print<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let mut separator = " ";
    let Args { function, positional, named } = args;
    let keywords = Args { function, positional: Vec::new(), named };
    keywords.unpack(eval, &mut [("sep?", &mut separator)])?;
    exec::print(eval, &print_text(&positional, separator))?;
    Ok(Value::new_none())
}

#[allow(clippy::similar_names, reason = "start, stop and step are what they are called")]
fn range<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut start, mut stop, mut step) = (0_i64, 0_i64, 1_i64);
    args.unpack_positional(eval, 1, &mut [&mut start, &mut stop, &mut step])?;
    if args.positional.len() == 1 {
        (start, stop) = (0, start);
    }
    if step == 0 {
        return Err(args.error("step argument must not be zero"));
    }
    Ok(eval.heap().alloc(Range::new(start, stop, step)))
}

fn sorted<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut items, mut key, mut reverse) = (IterableArg::default(), None::<CallableArg>, false);
    args.unpack(
        eval,
        &mut [("iterable", &mut items), ("key?", &mut key), ("reverse?", &mut reverse)],
    )?;
    let mut ranked = Vec::with_capacity(items.0.len());
    for x in items.0 {
        let rank = match key {
            Some(key) => call(eval, key.0, &[x], &[])?,
            None => x,
        };
        ranked.push((rank, x));
    }
    let mut failure = None;
    merge_sort(&mut ranked, &mut |(a, _), (b, _)| {
        let (a, b) = if reverse { (b, a) } else { (a, b) };
        compare(Comparison::Less, *a, *b).unwrap_or_else(|why| {
            failure = Some(why);
            false
        })
    });
    match failure {
        Some(why) => Err(raise(why)),
        None => Ok(eval.heap().alloc(AllocList(ranked.into_iter().map(|(_, x)| x)))),
    }
}

/// A stable sort that copes with an inconsistent order, which the standard one does not promise.
fn merge_sort<T: Copy>(items: &mut [T], less: &mut impl FnMut(&T, &T) -> bool) {
    const RUN: usize = 20;
    for run in items.chunks_mut(RUN) {
        for i in 1..run.len() {
            let mut j = i;
            while j > 0 && less(&run[j], &run[j - 1]) {
                run.swap(j, j - 1);
                j -= 1;
            }
        }
    }
    let mut width = RUN;
    while width < items.len() {
        for pair in items.chunks_mut(2 * width).filter(|pair| pair.len() > width) {
            let left = pair[..width].to_vec();
            let (mut i, mut j) = (0, width);
            for k in 0..pair.len() {
                if i == left.len() {
                    break;
                }
                if j < pair.len() && less(&pair[j], &left[i]) {
                    pair[k] = pair[j];
                    j += 1;
                } else {
                    pair[k] = left[i];
                    i += 1;
                }
            }
        }
        width *= 2;
    }
}

fn zip<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    if !args.named.is_empty() {
        return Err(raise("zip does not accept keyword arguments"));
    }
    let heap = eval.heap();
    let mut columns = Vec::with_capacity(args.positional.len());
    for (i, x) in args.positional.iter().enumerate() {
        columns.push(value::elements(*x, heap).ok_or_else(|| {
            args.error(format!("argument #{} is not iterable: {}", i + 1, type_name(*x)))
        })?);
    }
    let rows = columns.iter().map(Vec::len).min().unwrap_or_default();
    memory::reserve(rows.saturating_mul(32 + 8 * columns.len())).map_err(raise)?;
    let row = |i: usize| heap.alloc(AllocTuple(columns.iter().map(|c| c[i]).collect::<Vec<_>>()));
    Ok(heap.alloc(AllocList((0..rows).map(row))))
}
