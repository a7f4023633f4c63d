//! Decides what the methods of strings and bytes do. Positions are bytes, letters are Unicode.

use std::sync::LazyLock;

use regex::Regex;
use starlark::{
    eval::Evaluator,
    values::{Heap, Value, ValueLike, bytes::StarlarkBytes, list::AllocList, tuple::TupleRef},
};

use super::Method;
use crate::{
    args::{Args, IterableArg},
    elems::{BytesElems, Codepoints, Elems},
    error::raise,
    format,
    index::{indices, to_usize},
    memory,
    native::Outcome,
    value::type_name,
};

pub(crate) const BYTES_METHODS: &[(&str, Method)] = &[("elems", |eval, bytes, args| {
    args.unpack_positional(eval, 0, &mut [])?;
    let bytes = bytes.downcast_ref::<StarlarkBytes>().map_or(&[] as &[u8], StarlarkBytes::as_bytes);
    Ok(eval.heap().alloc(BytesElems(bytes.to_vec())))
})];

pub(crate) const METHODS: &[(&str, Method)] = &[
    ("capitalize", |eval, s, args| map(eval, s, &args, capitalize)),
    ("codepoint_ords", |eval, s, args| {
        args.unpack_positional(eval, 0, &mut [])?;
        Ok(eval.heap().alloc(Codepoints::new(text(s), true)))
    }),
    ("codepoints", |eval, s, args| {
        args.unpack_positional(eval, 0, &mut [])?;
        Ok(eval.heap().alloc(Codepoints::new(text(s), false)))
    }),
    ("count", count),
    ("elem_ords", |eval, s, args| {
        args.unpack_positional(eval, 0, &mut [])?;
        Ok(eval.heap().alloc(Elems::new(text(s), true)))
    }),
    ("elems", |eval, s, args| {
        args.unpack_positional(eval, 0, &mut [])?;
        Ok(eval.heap().alloc(Elems::new(text(s), false)))
    }),
    ("endswith", |eval, s, args| affix(eval, s, &args, <[u8]>::ends_with)),
    ("find", |eval, s, args| find(eval, s, &args, find_first, true)),
    ("format", |eval, s, args| {
        let text = format::format(text(s), &args.positional, &args.named).map_err(raise)?;
        Ok(eval.heap().alloc(text))
    }),
    ("index", |eval, s, args| find(eval, s, &args, find_first, false)),
    ("isalnum", |eval, s, args| {
        test(eval, s, &args, |s| !s.is_empty() && s.chars().all(|c| is_letter(c) || is_digit(c)))
    }),
    ("isalpha", |eval, s, args| {
        test(eval, s, &args, |s| !s.is_empty() && s.chars().all(is_letter))
    }),
    ("isdigit", |eval, s, args| test(eval, s, &args, |s| !s.is_empty() && s.chars().all(is_digit))),
    ("islower", |eval, s, args| {
        test(eval, s, &args, |s| s.chars().any(is_cased) && s.chars().map(lower).eq(s.chars()))
    }),
    ("isspace", |eval, s, args| {
        test(eval, s, &args, |s| !s.is_empty() && s.chars().all(char::is_whitespace))
    }),
    ("istitle", |eval, s, args| test(eval, s, &args, is_title)),
    ("isupper", |eval, s, args| {
        test(eval, s, &args, |s| s.chars().any(is_cased) && s.chars().map(upper).eq(s.chars()))
    }),
    ("join", join),
    ("lower", |eval, s, args| map(eval, s, &args, |s| s.chars().map(lower).collect())),
    ("lstrip", |eval, s, args| {
        strip(eval, s, &args, |s, set| s.trim_start_matches(|c| strips(set, c)))
    }),
    ("partition", |eval, s, args| partition(eval, s, &args, |s, sep| s.find(sep), true)),
    ("removeprefix", |eval, s, args| {
        let prefix: &str = args.only_positional(eval)?;
        Ok(eval.heap().alloc(text(s).strip_prefix(prefix).unwrap_or(text(s))))
    }),
    ("removesuffix", |eval, s, args| {
        let suffix: &str = args.only_positional(eval)?;
        Ok(eval.heap().alloc(text(s).strip_suffix(suffix).unwrap_or(text(s))))
    }),
    ("replace", replace),
    ("rfind", |eval, s, args| find(eval, s, &args, find_last, true)),
    ("rindex", |eval, s, args| find(eval, s, &args, find_last, false)),
    ("rpartition", |eval, s, args| partition(eval, s, &args, |s, sep| s.rfind(sep), false)),
    ("rsplit", |eval, s, args| split(eval, s, &args, true)),
    ("rstrip", |eval, s, args| {
        strip(eval, s, &args, |s, set| s.trim_end_matches(|c| strips(set, c)))
    }),
    ("split", |eval, s, args| split(eval, s, &args, false)),
    ("splitlines", splitlines),
    ("startswith", |eval, s, args| affix(eval, s, &args, <[u8]>::starts_with)),
    ("strip", |eval, s, args| strip(eval, s, &args, |s, set| s.trim_matches(|c| strips(set, c)))),
    ("title", |eval, s, args| map(eval, s, &args, title_case)),
    ("upper", |eval, s, args| map(eval, s, &args, |s| s.chars().map(upper).collect())),
];

fn text(value: Value<'_>) -> &str {
    value.unpack_str().unwrap_or_default()
}

fn map<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    s: Value<'v>,
    args: &Args<'v>,
    change: impl Fn(&str) -> String,
) -> Outcome<'v> {
    args.unpack_positional(eval, 0, &mut [])?;
    Ok(eval.heap().alloc(change(text(s))))
}

fn test<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    s: Value<'v>,
    args: &Args<'v>,
    holds: impl Fn(&str) -> bool,
) -> Outcome<'v> {
    args.unpack_positional(eval, 0, &mut [])?;
    Ok(Value::new_bool(holds(text(s))))
}

fn is_letter(c: char) -> bool {
    static LETTER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\A\p{L}\z").expect("a valid pattern"));
    if c.is_ascii() {
        return c.is_ascii_alphabetic();
    }
    LETTER.is_match(c.encode_utf8(&mut [0; 4]))
}

fn is_digit(c: char) -> bool {
    static DIGIT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\A\p{Nd}\z").expect("a valid pattern"));
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    DIGIT.is_match(c.encode_utf8(&mut [0; 4]))
}

/// The single character that stands for this one in lower case.
fn lower(c: char) -> char {
    match c {
        '\u{130}' => 'i',
        _ => single(c, c.to_lowercase()),
    }
}

fn upper(c: char) -> char {
    single(c, c.to_uppercase())
}

/// Upper case, but with the forms meant for the beginning of a word.
fn title(c: char) -> char {
    match c {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        '\u{10d0}'..='\u{10ff}' => c,
        _ => upper(c),
    }
}

/// Case mappings to several characters do not exist in this language.
fn single(c: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

fn is_cased(c: char) -> bool {
    c.is_ascii_alphabetic()
        || !(c.is_ascii() || c.to_lowercase().eq([c]) && c.to_uppercase().eq([c]))
}

fn capitalize(s: &str) -> String {
    s.chars().enumerate().map(|(i, c)| if i == 0 { title(c) } else { lower(c) }).collect()
}

fn title_case(s: &str) -> String {
    let mut after_cased = false;
    s.chars()
        .map(|c| {
            let mapped = if after_cased { lower(c) } else { title(c) };
            after_cased = is_cased(mapped);
            mapped
        })
        .collect()
}

fn is_title(s: &str) -> bool {
    let (mut cased, mut after_cased) = (false, false);
    for c in s.chars() {
        let is_title_form = matches!(c, '\u{1c5}' | '\u{1c8}' | '\u{1cb}' | '\u{1f2}');
        if c.is_ascii_uppercase() || is_title_form {
            if after_cased {
                return false;
            }
            (cased, after_cased) = (true, true);
        } else if c.is_lowercase() {
            if !after_cased {
                return false;
            }
            cased = true;
        } else if c.is_uppercase() {
            return false;
        } else {
            after_cased = false;
        }
    }
    cased
}

/// The bytes between two positions that a method was given.
fn window<'v>(
    s: Value<'v>,
    start: Value<'v>,
    end: Value<'v>,
    args: &Args<'v>,
) -> starlark::Result<(&'v [u8], usize)> {
    let bytes = text(s).as_bytes();
    let n = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
    let (start, end) = indices(start, end, n).map_err(|why| args.error(why))?;
    let (start, end) = (to_usize(start), to_usize(end));
    Ok((bytes.get(start..end).unwrap_or_default(), start))
}

fn find_first(text: &[u8], part: &[u8]) -> Option<usize> {
    match (std::str::from_utf8(text), std::str::from_utf8(part)) {
        (Ok(text), Ok(part)) => text.find(part),
        _ if part.is_empty() => Some(0),
        _ => text.windows(part.len()).position(|window| window == part),
    }
}

fn find_last(text: &[u8], part: &[u8]) -> Option<usize> {
    match (std::str::from_utf8(text), std::str::from_utf8(part)) {
        (Ok(text), Ok(part)) => text.rfind(part),
        _ if part.is_empty() => Some(text.len()),
        _ => text.windows(part.len()).rposition(|window| window == part),
    }
}

fn find<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    s: Value<'v>,
    args: &Args<'v>,
    search: fn(&[u8], &[u8]) -> Option<usize>,
    may_fail: bool,
) -> Outcome<'v> {
    let mut part = "";
    let [mut start, mut end] = [Value::new_none(); 2];
    args.unpack_positional(eval, 1, &mut [&mut part, &mut start, &mut end])?;
    let (text, from) = window(s, start, end, args)?;
    // An empty window begins where the reference says it does, but is found at its start.
    match search(text, part.as_bytes()) {
        Some(i) => Ok(eval.heap().alloc(i64::try_from(i + from).unwrap_or(i64::MAX))),
        None if may_fail => Ok(eval.heap().alloc(-1)),
        None => Err(args.error("substring not found")),
    }
}

fn count<'v>(eval: &mut Evaluator<'v, '_, '_>, s: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let mut part = "";
    let [mut start, mut end] = [Value::new_none(); 2];
    args.unpack_positional(eval, 1, &mut [&mut part, &mut start, &mut end])?;
    let (text, _) = window(s, start, end, &args)?;
    let text = String::from_utf8_lossy(text);
    let count = if part.is_empty() { text.chars().count() + 1 } else { text.matches(part).count() };
    Ok(eval.heap().alloc(i64::try_from(count).unwrap_or(i64::MAX)))
}

fn affix<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    s: Value<'v>,
    args: &Args<'v>,
    holds: fn(&[u8], &[u8]) -> bool,
) -> Outcome<'v> {
    let [mut wanted, mut start, mut end] = [Value::new_none(); 3];
    args.unpack_positional(eval, 1, &mut [&mut wanted, &mut start, &mut end])?;
    let (text, _) = window(s, start, end, args)?;
    if let Some(wanted) = wanted.unpack_str() {
        return Ok(Value::new_bool(holds(text, wanted.as_bytes())));
    }
    let Some(tuple) = TupleRef::from_value(wanted) else {
        let wanted = type_name(wanted);
        return Err(args.error(format!("got {wanted}, want string or tuple of string")));
    };
    for (i, element) in tuple.iter().enumerate() {
        let Some(wanted) = element.unpack_str() else {
            let element = type_name(element);
            return Err(args.error(format!("want string, got {element}, for element {i}")));
        };
        if holds(text, wanted.as_bytes()) {
            return Ok(Value::new_bool(true));
        }
    }
    Ok(Value::new_bool(false))
}

fn join<'v>(eval: &mut Evaluator<'v, '_, '_>, s: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let parts: IterableArg = args.only_positional(eval)?;
    let texts: usize = parts.0.iter().filter_map(|it| it.unpack_str()).map(str::len).sum();
    let separators = text(s).len().saturating_mul(parts.0.len());
    memory::reserve(texts.saturating_add(separators).saturating_mul(2)).map_err(raise)?;
    let mut out = String::new();
    for (i, part) in parts.0.iter().enumerate() {
        if i > 0 {
            out.push_str(text(s));
        }
        let Some(part) = part.unpack_str() else {
            return Err(raise(format!("join: in list, want string, got {}", type_name(*part))));
        };
        out.push_str(part);
    }
    Ok(eval.heap().alloc(out))
}

fn partition<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    s: Value<'v>,
    args: &Args<'v>,
    search: fn(&str, &str) -> Option<usize>,
    first: bool,
) -> Outcome<'v> {
    let separator: &str = args.only_positional(eval)?;
    if separator.is_empty() {
        return Err(args.error("empty separator"));
    }
    let s = text(s);
    let parts = match search(s, separator) {
        Some(i) => (&s[..i], separator, &s[i + separator.len()..]),
        None if first => (s, "", ""),
        None => ("", "", s),
    };
    Ok(eval.heap().alloc(parts))
}

fn replace<'v>(eval: &mut Evaluator<'v, '_, '_>, s: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let (mut old, mut new, mut count) = ("", "", -1_i64);
    args.unpack_positional(eval, 2, &mut [&mut old, &mut new, &mut count])?;
    if new.len() > old.len() && text(s).len().saturating_mul(new.len()) > memory::WORTH_A_LOOK {
        let added = text(s).matches(old).count().saturating_mul(new.len());
        memory::reserve(text(s).len().saturating_add(added).saturating_mul(2)).map_err(raise)?;
    }
    let replaced = match usize::try_from(count) {
        Ok(count) => text(s).replacen(old, new, count),
        Err(_) => text(s).replace(old, new),
    };
    Ok(eval.heap().alloc(replaced))
}

fn strips(set: &str, c: char) -> bool {
    if set.is_empty() { c.is_whitespace() } else { set.contains(c) }
}

fn strip<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    s: Value<'v>,
    args: &Args<'v>,
    trim: for<'a> fn(&'a str, &str) -> &'a str,
) -> Outcome<'v> {
    let mut set = "";
    args.unpack_positional(eval, 0, &mut [&mut set])?;
    Ok(eval.heap().alloc(trim(text(s), set)))
}

fn split<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    s: Value<'v>,
    args: &Args<'v>,
    from_right: bool,
) -> Outcome<'v> {
    let (mut separator, mut max) = (Value::new_none(), -1_i64);
    args.unpack_positional(eval, 0, &mut [&mut separator, &mut max])?;
    let s = text(s);
    let max = usize::try_from(max).ok();
    let parts: Vec<&str> = if separator.is_none() {
        match max {
            None => s.split_whitespace().collect(),
            Some(max) if from_right => rsplit_space(s, max),
            Some(max) => split_space(s, max),
        }
    } else if let Some(separator) = separator.unpack_str() {
        if separator.is_empty() {
            return Err(raise("split: empty separator"));
        }
        match max {
            None => s.split(separator).collect(),
            // The reference splits into no part at all when it may keep none together.
            Some(max) if from_right => {
                let mut parts: Vec<&str> = s.rsplitn(max.saturating_add(1), separator).collect();
                parts.reverse();
                parts
            }
            Some(max) => s.splitn(max.saturating_add(1), separator).collect(),
        }
    } else {
        let separator = type_name(separator);
        return Err(raise(format!("split: got {separator} for separator, want string")));
    };
    Ok(list_of(eval.heap(), &parts))
}

fn list_of<'v>(heap: Heap<'v>, parts: &[&str]) -> Value<'v> {
    heap.alloc(AllocList(parts.iter().map(|part| heap.alloc(*part))))
}

/// The first `max` words, and the rest of the text from where the next one begins.
fn split_space(s: &str, max: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = s.trim_start();
    while !rest.is_empty() {
        if parts.len() == max {
            parts.push(rest);
            return parts;
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        let after = rest[end..].trim_start();
        // A word that only white space follows keeps it when it is the last one allowed.
        if after.is_empty() {
            break;
        }
        rest = after;
    }
    parts
}

fn rsplit_space(s: &str, max: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = s.trim_end();
    while !rest.is_empty() {
        if parts.len() == max {
            parts.push(rest);
            break;
        }
        let start = rest
            .char_indices()
            .rfind(|(_, c)| c.is_whitespace())
            .map_or(0, |(i, c)| i + c.len_utf8());
        parts.push(&rest[start..]);
        rest = rest[..start].trim_end();
    }
    parts.reverse();
    parts
}

fn splitlines<'v>(eval: &mut Evaluator<'v, '_, '_>, s: Value<'v>, args: Args<'v>) -> Outcome<'v> {
    let mut keep_ends = false;
    args.unpack_positional(eval, 0, &mut [&mut keep_ends])?;
    let s = text(s);
    let mut lines: Vec<&str> = match (s.is_empty(), keep_ends) {
        (true, _) => Vec::new(),
        (false, true) => s.split_inclusive('\n').collect(),
        (false, false) => s.split('\n').collect(),
    };
    if !keep_ends && s.ends_with('\n') {
        lines.pop();
    }
    Ok(list_of(eval.heap(), &lines))
}
