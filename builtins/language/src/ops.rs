//! Decides what the operators do to each pair of types.

use starlark::{
    collections::SmallMap,
    eval::{Arguments, Evaluator},
    values::{
        Heap, Value, ValueLike,
        bytes::StarlarkBytes,
        dict::{Dict, DictMut, DictRef},
        list::{AllocList, ListRef},
        tuple::{AllocTuple, TupleRef},
    },
};

use super::{
    compare::{Comparison, compare, equal, in_dict},
    error::{Complaint, Mistake, Site, raise_at},
    format, memory,
    methods::list,
    native::{HelperFn, Outcome},
    number::{Int, Num, float_mod},
    range::Range,
    set::{Set, SetRef},
    structs::StructRef,
    value::{as_i32, elements, hashed, is_iterable, type_name},
};

/// Sequences may not be repeated to this length or beyond.
const MAX_REPEAT: u64 = 1 << 30;

/// Shifting left by this much or more is refused.
const MAX_SHIFT: i32 = 512;

/// The result of an operator, or what is wrong with its operands.
type Computed<'v> = Result<Value<'v>, String>;

/// Binary operators that are routed to a function, with its name in rewritten text.
pub(crate) const BINARY: &[(&str, &str, HelperFn)] = &[
    ("+", "__add__", |eval, args| run(eval, args, add)),
    ("-", "__sub__", |eval, args| run(eval, args, sub)),
    ("*", "__mul__", |eval, args| run(eval, args, mul)),
    ("/", "__div__", |eval, args| run(eval, args, div)),
    ("//", "__floordiv__", |eval, args| run(eval, args, floor_div)),
    ("%", "__mod__", |eval, args| run(eval, args, modulo)),
    ("|", "__or__", |eval, args| run(eval, args, or)),
    ("&", "__and__", |eval, args| run(eval, args, and)),
    ("^", "__xor__", |eval, args| run(eval, args, xor)),
    ("<<", "__shl__", |eval, args| run(eval, args, shift_left)),
    (">>", "__shr__", |eval, args| run(eval, args, shift_right)),
    ("in", "__in__", |eval, args| run(eval, args, |x, y, _| contains(x, y).map(Value::new_bool))),
    ("not in", "__not_in__", |eval, args| {
        run(eval, args, |x, y, _| contains(x, y).map(|found| Value::new_bool(!found)))
    }),
    ("==", "__eq__", |eval, args| order(eval, args, Comparison::Equal)),
    ("!=", "__ne__", |eval, args| order(eval, args, Comparison::NotEqual)),
    ("<", "__lt__", |eval, args| order(eval, args, Comparison::Less)),
    ("<=", "__le__", |eval, args| order(eval, args, Comparison::LessOrEqual)),
    (">", "__gt__", |eval, args| order(eval, args, Comparison::Greater)),
    (">=", "__ge__", |eval, args| order(eval, args, Comparison::GreaterOrEqual)),
];

/// Unary operators and augmented assignments of names.
pub(crate) const OTHERS: &[(&str, HelperFn)] = &[
    ("__neg__", |eval, args| unary(eval, args, '-')),
    ("__pos__", |eval, args| unary(eval, args, '+')),
    ("__inv__", |eval, args| unary(eval, args, '~')),
    ("__iadd__", |eval, args| {
        let [x, y] = args.positional(eval.heap())?;
        in_place_add(eval, x, y).map_err(|message| raise_at(Site::Operator, message))
    }),
    ("__ior__", |eval, args| run(eval, args, in_place_or)),
];

fn run<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    args: &Arguments<'v, '_>,
    operator: fn(Value<'v>, Value<'v>, Heap<'v>) -> Computed<'v>,
) -> Outcome<'v> {
    let heap = eval.heap();
    let [x, y] = args.positional(heap)?;
    operator(x, y, heap).map_err(|message| raise_at(Site::Operator, message))
}

fn order<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    args: &Arguments<'v, '_>,
    op: Comparison,
) -> Outcome<'v> {
    let [x, y] = args.positional(eval.heap())?;
    let holds = compare(op, x, y).map_err(|message| raise_at(Site::Operator, message))?;
    Ok(Value::new_bool(holds))
}

fn unknown(x: Value<'_>, op: &str, y: Value<'_>) -> String {
    format!("unknown binary op: {} {op} {}", type_name(x), type_name(y))
}

/// Arithmetic on numbers of either kind, or `None` if an operand is not a number.
fn arithmetic<'v>(
    x: Value<'v>,
    y: Value<'v>,
    heap: Heap<'v>,
    ints: impl FnOnce(Int, Int) -> Result<Int, String>,
    floats: impl FnOnce(f64, f64) -> Result<f64, String>,
) -> Option<Computed<'v>> {
    let (x, y) = (Num::of(x)?, Num::of(y)?);
    let (x, y) = match (x, y) {
        (Num::Int(x), Num::Int(y)) => return Some(ints(x, y).map(|int| int.alloc(heap))),
        (Num::Float(x), Num::Float(y)) => (Ok(x), Ok(y)),
        (Num::Int(x), Num::Float(y)) => (x.finite_f64(), Ok(y)),
        (Num::Float(x), Num::Int(y)) => (Ok(x), y.finite_f64()),
    };
    Some(x.and_then(|x| floats(x, y?)).map(|float| heap.alloc(float)))
}

pub(crate) fn add<'v>(x: Value<'v>, y: Value<'v>, heap: Heap<'v>) -> Computed<'v> {
    if let (Some(a), Some(b)) = (x.unpack_i32(), y.unpack_i32()) {
        return Ok(heap.alloc(i64::from(a) + i64::from(b)));
    }
    if let (Some(a), Some(b)) = (x.unpack_str(), y.unpack_str()) {
        memory::reserve(a.len() + b.len())?;
        return Ok(heap.alloc_str_concat(a, b).to_value());
    }
    if let Some(outcome) = arithmetic(x, y, heap, |a, b| Ok(a.add(&b)), |a, b| Ok(a + b)) {
        return outcome;
    }
    if let (Some(a), Some(b)) = (ListRef::from_value(x), ListRef::from_value(y)) {
        memory::reserve((a.len() + b.len()) * size_of::<Value>())?;
        return Ok(heap.alloc(AllocList(a.iter().chain(b.iter()))));
    }
    if let (Some(a), Some(b)) = (TupleRef::from_value(x), TupleRef::from_value(y)) {
        memory::reserve((a.len() + b.len()) * 2 * size_of::<Value>())?;
        return Ok(heap.alloc(AllocTuple([a.content(), b.content()].concat())));
    }
    if let (Some(a), Some(b)) = (StructRef::of(x), StructRef::of(y)) {
        return a.merge(b).map(|merged| heap.alloc(merged));
    }
    // The reference joins only literals, while it compiles; telling those apart is not worth it.
    if let (Some(a), Some(b)) =
        (x.downcast_ref::<StarlarkBytes>(), y.downcast_ref::<StarlarkBytes>())
    {
        return Ok(heap.alloc(StarlarkBytes::from_vec([a.as_bytes(), b.as_bytes()].concat())));
    }
    Err(unknown(x, "+", y))
}

fn sub<'v>(x: Value<'v>, y: Value<'v>, heap: Heap<'v>) -> Computed<'v> {
    if let Some(outcome) = arithmetic(x, y, heap, |a, b| Ok(a.sub(&b)), |a, b| Ok(a - b)) {
        return outcome;
    }
    if let (Some(a), Some(b)) = (SetRef::of(x), SetRef::of(y)) {
        let mut difference = a.copy();
        for element in b.hashed_items() {
            difference.shift_remove_hashed(element.as_ref());
        }
        return Ok(heap.alloc(Set::new(difference)));
    }
    Err(unknown(x, "-", y))
}

pub(crate) fn mul<'v>(x: Value<'v>, y: Value<'v>, heap: Heap<'v>) -> Computed<'v> {
    if let Some(outcome) = arithmetic(x, y, heap, |a, b| Ok(a.mul(&b)), |a, b| Ok(a * b)) {
        return outcome;
    }
    let (sequence, count) = match (Int::of(x), Int::of(y)) {
        (Some(count), None) => (y, count),
        (None, Some(count)) => (x, count),
        _ => return Err(unknown(x, "*", y)),
    };
    if let Some(s) = sequence.unpack_str() {
        return Ok(heap.alloc(s.repeat(repeat_count(s.len(), &count, 2)?)));
    }
    if let Some(bytes) = sequence.downcast_ref::<StarlarkBytes>() {
        let count = repeat_count(bytes.len(), &count, 2)?;
        return Ok(heap.alloc(StarlarkBytes::from_vec(bytes.as_bytes().repeat(count))));
    }
    if let Some(list) = ListRef::from_value(sequence) {
        let count = repeat_count(list.len(), &count, 2 * size_of::<Value>())?;
        return Ok(heap.alloc(AllocList(list.content().repeat(count))));
    }
    if let Some(tuple) = TupleRef::from_value(sequence) {
        let count = repeat_count(tuple.len(), &count, 2 * size_of::<Value>())?;
        return Ok(heap.alloc(AllocTuple(tuple.content().repeat(count))));
    }
    Err(unknown(x, "*", y))
}

/// How often a sequence is repeated, if that is not too often; `size` is what an element takes.
fn repeat_count(len: usize, count: &Int, size: usize) -> Result<usize, String> {
    if len == 0 {
        return Ok(0);
    }
    let Some(n) = count.to_i32() else { return Err(format!("repeat count {count} too large")) };
    let times = u64::try_from(n).unwrap_or_default();
    if times.saturating_mul(len as u64) >= MAX_REPEAT {
        return Err(format!("excessive repeat ({len} * {n} elements)"));
    }
    let times = usize::try_from(times).unwrap_or_default();
    memory::reserve(times.saturating_mul(len).saturating_mul(size))?;
    Ok(times)
}

fn div<'v>(x: Value<'v>, y: Value<'v>, heap: Heap<'v>) -> Computed<'v> {
    let (Some(a), Some(b)) = (Num::of(x), Num::of(y)) else { return Err(unknown(x, "/", y)) };
    let float = |num: Num| match num {
        Num::Int(int) => int.finite_f64(),
        Num::Float(float) => Ok(float),
    };
    let (a, b) = (float(a)?, float(b)?);
    if b == 0.0 {
        return Err("floating-point division by zero".to_owned());
    }
    Ok(heap.alloc(a / b))
}

fn floor_div<'v>(x: Value<'v>, y: Value<'v>, heap: Heap<'v>) -> Computed<'v> {
    let by_zero = || Err("floored division by zero".to_owned());
    arithmetic(
        x,
        y,
        heap,
        |a, b| if b.is_zero() { by_zero().map(|(): ()| b) } else { Ok(a.floor_div(&b)) },
        |a, b| if b == 0.0 { by_zero().map(|(): ()| b) } else { Ok((a / b).floor()) },
    )
    .unwrap_or_else(|| Err(unknown(x, "//", y)))
}

fn modulo<'v>(x: Value<'v>, y: Value<'v>, heap: Heap<'v>) -> Computed<'v> {
    if let Some(format) = x.unpack_str() {
        return format::interpolate(format, y, heap).map(|text| heap.alloc(text));
    }
    arithmetic(
        x,
        y,
        heap,
        |a, b| {
            if b.is_zero() { Err("integer modulo by zero".to_owned()) } else { Ok(a.floor_mod(&b)) }
        },
        |a, b| {
            if b == 0.0 {
                Err("floating-point modulo by zero".to_owned())
            } else {
                Ok(float_mod(a, b))
            }
        },
    )
    .unwrap_or_else(|| Err(unknown(x, "%", y)))
}

fn or<'v>(x: Value<'v>, y: Value<'v>, heap: Heap<'v>) -> Computed<'v> {
    if let (Some(a), Some(b)) = (Int::of(x), Int::of(y)) {
        return Ok(a.or(&b).alloc(heap));
    }
    if let (Some(a), Some(b)) = (DictRef::from_value(x), DictRef::from_value(y)) {
        let mut union = SmallMap::with_capacity(a.len() + b.len());
        for (key, value) in a.iter_hashed().chain(b.iter_hashed()) {
            union.insert_hashed(key, value);
        }
        return Ok(heap.alloc(Dict::new(union)));
    }
    if let (Some(a), Some(b)) = (SetRef::of(x), SetRef::of(y)) {
        let mut union = a.copy();
        for element in b.hashed_items() {
            union.insert_hashed(element);
        }
        return Ok(heap.alloc(Set::new(union)));
    }
    Err(unknown(x, "|", y))
}

fn and<'v>(x: Value<'v>, y: Value<'v>, heap: Heap<'v>) -> Computed<'v> {
    if let (Some(a), Some(b)) = (Int::of(x), Int::of(y)) {
        return Ok(a.and(&b).alloc(heap));
    }
    if let (Some(a), Some(b)) = (SetRef::of(x), SetRef::of(y)) {
        let mut common = starlark::collections::SmallSet::new();
        for element in b.hashed_items() {
            if a.contains(element) {
                common.insert_hashed(element);
            }
        }
        return Ok(heap.alloc(Set::new(common)));
    }
    Err(unknown(x, "&", y))
}

fn xor<'v>(x: Value<'v>, y: Value<'v>, heap: Heap<'v>) -> Computed<'v> {
    if let (Some(a), Some(b)) = (Int::of(x), Int::of(y)) {
        return Ok(a.xor(&b).alloc(heap));
    }
    if let (Some(a), Some(b)) = (SetRef::of(x), SetRef::of(y)) {
        let mut difference = a.copy();
        for element in b.hashed_items() {
            if !difference.shift_remove_hashed(element.as_ref()) {
                difference.insert_hashed(element);
            }
        }
        return Ok(heap.alloc(Set::new(difference)));
    }
    Err(unknown(x, "^", y))
}

fn shift_left<'v>(x: Value<'v>, y: Value<'v>, heap: Heap<'v>) -> Computed<'v> {
    let Some(int) = Int::of(x) else { return Err(unknown(x, "<<", y)) };
    let by = as_i32(y)?;
    if by >= MAX_SHIFT {
        return Err(format!("shift count too large: {by}"));
    }
    let by = u32::try_from(by).map_err(|_| format!("negative shift count: {by}"))?;
    Ok(int.shift_left(by).alloc(heap))
}

fn shift_right<'v>(x: Value<'v>, y: Value<'v>, heap: Heap<'v>) -> Computed<'v> {
    let Some(int) = Int::of(x) else { return Err(unknown(x, ">>", y)) };
    let by = as_i32(y)?;
    let by = u32::try_from(by).map_err(|_| format!("negative shift count: {by}"))?;
    Ok(int.shift_right(by).alloc(heap))
}

fn contains<'v>(x: Value<'v>, y: Value<'v>) -> Result<bool, String> {
    let among = |elements: &[Value<'v>]| {
        for element in elements {
            if equal(*element, x)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    if let Some(text) = y.unpack_str() {
        return x.unpack_str().map(|part| text.contains(part)).ok_or_else(|| {
            format!("'in <string>' requires string as left operand, not {}", type_name(x))
        });
    }
    if let Some(list) = ListRef::from_value(y) {
        return among(list.content());
    }
    if let Some(tuple) = TupleRef::from_value(y) {
        return among(tuple.content());
    }
    if let Some(dict) = DictRef::from_value(y) {
        return Ok(in_dict(x, &dict));
    }
    if let Some(set) = SetRef::of(y) {
        return Ok(set.contains(hashed(x)?));
    }
    if let Some(bytes) = y.downcast_ref::<StarlarkBytes>() {
        return in_bytes(x, bytes.as_bytes());
    }
    if let Some(range) = Range::from_value(y) {
        let number = match Num::of(x) {
            Some(Num::Int(int)) => int,
            Some(Num::Float(f)) if f.is_finite() => Int::truncate(f),
            _ => {
                let x = type_name(x);
                return Err(format!("'in <range>' requires integer as left operand, not {x}"));
            }
        };
        return Ok(number.to_i32().is_some_and(|x| range.contains(i64::from(x))));
    }
    match y.get_type() {
        "int" | "float" | "bool" | "NoneType" | "function" => Err(unknown(x, "in", y)),
        // Mappings of an API.
        _ => y.is_in(x).map_err(|_| unknown(x, "in", y)),
    }
}

fn in_bytes(x: Value<'_>, bytes: &[u8]) -> Result<bool, String> {
    if let Some(part) = x.downcast_ref::<StarlarkBytes>() {
        let part = part.as_bytes();
        return Ok(part.is_empty() || bytes.windows(part.len()).any(|window| window == part));
    }
    let Some(int) = Int::of(x) else {
        let x = type_name(x);
        return Err(format!("'in bytes' requires bytes or int as left operand, not {x}"));
    };
    let byte = int.to_i64().and_then(|i| u8::try_from(i).ok()).ok_or_else(|| {
        format!("int in bytes: {int} out of range (want value in unsigned 8-bit range)")
    })?;
    Ok(bytes.contains(&byte))
}

fn unary<'v>(eval: &mut Evaluator<'v, '_, '_>, args: &Arguments<'v, '_>, op: char) -> Outcome<'v> {
    let heap = eval.heap();
    let [x] = args.positional(heap)?;
    match (op, Num::of(x)) {
        ('-', Some(Num::Int(int))) => Ok(int.negate().alloc(heap)),
        ('-', Some(Num::Float(float))) => Ok(heap.alloc(-float)),
        ('+', Some(_)) => Ok(x),
        ('~', Some(Num::Int(int))) => Ok(int.invert().alloc(heap)),
        _ => {
            let message = format!("unknown unary op: {op} {}", type_name(x));
            Err(raise_at(Site::Operator, message))
        }
    }
}

/// `x += y`, which changes a list in place.
pub(crate) fn in_place_add<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    x: Value<'v>,
    y: Value<'v>,
) -> Computed<'v> {
    let heap = eval.heap();
    if ListRef::from_value(x).is_some() && is_iterable(y, heap) {
        let items = elements(y, heap).unwrap_or_default();
        list::extend(eval, x, items, "apply += to")?;
        return Ok(x);
    }
    add(x, y, heap)
}

/// `x |= y`, which changes a dict in place.
pub(crate) fn in_place_or<'v>(x: Value<'v>, y: Value<'v>, heap: Heap<'v>) -> Computed<'v> {
    let entries: Vec<_> = match (DictRef::from_value(x), DictRef::from_value(y)) {
        (Some(_), Some(y)) => y.iter_hashed().collect(),
        _ => return or(x, y, heap),
    };
    let mut dict = change_dict(x, "apply |= to")?;
    for (key, value) in entries {
        dict.aref.insert_hashed(key, value);
    }
    Ok(x)
}

/// A dict to change, unless it is frozen or a loop runs over it.
pub(crate) fn change_dict<'v>(dict: Value<'v>, verb: &str) -> Result<DictMut<'v>, String> {
    DictMut::from_value(dict).map_err(|_| {
        if dict.unpack_frozen().is_some() {
            format!("cannot {verb} frozen hash table")
        } else {
            format!("cannot {verb} hash table during iteration")
        }
    })
}

/// A dict to insert into, unless it is frozen or a loop runs over it.
pub(crate) fn insert_into(dict: Value<'_>) -> Result<DictMut<'_>, Complaint> {
    change_dict(dict, "insert into").map_err(|why| {
        let frozen = dict.unpack_frozen().map(|_| Mistake::FrozenDict);
        Complaint::new(why, frozen)
    })
}

/// `x op y` for the operator of an augmented assignment.
pub(crate) fn augmented<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    op: &str,
    x: Value<'v>,
    y: Value<'v>,
) -> Outcome<'v> {
    let heap = eval.heap();
    let outcome = match op {
        "+" => in_place_add(eval, x, y),
        "-" => sub(x, y, heap),
        "*" => mul(x, y, heap),
        "/" => div(x, y, heap),
        "//" => floor_div(x, y, heap),
        "%" => modulo(x, y, heap),
        "&" => and(x, y, heap),
        "|" => in_place_or(x, y, heap),
        "^" => xor(x, y, heap),
        "<<" => shift_left(x, y, heap),
        ">>" => shift_right(x, y, heap),
        _ => Err(unknown(x, op, y)),
    };
    outcome.map_err(|message| raise_at(Site::Update, message))
}
