//! Decides what `%` and `str.format` make of their arguments.

use engine_formats::golang::quote::quote;
use starlark::values::{Heap, Value, dict::DictRef, tuple::TupleRef};

use super::{
    memory,
    number::{Int, Num, format_float},
    value::{passes_for_dict, type_name, write_repr, write_str},
};

/// `format % operand`.
pub(crate) fn interpolate<'v>(
    format: &str,
    operand: Value<'v>,
    heap: Heap<'v>,
) -> Result<String, String> {
    let tuple = TupleRef::from_value(operand);
    let single = [operand];
    let values: &[Value] = tuple.map_or(&single, |tuple| tuple.content());
    let mut out = String::with_capacity(format.len() + 16);
    let mut rest = format;
    let mut used = 0;
    while let Some(i) = rest.find('%') {
        out.push_str(&rest[..i]);
        rest = &rest[i + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let value = if let Some(after) = rest.strip_prefix('(') {
            let (key, after) = after.split_once(')').ok_or("incomplete format key")?;
            rest = after;
            lookup(operand, key, heap)?
        } else {
            *values.get(used).ok_or("not enough arguments for format string")?
        };
        let Some(conversion) = rest.chars().next() else {
            return Err("incomplete format".to_owned());
        };
        memory::reserve(out.len().saturating_add(text_len(value)))?;
        convert(&mut out, conversion, value)?;
        rest = &rest[conversion.len_utf8()..];
        used += 1;
    }
    out.push_str(rest);
    if used < values.len() && !passes_for_dict(operand) {
        return Err("too many arguments for format string".to_owned());
    }
    Ok(out)
}

fn text_len(value: Value<'_>) -> usize {
    value.unpack_str().map_or(0, str::len)
}

fn lookup<'v>(operand: Value<'v>, key: &str, heap: Heap<'v>) -> Result<Value<'v>, String> {
    let found = match DictRef::from_value(operand) {
        Some(dict) => dict.get_str(key),
        None if passes_for_dict(operand) => operand.at(heap.alloc(key), heap).ok(),
        None => return Err("format requires a mapping".to_owned()),
    };
    found.ok_or_else(|| format!("key not found: {key}"))
}

fn convert(out: &mut String, conversion: char, value: Value<'_>) -> Result<(), String> {
    match conversion {
        's' => write_str(out, value),
        'r' => write_repr(out, value),
        'd' | 'i' | 'o' | 'x' | 'X' => {
            let int = to_int(value)
                .map_err(|why| format!("%{conversion} format requires integer: {why}"))?;
            out.push_str(&match conversion {
                'o' => int.to_radix(8),
                'x' => int.to_radix(16),
                'X' => int.to_radix(16).to_uppercase(),
                _ => int.to_string(),
            });
        }
        'e' | 'f' | 'g' | 'E' | 'F' | 'G' => {
            let float = match Num::of(value) {
                Some(Num::Int(int)) => int.to_f64(),
                Some(Num::Float(float)) => float,
                None => {
                    let value = type_name(value);
                    return Err(format!("%{conversion} format requires float, not {value}"));
                }
            };
            out.push_str(&format_float(float, conversion));
        }
        'c' => out.push(character(value)?),
        // A conversion is one byte to the reference, so that of a longer character its first.
        _ => {
            let mut bytes = [0; 4];
            let first = char::from(conversion.encode_utf8(&mut bytes).as_bytes()[0]);
            return Err(format!("unknown conversion %{first}"));
        }
    }
    Ok(())
}

fn character(value: Value<'_>) -> Result<char, String> {
    if let Some(int) = Int::of(value) {
        let code = int.to_i32().and_then(|code| u32::try_from(code).ok());
        return match code {
            Some(code @ 0..=0x10_ffff) => Ok(char::from_u32(code).unwrap_or('\u{fffd}')),
            _ => Err(format!("%c format requires a valid Unicode code point, got {int}")),
        };
    }
    let Some(text) = value.unpack_str() else {
        let value = type_name(value);
        return Err(format!("%c format requires int or single-character string, not {value}"));
    };
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Ok(c),
        _ => Err("%c format requires a single-character string".to_owned()),
    }
}

/// An integer, or the integral part of a float.
pub(crate) fn to_int(value: Value<'_>) -> Result<Int, String> {
    match Num::of(value) {
        Some(Num::Int(int)) => Ok(int),
        Some(Num::Float(f)) if f.is_infinite() => {
            Err("cannot convert float infinity to integer".to_owned())
        }
        Some(Num::Float(f)) if f.is_nan() => Err("cannot convert float NaN to integer".to_owned()),
        Some(Num::Float(f)) => Ok(Int::truncate(f)),
        None => Err(format!("cannot convert {} to int", type_name(value))),
    }
}

/// How the fields of a format string have been numbered so far.
#[derive(PartialEq, Eq)]
enum Numbering {
    Undecided,
    Automatic(usize),
    Manual,
}

/// `format.format(*positional, **named)`.
pub(crate) fn format<'v>(
    format: &str,
    positional: &[Value<'v>],
    named: &[(&str, Value<'v>)],
) -> Result<String, String> {
    let mut out = String::with_capacity(format.len() + 16);
    let mut numbering = Numbering::Undecided;
    let mut rest = format;
    loop {
        let (literal, field) = match rest.split_once('{') {
            Some((literal, field)) => (literal, Some(field)),
            None => (rest, None),
        };
        push_literal(&mut out, literal)?;
        let Some(field) = field else { return Ok(out) };
        if let Some(after) = field.strip_prefix('{') {
            out.push('{');
            rest = after;
            continue;
        }
        let Some((field, after)) = field.split_once('}') else {
            return Err("format: unmatched '{' in format".to_owned());
        };
        rest = after;
        let (name, conversion, spec) = split_field(field);
        let value = argument(name, positional, named, &mut numbering)?;
        if !spec.is_empty() {
            return Err(format!(
                "format spec features not supported in replacement fields: {spec}"
            ));
        }
        memory::reserve(out.len().saturating_add(text_len(value)))?;
        match conversion {
            "s" => write_str(&mut out, value),
            "r" => write_repr(&mut out, value),
            other => return Err(format!("format: unknown conversion {}", quote(other))),
        }
    }
}

/// `}}` stands for one brace; a lone one is an error.
fn push_literal(out: &mut String, mut literal: &str) -> Result<(), String> {
    while let Some((before, after)) = literal.split_once('}') {
        out.push_str(before);
        out.push('}');
        literal = after.strip_prefix('}').ok_or("format: single '}' in format")?;
    }
    out.push_str(literal);
    Ok(())
}

/// Splits `name!conversion:spec`.
fn split_field(field: &str) -> (&str, &str, &str) {
    let Some((name, conversion)) = field.split_once('!') else {
        let (name, spec) = field.split_once(':').unwrap_or((field, ""));
        return (name, "s", spec);
    };
    let (conversion, spec) = conversion.split_once(':').unwrap_or((conversion, ""));
    (name, conversion, spec)
}

fn argument<'v>(
    name: &str,
    positional: &[Value<'v>],
    named: &[(&str, Value<'v>)],
    numbering: &mut Numbering,
) -> Result<Value<'v>, String> {
    let at = |i: usize| {
        positional.get(i).copied().ok_or_else(|| "format: tuple index out of range".to_owned())
    };
    if name.is_empty() {
        let next = match *numbering {
            Numbering::Manual => {
                return Err("format: cannot switch from manual field specification to \
                            automatic field numbering"
                    .to_owned());
            }
            Numbering::Automatic(next) => next,
            Numbering::Undecided => 0,
        };
        *numbering = Numbering::Automatic(next + 1);
        return at(next);
    }
    if name.bytes().all(|b| b.is_ascii_digit())
        && let Ok(number) = name.parse::<i64>()
    {
        if let Numbering::Automatic(_) = numbering {
            return Err("format: cannot switch from automatic field numbering to \
                        manual field specification"
                .to_owned());
        }
        *numbering = Numbering::Manual;
        return at(usize::try_from(number).unwrap_or(usize::MAX));
    }
    if let Some((_, value)) = named.iter().find(|(given, _)| *given == name) {
        return Ok(*value);
    }
    Err(if name.contains('.') {
        format!("format: attribute syntax x.y is not supported in replacement fields: {name}")
    } else if name.contains('[') {
        format!("format: element syntax a[i] is not supported in replacement fields: {name}")
    } else if name.contains('{') {
        "format: nested replacement fields not supported".to_owned()
    } else {
        format!("format: keyword {name} not found")
    })
}
